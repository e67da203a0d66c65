"""All runs together: list, tag, prune, pack into one file, open that elsewhere."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import permutations
from pathlib import Path

from evener.edges import run_pack, run_store
from evener.edges.run_folder import find_run, inner_runs, list_runs, require_different
from evener.edges.run_pack import Packed, Unpacked
from evener.errors import ConfigurationError, HostBusy, RunUnreadable
from evener.report import rows
from evener.report.parts import RunRow, RunState
from evener.state import runs_folder

KEYS = ("EVENER_API_KEY", "HF_TOKEN")  # variables whose values never go into a pack


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which runs are meant; None lets any through. `model` is a part of its name, in either case."""

    what: str | None = None
    model: str | None = None
    state: RunState | None = None
    since: datetime | None = None
    before: datetime | None = None
    tag: str | None = None

    def lets_through(self, row: RunRow) -> bool:
        """A folder that cannot be read is shown where nothing particular is wanted."""
        return (
            self.what in (None, row.what)
            and (self.model is None or self.model.casefold() in (row.model or "").casefold())
            and self.state in (None, row.state)
            and (self.since is None or (row.started_at is not None and row.started_at >= self.since))
            and (self.before is None or (row.started_at is not None and row.started_at < self.before))
            and (self.tag is None or self.tag in row.tags)
        )


def listed(wanted: Wanted | None = None, *, inner: bool = False) -> tuple[RunRow, ...]:
    """Run folders, newest first; one that cannot be read says why. `inner`: with those that they hold, behind each."""
    found = (row for path in reversed(list_runs(runs_folder())) for row in _rows(path, inner=inner))
    return tuple(row for row in found if wanted is None or wanted.lets_through(row))


def _rows(path: Path, *, inner: bool, within: str | None = None) -> Iterator[RunRow]:
    held = inner_runs(path)
    row = _row(path, inside=len(held), within=within)
    if row.fault and not path.exists():  # pruned or moved away while we look
        return
    yield row
    for below in reversed(list_runs(path / "runs")) if inner and held else ():
        yield from _rows(below, inner=True, within=row.id)


def _row(path: Path, *, inside: int, within: str | None) -> RunRow:
    size, tags = run_store.bytes_in(path), run_store.read_tags(path)
    known = RunRow(id=path.name, path=str(path), bytes=size, tags=tags, inside=inside, within=within)
    try:
        return rows.listing(*run_store.read_head(path), known)
    except RunUnreadable as error:
        return replace(known, fault=error.message)


# ---- tags


@dataclass(frozen=True, slots=True, kw_only=True)
class Tagged:
    """A run, and all the tags that it has now."""

    run: str  # its id
    tags: tuple[str, ...]  # in the order of the alphabet


def tag(name: str, words: Sequence[str]) -> Tagged:
    """Raises NameUnknown, ConfigurationError for a word that is no tag, HostError."""
    return _tagged(name, words, run_store.add_tags)


def untag(name: str, words: Sequence[str]) -> Tagged:
    """Take tags away; one that it does not have is no fault. Raises as `tag`."""
    return _tagged(name, words, run_store.remove_tags)


def _tagged(name: str, words: Sequence[str], change: Callable[[Path, Iterable[str]], None]) -> Tagged:
    path = find_run(runs_folder(), name)
    run_store.require_tags(words)
    change(path, words)
    return Tagged(run=path.name, tags=run_store.read_tags(path))


# ---- prune


@dataclass(frozen=True, slots=True, kw_only=True)
class Prune:
    """Which runs are to go: those that are `wanted`, but for the newest `keep` of them. `ended_short`: only those that
    did not come to their end. Tagged ones go only where a tag is wanted, or with `tagged`."""

    wanted: Wanted = field(default_factory=Wanted)
    keep: int | None = None
    ended_short: bool = False
    tagged: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Spared:
    """A run that was chosen, and stays."""

    run: str  # its id
    why: str  # in use, tagged, or not to be read


@dataclass(frozen=True, slots=True, kw_only=True)
class Pruned:
    """What goes, and what stays although it was chosen."""

    runs: tuple[RunRow, ...]  # the newest first
    bytes: int  # of all of them
    spared: tuple[Spared, ...] = ()  # runs that stay although they were chosen
    done: bool = False  # whether they are gone


def to_prune(asked: Prune) -> Pruned:
    """What would go. Raises ConfigurationError where nothing says which runs."""
    if asked == Prune(tagged=asked.tagged):
        raise ConfigurationError(
            "nothing says which runs are to go", hint="--before 30d, --keep 20, --short, --tag WORD; evener runs lists"
        )
    chosen = [row for row in listed(asked.wanted) if not (asked.ended_short and row.state == "complete")]
    return _pruned((row, _why_not(row, asked)) for row in chosen[asked.keep or 0 :])


def _why_not(row: RunRow, asked: Prune) -> str | None:
    """Why a run that was chosen stays; None where it goes."""
    if row.fault:
        return f"it cannot be read: {row.fault}"
    if row.tags and not asked.tagged and not asked.wanted.tag:
        return f"it is tagged {', '.join(row.tags)}"
    try:
        with run_store.idle(Path(row.path)):
            return None
    except (HostBusy, RunUnreadable) as error:
        return error.message


def prune(planned: Pruned) -> Pruned:
    """Remove what was planned, with all that it holds; what has come into use meanwhile stays. Raises HostError."""
    with run_store.rearranging(runs_folder()):
        done = _pruned((row, _removed(row)) for row in planned.runs)
    return replace(done, spared=planned.spared + done.spared, done=True)


def _removed(row: RunRow) -> str | None:
    try:
        run_store.remove(Path(row.path))
    except (HostBusy, RunUnreadable) as error:
        return error.message
    return None


def _pruned(found: Iterable[tuple[RunRow, str | None]]) -> Pruned:
    seen = list(found)
    goes = tuple(row for row, why in seen if why is None)
    spared = tuple(Spared(run=row.id, why=why) for row, why in seen if why is not None)
    return Pruned(runs=goes, bytes=sum(row.bytes or 0 for row in goes), spared=spared)


# ---- packs


def pack(names: Sequence[str], into: Path | None) -> Packed:
    """Runs, and all that they hold, as one file; `into` None: named after the run, in this folder.

    Raises NameUnknown, and as `run_pack.pack`.
    """
    paths = [find_run(runs_folder(), name) for name in names]
    require_different(paths)
    for path, other in permutations(paths, 2):
        if other.resolve() in path.resolve().parents:
            raise ConfigurationError(f"{path.name} is a part of {other.name}", hint="name the one or the other")
    keys = {name: os.environ[name] for name in KEYS if name in os.environ}
    return run_pack.pack(paths, into or Path(run_pack.default_name(paths)), keys=keys)


def unpack(file: Path, *, most_bytes: int) -> Unpacked:
    """Bring the runs of a pack into ours. Raises as `run_pack.unpack`."""
    return run_pack.unpack(file, runs_folder(), most_bytes=most_bytes)
