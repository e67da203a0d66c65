"""Models for the faces: bring one here, list what is here, find one by name, say what its header says."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from evener.edges.download import HttpDownloads
from evener.edges.local_shell import LocalShell
from evener.errors import ConfigurationError
from evener.fetching import is_url
from evener.models import shelf
from evener.models.demo import fetch_demo
from evener.models.fetch import fetch_url
from evener.models.parts import all_parts, open_model
from evener.models.shelf import Held
from evener.models.show import Shown, shown
from evener.ports import Report
from evener.records.weights import Weights
from evener.state import models_folder


async def fetch(what: str, *, sha256: str | None = None, report: Report) -> str:
    """Bring `what` here: a URL, `demo`, or a path, which stays where it is. The path of its (first) file.

    Raises ModelMissing, FetchFailed, BadHeader.
    """
    if is_url(what):
        return str(await fetch_url(HttpDownloads(), what, folder=models_folder(), report=report, sha256=sha256))
    if sha256:
        raise ConfigurationError("--sha256 is for URLs: the demo model's hash is known, and a path stays as it is")
    if what.lower() == shelf.DEMO_NAME:
        return str(
            await fetch_demo(
                LocalShell("local"), python=sys.executable, environ=os.environ, folder=models_folder(), report=report
            )
        )
    return await locate(what)


async def held() -> tuple[Held, ...]:
    """What the models folder holds."""
    return await asyncio.to_thread(shelf.held, models_folder())


async def locate(name: str) -> str:
    """The path of the first part of the model that `name` means, all parts being there. Raises ModelMissing."""
    return await asyncio.to_thread(lambda: str(all_parts(_find(name))[0]))


async def weights(name: str) -> Weights:
    """The facts of a model, by name or path. Raises ModelMissing, BadHeader."""
    return await asyncio.to_thread(lambda: open_model(_find(name)).weights())


async def show(name: str, *, tensors: bool = False, metadata: bool = False) -> Shown:
    """What the header of a model says. Raises ModelMissing, BadHeader."""
    return await asyncio.to_thread(lambda: shown(open_model(_find(name)), tensors=tensors, metadata=metadata))


def _find(name: str) -> Path:
    return shelf.locate(name, models_folder())
