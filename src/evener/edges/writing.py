"""Where a failure to write becomes one line, and no half-written file stays."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from evener.errors import HostError


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Translate what goes wrong in the block: a full disk, a folder that may not be written."""
    try:
        yield
    except OSError as error:
        raise HostError(
            f"cannot write {path}: {error.strerror or error}",
            hint="$EVENER_STATE, $EVENER_RUNS and $EVENER_CACHE name other places",
        ) from error


def write_whole(path: Path, text: str, *, mode: int | None = None) -> None:
    """The file has the whole text, or is as it was. Its folder is there. Raises HostError.

    `mode` is who may read it; None for what is usual.
    """
    part = path.with_name(f"{path.name}.part")
    with writing(path):
        try:
            if mode is not None:
                part.touch(mode=mode)
            part.write_text(text, encoding="utf-8")
            part.replace(path)
        except BaseException:
            part.unlink(missing_ok=True)
            raise
