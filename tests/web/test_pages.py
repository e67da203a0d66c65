"""What the pages make of records: pieces of answers, layers of devices, questions of links, growing runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evener.edges.run_folder import RunFolder
from evener.errors import ConfigurationError
from evener.records.conditions import Conditions
from evener.records.run import Run
from evener.web import growing
from evener.web.growing import Growing, Growth
from evener.web.pages.explorer import Question, question_of
from evener.web.pages.review import MOST_COMPARED, pieces
from tests.web.conftest import Page


def test_words_that_only_one_answer_has_are_told_apart() -> None:
    first, second = pieces(["Paris is in France.", "Paris lies in France"])
    assert first == [("Paris ", False), ("is", True), (" in France", False), (".", True)]
    assert second == [("Paris ", False), ("lies", True), (" in France", False)]


@pytest.mark.parametrize("texts", [["alone"], ["x " * MOST_COMPARED, "y " * MOST_COMPARED], ["same", "same"]])
def test_nothing_is_marked_where_nothing_is_compared(texts: list[str]) -> None:
    assert list(pieces(texts)) == [[(text, False)] for text in texts]


def test_an_empty_answer_has_no_pieces() -> None:
    assert list(pieces(["", "word"])) == [[], [("word", True)]]


def test_a_link_carries_what_is_not_as_usual() -> None:
    question = question_of({"users": "12", "kv": "q8_0", "context": "8192", "nonsense": "1"})
    assert question == Question(users=12, kv="q8_0")
    assert question.changed() == {"users": 12, "kv": "q8_0"}


@pytest.mark.parametrize("text", ["-1", "1e3", "١٢", "9" * 10, "a"])
def test_a_number_that_is_none_is_one_line(text: str) -> None:
    with pytest.raises(ConfigurationError, match=r"users: .* is no number"):
        question_of({"users": text})


NONSENSE = (
    ("users=many", "is no number"),
    ("model=none-such", "none-such"),
    ("kv=q9", "q9"),
    ("without=gamma", "gamma"),
    ("beside=users%3Dx", "is no number"),
)


@pytest.mark.parametrize(("query", "said"), NONSENSE)
async def test_a_question_that_makes_no_sense_is_answered_in_words(page: Page, query: str, said: str) -> None:
    _, text = await page.get(f"/plan/answer?{query}", **{"HX-Request": "true"})
    assert 'class="fault"' in text
    assert said in text


async def test_there_is_no_door_where_nobody_serves(page: Page) -> None:
    assert await page.get("/live/door") == (200, "")


async def test_two_evaluations_are_chosen_or_none(page: Page) -> None:
    status, text = await page.get("/review/pair?run=a")
    assert (status, "choose two evaluations" in text) == (400, True)
    status, _ = await page.get("/review/pair?run=a&run=..%2Fb")
    assert status == 404


def test_a_run_is_read_on_from_where_it_was(tmp_path: Path) -> None:
    from datetime import UTC, datetime

    run = Run(id="r", what="users", started_at=datetime(2026, 1, 1, tzinfo=UTC), conditions=Conditions())
    one = Growing(path=tmp_path, growth=Growth(run=run, is_over=False))
    with (tmp_path / "requests.jsonl").open("w") as file:
        file.write("{}\n{}\n{half")
        file.flush()
        one.look()
        assert one.growth.requests == 2
        before = one.growth
        one.look()
        assert one.growth is before  # nobody is told what is not new
        file.write("}\n")
    (tmp_path / "events.jsonl").write_text(json.dumps({"kind": "ready", "data": {"url": "u"}}) + "\nno json\n")
    (tmp_path / "summary.json").write_text("{}")
    one.look()
    assert (one.growth.requests, one.growth.is_over) == (3, True)
    assert one.growth.facts == (("ready", "u"),)


def test_a_run_that_nobody_writes_to_any_more_is_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from datetime import UTC, datetime

    monkeypatch.setattr(growing, "STILL_S", 0.0)
    run = Run(id="r", what="users", started_at=datetime(2026, 1, 1, tzinfo=UTC), conditions=Conditions())
    folder = RunFolder.create(tmp_path, run)
    one = Growing(path=folder.path, growth=Growth(run=run, is_over=False))
    one.look()
    assert (one.growth.is_over, one.growth.is_left) == (False, False)
    folder.let_go()
    one.look()
    assert (one.growth.is_over, one.growth.is_left) == (True, True)
