"""What a plan is asked: a rig as it is, a model, and what for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from evener.plan.commands import Tools
from evener.plan.seats import Speeds
from evener.records.card import Scan
from evener.records.plan import Workload
from evener.records.rig import Rig
from evener.records.weights import Weights


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """Everything a plan depends on.

    `measured` holds what was measured of cards, by host and card id. `others` are models that could be asked about
    instead, e.g. of the catalogue: for what another machine would buy, and for a smaller one where nothing fits.
    `one_server`: no layout that needs several servers is taken.
    """

    rig: Rig
    scan: Scan
    weights: Weights
    workload: Workload
    tools: Tools
    measured: Speeds = field(default_factory=dict)
    others: Sequence[Weights] = ()
    one_server: bool = False
