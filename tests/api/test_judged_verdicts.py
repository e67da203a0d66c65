"""What judges said of several candidates: verdicts of their own, marked with who judged, beside those by code."""

import json
import re
from dataclasses import replace

import pytest

from evener import state
from evener.api import evals, judges, reviews
from evener.api.verdicts import verdicts
from evener.evals.judging import agreeing
from evener.report import verdict_written
from tests.evals.scripted import Scripted, scripted

N = 24  # of each: twelve documents of two
MARKS = {"right": "第{}号。", "clumsy": "号数{}。", "wrong": "没有{}。"}


@pytest.fixture(autouse=True)
def own_state(tmp_path, monkeypatch):
    monkeypatch.setenv("EVENER_STATE", str(tmp_path / "state"))
    monkeypatch.delenv("EVENER_RUNS", raising=False)


@pytest.fixture
def suite(tmp_path):
    """Translations, which code scores by chrF, and letters, which only a judge can score."""
    path = tmp_path / "mine.jsonl"
    fields = {"source": "a test"}
    lines = [
        fields
        | {"id": f"t{i}", "cluster": f"d{i // 2}", "category": "en-zh", "scoring": "translation"}
        | {"prompt": f"Translate into Chinese:\n\nNumber {i}.", "references": [f"第{i}号。"]}
        for i in range(N)
    ]
    lines += [
        fields
        | {"id": f"r{i}", "cluster": f"r{i}", "category": "letter", "scoring": "rubric", "rubric": "It is polite."}
        | {"prompt": f"Write letter {i}."}
        for i in range(N)
    ]
    path.write_text("\n".join(map(json.dumps, lines)))
    return path


def answers(kind, polite):
    """Translations of one kind, letters of which so many are polite."""

    def say(body):
        text = body["messages"][-1]["content"]
        i = int(re.findall(r"\d+", text)[-1])
        return MARKS[kind].format(i) if "Translate" in text else "Dear Sir" if i < polite else "Hey"

    return say


def fair(body):
    text = body["messages"][0]["content"]
    parts = re.findall(r"<<<\n(.*?)\n>>>", text, re.DOTALL)
    if "List the errors" in text:
        found = next((mark for mark in ("没有", "号数") if mark in parts[1]), None)
        severity = {"没有": "major", "号数": "minor"}.get(found)
        return f"ERROR: {severity} | style | {found}\nVERDICT: 1" if found else "VERDICT: 0"
    if "meet the rubric" in text:
        return f"VERDICT: {'PASS' if 'Dear' in parts[2] else 'FAIL'}"
    if "Does the answer say" in text:
        return f"VERDICT: {'CORRECT' if parts[2] == parts[1] else 'INCORRECT'}"
    a, b = (re.sub(r"\n\n\(.*\)$", "", part) for part in parts[1:])
    if a.startswith(b) or b.startswith(a):
        return "VERDICT: TIE"
    return f"VERDICT: {'A' if 'Dear' in a or '第' in a else 'B'}"


def by_kind(found, wanted):
    """The judged dimensions of one kind, in order."""
    return [one for one in found.judged if one.judged.kind == wanted]


def kind(body):
    """Passes whatever it sees."""
    text = fair(body)
    text = re.sub(r"ERROR.*\nVERDICT: 1", "VERDICT: 0", text)
    return text.replace("FAIL", "PASS")


async def run(suite, name, say):
    """`suite` is a file, or several."""
    files = suite if isinstance(suite, tuple) else (suite,)
    async with scripted(Scripted(say)) as server:
        asked = evals.EvalAsked(candidate=name, suites=tuple(map(str, files)), sha256=(), parallel=0)
        return (await evals.evaluate(server.url, asked, report=lambda _: None)).path


async def judge(*paths, say=fair, model="judge-x", probes=2):
    async with scripted(Scripted(say, model=model)) as server:
        asked = judges.JudgeAsked(by=server.url, probes=probes)
        names = [path.name for path in paths]
        return await judges.judge(names, asked, agree=lambda _: True, report=lambda _: None)


@pytest.fixture
async def two(suite):
    return [await run(suite, "a", answers("right", 22)), await run(suite, "b", answers("wrong", 3))]


async def test_without_a_judge_what_code_cannot_score_is_unscored(two):
    found = verdicts(two)
    assert (found.judged, found.penalties, found.preferences) == ((), (), ())
    assert all(ending.reasons == {"no judge": N} for ending in found.dimensions[0].endings)


