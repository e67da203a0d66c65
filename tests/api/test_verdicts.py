"""Runs of several candidates on the same questions, and what they prove."""

import json

import pytest

from evener.api import evals
from evener.api.verdicts import verdicts
from evener.errors import ConfigurationError, NameUnknown
from tests.evals.scripted import Scripted, scripted

N = 30


@pytest.fixture
def suite(tmp_path):
    path = tmp_path / "mine.jsonl"
    fields = {"category": "fact", "scoring": "match", "source": "a test"}
    lines = [
        {"id": f"q{i}", "cluster": f"q{i}", "prompt": f"number {i}?", "references": [f"answer {i}"]} for i in range(N)
    ]
    path.write_text("\n".join(json.dumps(line | fields) for line in lines))
    return path


def first(right):
    """Right on the first so many questions."""

    def say(body):
        i = int(body["messages"][0]["content"].split()[-1].rstrip("?"))
        return f"answer {i}" if i < right else "a fish"

    return say


async def run(name, right, suite, tmp_path, **more):
    async with scripted(Scripted(first(right))) as server:
        asked = evals.EvalAsked(candidate=name, suites=(str(suite),), sha256=(), parallel=0, **more)
        return (await evals.evaluate(server.url, asked, report=lambda _: None, base=tmp_path / "runs")).path


async def test_who_is_clearly_behind_is_dropped(suite, tmp_path):
    runs = [await run(name, right, suite, tmp_path) for name, right in (("a", 28), ("b", 27), ("c", 5))]
    (found,) = verdicts(runs).dimensions
    assert found.sentence == "c can be dropped; which of a and b is the best cannot be told"
    assert found.dropped == ("c",)
    assert [s.candidate for s in found.standings] == ["a", "b", "c"]


async def test_the_same_candidate_twice_is_the_noise_floor(suite, tmp_path):
    runs = [await run(name, right, suite, tmp_path) for name, right in (("a", 28), ("a", 25), ("b", 5))]
    found = verdicts(runs)
    assert found.candidates == ("a", "b")
    assert found.dimensions[0].noise == pytest.approx(3 / N)


async def test_candidates_that_were_not_asked_alike_are_said_to_be_so(suite, tmp_path):
    a = await run("a", 20, suite, tmp_path)
    b = await run("b", 20, suite, tmp_path, temperature=0.9)
    assert verdicts([a, b]).differing == ("sampling",)


async def test_runs_of_other_questions_are_not_compared(suite, tmp_path):
    a = await run("a", 20, suite, tmp_path)
    suite.write_text(suite.read_text().replace("number 3?", "number 4?"))
    b = await run("b", 20, suite, tmp_path)
    with pytest.raises(ConfigurationError, match="no two of these runs share a suite"):
        verdicts([a, b])


async def test_a_run_of_something_else_is_named(suite, tmp_path):
    a = await run("a", 20, suite, tmp_path)
    (a / "summary.json").unlink()
    with pytest.raises(NameUnknown, match="holds no finished evaluation"):
        verdicts([a, a])


async def test_arms_of_one_candidate_are_compared_with_asking_once(suite, tmp_path):
    a = await run("a", 20, suite, tmp_path, arms=("single", "reflection"))
    (found,) = verdicts([a]).arms
    assert found.dimension == "mine: arms of a"
    assert {s.candidate for s in found.standings} == {"single", "reflection"}
