"""Bring one file here, over HTTP or by pip: checked, in its place all at once or not at all. Knows no file format.

What an interrupted fetch leaves is one `.part` file, whose name carries the server's version of the content, so that
the next fetch never joins pieces of two files.
"""

from __future__ import annotations

import asyncio
import errno
import fcntl
import hashlib
import os
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

from evener.dialects import pip
from evener.errors import EvenerError, FetchFailed, ModelMissing
from evener.ports import Body, Downloads, Report, Shell
from evener.records.events import Progress

ATTEMPTS = 4  # without a byte of progress between them
PAUSE_S = 1.0
LOGIN_HINT = "it wants a login: download the file by hand and give its path"

Prove = Callable[[Path], None]


def is_url(text: str) -> bool:
    return text.lower().startswith(("http://", "https://"))


async def fetch_with_pip(
    shell: Shell,
    requirement: str,
    name: str,
    *,
    what: str,
    into: Path,
    binary: bool,
    environ: Mapping[str, str],
    report: Report,
) -> tuple[Path | None, str]:
    """(the file `name` in `into`, or None; why not). `requirement` is one line that only this file satisfies.

    `environ` is ours, of which pip gets what it needs.
    """
    requirements = into / "requirements.txt"
    requirements.write_text(requirement)
    project = requirement.partition("==")[0]
    argv = pip.download_argv(sys.executable, project, requirements=str(requirements), into=str(into), binary=binary)
    report(Progress(what=what, detail=name))
    child = await shell.start(argv, env=pip.environment(environ))
    said: list[str] = []
    try:
        async for line in child.lines():
            if at := pip.progress(line, what=what):
                report(replace(at, detail=name))
            else:
                said.append(line)
        code = await child.wait()
    finally:
        await child.stop()
    arrived = into / name
    if code == 0 and arrived.is_file():
        return arrived, ""
    return None, pip.complaint(said) or f"pip ended with {code}"


async def fetch_file(
    downloads: Downloads,
    url: str,
    target: Path,
    *,
    report: Report,
    sha256: str | None = None,
    headers: Mapping[str, str] | None = None,
    prove: Prove | None = None,
    pause_s: float = PAUSE_S,
) -> Path:
    """The file behind `url` at `target`, whose folder exists. `prove` looks at the complete file before it lands.

    `headers` go to the URL's own server and to no other that it redirects to.
    Raises FetchFailed, ModelMissing (the server has no such file), or what `prove` raises.
    """
    if target.exists() and sha256:
        await _check_sha256(target, sha256)
        return target
    failures = 0
    while True:
        before = _size(_remains(target))
        try:
            await _advance(
                downloads, url, target=target, headers=headers or {}, report=report, sha256=sha256, prove=prove
            )
            return target
        except _BrokenOff as broken:
            failures = 0 if _size(_remains(target)) > before else failures + 1
            if failures == ATTEMPTS:
                raise FetchFailed(broken.message, hint="the same command goes on where it stopped") from broken
            await asyncio.sleep(pause_s * (failures + 1))


class _BrokenOff(FetchFailed):
    """Worth another try; what came is kept."""


async def _advance(
    downloads: Downloads,
    url: str,
    *,
    target: Path,
    headers: Mapping[str, str],
    report: Report,
    sha256: str | None,
    prove: Prove | None,
) -> None:
    """Fetch what is missing and land it, the part being ours all the time. Nothing when the target is the same file."""
    remains = _remains(target)
    have = _size(remains)
    start = max(have - 1, 0)  # one byte again: asked for nothing more, a server says 416 and not how much there is
    async with downloads.open(url, start=start, headers=headers) as body:
        _check_answer(body, url)
        if target.exists():
            _check_same(target, body, url)
            return
        part = _part_path(target, body)
        if remains not in (None, part) or body.start > start:
            if remains is not None:
                _discard(remains)
            if body.start:
                raise _BrokenOff(f"{url}: the file has changed on the server")
        try:
            with _open_part(part) as file:
                if target.exists():  # another fetch has landed it since we looked
                    part.unlink()
                    _check_same(target, body, url)
                    return
                if not body.start and have:
                    file.truncate(0)
                await _receive(body, file, have=have, url=url, name=target.name, report=report)
                await _land(part, target, sha256=sha256, prove=prove)
        except OSError as error:
            raise _cannot_write(part, url, error) from error


def _part_path(target: Path, body: Body) -> Path:
    version = f"{body.version}|{body.total_bytes}".encode()
    return target.with_name(f"{target.name}.{hashlib.sha256(version).hexdigest()[:12]}.part")