async def test_rubrics_and_errors_are_scores_of_their_own_marked_with_who_judged(two):
    for path in two:
        await judge(path)
    found = verdicts(two)
    (rubric,), (sound,) = by_kind(found, "rubric"), by_kind(found, "mqm")
    assert rubric.dimension == "mine, rubric met, judged by judge-x at 127.0.0.1"
    assert [(s.candidate, s.mean, s.n) for s in rubric.standings] == [("a", 22 / N, N), ("b", 3 / N, N)]
    assert (rubric.best, rubric.pairs[0].word) == (("a",), "better")
    assert [judge.model for judge in rubric.judged.judges] == ["judge-x"]
    assert (rubric.judged.passports[0].known.hits, rubric.judged.passports[0].known.n) == (4, 4)
    assert [s.mean for s in sound.standings] == [1.0, 0.0]
    assert {apart.rubric for apart in rubric.disagreements} == {"It is polite."}
    assert {said.score for said in rubric.disagreements[0].answers} == {0.0, 1.0}
    # chrF stays what it was, of translations alone
    (code,) = found.dimensions
    assert [s.n for s in code.standings] == [N, N]
    assert code.endings[0].reasons == {"left to judges": N}


async def test_what_is_true_of_several_stands_once_and_arms_say_what_was_left_to_judges(suite):
    def say(body):
        return answers("right", 22)(body | {"messages": body["messages"][:1]})

    async with scripted(Scripted(say, counts=False)) as server:
        runs = []
        for name in ("a", "b"):
            asked = evals.EvalAsked(candidate=name, suites=(str(suite),), sha256=(), arms=("single", "reflection"))
            runs.append((await evals.evaluate(server.url, asked, report=lambda _: None)).path)
    for path in runs:
        await judge(path)
    found = verdicts(runs)
    assert [note.partition(":")[0] for note in found.notes] == ["a, b"]
    reasons = [{end.candidate: end.reasons for end in one.endings} for one in found.arms]
    assert reasons == [{"single": {"left to judges": N}, "reflection": {"no judge": N}}] * 2


