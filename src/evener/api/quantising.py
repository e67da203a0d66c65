"""`evener models quantise`: another quantisation of a model that is here, made with the engine in use."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path

from evener.api import engines, models
from evener.edges.local_shell import LocalShell
from evener.errors import EngineMissing
from evener.models import quantise as quantising
from evener.models.parts import all_parts
from evener.ports import Report
from evener.state import models_folder

PROGRAM = "llama-quantize"
LOSSLESS = ("F32", "F16", "BF16")


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantised:
    """What `evener models quantise` left behind, or found."""

    path: str
    quantisation: str  # as it was asked for
    bytes: int
    source: str  # the file that it was made of
    was_there: bool  # made before
    again: bool  # the source was quantised already: what it had lost stays lost


async def quantise(model: str, kind: str, *, report: Report) -> Quantised:
    """`model`, by any name of a model that is here, as `kind`. Raises ModelMissing, NameUnknown, EngineError."""
    kind = quantising.require_type(kind)
    parts = await _parts(model)
    sha256 = await models.sha256([str(part) for part in parts], report=report)
    before = models_folder() / quantising.file_name(parts[0].name, kind, sha256=sha256)
    was_there = before.is_file()
    path = before
    if not was_there:
        path = await quantising.quantise(
            LocalShell(models.HERE), await _program(), parts, kind, sha256=sha256, folder=models_folder(), report=report
        )
    source = await models.weights(str(parts[0]))
    return Quantised(
        path=str(path),
        quantisation=kind,
        bytes=path.stat().st_size,
        source=str(parts[0]),
        was_there=was_there,
        again=source.quantisation not in LOSSLESS,
    )


async def made(model: str, kind: str, *, report: Report) -> str | None:
    """The path of what `quantise` would leave, where it is there already; None where it has yet to be made."""
    kind = quantising.require_type(kind)
    parts = await _parts(model)
    sha256 = await models.sha256([str(part) for part in parts], report=report)
    path = models_folder() / quantising.file_name(parts[0].name, kind, sha256=sha256)
    return str(path) if path.is_file() else None


async def predicted_bytes(model: str, kind: str) -> int:
    """How large it would be, as the engine says. Raises what `quantise` raises."""
    parts = await _parts(model)
    return await quantising.quantised_bytes(
        LocalShell(models.HERE), await _program(), parts[0], quantising.require_type(kind)
    )


async def _parts(model: str) -> tuple[Path, ...]:
    return await asyncio.to_thread(all_parts, Path(await models.locate(model)))


async def _program() -> str:
    program = (await engines.find()).folder / PROGRAM
    if not program.is_file():
        raise EngineMissing(
            f"{program}: this engine came without {PROGRAM}", hint="evener engine install builds one that has it"
        )
    return str(program)