def _remains(target: Path) -> Path | None:
    parts = [
        path for path in target.parent.iterdir() if path.name.startswith(f"{target.name}.") and path.suffix == ".part"
    ]
    return max(parts, key=_modified, default=None)


def _modified(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except FileNotFoundError:  # it has landed meanwhile
        return 0.0


def _size(path: Path | None) -> int:
    try:
        return path.stat().st_size if path else 0
    except FileNotFoundError:
        return 0


def _check_answer(body: Body, url: str) -> None:
    if body.status in (200, 206):
        return
    if body.status in (404, 410):
        raise ModelMissing(f"{url}: the server has no such file (HTTP {body.status})")
    if body.status in (416, 429) or body.status >= 500:
        raise _BrokenOff(f"{url}: the server answered HTTP {body.status}")
    hint = LOGIN_HINT if body.status in (401, 403) else None
    raise FetchFailed(f"{url}: the server answered HTTP {body.status}", hint=hint)


def _check_same(target: Path, body: Body, url: str) -> None:
    have = target.stat().st_size
    if body.total_bytes not in (None, have):
        raise FetchFailed(
            f"{target}: is there with {have} bytes, and {url} has {body.total_bytes}",
            hint="another model of the same name? move or delete the one you have",
        )


def _open_part(part: Path) -> BinaryIO:
    """The part, ours alone: two fetches of one file would interleave."""
    file = part.open("ab")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if not _is_still(file, part):  # what we have locked is the target by now
            raise BlockingIOError
    except BlockingIOError:
        file.close()
        raise FetchFailed(
            f"{part.name}: another evener is fetching it", hint="wait for it, then run the same command again"
        ) from None
    return file


def _is_still(file: BinaryIO, part: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file.fileno()), part.stat())
    except FileNotFoundError:
        return False


def _discard(part: Path) -> None:
    """Remove what is left of another version, unless somebody fetches it."""
    with _open_part(part):
        part.unlink()


async def _receive(body: Body, file: BinaryIO, *, have: int, url: str, name: str, report: Report) -> None:
    done, total = body.start, body.total_bytes
    again = have - body.start if body.start else 0
    _check_room(file, url, None if total is None else total - done)
    try:
        async for chunk in body.chunks:
            file.write(chunk[again:])
            again = max(0, again - len(chunk))
            done += len(chunk)
            report(Progress(what=name, done=done, of=total))
    except FetchFailed as failure:
        raise _BrokenOff(f"{failure.message}, after {done} bytes of {total or '?'}") from failure
    file.flush()
    os.fsync(file.fileno())
    if total is not None and done != total:
        raise _BrokenOff(f"{url}: {done} bytes came of {total}")


def _check_room(file: BinaryIO, url: str, wanted_bytes: int | None) -> None:
    free = shutil.disk_usage(Path(file.name).parent).free
    if wanted_bytes is not None and wanted_bytes > free:
        raise FetchFailed(
            f"{url}: needs {wanted_bytes >> 20} MiB more, {Path(file.name).parent} has {free >> 20} MiB free",
            hint="EVENER_CACHE moves the folder to another disk",
        )


def _cannot_write(part: Path, url: str, error: OSError) -> FetchFailed:
    why = "the disk is full" if error.errno in (errno.ENOSPC, errno.EDQUOT) else error.strerror or str(error)
    return FetchFailed(
        f"{url}: cannot write {part}: {why}", hint="make room, then the same command goes on where it stopped"
    )


async def _land(part: Path, target: Path, *, sha256: str | None, prove: Prove | None) -> None:
    """Check the whole, then give it its name, unless it is taken by now. What is complete and wrong is no use to a
    later fetch: it goes."""
    try:
        if sha256:
            await _check_sha256(part, sha256)
        if prove:
            prove(part)
    except EvenerError:
        part.unlink()
        raise
    try:
        target.hardlink_to(part)
    except FileExistsError:  # of another version, whose part was another
        raise FetchFailed(
            f"{target}: another fetch has landed there meanwhile", hint="run the same command again"
        ) from None
    except OSError:  # a disk without links
        part.rename(target)
        return
    part.unlink()


async def _check_sha256(path: Path, sha256: str) -> None:
    found = await asyncio.to_thread(file_sha256, path)
    if found != sha256.lower():
        raise FetchFailed(f"{path}: sha256 is {found}, not {sha256.lower()}", hint="the link or the hash is wrong")


def file_sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
