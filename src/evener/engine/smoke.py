"""Prove that an engine works on this host: one generated token, and every GPU of the driver seen."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath

from evener import files
from evener.dialects import llama_build
from evener.dialects.llama_build import BENCH, BenchRow
from evener.engine.capability import ask, capability, devices
from evener.engine.host import Gpu
from evener.engine.tiny_model import tiny_model
from evener.errors import EngineUnfit
from evener.ports import Shell
from evener.records.capability import EngineCheck, EngineDevice

_OWN_FOLDER = 'd=$(mktemp -d "${TMPDIR:-/tmp}/evener-XXXXXX") && cat >"$d/tiny.gguf" && echo "$d"'
WITHIN_S = 900.0  # a large model may be read from a slow disk


async def check(shell: Shell, folder: PurePath, *, gpus: Sequence[Gpu], model: str | None = None) -> EngineCheck:
    """Version, flags, one token (of `model`, else of a tiny one of ours), devices against the driver's `gpus`.

    Raises EngineMissing or EngineUnfit when it cannot run at all; everything else is a problem in the answer.
    """
    able = await capability(shell, folder)
    token = await generate_one(shell, folder, model=model)
    seen = await devices(shell, folder)
    unseen = unseen_gpus(gpus, seen)
    problems = tuple(f"lacks {what}" for what in able.lacks) + tuple(
        f"{name}: the driver shows it, this engine ({', '.join(token.backends)}) does not" for name in unseen
    )
    return EngineCheck(
        folder=str(folder),
        capability=able,
        backends=token.backends,
        token_ms=token.token_ms,
        devices=seen,
        unseen=unseen,
        problems=problems,
        ok=not problems,
    )


async def generate_one(shell: Shell, folder: PurePath, *, model: str | None = None) -> BenchRow:
    """Generate one token with llama-bench, of `model`, a path on that host. Raises EngineUnfit when none comes."""
    if model is not None:
        return await _bench(shell, folder, model)
    own = (await files.must(shell, _OWN_FOLDER, stdin=tiny_model(), what="write a tiny model")).strip()
    try:
        return await _bench(shell, folder, f"{own}/tiny.gguf")
    finally:
        await files.remove(shell, own)


async def _bench(shell: Shell, folder: PurePath, model: str) -> BenchRow:
    arguments = ("-m", model, "-p", "0", "-n", "1", "-r", "1", "-o", "json")
    done = await ask(shell, folder, BENCH, *arguments, within_s=WITHIN_S)
    row = llama_build.bench_row(done.stdout)
    if done.code != 0 or row is None:
        said = [line for line in done.stderr.splitlines() if line.strip()]
        raise EngineUnfit(
            f"{folder}/{BENCH}: no token came ({said[-1] if said else f'it ended with {done.code}'})",
            hint="evener engine install",
        )
    return row


def unseen_gpus(gpus: Sequence[Gpu], seen: Sequence[EngineDevice]) -> tuple[str, ...]:
    """Names of the driver's GPUs that the engine does not list; two equal cards are two. Intel graphics does not count.

    The engine may say less than the driver ("GeForce RTX 5090") or more ("AMD Radeon RX 7900 XTX (RADV NAVI31)"), so
    equal names are paired first: a 5060 must not be taken for a 5060 Ti that is there too.
    """
    listed = [device.description.casefold() for device in seen]
    missing = [gpu.name for gpu in gpus if gpu.driver and gpu.vendor != "intel"]
    for alike in (str.__eq__, _one_holds_the_other):
        for name in tuple(missing):
            twin = next((text for text in listed if alike(text, name.casefold())), None)
            if twin is not None:
                listed.remove(twin)
                missing.remove(name)
    return tuple(missing)


def _one_holds_the_other(a: str, b: str) -> bool:
    return a in b or b in a
