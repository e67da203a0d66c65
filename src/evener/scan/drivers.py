"""Ask a Linux host's GPU drivers, whichever it has, for their cards and for who holds memory on them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from evener.dialects import amd, nvidia_smi
from evener.errors import HostError
from evener.ports import Finished, Shell
from evener.records.card import Card, CardKind

# The kernel's own count of AMD compute processes' memory. The last word tells "nobody" from "could not look".
KFD = "ls /sys/class/kfd/kfd/proc >/dev/null 2>&1 && { grep -Hs . /sys/class/kfd/kfd/proc/*/vram_*; echo looked; }"
Apps = Mapping[CardKind, tuple[nvidia_smi.GpuProcess, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Drivers:
    """What they said. `apps` lacks a kind of card where nobody could look. `pools` are AMD's, by card id."""

    cards: tuple[Card, ...] = ()
    apps: Apps = field(default_factory=dict)
    pools: Mapping[str, amd.Pools] = field(default_factory=dict)
    faults: tuple[str, ...] = ()


async def drivers(shell: Shell, *, within_s: float) -> Drivers:
    """Both makers' tools at once; one that is absent says nothing, and that is no fault."""
    nvidia, radeon = await asyncio.gather(_nvidia(shell, within_s), _amd(shell, within_s))
    return Drivers(
        cards=nvidia.cards + radeon.cards,
        apps={**nvidia.apps, **radeon.apps},
        pools=radeon.pools,
        faults=nvidia.faults + radeon.faults,
    )


# ---- NVIDIA


async def _nvidia(shell: Shell, within_s: float) -> Drivers:
    if await shell.which(nvidia_smi.PROGRAM) is None:
        return Drivers()
    (cards, fault), apps = await asyncio.gather(_nvidia_cards(shell, within_s), _nvidia_apps(shell, within_s))
    return Drivers(cards=cards, apps={} if apps is None else {"cuda": apps}, faults=(fault,) if fault else ())


async def _nvidia_cards(shell: Shell, within_s: float) -> tuple[tuple[Card, ...], str | None]:
    fields = list(nvidia_smi.GPU_FIELDS)
    try:
        while True:
            done = await shell.run(nvidia_smi.gpu_query(fields), within_s=within_s)
            refused = nvidia_smi.refused_field(done.stdout + done.stderr)
            if refused not in fields:
                break
            fields.remove(refused)  # an older driver: ask again for what it knows
    except HostError as error:
        return (), error.message
    return nvidia_smi.parse_gpus(done.stdout), _fault("nvidia-smi", done)


async def _nvidia_apps(shell: Shell, within_s: float) -> tuple[nvidia_smi.GpuProcess, ...] | None:
    try:
        done = await shell.run(nvidia_smi.app_query(), within_s=within_s)
    except HostError:
        return None
    return nvidia_smi.parse_apps(done.stdout) if done.code == 0 else None


# ---- AMD


async def _amd(shell: Shell, within_s: float) -> Drivers:
    """amd-smi where it is there and knows a card, else the older tool."""
    found, faults = await _amd_smi(shell, within_s)
    if not found:
        found, more = await _rocm_smi(shell, within_s)
        faults = more if found else (*faults, *more)
    if not found:
        return Drivers(faults=faults)
    apps = await _amd_apps(shell, found, within_s)
    return Drivers(
        cards=tuple(one.card for one in found),
        apps={} if apps is None else {"rocm": apps},
        pools={one.card.id: one.pools for one in found},
        faults=faults,
    )


async def _amd_smi(shell: Shell, within_s: float) -> tuple[tuple[amd.AmdCard, ...], tuple[str, ...]]:
    if await shell.which(amd.AMD_SMI) is None:
        return (), ()
    try:
        queries = (amd.static_query(), amd.metric_query(), amd.list_query())
        static, metric, listing = await asyncio.gather(*(shell.run(q, within_s=within_s) for q in queries))
    except HostError as error:
        return (), (error.message,)
    cards = amd.parse_amd(static.stdout, metric.stdout, listing.stdout)
    fault = _fault("amd-smi", static) if not cards else None
    return cards, (fault,) if fault else ()


async def _rocm_smi(shell: Shell, within_s: float) -> tuple[tuple[amd.AmdCard, ...], tuple[str, ...]]:
    if await shell.which(amd.ROCM_SMI) is None:
        return (), ()
    try:
        done = await shell.run(amd.rocm_query(), within_s=within_s)
    except HostError as error:
        return (), (error.message,)
    fault = _fault("rocm-smi", done)
    return amd.parse_rocm(done.stdout), (fault,) if fault else ()


async def _amd_apps(
    shell: Shell, found: Sequence[amd.AmdCard], within_s: float
) -> tuple[nvidia_smi.GpuProcess, ...] | None:
    if any(one.kfd is None for one in found):
        return None
    try:
        said = (await shell.run(["sh", "-c", KFD], within_s=within_s)).stdout
    except HostError:
        return None
    if said.split()[-1:] != ["looked"]:
        return None
    cards = {one.kfd: one.card.id for one in found}
    return tuple(
        nvidia_smi.GpuProcess(gpu_uuid=cards[kfd], pid=pid, name=None, bytes=held)
        for kfd, pid, held in amd.parse_kfd(said)
        if held and kfd in cards  # opening the driver is not holding memory
    )


def _fault(tool: str, done: Finished) -> str | None:
    said = next((line.strip() for line in (done.stdout + done.stderr).splitlines() if line.strip()), None)
    return None if done.code == 0 else f"{tool}: {said or f'exit {done.code}'}"
