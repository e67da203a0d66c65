"""What somebody's llama.cpp command does beside its split, one line each. Pure text; knows names of devices only.

Source: common/arg.cpp, src/llama.cpp and src/llama-model.cpp of build 11434; engine facts A, B and C.6.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from evener.dialects.llama_command import Asked

MOST_VALUES = 15  # of -ts: one less than llama_max_devices()
VISIBLE = ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "GGML_VK_VISIBLE_DEVICES")


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """One device in the order of use: the value that lands on it, and the slots that this really gives."""

    position: int  # in the order of use, from 0
    device: str  # as the engine calls it
    card: str  # for people: "host/card" where the rig is known, else as --list-devices describes it
    value: float | None  # of -ts; None where there is none for it
    slots: int  # layers, the output head among them
    holds_head: bool  # whether the output head is here


def is_remote(name: str) -> bool:
    return name.upper().startswith("RPC")


def nearest(split: Sequence[float], slots: int) -> tuple[int, ...]:
    """Whole counts nearest to the shares: the largest remainders get what is left."""
    exact = [value / sum(split) * slots for value in split]
    counts = [int(value) for value in exact]
    by_remainder = sorted(range(len(split)), key=lambda i: counts[i] - exact[i])
    for i in by_remainder[: slots - sum(counts)]:
        counts[i] += 1
    return tuple(counts)


def warnings(asked: Asked, named: Sequence[str], places: Sequence[Place], slots: int) -> Iterator[str]:
    """`named` are the devices that it could use, `places` where its layers go."""
    yield from _workers(asked, named)
    if asked.split_mode in (None, "layer"):
        yield from _split(asked, places)
    else:
        yield from _other_modes(asked, named)
    yield from _left_to_the_cpu(asked, places, slots)
    yield from _overrides(asked)
    yield from _settings(asked)


def _workers(asked: Asked, named: Sequence[str]) -> Iterator[str]:
    remote = [name for name in named if is_remote(name)]
    if asked.devices is None and remote:
        yield "no --device: remote devices come first, whatever --list-devices shows"
    if remote and not asked.rpc:
        yield f"no --rpc: without it the engine knows no {remote[0]}"
    if len(asked.rpc) > 1:
        yield f"RPC numbers count through --rpc as it is given: RPC0 is on {asked.rpc[0]}"
    if asked.device_before_rpc:
        yield "--device stands before --rpc: the engine reads from the left, and does not know these devices yet"
    if doubled := next((one for one in asked.rpc if asked.rpc.count(one) > 1), None):
        yield f"--rpc names {doubled} more than once: it is one worker, registered once"


def _split(asked: Asked, places: Sequence[Place]) -> Iterator[str]:
    devices, split = len(places), asked.split or ()
    if asked.tests > 1:
        yield (
            f"in llama-bench a comma starts another test: these are {asked.tests}, the first is shown; "
            "separate devices by /"
        )
    if len(split) > MOST_VALUES:
        yield f"{len(split)} values: the engine takes at most {MOST_VALUES} and will not start"
    if split and len(split) != devices:
        values = f"{len(split)} value{'s' * (len(split) != 1)} for {devices} device{'s' * (devices != 1)}"
        yield f"{values}: missing ones are 0, surplus ones are ignored"
    used, offloaded = split[:devices], sum(place.slots for place in places)
    if any(used) and (wanted := nearest(used, offloaded)) != (got := tuple(p.slots for p in places[: len(used)])):
        really, meant = (",".join(map(str, counts)) for counts in (got, wanted))
        yield f"-ts {asked.split_text} gives {really} layers, not the {meant} that its shares come nearest to"
    if split and not any(used) and devices:
        yield f"-ts {asked.split_text}: all zero, so the engine splits by free memory"
    if any(used) and 0 in used:
        yield "a device with value 0 gets no layer and is still initialised: leave it out of --device"
    if asked.main_gpu is not None and devices > 1:
        yield f"--main-gpu {asked.main_gpu} changes nothing here: it counts with -sm none"
    said = asked.split or asked.gpu_layers is not None or asked.overrides or asked.experts_in_ram
    if asked.fit and devices and not said:
        yield "neither -ts nor -ngl: the engine's own --fit may move layers until they fit; -fit off stops that"


def _other_modes(asked: Asked, named: Sequence[str]) -> Iterator[str]:
    remote = any(map(is_remote, named))
    if asked.split_mode == "none" and len(named) > 1:
        yield "-sm none uses one device (--main-gpu, else the first) for everything: the split has no effect"
    if asked.split_mode == "row" and remote:
        yield "-sm row does not work with remote devices: the load will fail"
    elif asked.split_mode == "row":
        yield (
            "-sm row cuts every matrix over all CUDA cards, by -ts in the order of their CUDA numbers whatever "
            "--device says; the layers shown are where caches and norms are"
        )
    if asked.split_mode == "tensor":
        network = " over a network: megabytes for each token" if remote else ""
        yield f"-sm tensor puts a part of every layer on every device{network}"


def _left_to_the_cpu(asked: Asked, places: Sequence[Place], slots: int) -> Iterator[str]:
    if asked.split_mode == "none" and asked.main_gpu is not None and asked.main_gpu < 0:
        yield f"--main-gpu {asked.main_gpu}: no device is used, all layers stay on the head's CPU"
    elif asked.gpu_layers is not None and asked.gpu_layers < slots:
        kept = "all" if asked.gpu_layers == 0 else f"the first {slots - asked.gpu_layers} of {slots}"
        yield f"-ngl {asked.gpu_layers}: {kept} layers stay on the head's CPU"
    for flag, blocks, what in (
        ("-ncmoe", asked.experts_in_ram, "experts"),
        ("-ncffn", asked.dense_in_ram, "dense feed-forwards"),
    ):
        if blocks:
            yield f"{flag} {blocks}: the {what} of the first {blocks} layers stay in the head's RAM, wherever these go"
    if asked.all_experts_in_ram:
        yield "-cmoe: all experts stay in the head's RAM, whatever the layers' devices are"
    overridden = asked.experts_in_ram or asked.dense_in_ram or asked.all_experts_in_ram or asked.overrides
    if overridden and len(places) > 1:
        yield "a tensor override switches pipeline copies off: buffers are smaller, and batches do not overlap"


def _overrides(asked: Asked) -> Iterator[str]:
    for part in (asked.overrides or "").split(",") if asked.overrides is not None else ():
        pattern, equals, where = part.rpartition("=")
        if not equals or not pattern or not where:
            yield f"-ot {part or '(nothing)'}: the engine wants PATTERN=BUFFER"
            continue
        yield f"-ot: tensors whose names match {pattern} go to {where}, whatever the layers' devices are"
        if pattern.replace("\\.", ".").removesuffix("$") == "output.weight":
            yield r"-ot output\.weight is also found in attn_output.weight of every layer: write ^output\.weight$"
        if is_remote(where) and "[" not in where:
            yield f"-ot ...={where}: a worker's buffer is called RPC0[host:port], and counts from 0 for each worker"


def _settings(asked: Asked) -> Iterator[str]:
    for name, value in asked.settings.items():
        if name in VISIBLE:
            yield (
                f"{name}={value} hides and renumbers the head's cards: the table counts as if it were not there, or as "
                "the pasted --list-devices was printed"
            )
        elif name.startswith("LLAMA_ARG_"):
            yield f"{name} is an option too: it is not looked at here"
