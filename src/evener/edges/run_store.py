"""The folder of all runs: what is in it, tagged how, how large; and what goes. Reads heads, never rows.

A run may hold further runs in a folder `runs` of its own, as a campaign does: they go where it goes.
Tags are empty files in a run's folder `tags`: two sessions may tag at once, and they travel with the run.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from evener.edges.record_files import read_whole, unwritable
from evener.edges.run_folder import alone_in, inner_runs, unused
from evener.errors import ConfigurationError, HostBusy
from evener.records.run_head import RunHead, SummaryHead

UNDER_WAY = (".opening-", ".pruned-")  # folders in which something is put together, or taken apart
_TAG = re.compile(r"\w[\w.+-]{0,39}")


def read_head(path: Path) -> tuple[RunHead, SummaryHead | None]:
    """What a list says of a run. Raises RunUnreadable as `open_head` does."""
    run = read_whole(RunHead, path / "run.json", missing=f"{path} is not a run folder: it has no run.json")
    summary = path / "summary.json"
    return run, read_whole(SummaryHead, summary) if summary.exists() else None


def bytes_in(path: Path) -> int | None:
    """All its files together; None where they cannot be counted."""
    try:
        return sum(_sizes(os.fspath(path)))
    except OSError:
        return None


def _sizes(folder: str) -> Iterator[int]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield from _sizes(entry.path)
            else:
                yield entry.stat(follow_symlinks=False).st_size


def read_tags(path: Path) -> tuple[str, ...]:
    """The tags of a run, in the order of the alphabet."""
    try:
        return tuple(sorted(entry.name for entry in os.scandir(path / "tags") if _TAG.fullmatch(entry.name)))
    except OSError:
        return ()


def require_tags(words: Iterable[str]) -> None:
    """Raises ConfigurationError for a word that is no tag."""
    for word in words:
        if not _TAG.fullmatch(word):
            raise ConfigurationError(
                f"{word!r} is no tag", hint="letters, digits, and . _ + - after the first, at most 40"
            )


def add_tags(path: Path, words: Iterable[str]) -> None:
    """Raises HostError."""
    try:
        (path / "tags").mkdir(exist_ok=True)
        for word in words:
            (path / "tags" / word).touch()
    except OSError as error:
        raise unwritable(path / "tags", error) from error


def remove_tags(path: Path, words: Iterable[str]) -> None:
    """Those that it has. Raises HostError."""
    try:
        for word in words:
            (path / "tags" / word).unlink(missing_ok=True)
        with suppress(OSError):
            (path / "tags").rmdir()
    except OSError as error:
        raise unwritable(path / "tags", error) from error


@contextmanager
def idle(path: Path) -> Iterator[None]:
    """Hold a run and all that it holds, so that nobody writes there meanwhile. Raises HostBusy, RunUnreadable."""
    with ExitStack() as held:
        for one in (path, *inner_runs(path)):
            held.enter_context(unused(one))
        yield


@contextmanager
def rearranging(base: Path) -> Iterator[None]:
    """One session at a time brings runs in or removes some; what a killed one has left is swept. Raises HostBusy."""
    with ExitStack() as held:
        try:
            held.enter_context(alone_in(base))
        except HostBusy:
            raise HostBusy(f"another evener session adds or removes runs in {base}", hint="wait for it") from None
        for path in base.iterdir():
            if path.name.startswith(UNDER_WAY):
                shutil.rmtree(path, ignore_errors=True)
        yield


def remove(path: Path) -> None:
    """A run and all that it holds, at once for everybody who looks. Raises HostBusy while it is in use, HostError."""
    gone = path.with_name(f".pruned-{path.name}")
    with idle(path):
        try:
            path.rename(gone)
            shutil.rmtree(gone)
        except OSError as error:
            raise unwritable(path, error) from error
