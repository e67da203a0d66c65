"""Answers of several runs, side by side where they differ most; and `evener report` and `evener verdict` of them."""

import json

import pytest
from typer.testing import CliRunner

from evener.api import disagreements, evals
from evener.api.verdicts import verdicts
from evener.cli.main import app
from tests.evals.scripted import Scripted, scripted

N = 14


@pytest.fixture
def suite(tmp_path):
    path = tmp_path / "mine.jsonl"
    fields = {"category": "fact", "scoring": "match", "source": "a test"}
    lines = [
        {"id": f"q{i:02}", "cluster": f"q{i}", "prompt": f"number {i}?", "references": [f"answer {i}"]}
        for i in range(N)
    ]
    path.write_text("\n".join(json.dumps(line | fields) for line in lines))
    return path


def right_on(which):
    def say(body):
        i = int(body["messages"][0]["content"].split()[-1].rstrip("?"))
        return f"answer {i}" if i in which else f"a fish, {i}"

    return say


async def run(name, which, suite, tmp_path, **more):
    async with scripted(Scripted(right_on(which))) as server:
        asked = evals.EvalAsked(candidate=name, suites=(str(suite),), sha256=(), parallel=0, **more)
        return (await evals.evaluate(server.url, asked, report=lambda _: None, base=tmp_path / "runs")).path


async def test_both_answers_stand_beside_the_question_and_its_reference(suite, tmp_path):
    runs = [await run("a", range(14), suite, tmp_path), await run("b", range(1, 14), suite, tmp_path)]
    (found,) = verdicts(runs).dimensions[0].disagreements
    assert (found.question, found.prompt, found.references) == ("q00", "number 0?", ("answer 0",))
    assert {said.candidate: (said.text, said.score) for said in found.answers} == {
        "a": ("answer 0", 1.0),
        "b": ("a fish, 0", 0.0),
    }


async def test_at_most_eight_questions_of_the_leader_with_the_second_and_the_third_are_shown(suite, tmp_path):
    asked = (("a", range(14)), ("b", range(4, 14)), ("c", range(2)), ("d", ()))
    runs = [await run(name, which, suite, tmp_path) for name, which in asked]
    found = verdicts(runs).dimensions[0].disagreements
    pairs = [tuple(sorted(said.candidate for said in one.answers)) for one in found]
    assert pairs == [("a", "b")] * 4 + [("a", "c")] * 8


async def test_whose_answer_stands_first_is_drawn_and_the_same_every_time(suite, tmp_path):
    runs = [await run("a", range(14), suite, tmp_path), await run("b", (), suite, tmp_path)]
    first = [one.answers[0].candidate for one in verdicts(runs).dimensions[0].disagreements]
    assert set(first) == {"a", "b"}
    assert first == [one.answers[0].candidate for one in verdicts(runs).dimensions[0].disagreements]


async def test_questions_that_have_changed_since_are_not_shown_and_it_is_said(suite, tmp_path):
    runs = [await run("a", range(14), suite, tmp_path), await run("b", (), suite, tmp_path)]
    suite.write_text(suite.read_text().replace("number 3?", "number 4?"))
    assert verdicts(runs).dimensions[0].disagreements != ()  # each run has kept what it asked
    for run_folder in runs:
        (run_folder / "suites.json").unlink()
    found = verdicts(runs)
    assert found.dimensions[0].disagreements == ()
    assert any(note.startswith("a: its questions cannot be shown: ") for note in found.notes)


async def test_both_policies_and_how_answers_ended_are_kept_of_every_candidate(suite, tmp_path):
    runs = [await run("a", range(14), suite, tmp_path), await run("b", range(7), suite, tmp_path)]
    endings = verdicts(runs).dimensions[0].endings
    assert [(end.candidate, end.excluded, end.counted_wrong, end.answered) for end in endings] == [
        ("a", 1.0, 1.0, 14),
        ("b", 0.5, 0.5, 14),
    ]


async def test_conditions_that_differ_are_told_with_their_values(suite, tmp_path):
    runs = [await run("a", range(14), suite, tmp_path), await run("b", (), suite, tmp_path, seed=7)]
    (one,) = [c for c in verdicts(runs).conditions if c.name == "sampling"]
    assert "seed: 1;" in one.values["a"]
    assert "seed: 7;" in one.values["b"]


def test_a_long_text_keeps_its_ends_and_says_what_is_missing():
    assert disagreements.cut("a" * 10 + "b" * 5 + "c" * 10, most=20) == (
        f"{'a' * 10}\n[... 5 characters left out ...]\n{'c' * 10}"
    )


async def test_report_of_several_evaluations_is_their_verdict(suite, tmp_path, monkeypatch):
    runs = [await run("a", range(14), suite, tmp_path), await run("b", range(2), suite, tmp_path)]
    monkeypatch.setenv("EVENER_RUNS", str(tmp_path / "runs"))
    names = [path.name for path in runs]
    page = tmp_path / "page.html"
    told = CliRunner().invoke(app, ["report", *names, "--html", str(page)], catch_exceptions=False).output
    assert "a is the best; b can be dropped" in told
    assert "a is the best; b can be dropped" in page.read_text()
    both = [
        CliRunner().invoke(app, [verb, *names, "-o", "json"], catch_exceptions=False).output
        for verb in ("report", "verdict")
    ]
    assert both[0] == both[1]
    assert list(json.loads(both[0])["runs"]) == ["a", "b"]
