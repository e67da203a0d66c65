"""Ask a Mac what it is. Who holds its memory is not asked: unified memory is everybody's."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from evener.dialects import apple
from evener.dialects.proc import Cpu, Memory
from evener.errors import HostError
from evener.ports import Shell
from evener.records.card import Card

MARK = "system_profiler"  # a program that only macOS has
GIB = 1 << 30


@dataclass(frozen=True, slots=True, kw_only=True)
class MacAnswers:
    """What a Mac said. Its GPU is one card, with the part of main memory that Apple lets it use."""

    machine_id: str | None
    system: str | None
    cpu: Cpu
    memory: Memory
    cards: tuple[Card, ...]
    faults: tuple[str, ...]


async def ask(shell: Shell, *, within_s: float) -> MacAnswers:
    """Three commands at once. Nothing is raised: what is not said is unknown, and `faults` says why."""
    profile, sysctl, vm_stat = await asyncio.gather(
        _printed(shell, apple.profiler_query(), within_s),
        _printed(shell, apple.sysctl_query(), within_s),
        _printed(shell, ["vm_stat"], within_s),
    )
    facts = apple.facts(sysctl)
    memory = apple.memory(facts, vm_stat, profile)
    gpus = apple.gpus(profile)
    version = facts.get("kern.osproductversion")
    return MacAnswers(
        machine_id=facts.get("kern.bootsessionuuid"),
        system=f"macOS {version}" if version else "macOS",
        cpu=apple.cpu(facts, profile),
        memory=memory,
        cards=tuple(card(gpu, facts, memory) for gpu in gpus[:1]),  # an Apple chip has one
        faults=() if gpus else ("system_profiler names no Apple GPU",),
    )


def card(gpu: apple.Gpu, facts: dict[str, str], memory: Memory) -> Card:
    """The GPU as a card of the size of its working set; an assumed size is said to be that. Pure."""
    name = f"{gpu.name} ({gpu.cores} GPU cores)" if gpu.cores else gpu.name
    if memory.total_bytes is None:
        return Card(id="metal0", kind="metal", name=name, integrated=True)
    room = apple.working_set(facts, memory.total_bytes)
    whole = f"{memory.total_bytes / GIB:.0f} GiB"
    how = "assumed; iogpu.wired_limit_mb sets it" if room.assumed else "set by iogpu.wired_limit_mb"
    return Card(
        id="metal0",
        kind="metal",
        name=name,
        total_bytes=room.bytes,
        free_bytes=None if memory.available_bytes is None else min(room.bytes, memory.available_bytes),
        integrated=True,
        note=f"shares main memory: the GPU may use {room.bytes / GIB:.1f} of {whole} ({how})",
    )


async def _printed(shell: Shell, argv: Sequence[str], within_s: float) -> str:
    """Standard output, also of a command that complains: `sysctl` does so of each key it does not know."""
    try:
        return (await shell.run(argv, within_s=within_s)).stdout
    except HostError:
        return ""
