"""Every check before a load, on the rig as it is now. Starts nothing."""

from __future__ import annotations

import os
from datetime import UTC, datetime

from evener.api import models
from evener.api.rig import Rig
from evener.dialects import host_health
from evener.edges.rpc_probe import RpcProbe
from evener.journeys.doctor import Looked, World
from evener.journeys.doctor import examine as _examine
from evener.ports import Report
from evener.records.finding import Examined


async def examine(rig: Rig, *, model: str | None = None, report: Report) -> Examined:
    """What would stop, slow or change a load, the worst first; with `model`, of that one.

    A host that cannot be reached is a finding. Raises ModelMissing, FetchFailed, BadHeader.
    """
    weights = await models.weights(model) if model else None

    async def scan() -> Looked:
        return Looked(scan=await rig.scan(), out_of_reach=rig.out_of_reach(), visits=rig.visits())

    world = World(
        shells=rig.shells(),
        rpc=_probe,
        scan=scan,
        now=lambda: datetime.now(UTC),
        report=report,
        deployments=rig.deployments(),
        variables=host_health.engine_variables(os.environ),
    )
    return await _examine(rig.record, world, weights=weights)


def _probe(protocol: str | None) -> RpcProbe:
    """A visitor that refuses what an engine of this protocol would refuse."""
    parts = [int(part) for part in (protocol or "").split(".") if part.isdigit()]
    return RpcProbe((parts[0], parts[1], parts[2])) if len(parts) == 3 else RpcProbe()
