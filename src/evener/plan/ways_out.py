"""Changes with which a model would fit. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from evener.plan.chains import Chains
from evener.plan.question import Question
from evener.records.plan import Candidate


def ways_out(question: Question, candidates: Sequence[Candidate], chains: Chains) -> tuple[str, ...]:
    return ()
