"""Models for the faces: bring one here, carry one there, list what a host has, find one by name, say what it is."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from evener import files
from evener.dialects import hf_hub
from evener.edges import ssh_command
from evener.edges.download import HttpDownloads
from evener.edges.local_shell import LocalShell
from evener.edges.ssh_shell import SshShell
from evener.errors import ConfigurationError
from evener.fetching import is_url
from evener.models import hashes, shelf, skeletons, stores
from evener.models import push as pushing
from evener.models.demo import fetch_demo
from evener.models.fetch import fetch_url, part_urls
from evener.models.hub import fetch_hub, find_hub
from evener.models.parts import Opened, all_parts, open_model
from evener.models.projector import projector_of
from evener.models.push import Pushed, Way
from evener.models.remote import open_remote
from evener.models.shelf import Held
from evener.models.show import Shown, shown
from evener.models.skeletons import CatalogueEntry
from evener.models.stores import Stored
from evener.ports import Report, Shell
from evener.records.rig import Host
from evener.records.weights import Projector, Weights
from evener.state import models_folder

HERE = "this machine"
MOST_TOKENS_APART = 128  # SPEC_VOCAB_MAX_SIZE_DIFFERENCE: the engine refuses a draft model further off


async def fetch(what: str, *, sha256: str | None = None, report: Report) -> str:
    """Bring `what` here: hf:org/repo:QUANT, a URL, `demo`, or a path, which stays where it is. Its first file's path.

    Raises ModelMissing, FetchFailed, BadHeader.
    """
    if is_url(what):
        return str(await fetch_url(HttpDownloads(), what, folder=models_folder(), report=report, sha256=sha256))
    if sha256:
        raise ConfigurationError("--sha256 is for URLs: other hashes are known, and a path stays as it is")
    if hf_hub.is_name(what):
        return str(await fetch_hub(HttpDownloads(), what, folder=models_folder(), environ=os.environ, report=report))
    if what.lower() == shelf.DEMO_NAME:
        return str(await fetch_demo(LocalShell(HERE), environ=os.environ, folder=models_folder(), report=report))
    return await locate(what)


async def held() -> tuple[Held, ...]:
    """What this machine has: our own folder first, then other programs' stores."""
    found = await _stored_here()
    return await asyncio.to_thread(shelf.held_here, found)


async def held_on(host: Host, shell: Shell) -> tuple[Held, ...]:
    """What a host of the rig has. Raises HostError."""
    if isinstance(shell, LocalShell):
        found = await asyncio.to_thread(shelf.held_here, await _stored_here(host.models))
        return tuple(replace(one, host=host.name) for one in found)
    return shelf.held_there(host.name, await _stored_on(host, shell))


async def locate(name: str) -> str:
    """The path of the first part of the model that `name` means, all parts being there. Raises ModelMissing."""
    found = await _find(name)
    return str((await asyncio.to_thread(all_parts, found.path))[0])


async def weights(name: str) -> Weights:
    """The facts of a model, by any name that `opened` takes. Raises ModelMissing, FetchFailed, BadHeader."""
    found = await opened(name)
    return await asyncio.to_thread(found.weights)


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """What stands beside a model, opened: the projector that it sees with, the model that drafts for it."""

    projector: Projector | None = None
    draft: Opened | None = None

    def of(self, weights: Weights) -> Weights:
        """The model with both. Raises ConfigurationError for a draft model that speaks other tokens."""
        if self.draft is None:
            return replace(weights, projector=self.projector)
        draft = self.draft.weights()
        if abs(draft.vocabulary - weights.vocabulary) > MOST_TOKENS_APART:
            raise ConfigurationError(
                f"--draft {draft.name}: {draft.vocabulary} tokens, and {weights.name} has {weights.vocabulary}",
                hint="a draft model of the same family has the same vocabulary",
            )
        return replace(weights, projector=self.projector, draft=draft)


async def beside(mmproj: str | None, draft: str | None) -> Beside:
    """Open both, by any name that `opened` takes. Raises ModelMissing, FetchFailed, BadHeader."""
    found = None if mmproj is None else await opened(mmproj)
    return Beside(
        projector=projector_of(found.paths[0], found.headers[0]) if found else None,
        draft=None if draft is None else await opened(draft),
    )


async def opened(name: str) -> Opened:
    """A model's headers: of a file here, of one behind a URL or hf:org/repo:QUANT, or out of the catalogue.

    What is here goes before the catalogue. Raises ModelMissing, FetchFailed, BadHeader.
    """
    if is_url(name):
        return await open_remote(HttpDownloads(), part_urls(name))
    if hf_hub.is_name(name):
        urls, headers = await find_hub(HttpDownloads(), name, environ=os.environ)
        return await open_remote(HttpDownloads(), urls, headers=headers)
    here = await asyncio.to_thread(shelf.locate, name, models_folder())
    if here is None and (known := await asyncio.to_thread(skeletons.find, name)) is not None:
        return known
    found = await _find(name)
    read = await asyncio.to_thread(open_model, found.path)
    return replace(read, called=found.called)


