"""Where each value of somebody's `--tensor-split` really lands, and what we would write instead. Pure.

What else on the line moves tensors (`-ot`, experts in RAM, another split mode) is said in `plan/check_warnings.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from evener.dialects.llama_command import Asked
from evener.errors import ConfigurationError
from evener.plan import layers
from evener.plan.check_warnings import Place, is_remote, nearest, warnings
from evener.records.plan import Candidate, Workload

PLACES = ("--rpc", "--device", "-dev", "-ts", "-ngl", "-ncmoe", "-ot")  # of our command lines, each with a value


@dataclass(frozen=True, slots=True, kw_only=True)
class Usable:
    """A device that the engine could use, in its default order of use. `card` is a name for people.

    `address` is where its worker is reached, without the port where nobody knows it; None where nobody knows either.
    """

    name: str
    card: str
    total_bytes: int | None = None
    free_bytes: int | None = None
    address: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """The answer of `plan --check`.

    `ours` are the flags of our plan, or mere proportions: `ours_by` says which.
    """

    slots: int  # block_count + 1
    places: tuple[Place, ...]  # every device that the command uses, in the order of use
    cpu_slots: int  # layers that stay on the head's CPU
    warnings: tuple[str, ...]  # what else the command does or gets wrong, a line each
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
    remote = [d for d in listed if is_remote(d.name)]
    return (*remote, *(d for d in listed if d not in remote))


def as_connected(usable: Sequence[Usable], rpc: Sequence[str]) -> tuple[Usable, ...]:
    """The devices as a command's own `--rpc` numbers them: through the endpoints, in the order given.

    As they are where it names no endpoint, or one that is not among the devices' addresses.
    """
    remote = [d for d in usable if is_remote(d.name)]
    found = [[d for d in remote if d.address in (endpoint, endpoint.partition(":")[0])] for endpoint in rpc]
    ordered = list(dict.fromkeys(d for each in found for d in each))
    if not found or not all(found):
        return tuple(usable)
    numbered = (replace(d, name=f"RPC{i}") for i, d in enumerate(ordered))
    return (*numbered, *(d for d in usable if d not in remote))


def check(asked: Asked, usable: Sequence[Usable], *, slots: int) -> Checked:
    """`usable` in the engine's default order of use; `slots` is block_count + 1.

    Raises ConfigurationError for a device that is not there.
    """
    named = _named(asked, usable)
    devices = _of_mode(asked, named)
    offloaded = min(slots if asked.gpu_layers is None else asked.gpu_layers, slots) if devices else 0
    split = None if asked.split_mode == "none" else asked.split
    given = _split(split, devices)
    assigned = layers.assign(offloaded, given) if offloaded and any(given) else ()
    counts = layers.counts(assigned, len(devices))
    places = tuple(
        Place(
            position=i,
            device=device.name,
            card=device.card,
            value=split[i] if split and i < len(split) else None,
            slots=offloaded if asked.split_mode == "tensor" else counts[i],
            holds_head=bool(assigned) and assigned[-1] == i,
        )
        for i, device in enumerate(devices)
    )
    return Checked(
        slots=slots,
        places=places,
        cpu_slots=slots - offloaded,
        warnings=tuple(warnings(asked, [d.name for d in named], places, slots)),
        ours=_ours(asked, named, slots),
    )


def _named(asked: Asked, usable: Sequence[Usable]) -> list[Usable]:
    if asked.devices is None or asked.devices == ("auto",):
        return list(usable)
    if asked.devices == ("none",):
        return []
    by_name = {device.name.lower(): device for device in usable}
    if missing := [name for name in asked.devices if name.lower() not in by_name]:
        known = ", ".join(device.name for device in usable)
        raise ConfigurationError(f"--device: there is no {missing[0]}", hint=f"the devices are {known}")
    return [by_name[name.lower()] for name in asked.devices]


def _of_mode(asked: Asked, named: Sequence[Usable]) -> list[Usable]:
    """All of them; with -sm none the one that --main-gpu counts to, or the CPU alone."""
    if asked.split_mode != "none" or not named:
        return list(named)
    main = asked.main_gpu or 0
    if main >= len(named):
        raise ConfigurationError(
            f"--main-gpu {main}: there are {len(named)} devices",
            hint=f"they count from 0: the last is {len(named) - 1}",
        )
    return [] if main < 0 else [named[main]]


def _split(split: Sequence[float] | None, devices: Sequence[Usable]) -> list[float]:
    """The values per device; without any, the engine splits by free memory."""
    given = [*(split or ())][: len(devices)]
    given += [0.0] * (len(devices) - len(given))
    return given if any(given) else [float(d.free_bytes or d.total_bytes or 1) for d in devices]


def _ours(asked: Asked, devices: Sequence[Usable], slots: int) -> str:
    """Devices by name and whole counts, in proportion to the cards' memory: all that can be said without a plan."""
    sizes = [float(d.total_bytes or d.free_bytes or 0) for d in devices]
    counts = nearest(sizes if all(sizes) else [1.0] * len(devices), slots)
    if not devices:
        return "--device none -ngl 0"
    comma = "/" if asked.is_bench else ","
    flag = "-dev" if asked.is_bench else "--device"
    names = comma.join(d.name for d in devices)
    return f"{flag} {names} -ts {comma.join(map(str, counts))} -ngl 999"
