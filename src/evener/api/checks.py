"""Somebody's llama.cpp command against the devices it would meet: the rig's, or a pasted `--list-devices`."""

from __future__ import annotations

from dataclasses import replace

from evener.api import models
from evener.api.rig import Rig
from evener.dialects import llama_build
from evener.dialects.llama_command import read_command
from evener.errors import ConfigurationError
from evener.plan.check import Checked, Usable, check, order_of_use
from evener.plan.stated import with_catalogue_cards
from evener.records.card import Scan
from evener.scan.order import device_order


async def check_command(
    command: str, *, rig: Rig, model: str | None = None, layers: int | None = None, listed: str | None = None
) -> Checked:
    """Where each layer would land. `listed` is the text of `--list-devices`; without it the rig is scanned.

    The number of blocks comes from `layers`, else from `model`, else from the command's own -m.
    """
    asked = read_command(command)
    if layers is None:
        layers = await _blocks(model or asked.model)
    usable = order_of_use(_pasted(listed)) if listed is not None else _scanned(await _seen(rig))
    if not usable:
        raise ConfigurationError("there is no device to split between", hint="paste --list-devices, or see evener scan")
    return check(asked, usable, slots=layers + 1)


async def _seen(rig: Rig) -> Scan:
    """The rig with its stated hosts in their places."""
    scan = with_catalogue_cards(rig.record, await rig.scan())
    return replace(scan, devices=device_order(rig.record, scan.hosts))


async def _blocks(model: str | None) -> int:
    if model is None:
        raise ConfigurationError("--check: how many layers has the model?", hint="name the model, or give --layers N")
    return (await models.weights(model)).layers


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


def _scanned(scan: Scan) -> tuple[Usable, ...]:
    """The rig's devices, already in the order of use."""
    usable = []
    for device in scan.devices:
        host = scan.host(device.host)
        card = host.card(device.card_id) if host and device.card_id else None
        usable.append(
            Usable(
                name=device.name,
                card=f"{device.host}/{card.name if card else device.description or '?'}",
                total_bytes=card.total_bytes if card else None,
                free_bytes=card.free_bytes if card else None,
            )
        )
    return tuple(usable)
