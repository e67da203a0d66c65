"""Questions and answers for tests."""

from datetime import UTC, datetime

from evener.records.answers import Answer, Asked
from evener.records.questions import Question


def question(scoring="match", **more):
    fields = {"id": "q", "cluster": "q", "category": "any", "prompt": "?", "scoring": scoring, "source": "a test"}
    return Question(**(fields | more))


def answer(text, *, outcome="ok", **more):
    asked = more.pop("asked", Asked(question="q", candidate="c"))
    return Answer(
        asked=asked, outcome=outcome, text=text, seed=1, at=datetime(2026, 1, 1, tzinfo=UTC), seconds=1, **more
    )
