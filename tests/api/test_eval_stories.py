"""What a folder of an evaluation holds for its report: answers, what judges said, what people said."""

import json
from datetime import UTC, datetime

import pytest

from evener.api import evals, runs
from evener.api.eval_stories import read
from evener.edges.run_folder import RunFolder, open_run, read_answers
from evener.records.answers import JudgeIdentity, Judgement, Review
from tests.evals.scripted import Scripted, scripted

JUDGE = JudgeIdentity(provider="judge.example", model="judge-1", prompt_sha256="0" * 64)
OTHER = JudgeIdentity(provider="judge.example", model="qwen3-32b", prompt_sha256="0" * 64)


@pytest.fixture
async def folder(tmp_path):
    """Six answers of one candidate, the first three right."""
    suite = tmp_path / "mine.jsonl"
    fields = {"category": "fact", "scoring": "match", "source": "a test"}
    lines = [{"id": f"q{i}", "cluster": f"q{i}", "prompt": f"{i}?", "references": [f"answer {i}"]} for i in range(6)]
    suite.write_text("\n".join(json.dumps(line | fields) for line in lines))

    def say(body):
        i = int(body["messages"][0]["content"].rstrip("?"))
        return f"answer {i}" if i < 3 else "a fish"

    async with scripted(Scripted(say)) as server:
        asked = evals.EvalAsked(candidate="qwen-4b", suites=(str(suite),), sha256=(), parallel=0)
        return (await evals.evaluate(server.url, asked, report=lambda _: None, base=tmp_path / "runs")).path


def judged(answer, verdict, judge=JUDGE):
    return Judgement(
        judge=judge, asked=answer.asked, other=None, verdict=verdict, outcome="ok", raw="", at=datetime.now(UTC)
    )


def label(answer, word, pool="random", who="ann"):
    return Review(reviewer=who, asked=answer.asked, other=None, label=word, pool=pool, at=datetime.now(UTC))


async def test_a_run_of_something_else_has_no_such_story(folder):
    text = (folder / "run.json").read_text()
    (folder / "run.json").write_text(text.replace('"what": "eval"', '"what": "users"').replace('"eval",', '"users",'))
    assert read(open_run(folder)) is None


async def test_each_judge_is_counted_apart_and_its_own_family_is_a_mark(folder):
    answers = read_answers(folder)
    for answer in answers:
        RunFolder(folder).judgement(judged(answer, "PASS"))
    RunFolder(folder).judgement(judged(answers[0], "FAIL", OTHER))
    one, other = read(open_run(folder)).judged
    assert (one.judge.model, one.judgements, one.rubric[0].passed.hits) == ("judge-1", 6, 6)
    assert (other.judge.model, other.judgements, other.rubric[0].passed.hits) == ("qwen3-32b", 1, 0)
    assert one.marks == ()
    assert other.marks == ("judges its own family: qwen-4b",)


async def test_labels_of_people_are_held_against_code_pool_by_pool(folder):
    by_question = {answer.asked.question: answer for answer in read_answers(folder)}
    for name, word in (("q0", "right"), ("q1", "wrong"), ("q4", "wrong"), ("q5", "unsure")):
        RunFolder(folder).review(label(by_question[name], word))
    RunFolder(folder).review(label(by_question["q2"], "right", pool="decisive", who="bob"))
    random, decisive = read(open_run(folder)).labels
    assert (random.pool, random.people, random.labels) == ("random", 1, {"right": 1, "wrong": 2, "unsure": 1})
    assert (random.n, random.agreement) == (3, pytest.approx(2 / 3))
    assert (decisive.pool, decisive.n, decisive.agreement) == ("decisive", 1, 1.0)


async def test_a_run_that_was_cut_off_has_its_answers_and_no_result(folder):
    (folder / "summary.json").unlink()
    found = read(open_run(folder))
    assert found.result is None
    assert (found.candidate, found.answers, found.outcomes) == ("qwen-4b", 6, {"ok": 6})
    assert runs.tell(open_run(folder)).state == "unfinished"


async def test_an_answer_that_was_asked_for_again_counts_once(folder):
    lines = (folder / "answers.jsonl").read_text().splitlines()
    (folder / "answers.jsonl").write_text("\n".join([*lines, lines[0]]) + "\n")
    assert read(open_run(folder)).answers == 6


async def test_judgements_survive_questions_that_have_changed_and_it_is_said(folder):
    RunFolder(folder).judgement(judged(read_answers(folder)[0], "PASS"))
    suite = next(folder.parents[1].glob("mine.jsonl"))
    suite.write_text(suite.read_text().replace("3?", "4?"))
    (folder / "suites.json").unlink()
    found = read(open_run(folder))
    assert found.judged[0].rubric[0].passed.hits == 1
    assert "penalties of translations cannot be worked out" in found.notes[0]
