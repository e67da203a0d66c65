"""Records in files: lines that are appended whole, documents that are written whole. Knows no file by its name.

Every failure to write is a one-line HostError, and no half of anything stays behind.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from evener.codec import from_json, to_data
from evener.errors import HostError, RunUnreadable
from evener.records.run import SCHEMA

T = TypeVar("T")

# Values under keys that end so never reach the disk. `api_key_env` names a variable and is no secret.
SECRET_NAMES = "api[-_]?key|authorization|password|passwd|secret|access[-_]?token"
_SECRET_KEY = re.compile(f"({SECRET_NAMES})$", re.IGNORECASE)
_BLOCK = 1 << 16


def append(path: Path, records: Iterable[object], *, sync: bool) -> None:
    """Append a line per record, without secrets. `sync`: when this returns, they are on the disk."""
    append_text(path, "".join(_line(record) + "\n" for record in records).encode(errors="replace"), sync=sync)


def append_text(path: Path, text: bytes, *, sync: bool) -> int:
    """Append whole lines or none: what a full disk took of them is cut off again. Returns the size before."""
    try:
        with path.open("ab", buffering=0) as file:
            _alone(file.fileno())
            start = file.seek(0, os.SEEK_END)
            try:
                _write_all(file.fileno(), text)
            except OSError:
                with suppress(OSError):
                    file.truncate(start)
                raise
            if sync:
                os.fsync(file.fileno())
            return start
    except OSError as error:
        raise unwritable(path, error) from error


def cut_torn_line(path: Path) -> None:
    """Cut off half a last line; one that somebody is still writing is waited for. Raises OSError."""
    if path.exists():
        with path.open("r+b") as file:
            _alone(file.fileno())
            file.truncate(_end_of_last_line(file.fileno(), path.stat().st_size))


def keep_lines(path: Path, most: int) -> None:
    """Cut off what comes after so many lines. Raises OSError."""
    if path.exists():
        with path.open("r+b") as file:
            file.truncate(sum(map(len, islice(file, most))))


def count_lines(path: Path) -> int:
    """Lines that are ended; 0 where there is no such file. Raises OSError."""
    if not path.exists():
        return 0
    with path.open("rb") as file:
        return sum(block.count(b"\n") for block in iter(lambda: file.read(_BLOCK), b""))


def write_whole(path: Path, record: object) -> None:
    """The file holds the record, without secrets and on the disk, or is as it was."""
    write_lines(path, [(_line(record, indent=2) + "\n").encode(errors="replace")])


def write_lines(path: Path, lines: Iterable[bytes]) -> None:
    """The file holds these lines, on the disk, or is as it was."""
    part = path.with_name(path.name + ".part")
    try:
        try:
            with part.open("wb") as file:
                file.writelines(lines)
                file.flush()
                os.fsync(file.fileno())
            part.replace(path)
        except OSError:
            with suppress(OSError):
                part.unlink()
            raise
        _sync_folder(path.parent)
    except OSError as error:
        raise unwritable(path, error) from error


def read_whole(kind: type[T], path: Path, *, missing: str | None = None) -> T:
    """The record in a file. Raises RunUnreadable, with a hint where a newer evener wrote it."""
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        raise RunUnreadable(missing or f"{path} is missing") from None
    except OSError as error:
        raise RunUnreadable(f"{path}: {error.strerror or error}") from error
    try:
        record = from_json(kind, text, source=str(path))
    except RunUnreadable:
        _require_known(_schema(text), path)
        raise
    _require_known(getattr(record, "schema", None), path)
    return record


def read_lines(kind: type[T], path: Path) -> Iterator[T]:
    """A record per line, none where there is no such file. A last line without its end, or that cannot be read, is
    torn, and dropped.

    Raises RunUnreadable, naming file and line, for an earlier one.
    """
    try:
        with path.open("rb") as file:
            torn: RunUnreadable | None = None
            for number, line in enumerate(file, start=1):
                if torn and line != b"\n":
                    raise torn
                if not line.endswith(b"\n"):  # only the last one can be without an end
                    return
                try:
                    yield from_json(kind, line, source=f"{path}:{number}")
                except RunUnreadable as error:
                    torn = torn or error
    except FileNotFoundError:
        return
    except OSError as error:
        raise RunUnreadable(f"{path}: {error.strerror or error}") from error


def unwritable(path: Path, error: OSError) -> HostError:
    """What a run folder that cannot be written raises."""
    return HostError(
        f"cannot write {path}: {error.strerror or error}", hint="$EVENER_RUNS names another place for runs"
    )


def _alone(descriptor: int) -> None:
    """Until it is closed: a reviewer who begins must not cut off what a judge, or another reviewer, is writing."""
    with suppress(OSError):  # some network file systems lock nothing
        fcntl.flock(descriptor, fcntl.LOCK_EX)


def _end_of_last_line(descriptor: int, size: int) -> int:
    """The place behind the last end of a line, looked for from the end."""
    for start in range((size - 1) // _BLOCK * _BLOCK, -1, -_BLOCK):
        if (found := os.pread(descriptor, _BLOCK, start).rfind(b"\n")) >= 0:
            return start + found + 1
    return 0


def _write_all(descriptor: int, text: bytes) -> None:
    left = memoryview(text)
    while left:
        left = left[os.write(descriptor, left) :]


def _sync_folder(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _require_known(schema: object, path: Path) -> None:
    if isinstance(schema, int) and schema > SCHEMA:
        raise RunUnreadable(
            f"{path} has schema {schema}, this evener reads up to {SCHEMA}", hint="a newer evener wrote it: upgrade"
        )


def _schema(text: bytes) -> object:
    with suppress(ValueError):
        data = json.loads(text)
        return data.get("schema") if isinstance(data, dict) else None
    return None


def _line(record: object, *, indent: int | None = None) -> str:
    return json.dumps(_without_secrets(to_data(record)), indent=indent, ensure_ascii=False)


def _without_secrets(data: Any) -> Any:
    if isinstance(data, dict):
        return {
            key: "(secret)" if isinstance(value, str) and _SECRET_KEY.search(key) else _without_secrets(value)
            for key, value in data.items()
        }
    return [_without_secrets(item) for item in data] if isinstance(data, list) else data
