"""Runs in one file that can be mailed: a tar of plain files, compressed. The same runs give the same bytes.

Nothing but plain files of the runs themselves goes in, and nothing else comes out: no links, no devices, no absolute
paths, and no more bytes than were allowed. What breaks off leaves nothing behind.
"""

from __future__ import annotations

import filecmp
import gzip
import io
import os
import re
import shutil
import tarfile
import tempfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Any

from evener.edges.record_files import SECRET_NAMES, unwritable
from evener.edges.run_folder import inner_runs, list_runs
from evener.edges.run_store import idle, read_head, rearranging
from evener.errors import ConfigurationError, RunUnreadable

MOST_FILES = 200_000
GZIP, ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"  # how such files begin
_BLOCK, _COPIED = 512, 1 << 20
_DERIVED = ("report.html", "tags")  # what people add to a run: two that differ in it are the same run
# In these every key is ours, and they are the longest.
_NO_STRANGERS_KEYS = ("requests.jsonl", "token_times.jsonl", "telemetry.jsonl")
_SECRET = re.compile(rb'(?:%s)"\s*:\s*"(?!\(secret\)"|")' % SECRET_NAMES.encode(), re.IGNORECASE)
_SHORTEST_SECRET = 8  # characters: a shorter one would be found everywhere
_RUN = re.compile(r"[A-Za-z0-9][\w.-]*")
_LATEST = 1 << 32  # seconds since 1970: a header may say anything
_CONTROL = re.compile(r"[\x00-\x1f\x7f\\]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Packed:
    """A pack that was written."""

    path: str
    bytes: int
    runs: tuple[str, ...]  # as they were named; with all that they hold
    files: int  # how many are in it
    left_out: tuple[str, ...] = ()  # links, and other things that are no plain files


@dataclass(frozen=True, slots=True, kw_only=True)
class Unpacked:
    """What came out of a pack."""

    runs: tuple[str, ...]  # those that are new here
    already: tuple[str, ...] = ()  # those that were here, just the same


@dataclass(frozen=True, slots=True)
class _Entry:
    path: Path
    name: str  # in the pack
    at: int  # seconds since 1970: when its run began, whenever it was copied here


def default_name(runs: Iterable[Path]) -> str:
    """What a pack is called when nobody says it."""
    names = [path.name for path in runs]
    stem = names[0] if len(names) == 1 else f"{names[-1]}-and-{len(names) - 1}-more"
    return f"{stem}.tar.zst" if _has_zstandard() else f"{stem}.tar.gz"


def pack(runs: Iterable[Path], into: Path, *, keys: Mapping[str, str]) -> Packed:
    """Write all files of these runs into one. `keys` are secrets by the names of their variables: none may be in it.

    Raises ConfigurationError for a name that says no compression, or a file that is there; or where a secret stands in
    a run. Raises HostBusy while one of the runs goes on, RunUnreadable for a folder that is none, HostError.
    """
    paths = list(runs)
    _require_name(into, paths)
    entries: list[_Entry] = []
    left_out: list[str] = []
    with ExitStack() as held:
        for path in paths:
            held.enter_context(idle(path))
            _collect(path, entries, left_out)
        for entry in entries:
            _require_no_secret(entry, keys)
        _write(into, sorted(entries, key=lambda entry: entry.name))
    return Packed(
        path=str(into),
        bytes=into.stat().st_size,
        runs=tuple(path.name for path in paths),
        files=len(entries),
        left_out=tuple(left_out),
    )


def _require_name(into: Path, runs: Iterable[Path]) -> None:
    if not into.name.endswith((".tar.gz", ".tar.zst")):
        raise ConfigurationError(f"{into.name} says no compression", hint="end it in .tar.gz or .tar.zst")
    if into.name.endswith(".zst") and not _has_zstandard():
        raise ConfigurationError(f"{into.name} needs the package zstandard", hint="install it, or end it in .tar.gz")
    if into.exists():
        raise ConfigurationError(f"{into} is there already", hint="-o names another file")
    if any(path.resolve() in into.resolve().parents for path in runs):
        raise ConfigurationError(f"{into} would lie in a run that it holds", hint="-o names another place")


def _collect(run: Path, entries: list[_Entry], left_out: list[str]) -> None:
    head, _ = read_head(run)
    if not _RUN.fullmatch(head.id) or any(entry.name.startswith(f"{head.id}/") for entry in entries):
        raise RunUnreadable(f"{run} calls itself {head.id!r}: no name, or another run's", hint="leave it out")
    at = int(head.started_at.timestamp())
    for folder, folders, names in os.walk(run):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in sorted([*folders, *names]):
            path = Path(folder) / name
            inside = f"{head.id}/{path.relative_to(run).as_posix()}"
            if path.is_symlink() or not (path.is_file() or path.is_dir()):
                left_out.append(inside)
            elif path.is_file() and not name.endswith(".part"):
                entries.append(_Entry(path, inside, at))


def _require_no_secret(entry: _Entry, keys: Mapping[str, str]) -> None:
    secrets = {name: value.encode() for name, value in keys.items() if len(value) >= _SHORTEST_SECRET}
    strangers = entry.path.suffix in (".json", ".jsonl") and entry.path.name not in _NO_STRANGERS_KEYS
    if not secrets and not strangers:
        return
    try:
        text = entry.path.read_bytes()
    except OSError as error:
        raise RunUnreadable(f"{entry.path}: {error.strerror or error}") from error
    hint = "take it out, or leave the run out"
    if strangers and (found := _SECRET.search(text)):
        line = text.count(b"\n", 0, found.start()) + 1
        raise ConfigurationError(f"{entry.path}:{line} holds a value under the name of a secret", hint=hint)
    for name, value in secrets.items():
        if value in text:
            raise ConfigurationError(f"{entry.path} holds the value of ${name}", hint=hint)


def _write(into: Path, entries: Iterable[_Entry]) -> None:
    part = into.with_name(f"{into.name}.part")
    try:
        try:
            with part.open("wb") as file, _compressed(file, into.name) as packed:
                for entry in entries:
                    _add(packed, entry)
                packed.write(bytes(2 * _BLOCK))
            part.replace(into)
        except BaseException:
            part.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise unwritable(into, error) from error


def _add(packed: Any, entry: _Entry) -> None:
    with entry.path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        info = tarfile.TarInfo(entry.name)
        info.size, info.mtime, info.mode = size, entry.at, 0o644
        try:
            header = info.tobuf(tarfile.USTAR_FORMAT, "utf-8", "strict")
        except ValueError as error:
            raise ConfigurationError(f"{entry.path} does not fit into a pack: {error}") from error
        packed.write(header)
        shutil.copyfileobj(file, packed, _COPIED)
        packed.write(bytes(-size % _BLOCK))


def _has_zstandard() -> bool:
    try:
        import zstandard  # noqa: F401
    except ImportError:
        return False
    return True


@contextmanager
def _compressed(file: IO[bytes], name: str) -> Iterator[Any]:
    """Where to write; neither a name nor a time goes into the file."""
    if name.endswith(".gz"):
        with gzip.GzipFile(filename="", fileobj=file, mode="wb", mtime=0) as packed:
            yield packed
        return
    import zstandard

    with zstandard.ZstdCompressor(level=10, write_checksum=True).stream_writer(file, closefd=False) as packed:
        yield packed


def unpack(file: Path, base: Path, *, most_bytes: int) -> Unpacked:
    """Bring the runs of a pack into `base`: all of them, or none.

    Raises RunUnreadable for a file that is no pack, is broken, or holds more than `most_bytes`; ConfigurationError
    where another run of the same name is here; HostBusy, HostError.
    """
    try:
        base.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(base, error) from error
    with rearranging(base):
        room = Path(tempfile.mkdtemp(prefix=".opening-", dir=base))
        try:
            _extract(file, room, most_bytes)
            return _settle(file, room, base)
        finally:
            shutil.rmtree(room, ignore_errors=True)


def _extract(file: Path, room: Path, most_bytes: int) -> None:
    try:
        packed = file.open("rb")
    except OSError as error:
        raise RunUnreadable(f"{file}: {error.strerror or error}") from None
    try:
        with packed, _plain(packed, file) as stream:
            bounded = _Bounded(stream, file, most_bytes)
            for number, info in enumerate(_members(bounded, file)):
                if number >= MOST_FILES:
                    raise RunUnreadable(f"{file} holds more than {MOST_FILES} files")
                _bring(bounded, info, room / _safe(info.name, file))
            bounded.to_the_end()
    except (FileExistsError, NotADirectoryError) as error:
        raise RunUnreadable(f"{file} holds a file twice: it was not packed by evener") from error
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise RunUnreadable(f"{file} is broken: {error}", hint="was it copied whole?") from error
    except OSError as error:
        raise unwritable(room.parent, error) from error


@contextmanager
def _plain(packed: IO[bytes], file: Path) -> Iterator[Any]:
    """What was compressed."""
    begins = packed.read(4)
    packed.seek(0)
    if begins.startswith(GZIP):
        with gzip.GzipFile(fileobj=packed) as stream:
            yield stream
    elif begins == ZSTD:
        if not _has_zstandard():
            raise ConfigurationError(f"{file} needs the package zstandard", hint="install it, or pack to .tar.gz there")
        import zstandard

        try:
            with zstandard.ZstdDecompressor().stream_reader(packed) as stream:
                yield stream
        except zstandard.ZstdError as error:
            raise EOFError(str(error)) from error
    else:
        raise RunUnreadable(f"{file} is no pack of runs", hint="evener runs pack makes one")


class _Bounded:
    """So many bytes come out, and no more: a small file may unfold to more than a disk holds."""

    def __init__(self, stream: Any, file: Path, most: int) -> None:
        self._stream, self._file, self._left = stream, file, most

    def read(self, size: int) -> bytes:
        """Exactly so many bytes. Raises EOFError where there are fewer."""
        self._spend(size)
        text = io.BytesIO()
        while (missing := size - text.tell()) > 0:
            if not (piece := self._stream.read(missing)):
                raise EOFError("it ends too early")
            text.write(piece)
        return text.getvalue()

    def to_the_end(self) -> None:
        """Read what comes after the last file: the checksum of all stands at the very end."""
        while piece := self._stream.read(_COPIED):
            self._spend(len(piece))

    def _spend(self, size: int) -> None:
        self._left -= size
        if self._left < 0:
            raise RunUnreadable(f"{self._file} holds more than was allowed", hint="--most-gib allows more")


def _members(stream: _Bounded, file: Path) -> Iterator[tarfile.TarInfo]:
    """Plain files only, by headers of one block each: whatever else a tar may hold, we have not packed it."""
    while (header := stream.read(_BLOCK)).count(0) < _BLOCK:
        try:
            info = tarfile.TarInfo.frombuf(header, "utf-8", "strict")
        except (tarfile.HeaderError, UnicodeDecodeError) as error:
            raise RunUnreadable(f"{file} is broken: {error}", hint="was it copied whole?") from error
        if info.type not in (tarfile.REGTYPE, tarfile.AREGTYPE) or info.size < 0:
            raise RunUnreadable(f"{file} holds {info.name!r}, which is no plain file: it was not packed by evener")
        yield info


def _safe(name: str, file: Path) -> PurePosixPath:
    """A path within a run. Raises RunUnreadable for one that leads elsewhere."""
    path = PurePosixPath(name)
    parts = name.split("/")
    if len(parts) < 2 or {"", ".", ".."} & set(parts) or _CONTROL.search(name) or not _RUN.fullmatch(parts[0]):
        raise RunUnreadable(f"{file} holds {name!r}, which lies in no run: it was not packed by evener")
    return path


def _bring(stream: _Bounded, info: tarfile.TarInfo, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("xb") as file:
        left = info.size
        while left:
            piece = stream.read(min(left, _COPIED))
            file.write(piece)
            left -= len(piece)
    stream.read(-info.size % _BLOCK)
    at = min(max(info.mtime, 0), _LATEST)
    os.utime(path, (at, at))


def _settle(file: Path, room: Path, base: Path) -> Unpacked:
    """Move what was extracted to its place, when all of it may."""
    runs = list_runs(room)
    if not runs or len(runs) < len(list(room.iterdir())):
        raise RunUnreadable(f"{file} holds no run, or more than runs")
    new, already = [], []
    for run in runs:
        _require_named(run, file)
        there = base / run.name
        if not there.exists():
            new.append(run)
        elif _same(run, there):
            already.append(run.name)
        else:
            raise ConfigurationError(
                f"{run.name} is here already, and another one", hint=f"move {there} away, or open the pack elsewhere"
            )
    try:
        for run in new:
            run.rename(base / run.name)
    except OSError as error:
        raise unwritable(base, error) from error
    return Unpacked(runs=tuple(run.name for run in new), already=tuple(already))


def _require_named(run: Path, file: Path) -> None:
    """It and all that it holds can be read, and are what they are called."""
    for one in (run, *inner_runs(run)):
        head, _ = read_head(one)
        if head.id != one.name:
            raise RunUnreadable(f"{file}: {one.name} calls itself {head.id!r}")


def _same(run: Path, other: Path) -> bool:
    names = [_files(path) for path in (run, other)]
    return names[0] == names[1] and all(filecmp.cmp(run / name, other / name, shallow=False) for name in names[0])


def _files(run: Path) -> set[Path]:
    """Of a run, but for what people add to it."""
    found = (path.relative_to(run) for path in run.rglob("*") if path.is_file())
    return {path for path in found if not {path.name, path.parent.name} & set(_DERIVED)}
