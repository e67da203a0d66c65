"""Plan a model on a rig: look, read the header, decide. Starts nothing."""

from __future__ import annotations

from dataclasses import dataclass

from evener.api import models
from evener.api.rig import Rig
from evener.errors import DoesNotFit
from evener.plan.candidates import Question, make_plan
from evener.plan.commands import Tools
from evener.records.card import Scan
from evener.records.plan import Candidate, Plan, Workload
from evener.records.weights import Weights


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """A plan with what it was made from."""

    rig: Rig
    scan: Scan
    weights: Weights
    plan: Plan

    def chosen(self) -> Candidate:
        """The candidate of the verdict. Raises DoesNotFit when there is none."""
        verdict = self.plan.verdict
        found = self.plan.candidate(verdict.choice) if verdict.choice else None
        if found is None:
            raise DoesNotFit(verdict.sentence, hint="a smaller quantisation, --context, or --kv q8_0 needs less")
        return found

    def alone(self) -> Candidate | None:
        """The first single machine that would do, None when the model needs several."""
        return next((c for c in self.plan.candidates if c.kind in ("card", "host") and c.fits), None)


async def plan(rig: Rig, model: str, workload: Workload, *, layout: str = "auto") -> Planned:
    """Look at the rig now and plan `model` (a path, "demo", or a name that `models list` shows)."""
    weights = await models.weights(model)
    scan = await rig.scan()
    tools = Tools(
        engines={h.name: h.engine.folder for h in scan.hosts if h.engine},
        ports=await rig.free_ports(),
    )
    question = Question(rig=rig.record, scan=scan, weights=weights, workload=workload, tools=tools)
    return Planned(rig=rig, scan=scan, weights=weights, plan=make_plan(question, layout=layout))
