"""How layouts are called, and the figure by which an aim compares them. Pure."""

from __future__ import annotations

from evener.plan.words import rate
from evener.records.plan import Candidate, Objective, Predicted, Value

CLUSTER = "cluster"  # the rig's first host is the head
ON_ANOTHER = "cluster-on-"  # and the head's name
PER_CARD = "-per-card"  # behind the name of a cluster: a worker for each card
BY_MEMORY = "cluster-by-memory"  # what a user would write: shown, never taken


def figure(candidate: Candidate, aim: Objective) -> Value | None:
    """What a candidate is predicted to do for the aim."""
    return figure_of(candidate.predicted, aim)


def figure_of(predicted: Predicted | None, aim: Objective) -> Value | None:
    """The speed that counts for an aim. Of layouts with the same context one user's decides."""
    if predicted is None:
        return None
    if aim == "crowd":
        return predicted.users_tokens_per_s
    return predicted.prefill_tokens_per_s if aim == "prompt" else predicted.decode_tokens_per_s


def too_close(one: Value, other: Value) -> bool:
    """Whether one likely figure lies within the interval of the other."""
    return one.low <= other.value <= one.high or other.low <= one.value <= other.high


def speed_of(candidate: Candidate, aim: Objective) -> str:
    """In words, and whose it is."""
    value = figure(candidate, aim)
    return f"{whose(aim)}{rate(value)}" if value else "speed not known"


def whose(aim: Objective) -> str:
    """What stands before the figure of an aim; nothing before one user's tokens."""
    return {"crowd": "all users together ", "prompt": "prompts at "}.get(aim, "")


def behind_comma(candidate: Candidate, aim: Objective) -> str:
    """What stands behind a layout in a sentence; nothing where no speed is known."""
    return f", {speed_of(candidate, aim)}" if figure(candidate, aim) is not None else ""
