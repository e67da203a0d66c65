"""Somebody's llama.cpp command against the devices it would meet: the rig's, or a pasted `--list-devices`."""

from __future__ import annotations

from dataclasses import replace

from evener.api import models, plans
from evener.api.rig import Rig
from evener.dialects import llama_build
from evener.dialects.llama_command import Asked, read_command
from evener.errors import ConfigurationError, ModelError
from evener.plan.check import Checked, Usable, as_connected, check, order_of_use, planned
from evener.plan.stated import with_catalogue_cards
from evener.plan.verdict import best_of
from evener.plan.what_if import World
from evener.records.card import Scan
from evener.records.plan import Candidate, Workload
from evener.records.weights import Weights
from evener.scan.order import device_order


async def check_command(
    command: str, *, rig: Rig, model: str | None = None, layers: int | None = None, listed: str | None = None
) -> Checked:
    """Where each layer would land. `listed` is the text of `--list-devices`; without it the rig is scanned.

    The number of blocks comes from `layers`, else from `model`, else from the command's own -m. Where the rig and the
    model are known what evener would write is its plan's, for the command's own -c and -np.
    """
    asked = read_command(command)
    weights = None if layers is not None else await _weights(model or asked.model)
    scan = None if listed is not None else await _seen(rig)
    usable = order_of_use(_pasted(listed or "") if scan is None else _scanned(rig, scan))
    usable = as_connected(usable, asked.rpc)
    if not usable:
        raise ConfigurationError("there is no device to split between", hint="paste --list-devices, or see evener scan")
    found = check(asked, usable, slots=(weights.layers if weights else layers or 0) + 1)
    if weights is None or scan is None:
        return found
    workload = _workload(asked)
    chosen = await _chosen(rig, scan, weights, workload)
    return planned(found, asked, chosen, workload) if chosen else found


def _workload(asked: Asked) -> Workload:
    users = max(1, asked.users or 1)
    return Workload(users=users, context=(asked.context or 0) // users or Workload().context)


async def _chosen(rig: Rig, scan: Scan, weights: Weights, workload: Workload) -> Candidate | None:
    """What one server would run; None where nothing fits, or nobody knows how large the caches are."""
    tools = await plans.tools_of(rig, scan)
    try:
        made = plans.planned_for(World(rig=rig.record, scan=scan), weights, workload, tools, "auto", advice=False)
    except ModelError:
        return None
    return best_of(made.candidates, workload.aim, one_server=True)


async def _seen(rig: Rig) -> Scan:
    """The rig with its stated hosts in their places."""
    scan = with_catalogue_cards(rig.record, await rig.scan())
    return replace(scan, devices=device_order(rig.record, scan.hosts))


async def _weights(model: str | None) -> Weights:
    if not model:
        raise ConfigurationError("--check: how many layers has the model?", hint="name the model, or give --layers N")
    return await models.weights(model)


def _pasted(text: str) -> tuple[Usable, ...]:
    found = tuple(
        Usable(name=d.name, card=d.description, total_bytes=d.total_bytes, free_bytes=d.free_bytes)
        for d in llama_build.devices(text)
    )
    if not found:
        raise ConfigurationError(
            "--list-devices: no device in that text", hint='lines look like "  CUDA0: NVIDIA ... (32606 MiB, ..."'
        )
    return found


def _scanned(rig: Rig, scan: Scan) -> tuple[Usable, ...]:
    """The rig's devices, already in the order of use. A processor alone is none: `--device` cannot name it."""
    usable = []
    for device in scan.devices:
        host, ours = scan.host(device.host), rig.record.host(device.host)
        card = host.card(device.card_id) if host and device.card_id else None
        if card is not None and card.kind == "cpu" and device.name == card.device:
            continue
        usable.append(
            Usable(
                name=device.name,
                card=f"{device.host}/{card.name if card else device.description or '?'}",
                total_bytes=card.total_bytes if card else None,
                free_bytes=card.free_bytes if card else None,
                address=(card.endpoint if card else None) or (ours.address if ours else None),
            )
        )
    return tuple(usable)
