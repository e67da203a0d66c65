"""The one table from a question's scoring to the scorer that knows it."""

from __future__ import annotations

from evener.evals.scoring import checks, edits, final, match, recall, running, tools, translation
from evener.ports import Sandbox
from evener.records.answers import Answer, Score
from evener.records.questions import Question

PURE = {
    "translation": translation.score,
    "match": match.score,
    "final": final.score,
    "recall": recall.score,
    "tool-call": tools.score,
    "edit": edits.score,
    "checks": checks.score,
}
CONTAMINATED = "thinking was asked to be off and was not"
NO_JUDGE = "no judge"
UNREAD = "the judge's reply could not be read"
JUDGE_FAILED = "the judge did not answer"
NO_MAJORITY = "no majority of judges"
CANARY = "a canary is compared, not scored"
NOT_ITS_FAULT = (  # whatever had been answered
    NO_JUDGE, UNREAD, JUDGE_FAILED, NO_MAJORITY, CANARY, running.NO_SANDBOX, checks.SLOW_PATTERN,
)  # fmt: skip


async def score(question: Question, answer: Answer, *, sandbox: Sandbox | None) -> Score:
    """What an answer is worth, as far as code can tell. Answers that thought although they were asked not to are no
    evidence about a model that does not think."""
    if answer.is_contaminated:
        return Score(asked=answer.asked, scorer=question.scoring, value=None, why=CONTAMINATED)
    if question.scoring in ("tests", "fill"):
        return await running.run_tests(question, answer, sandbox)
    if question.scoring in PURE:
        return PURE[question.scoring](question, answer)
    if question.scoring == "same":
        return Score(asked=answer.asked, scorer="same", value=None, why=CANARY)
    return Score(asked=answer.asked, scorer="rubric", value=None, why=NO_JUDGE)
