"""Where a failure to write becomes one line."""

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
