"""What the machines beyond the first buy. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from evener.plan.chains import Chains
from evener.plan.question import Question
from evener.records.plan import Benefit, Candidate


def benefits(question: Question, candidates: Sequence[Candidate], chains: Chains) -> tuple[Benefit, ...]:
    return ()
