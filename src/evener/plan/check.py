"""Where each value of somebody's `--tensor-split` really lands, and what we would write instead. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from evener.dialects.llama_command import Asked
from evener.errors import ConfigurationError
from evener.plan import layers
from evener.records.plan import Candidate, Workload

PLACES = ("--rpc", "--device", "-dev", "-ts", "-ngl", "-ncmoe", "-ot")  # of our command lines, each with a value


@dataclass(frozen=True, slots=True, kw_only=True)
class Usable:
    """A device that the engine could use, in its default order of use. `card` is a name for people."""

    name: str
    card: str
    total_bytes: int | None = None
    free_bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """One device in the order of use: the value that lands on it, and the slots that this really gives."""

    position: int
    device: str
    card: str
    value: float | None
    slots: int
    holds_head: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """The answer of `plan --check`. `cpu_slots` stay on the head's CPU.

    `ours` are the flags of our plan, or mere proportions: `ours_by` says which.
    """

    slots: int
    places: tuple[Place, ...]
    cpu_slots: int
    warnings: tuple[str, ...]
    ours: str
    ours_by: str = "in proportion to memory: the model or the rig is not known"


def planned(checked: Checked, asked: Asked, chosen: Candidate, workload: Workload) -> Checked:
    """The same answer with the placement that a plan of the whole rig chose."""
    argv = (chosen.bench if asked.is_bench else chosen.servers)[0].argv
    people = f"{workload.users} user{'s' if workload.users > 1 else ''} of {workload.context} tokens"
    return replace(checked, ours=" ".join(_placement(argv)), ours_by=f"the plan's {chosen.name}, for {people}")


def _placement(argv: Sequence[str]) -> Iterator[str]:
    for flag, value in pairwise((*argv, "")):
        if flag == "-cmoe":
            yield flag
        elif flag in PLACES:
            yield from (flag, value)


def order_of_use(listed: Sequence[Usable]) -> tuple[Usable, ...]:
    """From the order of `--list-devices` (local first) to the order of use (RPC first)."""
    remote = [d for d in listed if d.name.upper().startswith("RPC")]
    return (*remote, *(d for d in listed if d not in remote))


def check(asked: Asked, usable: Sequence[Usable], *, slots: int) -> Checked:
    """`usable` in the engine's default order of use; `slots` is block_count + 1.

    Raises ConfigurationError for a device that is not there.
    """
    devices = _chosen(asked, usable)
    offloaded = min(slots if asked.gpu_layers is None else asked.gpu_layers, slots) if devices else 0
    given = _split(asked, devices)
    assigned = layers.assign(offloaded, given) if offloaded and any(given) else ()
    counts = layers.counts(assigned, len(devices))
    places = tuple(
        Place(
            position=i,
            device=device.name,
            card=device.card,
            value=asked.split[i] if asked.split and i < len(asked.split) else None,
            slots=counts[i],
            holds_head=bool(assigned) and assigned[-1] == i,
        )
        for i, device in enumerate(devices)
    )
    return Checked(
        slots=slots,
        places=places,
        cpu_slots=slots - offloaded,
        warnings=tuple(_warnings(asked, devices, places, slots)),
        ours=_ours(asked, devices, slots),
    )


def _chosen(asked: Asked, usable: Sequence[Usable]) -> list[Usable]:
    if asked.devices is None:
        return list(usable)
    if asked.devices == ("none",):
        return []
    by_name = {device.name.lower(): device for device in usable}
    if missing := [name for name in asked.devices if name.lower() not in by_name]:
        known = ", ".join(device.name for device in usable)
        raise ConfigurationError(f"--device: there is no {missing[0]}", hint=f"the devices are {known}")
    return [by_name[name.lower()] for name in asked.devices]


def _split(asked: Asked, devices: Sequence[Usable]) -> list[float]:
    """The values per device; without any, the engine splits by free memory."""
    given = [*(asked.split or ())][: len(devices)]
    given += [0.0] * (len(devices) - len(given))
    return given if any(given) else [float(d.free_bytes or d.total_bytes or 1) for d in devices]


def _warnings(asked: Asked, devices: Sequence[Usable], places: Sequence[Place], slots: int) -> Iterator[str]:
    remote = any(d.name.upper().startswith("RPC") for d in devices)
    if asked.devices is None and remote:
        yield "no --device: remote devices come first, whatever --list-devices shows"
    if asked.split and len(asked.split) != len(devices):
        yield f"{len(asked.split)} values for {len(devices)} devices: missing ones are 0, surplus ones are ignored"
    used = [*(asked.split or ())][: len(devices)]
    offloaded = sum(place.slots for place in places)
    if any(used) and (intended := _intended(used, offloaded)) != tuple(p.slots for p in places[: len(used)]):
        wanted, got = (",".join(map(str, counts)) for counts in (intended, (p.slots for p in places)))
        yield f"-ts {asked.split_text} gives {got} layers, not the {wanted} that its shares come nearest to"
    if asked.split and not any(used):
        yield f"-ts {asked.split_text}: all zero, so the engine splits by free memory"
    if asked.gpu_layers is not None and asked.gpu_layers < slots:
        kept = "all" if asked.gpu_layers == 0 else f"the first {slots - asked.gpu_layers} of {slots}"
        yield f"-ngl {asked.gpu_layers}: {kept} layers stay on the head's CPU"
    if any(used) and 0 in used:
        yield "a device with value 0 gets no layer and is still initialised: leave it out of --device"
    if asked.is_bench and asked.split_text and "," in asked.split_text:
        yield "in llama-bench a comma starts another test: separate devices by /"
    if asked.split_mode == "row" and remote:
        yield "-sm row does not work with remote devices: the load will fail"
    if asked.split_mode == "none" and len(devices) > 1:
        yield "-sm none uses one device (--main-gpu, else the first) for everything: the split has no effect"


def _intended(split: Sequence[float], slots: int) -> tuple[int, ...]:
    """Whole counts nearest to the shares: the largest remainders get what is left."""
    exact = [value / sum(split) * slots for value in split]
    counts = [int(value) for value in exact]
    by_remainder = sorted(range(len(split)), key=lambda i: counts[i] - exact[i])
    for i in by_remainder[: slots - sum(counts)]:
        counts[i] += 1
    return tuple(counts)


def _ours(asked: Asked, devices: Sequence[Usable], slots: int) -> str:
    """Devices by name and whole counts, in proportion to the cards' memory: all that can be said without a plan."""
    sizes = [float(d.total_bytes or d.free_bytes or 0) for d in devices]
    counts = _intended(sizes if all(sizes) else [1.0] * len(devices), slots)
    if not devices:
        return "--device none -ngl 0"
    comma = "/" if asked.is_bench else ","
    flag = "-dev" if asked.is_bench else "--device"
    names = comma.join(d.name for d in devices)
    return f"{flag} {names} -ts {comma.join(map(str, counts))} -ngl 999"
