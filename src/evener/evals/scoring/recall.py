"""What was to be found in a long text: right when the answer names it, and no other such thing of the text. Pure.

The rule of `bench context`: an answer that lists every code of the text has found none.
"""

from __future__ import annotations

from evener.evals.scoring import match
from evener.evals.scoring.declining import declines
from evener.records.answers import EVIDENCE, Answer, Score
from evener.records.questions import Question


def score(question: Question, answer: Answer) -> Score:
    """1 when the answer holds a reference and none of `wrong`, else 0."""
    if answer.outcome not in (*EVIDENCE, "refused"):
        return Score(asked=answer.asked, scorer="recall", value=None, why=answer.outcome)
    found = any(match.holds(answer.text, name) for name in question.references)
    others = [name for name in question.wrong if match.holds(answer.text, name)]
    declined = not found and (answer.outcome == "refused" or declines(answer.text))
    return Score(
        asked=answer.asked,
        scorer="recall",
        value=float(found and not others),
        outcome="abstained" if declined else None,
        details={"others": others} if others else {},
    )