async def alternatives(mine: Weights) -> tuple[Weights, ...]:
    """The catalogue's models a step of bits apart, and all quantisations of `mine`, for a plan that looks around."""
    return await asyncio.to_thread(skeletons.alternatives, mine)


async def catalogue() -> tuple[CatalogueEntry, ...]:
    """Models whose headers are shipped, the smallest first."""
    return await asyncio.to_thread(lambda: tuple(map(skeletons.entry, skeletons.everything())))


def catalogue_names() -> tuple[str, ...]:
    """Names of the catalogue, in lower case."""
    return skeletons.names()


async def show(name: str, *, tensors: bool = False, metadata: bool = False) -> Shown:
    """What the header of a model says. Raises ModelMissing, FetchFailed, BadHeader."""
    found = await opened(name)
    return await asyncio.to_thread(lambda: shown(found, tensors=tensors, metadata=metadata))


async def sha256(paths: Sequence[str], *, report: Report) -> str:
    """The identity of a model: its file's hash, or one made of the hashes of its parts. At once for a known file."""
    return await hashes.sha256_of_all(paths, report=report)


async def where(model: str, host: Host, shell: Shell) -> str | None:
    """The path of a model on a host, its first part: the same path as here, or a file of that name and size; else None.

    `model` is a name or path here. Raises ModelMissing when it is not even here, HostError.
    """
    paths = await asyncio.to_thread(all_parts, (await _find(model)).path)
    if isinstance(shell, LocalShell):
        return str(paths[0])
    sizes = {str(path): path.stat().st_size for path in paths}
    if {one.path: one.bytes for one in (await files.entries(shell, list(sizes))).values()} == sizes:
        return str(paths[0])
    size = sum(sizes.values())
    called = stores.named(paths[0].name, await _stored_on(host, shell))
    return next((one.path for one in called if (one.bytes, len(one.paths)) == (size, len(paths))), None)


async def push(model: str, host: Host, shell: Shell, *, report: Report) -> Pushed:
    """Carry a model of this machine to the models folder of a host. Raises ModelMissing, HostError."""
    paths = await asyncio.to_thread(all_parts, (await _find(model)).path)
    folder = await _own_folder(host, shell)
    return await pushing.push(LocalShell(HERE), shell, paths, folder=folder, rsync=_by_rsync(shell), report=report)


def _by_rsync(shell: Shell) -> Way | None:
    """How rsync reaches a shell's host: by the ssh of our shells, on a connection of its own. It knows no ssh://
    address, and takes one that begins with "-" for an option of ssh."""
    if isinstance(shell, LocalShell):
        return Way()
    if not isinstance(shell, SshShell) or "://" in shell.target or shell.target.startswith("-"):
        return None
    ours = {**ssh_command.OPTIONS, "ControlMaster": "no", "ControlPath": "none"}
    options = [word for key, value in ours.items() for word in ("-o", f"{key}={value}")]
    ssh = " ".join(["ssh", "-T", "-a", "-x", *options])
    return Way(to=f"{shell.target}:", ssh=ssh, env=ssh_command.environment())


class _Found(NamedTuple):
    path: Path
    called: str | None  # where the file's own name says nothing


async def _find(name: str) -> _Found:
    if path := await asyncio.to_thread(shelf.locate, name, models_folder()):
        return _Found(path, None)
    found = await _stored_here()
    called = stores.named(name, found)
    if not called:
        raise shelf.no_such(name, [*(model.name for model in found), *skeletons.names()])
    model = shelf.only(name, called)
    return _Found(Path(model.path), model.name if model.store == "ollama" else None)


async def _stored_here(*more: str | None) -> tuple[Stored, ...]:
    own = [str(models_folder()), *(str(Path(folder).expanduser()) for folder in more if folder)]
    return await _walk(LocalShell(HERE), str(Path.home()), environ=os.environ, own=own)


async def _stored_on(host: Host, shell: Shell) -> tuple[Stored, ...]:
    own = dict.fromkeys([await _own_folder(host, shell), f"{await files.cache_folder(shell)}/models"])
    return await _walk(shell, await files.expanded(shell, "~"), environ={}, own=list(own))


async def _walk(shell: Shell, home: str, *, environ: Mapping[str, str], own: Sequence[str]) -> tuple[Stored, ...]:
    return await stores.stored(shell, stores.places(home, environ=environ, own=own))


async def _own_folder(host: Host, shell: Shell) -> str:
    """Where a host's models are kept: as the rig file says, else in evener's cache there."""
    if host.models:
        return str(PurePosixPath(await files.expanded(shell, host.models)))
    return str(models_folder()) if isinstance(shell, LocalShell) else f"{await files.cache_folder(shell)}/models"
