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


async def test_further_measures_stand_in_the_order_of_the_candidates(suite, tmp_path):
    runs = [await run(name, right, suite, tmp_path, epochs=2) for name, right in (("a", 5), ("b", 20))]
    (found,) = verdicts(runs).dimensions
    assert {tuple(mine) for mine in found.measures.values()} == {("b", "a")}


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
    b = await run("b", 20, suite, tmp_path)
    (a / "summary.json").unlink()
    with pytest.raises(NameUnknown, match="holds no finished evaluation"):
        verdicts([a, b])


async def test_a_run_that_asked_nobody_is_not_to_be_resumed_as_an_evaluation(suite, tmp_path):
    a = await run("a", 20, suite, tmp_path)
    b = await run("b", 20, suite, tmp_path)
    (a / "summary.json").unlink()
    said = json.loads((a / "run.json").read_text())
    (a / "run.json").write_text(json.dumps(said | {"what": "users"}))
    with pytest.raises(NameUnknown) as caught:
        verdicts([a, b])
    assert caught.value.hint == "evener runs --all --what eval"


async def test_a_run_is_no_second_measurement_of_itself(suite, tmp_path):
    a = await run("a", 20, suite, tmp_path)
    with pytest.raises(ConfigurationError, match="is named twice"):
        verdicts([a, a])


async def test_epochs_that_failed_count_as_wrong_where_failures_do(suite, tmp_path):
    """Every second epoch of a is refused by its server."""
    heard = []

    def half(body):
        heard.append(body["seed"])
        return 400 if body["seed"] > 1000 else first(30)(body)

    async with scripted(Scripted(half)) as server:
        asked = evals.EvalAsked(candidate="a", suites=(str(suite),), sha256=(), parallel=0, epochs=2)
        a = (await evals.evaluate(server.url, asked, report=lambda _: None, base=tmp_path / "runs")).path
    b = await run("b", 30, suite, tmp_path, epochs=2)
    means = {
        policy: {s.candidate: s.mean for s in verdicts([a, b], policy=policy).dimensions[0].standings}
        for policy in ("excluded", "counted wrong")
    }
    assert means == {"excluded": {"a": 1.0, "b": 1.0}, "counted wrong": {"a": 0.5, "b": 1.0}}


async def test_arms_of_one_candidate_are_compared_with_asking_once(suite, tmp_path):
    a = await run("a", 20, suite, tmp_path, arms=("single", "reflection"))
    (found,) = verdicts([a]).arms
    assert found.dimension == "mine: arms of a"
    assert {s.candidate for s in found.standings} == {"single", "reflection"}


def layout(*strange):
    """Answers to the canary's prompts; those that hold one of `strange` are answered otherwise."""
    return lambda body: "a fish" if any(word in body["messages"][0]["content"] for word in strange) else "a hat"


async def canary_run(name, say, tmp_path):
    async with scripted(Scripted(say)) as server:
        asked = evals.EvalAsked(candidate=name, suites=("canary",), sha256=(), parallel=0)
        return (await evals.evaluate(server.url, asked, report=lambda _: None, base=tmp_path / "runs")).path


async def test_layouts_that_answer_the_canary_alike_are_the_same(tmp_path):
    runs = [await canary_run(name, layout(), tmp_path) for name in ("alone", "both")]
    found = verdicts(runs)
    assert [(c.first, c.second, c.word, c.n, c.parted, c.itself) for c in found.canaries] == [
        ("alone", "both", "same", 12, (), None)
    ]
    assert found.dimensions == ()  # a canary has no score, so nobody is ranked by it


async def test_a_layout_that_parts_from_another_more_than_from_itself_differs(tmp_path):
    runs = [
        await canary_run(name, say, tmp_path)
        for name, say in (("alone", layout()), ("alone", layout("week")), ("both", layout("e")))
    ]
    (found,) = verdicts(runs).canaries
    assert (found.word, found.itself, found.itself_n) == ("differs", 1, 12)
    assert "against itself: 1 of 12 differ" in found.sentence


async def test_a_difference_without_a_second_run_is_unknown_and_says_what_to_do(tmp_path):
    runs = [await canary_run(name, say, tmp_path) for name, say in (("alone", layout()), ("both", layout("week")))]
    (found,) = verdicts(runs).canaries
    assert (found.word, found.parted) == ("unknown", ("can-001",))
    assert "run one of them again under the same name" in found.sentence


async def test_one_layout_asked_twice_shows_its_own_noise(tmp_path):
    runs = [await canary_run("alone", say, tmp_path) for say in (layout(), layout("week"))]
    (found,) = verdicts(runs).canaries
    assert (found.first, found.second, found.word, found.itself) == ("alone", "alone (2)", "within tolerance", 1)
