"""A log that does not grow for ever: at its size it becomes `NAME.1`, that one `NAME.2`, and the oldest goes."""

from __future__ import annotations

import io
from contextlib import suppress
from pathlib import Path
from typing import TextIO, cast

MOST_BYTES = 8 << 20
OLDER = 3


class _Rotating(io.TextIOBase):
    def __init__(self, path: Path, most_bytes: int, older: int) -> None:
        self._path, self._most_bytes, self._older = path, most_bytes, older
        self._file = path.open("a", encoding="utf-8")
        self._bytes = path.stat().st_size

    @property
    def name(self) -> str:
        return str(self._path)

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        size = len(text.encode(errors="replace"))
        if self._bytes and self._bytes + size > self._most_bytes:
            self._turn()
        self._bytes += size
        return self._file.write(text)

    def flush(self) -> None:
        if not self._file.closed:
            self._file.flush()

    def close(self) -> None:
        self._file.close()
        super().close()

    def _turn(self) -> None:
        """A log that cannot be renamed goes on as it is."""
        self._file.close()
        with suppress(OSError):
            for number in range(self._older, 0, -1):
                newer = self._path if number == 1 else _numbered(self._path, number - 1)
                if newer.exists():
                    newer.replace(_numbered(self._path, number))
        self._file = self._path.open("a", encoding="utf-8")
        self._bytes = self._path.stat().st_size


def _numbered(path: Path, number: int) -> Path:
    return path.with_name(f"{path.name}.{number}")


def rotating(path: Path, *, most_bytes: int = MOST_BYTES, older: int = OLDER) -> TextIO:
    """Append to `path`; of what was written at most `most_bytes * (older + 1)` stays. Raises OSError."""
    return cast(TextIO, _Rotating(path, most_bytes, older))