async def test_penalties_are_compared_by_document_and_the_lower_one_is_better(two):
    for path in two:
        await judge(path)
    (found,) = verdicts(two).penalties
    # "Number 3." has two words: nothing wrong in a, one major error of 5 in b
    assert [(s.candidate, s.per_1000, s.segments, s.documents) for s in found.standings] == [
        ("a", 0.0, N, N // 2),
        ("b", 2500.0, N, N // 2),
    ]
    (pair,) = found.pairs
    assert (pair.word, pair.gap, pair.wins, pair.losses) == ("better", -2500.0, N // 2, 0)
    assert (found.best, found.dropped) == (("a",), ("b",))
    assert found.dimension == "mine, en-zh, errors per 1000 source units, judged by judge-x at 127.0.0.1"


async def test_a_candidate_that_no_judge_has_seen_is_said_to_be_unscored(suite, two):
    third = await run(suite, "c", answers("clumsy", 12))
    for path in two:
        await judge(path)
    found = verdicts([*two, third])
    assert [s.candidate for s in found.judged[0].standings] == ["a", "b"]
    assert "c: mine, rubric met: unscored: no judge" in found.notes
    assert {end.candidate: end.reasons for end in found.dimensions[0].endings}["c"] == {"no judge": N}


async def test_candidates_judged_by_different_judges_are_not_compared(two):
    await judge(two[0], model="judge-x")
    await judge(two[1], model="judge-y")
    found = verdicts(two)
    assert (found.judged, found.penalties) == ((), ())
    assert "a: mine, rubric met: not compared by judge-x at 127.0.0.1, which judged no other candidate" in found.notes


async def test_three_judges_decide_by_majority_beside_each_own_verdict(two):
    for path in two:
        await judge(path, model="judge-x")
        await judge(path, model="judge-y", say=kind)
        await judge(path, model="judge-z")
    found = by_kind(verdicts(two), "rubric")
    assert [len(one.judged.judges) for one in found] == [1, 1, 1, 3]
    assert [one.standings[0].mean for one in found] == [22 / N, 1.0, 22 / N, 22 / N]
    together = found[-1].judged.together
    assert (together.judges, together.n) == (3, 2 * N)
    assert found[-1].dimension.endswith("judged by more than half of judge-x at 127.0.0.1, judge-y at 127.0.0.1 and "
                                        "judge-z at 127.0.0.1")  # fmt: skip


async def test_two_judges_who_differ_leave_answers_unscored(two):
    for path in two:
        await judge(path, model="judge-x")
        await judge(path, model="judge-y", say=kind)
    jury = by_kind(verdicts(two), "rubric")[-1]
    # they agree on what is polite: 22 of a, 3 of b
    assert [(s.mean, s.n) for s in jury.standings] == [(1.0, 22), (1.0, 3)]
    assert jury.judged.split == 2 + 21
    assert {end.candidate: end.reasons for end in jury.endings} == {
        "a": {"no majority of judges": 2},
        "b": {"no majority of judges": 21},
    }


async def test_pairs_that_a_judge_compared_are_in_the_verdict(two):
    await judge(*two)
    (found,) = verdicts(two).preferences
    assert (found.pair.first, found.word) == ("a", "better")
    assert found.pair.first_wins >= N
    assert found.p_holm < 0.001


async def test_pairs_are_also_decided_by_more_than_half_of_several_judges(two):
    await judge(*two, model="judge-x")
    await judge(*two, model="judge-y", say=lambda body: "VERDICT: TIE")
    await judge(*two, model="judge-z")
    *alone, several = verdicts(two).preferences
    assert [one.word for one in alone] == ["better", "cannot be separated", "better"]
    assert (len(several.judged.judges), several.word, several.judged.split) == (3, "better", 0)
    assert several.pair == replace(alone[0].pair, order_changed=0)


async def test_people_who_looked_at_random_correct_what_is_compared(two, monkeypatch):
    monkeypatch.setattr(agreeing, "LEAST_LABELS", 10)
    for path in two:
        await judge(path, say=kind)
        sitting = reviews.sit([path.name], reviewer="ann", pool="random")
        for item in sitting.left:
            sitting.say(item, "right" if item.answer.text.startswith(("Dear", "第")) else "wrong")
    (rubric,) = by_kind(verdicts(two), "rubric")
    assert [s.mean for s in rubric.standings] == [1.0, 1.0], "as this judge says"
    corrected = {one.candidate: (one.judge_mean, one.mean, one.labelled) for one in rubric.judged.corrected}
    assert corrected == {"a": (1.0, pytest.approx(22 / N), N), "b": (1.0, pytest.approx(3 / N), N)}
    assert rubric.judged.passports[0].people.hits == 25 + N  # of letters 22 + 3, of translations all of a


async def test_people_correct_a_suite_by_labels_of_that_suite_alone(suite, tmp_path, monkeypatch):
    """Another suite of the same runs, on which this judge is right, says nothing of this one."""
    monkeypatch.setattr(agreeing, "LEAST_LABELS", 10)
    other = tmp_path / "other.jsonl"
    letters = [json.loads(line) for line in suite.read_text().splitlines() if '"rubric"' in line]
    other.write_text("\n".join(json.dumps(one | {"id": f"o{one['id']}"}) for one in letters))
    runs = [await run((suite, other), name, answers("right", polite)) for name, polite in (("a", 22), ("b", 3))]
    for path in runs:
        await judge(path, say=kind)
        sitting = reviews.sit([path.name], reviewer="ann", pool="random")
        for item in sitting.left:
            is_right = item.question.id.startswith("o") or item.answer.text.startswith(("Dear", "第"))
            sitting.say(item, "right" if is_right else "wrong")
    found = {one.dimension.split(",")[0]: one.judged for one in by_kind(verdicts(runs), "rubric")}
    shares = {name: {c.candidate: (c.mean, c.n) for c in by.corrected} for name, by in found.items()}
    assert shares == {
        "mine": {"a": (pytest.approx(22 / N), N), "b": (pytest.approx(3 / N), N)},
        "other": {"a": (1.0, N), "b": (1.0, N)},
    }


async def test_the_same_candidate_twice_is_the_noise_floor_of_judges_too(suite):
    runs = [await run(suite, "a", answers("right", 20)), await run(suite, "a", answers("clumsy", 14))]
    for path in runs:
        await judge(path)
    found = verdicts(runs)
    (rubric,) = by_kind(found, "rubric")
    assert [s.candidate for s in rubric.standings] == ["a"]
    assert rubric.noise == pytest.approx(6 / N)
    # one minor error in two words
    assert found.penalties[0].noise == pytest.approx(500.0)


async def test_a_translation_that_did_not_come_counts_as_a_critical_error_or_not_at_all(suite):
    def silent(body):
        return "" if "Number 1" in body["messages"][-1]["content"] else answers("right", 20)(body)

    runs = [await run(suite, "a", silent), await run(suite, "b", answers("clumsy", 20))]
    for path in runs:
        await judge(path)
    (found,) = verdicts(runs).penalties
    first, second = found.standings
    # eleven of 24 segments did not come: "Number 1." and 10 to 19
    assert (first.candidate, first.per_1000, first.unscored) == ("a", 0.0, 11)
    assert first.counted_wrong == pytest.approx(1000 * 11 * 25 / (N * 2))
    assert second.per_1000 == 500.0
    assert (found.pairs[0].word, found.pairs[0].flips_with_policy) == ("cannot be separated", True)
    assert set(found.best) == {"a", "b"}


async def test_every_line_of_a_sheet_says_who_judged(two):
    for path in two:
        await judge(path)
    text = verdict_written.csv(verdicts(two))
    assert "judge-x at 127.0.0.1" in text
    assert text.splitlines()[0].startswith("kind,dimension,judged_by,")
    assert state.runs_folder().is_dir()
