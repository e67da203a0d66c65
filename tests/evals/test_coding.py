"""Each task is shown to pass with its reference and to fail with a plausible wrong answer, in the real sandbox."""

import asyncio
import json

import pytest

from evener.edges.sandbox import open_sandbox
from evener.evals.scoring import any as scoring
from evener.evals.scoring import edits
from evener.evals.suites import shipped
from tests.boxes import needs_box
from tests.evals.answered import answer

QUESTIONS = shipped("coding").questions
EXECUTED = [q for q in QUESTIONS if q.scoring in ("tests", "fill")]


def as_answer(question, text):
    if question.scoring in ("tests", "fill"):
        return answer(f"```{question.language}\n{text}\n```")
    return answer(text)


async def values(questions, texts):
    """Scores, a few at a time."""
    box, few = await open_sandbox(), asyncio.Semaphore(3)

    async def one(question, text):
        async with few:
            return await scoring.score(question, as_answer(question, text), sandbox=box)

    return await asyncio.gather(*(one(q, t) for q, t in zip(questions, texts, strict=True)))


@needs_box
async def test_references_pass_and_wrong_answers_fail_in_the_sandbox():
    good = await values(EXECUTED, [q.references[0] for q in EXECUTED])
    assert [(q.id, s.details) for q, s in zip(EXECUTED, good, strict=True) if s.value != 1.0] == []
    bad = await values(EXECUTED, [q.wrong[0] for q in EXECUTED])
    assert [q.id for q, s in zip(EXECUTED, bad, strict=True) if s.value != 0.0] == []


@pytest.mark.parametrize("question", [q for q in QUESTIONS if q.scoring == "tool-call"], ids=lambda q: q.id)
async def test_right_calls_pass_and_wrong_calls_fail(question):
    right = "I need no tool for that." if question.references == ("null",) else question.references[0]
    assert (await scoring.score(question, answer(right), sandbox=None)).value == 1.0
    assert (await scoring.score(question, answer(question.wrong[0]), sandbox=None)).value == 0.0
    if question.references != ("null",):
        name = json.loads(question.references[0])["name"]
        assert name in {tool["function"]["name"] for tool in question.tools}


@pytest.mark.parametrize("question", [q for q in QUESTIONS if q.scoring == "edit"], ids=lambda q: q.id)
def test_wrong_edits_apply_and_are_wrong(question):
    found = edits.score(question, answer(question.wrong[0]))
    assert (found.value, found.outcome) == (0.0, None)


@pytest.mark.parametrize("question", [q for q in QUESTIONS if q.scoring == "edit"], ids=lambda q: q.id)
def test_right_edits_are_right(question):
    """The reference is the file after the edit; the edit itself is worked out from both."""
    before, after = question.context.splitlines(), question.references[0].splitlines()
    old, new = next((a, b) for a, b in zip(before, after, strict=True) if a != b)
    forms = {
        "edit-blocks": f"<<<<<<< SEARCH\n{old}\n=======\n{new}\n>>>>>>> REPLACE",
        "edit-diff": f"```diff\n@@ -1 +1 @@\n-{old}\n+{new}\n```",
        "edit-whole": f"```python\n{question.references[0]}```",
    }
    assert edits.score(question, answer(forms[question.category])).value == 1.0


def test_there_are_sixty_executable_tasks_and_the_other_kinds():
    kinds = [q.category for q in QUESTIONS]
    assert sum(q.scoring == "tests" for q in QUESTIONS) >= 60
    assert min(kinds.count("bash"), kinds.count("sql"), kinds.count("tool-call"), kinds.count("fill")) >= 8
    assert {"edit-blocks", "edit-diff", "edit-whole"} <= set(kinds)
