"""Official llama.cpp release archives: their names, where they are, and taking the engine out of one. Fetches nothing.

Source of the names: .github/workflows/release.yml and release-publish.yml in the source of build 11434.
"""

from __future__ import annotations

import lzma
import re
import shutil
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Final, get_args

from evener.dialects.llama_build import PROGRAMS, SERVER
from evener.engine.landing import is_library
from evener.errors import EngineBuildFailed, EngineError
from evener.records.capability import Backend

RELEASES: Final = "https://github.com/ggml-org/llama.cpp/releases/download"
MOST_BYTES: Final = 16 << 30  # unpacked; a CUDA release with its libraries takes about 2 GiB

_MACHINES = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64", "arm64": "arm64"}
# CUDA 12.8 knows every card from Maxwell to Blackwell and works with any driver from 525 on.
_KINDS: dict[tuple[str, str, Backend], str] = {
    ("Linux", "x64", "cpu"): "ubuntu-x64",
    ("Linux", "x64", "vulkan"): "ubuntu-vulkan-x64",
    ("Linux", "x64", "cuda"): "ubuntu-cuda-12.8-x64",
    ("Linux", "x64", "rocm"): "ubuntu-rocm-10.0-x64",
    ("Linux", "arm64", "cpu"): "ubuntu-arm64",
    ("Linux", "arm64", "vulkan"): "ubuntu-vulkan-arm64",
    ("Linux", "arm64", "cuda"): "ubuntu-cuda-13.4-arm64",
    ("Darwin", "arm64", "metal"): "macos-arm64",
    ("Darwin", "x64", "cpu"): "macos-x64",
}
_NAME = re.compile(r"(?:llama|cudart-llama)-(?:b(\d+)-)?bin-([a-z]+)-(.+?)\.(?:tar\.gz|tgz|zip)")
_DAMAGED = (tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError)
_SYSTEMS = {"ubuntu": "Linux", "linux": "Linux", "macos": "Darwin", "win": "Windows"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """What an archive's name says. `backend` is None for one that evener does not know (sycl, openvino)."""

    build: int | None
    system: str
    machine: str  # "x64", "arm64"
    backend: Backend | None


def official(
    backend: Backend, *, system: str, machine: str | None, build: int, base: str = RELEASES
) -> tuple[str, ...]:
    """Where the archives of one build are: the engine's, and for CUDA that of the libraries it needs beside it.

    Raises EngineError when the project publishes none for this system, machine and backend.
    """
    kind = _KINDS.get((system, _MACHINES.get(machine or "", ""), backend))
    if kind is None:
        raise EngineError(
            f"no official release for {backend} on {system} {machine or 'of an unknown machine'}",
            hint="evener engine install builds it",
        )
    engine = f"llama-b{build}-bin-{kind}.tar.gz"
    names = (engine, f"cudart-{engine}") if backend == "cuda" else (engine,)
    return tuple(f"{base}/b{build}/{name}" for name in names)


def read_name(file_name: str) -> Release | None:
    """Read "llama-b11434-bin-ubuntu-vulkan-x64.tar.gz"; None for another name."""
    found = _NAME.fullmatch(file_name)
    if found is None or found[2] not in _SYSTEMS:
        return None
    words = found[3].split("-")
    return Release(
        build=int(found[1]) if found[1] else None,
        system=_SYSTEMS[found[2]],
        machine=next((word for word in words if word in ("x64", "arm64", "s390x")), "x64"),
        backend=_backend(found[2], words),
    )


def _backend(system: str, words: list[str]) -> Backend | None:
    if system == "macos":
        return "metal" if "arm64" in words else "cpu"
    said = next((word for word in words if word.isalpha() and word != "cpu"), "cpu")
    return next((backend for backend in get_args(Backend) if backend == said), None)


def demand_fit(release: Release, *, name: str, system: str, machine: str | None) -> Backend:
    """The backend. Raises EngineError for an archive of another system or machine, or of an unknown backend."""
    here = _MACHINES.get(machine or "", machine)
    if release.system != system or (here is not None and release.machine != here):
        raise EngineError(
            f"{name} is for {release.system} {release.machine}, this host is {system} {here}",
            hint="evener engine install --from official finds the right one",
        )
    if release.backend is None:
        raise EngineError(f"{name}: evener knows no such backend", hint=f"it knows {', '.join(get_args(Backend))}")
    return release.backend


def is_engine(archive: Path) -> bool:
    """Whether an archive holds compiled programs, and not their source."""
    with _opened(archive) as members:
        return any(PurePosixPath(member.name).name == SERVER and not member.is_link for member in members)


def unpack(archive: Path, into: Path) -> None:
    """Put the programs and libraries of the archive into one folder, all in one level.

    Taken are plain files, and links to a file beside them; everything else is left out, whatever its path says.
    Blocking. Raises EngineBuildFailed when it is no archive, is damaged, or claims to be larger than MOST_BYTES.
    """
    into.mkdir(parents=True, exist_ok=True)
    written = 0
    with _opened(archive) as members:
        for member in members:
            name = PurePosixPath(member.name).name
            if name not in PROGRAMS and not is_library(name):
                continue
            if (written := written + member.size_bytes) > MOST_BYTES:
                raise EngineBuildFailed(f"{archive.name}: more than {MOST_BYTES >> 30} GiB inside")
            _take(member, into / name)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Member:
    """A file or link of either kind of archive."""

    name: str
    size_bytes: int
    is_link: bool
    content: IO[bytes] | None
    target: str = ""


def _take(member: _Member, path: Path) -> None:
    path.unlink(missing_ok=True)
    if member.is_link:
        if PurePosixPath(member.target).name == member.target and is_library(member.target):
            path.symlink_to(member.target)
        return
    assert member.content is not None
    with member.content, path.open("xb") as file:
        shutil.copyfileobj(member.content, file, 1 << 20)
    path.chmod(0o755)


@contextmanager
def _opened(archive: Path) -> Iterator[Iterator[_Member]]:
    try:
        if zipfile.is_zipfile(archive):
            with zipfile.ZipFile(archive) as zipped:
                yield _zip_members(zipped)
        else:
            with tarfile.open(archive) as tar:
                yield _tar_members(tar)
    except (*_DAMAGED, OSError, EOFError, ValueError, NotImplementedError) as error:
        why = (str(error).splitlines() or [type(error).__name__])[0].rstrip(":")
        raise EngineBuildFailed(f"cannot unpack {archive.name}: {why}") from error


def _tar_members(tar: tarfile.TarFile) -> Iterator[_Member]:
    for member in tar:
        if member.isfile() or member.issym():
            yield _Member(
                name=member.name,
                size_bytes=member.size,
                is_link=member.issym(),
                content=tar.extractfile(member) if member.isfile() else None,
                target=member.linkname,
            )


def _zip_members(zipped: zipfile.ZipFile) -> Iterator[_Member]:
    for info in zipped.infolist():
        if info.is_dir():
            continue
        link = stat.S_ISLNK(info.external_attr >> 16)
        target = zipped.read(info).decode(errors="replace") if link and info.file_size < 4096 else ""
        yield _Member(
            name=info.filename, size_bytes=info.file_size, is_link=link, content=zipped.open(info), target=target
        )
