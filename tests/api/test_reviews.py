"""A person at the keyboard: labels kept at once, taken back, gone on with."""

import json

import pytest
from typer.testing import CliRunner

from evener.api import evals, reviews
from evener.cli.main import app
from evener.edges.run_folder import read_reviews
from evener.errors import ConfigurationError
from tests.evals.scripted import Scripted, scripted

N = 6


@pytest.fixture(autouse=True)
def own_state(tmp_path, monkeypatch):
    monkeypatch.setenv("EVENER_STATE", str(tmp_path / "state"))
    monkeypatch.delenv("EVENER_RUNS", raising=False)


async def run(tmp_path, name, say):
    path = tmp_path / "mine.jsonl"
    fields = {"category": "fact", "scoring": "match", "source": "a test"}
    lines = [
        {"id": f"q{i}", "cluster": f"q{i}", "prompt": f"number {i}?", "references": [f"answer {i}"]} for i in range(N)
    ]
    path.write_text("\n".join(json.dumps(line | fields) for line in lines))
    async with scripted(Scripted(say)) as server:
        asked = evals.EvalAsked(candidate=name, suites=(str(path),), sha256=(), parallel=0)
        return (await evals.evaluate(server.url, asked, report=lambda _: None)).path


def typed(keys, *arguments):
    return CliRunner().invoke(app, ["review", *arguments], input=keys, terminal_width=80)


async def test_labels_are_kept_and_the_next_sitting_goes_on(tmp_path):
    path = await run(tmp_path, "secret-model", lambda body: "answer 3")
    shown = typed("rwq", path.name, "--as", "ann")
    assert shown.exit_code == 0
    assert "secret-model" not in shown.output
    assert [(one.reviewer, one.label, one.pool) for one in read_reviews(path)] == [
        ("ann", "right", "random"),
        ("ann", "wrong", "random"),
    ]
    again = reviews.sit([path.name], reviewer="ann", pool="random")
    assert len(again.left) == N - 2
    assert len(reviews.sit([path.name], reviewer="bob", pool="random").left) == N


async def test_undo_opens_the_last_one_and_keeps_the_history(tmp_path):
    path = await run(tmp_path, "m", lambda body: "answer 3")
    assert typed("rzwq", path.name, "--as", "ann").exit_code == 0
    kept = read_reviews(path)
    assert [one.label for one in kept] == ["right", None, "wrong"]
    assert kept[0].asked == kept[2].asked


async def test_agreement_with_code_is_shown_as_it_grows(tmp_path):
    path = await run(tmp_path, "m", lambda body: "answer 3")
    sitting = reviews.sit([path.name], reviewer="ann", pool="random")
    while (item := sitting.next) is not None:
        sitting.say(item, "right" if item.question.id == "q3" else "wrong", reason="looked it up")
    found = sitting.agreement()
    assert (found.n, found.raw, found.kappa) == (N, 1.0, 1.0)
    assert {one.reason for one in read_reviews(path)} == {"looked it up"}


async def test_two_runs_are_shown_in_pairs_without_names(tmp_path):
    a = await run(tmp_path, "model-a", lambda body: "from the one")
    b = await run(tmp_path, "model-b", lambda body: "from the other")
    shown = typed("1tq", a.name, b.name, "--as", "ann")
    assert shown.exit_code == 0
    assert "model-" not in shown.output
    assert len(read_reviews(a)) == 2
    assert read_reviews(a)[0].label in ("first", "second")
    assert read_reviews(a)[1].label == "tie"


async def test_a_run_without_answers_cannot_be_reviewed(tmp_path):
    path = await run(tmp_path, "m", lambda body: "")
    with pytest.raises(ConfigurationError, match="nothing here can be reviewed"):
        reviews.sit([path.name], reviewer="ann", pool="random")


async def test_an_answer_does_not_command_the_terminal(tmp_path):
    path = await run(tmp_path, "m", lambda body: "\x1b]52;c;cm0=\x07\x1b[2J right\r\nnext\x9b31m")
    shown = typed("q", str(path), "--as", "ann").output
    assert "right" in shown
    assert not {"\x1b", "\x07", "\x9b"} & set(shown)


async def test_three_who_labelled_the_same_have_one_alpha(tmp_path):
    path = await run(tmp_path, "m", lambda body: "answer 3")
    for who, keys in (("ann", "wwwrww"), ("bob", "wwwwww")):
        shown = typed(keys, path.name, "--as", who).output
    # code, ann and bob on six: 18 labels, "right" once by code and once by ann, on one thing or on two
    assert "all 3 who labelled the same 6: Krippendorff's alpha" in shown
    assert "with ann: " in shown
    assert "AC1" in shown


async def test_the_random_pool_is_whole_though_something_of_it_was_decisive(tmp_path):
    path = await run(tmp_path, "m", lambda body: "answer 3")
    typed("ww", path.name, "--as", "ann", "--pool", "decisive")
    assert len(reviews.sit([path.name], reviewer="ann", pool="random").left) == N
