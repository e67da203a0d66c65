"""A run folder on disk: append and flush, summary last. Knows files and lines; nothing of what was measured.

runs/<utc>-<what>-<id>/
    run.json        written first; only its schema is ever raised
    events.jsonl    numbered facts, synced one by one: they survive a power cut
    requests.jsonl  one request per line
    token_times.jsonl when the tokens of each came, written before its line
    telemetry.jsonl one sample of a host per line
    suites.json     what was asked, word for word: files change, and are lost
    answers.jsonl   one reply to a question per line, synced one by one
    judgements.jsonl one reply of a judge per line, synced one by one
    reviews.jsonl   one label of a person per line, synced one by one
    logs/<host>/    what the engine said
    summary.json    written last; its presence means the run is complete
"""

from __future__ import annotations

import fcntl
import os
import re
import secrets
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from difflib import get_close_matches
from itertools import count, islice
from pathlib import Path
from typing import Any

from evener.codec import to_line
from evener.edges.record_files import (
    append,
    append_text,
    count_lines,
    cut_torn_line,
    keep_lines,
    read_lines,
    read_whole,
    unwritable,
    write_lines,
    write_whole,
)
from evener.errors import ConfigurationError, HostBusy, HostError, NameUnknown, RunUnreadable
from evener.records.answers import Answer, Judgement, Review
from evener.records.events import Fact
from evener.records.load import Request, TokenTimes
from evener.records.questions import Suite
from evener.records.run import SCHEMA, Run, Summary
from evener.records.telemetry import Sample

_REQUESTS, _TIMES = "requests.jsonl", "token_times.jsonl"
_UNFIT_FOR_FILES = re.compile(r"[^\w.-]+|^\.+")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunData:
    """A run folder, read. `summary` is None for a run that did not reach its end.

    `requests` are without the times of their tokens, which are most of a run: `with_token_times` brings them.
    """

    path: Path
    run: Run
    facts: tuple[Fact, ...]
    requests: tuple[Request, ...]
    summary: Summary | None


_writers: weakref.WeakValueDictionary[Path, RunFolder] = weakref.WeakValueDictionary()


def new_run_id(what: str, *, at: datetime | None = None) -> str:
    """`<utc>-<what>-<four hex digits>`: sorts by time, and two runs of one second differ."""
    moment = (at or datetime.now(UTC)).astimezone(UTC)
    return f"{moment:%Y%m%dT%H%M%SZ}-{what}-{secrets.token_hex(2)}"


class RunFolder:
    """A run being written. Every failure to write is a one-line HostError, and no half-written line stays behind."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._sequence = 0
        self._rows: int | None = None  # of requests.jsonl; None until somebody needs to know
        self._unlock: Callable[[], object] | None = None

    @classmethod
    def create(cls, base: Path, run: Run) -> RunFolder:
        """Make `base/<run.id>` and write run.json. Raises HostError when it exists or cannot be written."""
        path = base / run.id
        try:
            path.mkdir(parents=True)
        except OSError as error:
            raise unwritable(path, error) from error
        folder = cls(path)
        folder._hold()
        write_whole(path / "run.json", run)
        return folder

    @classmethod
    def reopen(cls, data: RunData) -> RunFolder:
        """Go on with a run: facts and lines are appended, and it counts as unfinished until a new summary is written.

        Half a last line, which a crash leaves, is cut off: what follows must not be glued to it. A run of an older
        schema becomes one of ours. Raises HostBusy while another session writes to it.
        """
        folder = cls(data.path)
        folder._hold()
        folder._sequence = max((fact.sequence for fact in data.facts), default=0)
        _raise_schema(data)
        try:
            _cut_torn_ends(data)
            (data.path / "summary.json").unlink(missing_ok=True)
        except OSError as error:
            raise unwritable(data.path, error) from error
        return folder

    @classmethod
    def beside(cls, path: Path) -> RunFolder:
        """A finished run, to which judgements and reviews are added. Half a last line of them is cut off."""
        folder = cls(path)
        with suppress(HostBusy):  # its writer may go on: these files are not the writer's
            folder._hold(fcntl.LOCK_SH)
        try:
            for name in ("judgements.jsonl", "reviews.jsonl"):
                cut_torn_line(path / name)
        except OSError as error:
            raise unwritable(path, error) from error
        return folder

    def fact(self, kind: str, data: dict[str, Any]) -> Fact:
        """Append a numbered fact; when this returns, it is on the disk."""
        fact = Fact(sequence=self._sequence + 1, at=datetime.now(UTC), kind=kind, data=data)
        append(self.path / "events.jsonl", [fact], sync=True)
        self._sequence = fact.sequence
        return fact

    def requests(self, requests: Iterable[Request]) -> None:
        """Append requests and hand them to the operating system. No key in them is a stranger's: none is a secret's.

        The times of their tokens come first: a row is never without them.
        """
        rows, path = list(requests), self.path / _REQUESTS
        if self._rows is None:
            self._rows = count_lines(path)
        times = b"".join(map(_times_line, count(self._rows), rows))
        size = append_text(self.path / _TIMES, times, sync=False)
        try:
            append_text(path, b"".join(to_line(one, without="token_times") + b"\n" for one in rows), sync=False)
        except HostError:
            with suppress(OSError):
                os.truncate(self.path / _TIMES, size)
            raise
        self._rows += len(rows)

    def telemetry(self, samples: Iterable[Sample]) -> None:
        """Append samples and hand them to the operating system."""
        append(self.path / "telemetry.jsonl", samples, sync=False)

    def suites(self, suites: tuple[Suite, ...]) -> None:
        """Keep the questions, whole or not at all."""
        write_whole(self.path / "suites.json", suites)

    def answer(self, answer: Answer) -> None:
        """Append an answer; when this returns, it is on the disk and need not be asked for again."""
        append(self.path / "answers.jsonl", [answer], sync=True)

    def judgement(self, judgement: Judgement) -> None:
        """Append a judge's reply; when this returns, it is on the disk."""
        append(self.path / "judgements.jsonl", [judgement], sync=True)

    def review(self, review: Review) -> None:
        """Append what a person said; when this returns, it is on the disk."""
        append(self.path / "reviews.jsonl", [review], sync=True)

    def log_path(self, host: str, name: str) -> Path:
        """Where a log of that host belongs; its folder exists when this returns."""
        path = self.path / "logs" / _file_name(host) / _file_name(name)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise unwritable(path, error) from error
        return path

    def finish(self, summary: Summary) -> None:
        """Write summary.json, whole or not at all. The run is complete."""
        write_whole(self.path / "summary.json", summary)
        self.let_go()

    def _hold(self, how: int = fcntl.LOCK_EX) -> None:
        """Until the run is finished, or nobody has this object any more: one session writes to a run.

        Within this session the latest writer does: an earlier one may hang in the traceback of what ended it.
        """
        if before := _writers.pop(self.path.resolve(), None):
            before.let_go()
        self._unlock = weakref.finalize(self, os.close, _locked(self.path, how))
        _writers[self.path.resolve()] = self

    def let_go(self) -> None:
        """Write no more: others may go on with the run, pack it or remove it."""
        if self._unlock is not None:
            self._unlock()


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """Hold a run while in the block: two sessions would do everything twice. Dropped when its owner dies, however.

    Raises HostBusy when another session holds it, RunUnreadable for a folder that is none.
    """
    try:
        file = (path / "run.json").open("rb")
    except OSError as error:
        raise RunUnreadable(f"{path / 'run.json'}: {error.strerror or error}") from None
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise _busy(path) from None
        yield


@contextmanager
def unused(path: Path) -> Iterator[None]:
    """Hold a run to which nobody writes and which nobody goes on with. Raises as `alone`."""
    with alone(path), alone_in(path):
        yield


@contextmanager
def alone_in(path: Path) -> Iterator[None]:
    """Hold a folder against everybody who writes a run there. Raises HostBusy, HostError."""
    descriptor = _locked(path, fcntl.LOCK_EX)
    try:
        yield
    finally:
        os.close(descriptor)


def open_run(path: Path) -> RunData:
    """Read a run folder, complete or not, but for the times of tokens. A torn last line is what a crash leaves, and is
    dropped.

    Raises RunUnreadable for a folder that is none, an earlier line that cannot be read, or a newer schema.
    """
    run, summary = open_head(path)
    facts, requests = read_lines(Fact, path / "events.jsonl"), read_lines(Request, path / _REQUESTS)
    return RunData(path=path, run=run, facts=tuple(facts), requests=tuple(requests), summary=summary)


def open_head(path: Path) -> tuple[Run, Summary | None]:
    """What a list needs of a run folder: what it was to be, and what came of it. Raises RunUnreadable as `open_run`."""
    run = read_whole(Run, path / "run.json", missing=f"{path} is not a run folder: it has no run.json")
    return run, read_whole(Summary, path / "summary.json") if (path / "summary.json").exists() else None


def with_token_times(data: RunData) -> RunData:
    """The run with the times of its tokens. Requests at the end whose times a power cut has taken are dropped.

    Raises RunUnreadable as `open_run`.
    """
    if data.run.schema == 1:
        return data
    times = (tuple(zip(one.at_s, one.tokens, strict=True)) for one in read_token_times(data))
    return replace(data, requests=tuple(replace(r, token_times=t) for r, t in zip(data.requests, times, strict=False)))


def read_token_times(data: RunData) -> Iterator[TokenTimes]:
    """The times of all tokens, request by request in the order of the rows; where the last ones are torn, fewer.

    One at a time: all together may be more than memory holds. Raises RunUnreadable as `open_run`.
    """
    if data.run.schema == 1:
        yield from map(_times, count(), data.requests)
        return
    path = data.path / _TIMES
    for row, one in enumerate(islice(read_lines(TokenTimes, path), len(data.requests))):
        if one.row != row:
            raise RunUnreadable(f"{path}:{row + 1}: row {row} is missing, here is row {one.row}")
        yield one


def read_telemetry(path: Path) -> tuple[Sample, ...]:
    """The samples of a run folder, none where nothing was watched. Apart from `open_run`: it is the longest file.

    Raises RunUnreadable as `open_run` does.
    """
    return tuple(read_lines(Sample, path / "telemetry.jsonl"))


def read_suites(path: Path) -> tuple[Suite, ...] | None:
    """The questions of a run, None where none were kept. Raises RunUnreadable."""
    place = path / "suites.json"
    return read_whole(tuple[Suite, ...], place) if place.exists() else None


def read_answers(path: Path) -> tuple[Answer, ...]:
    """All answers of a run, in the order in which they came. Raises RunUnreadable."""
    return tuple(read_lines(Answer, path / "answers.jsonl"))


def read_judgements(path: Path) -> tuple[Judgement, ...]:
    """All replies of judges to a run's answers. Raises RunUnreadable."""
    return tuple(read_lines(Judgement, path / "judgements.jsonl"))


def read_reviews(path: Path) -> tuple[Review, ...]:
    """All labels that people gave, in the order in which they came. Raises RunUnreadable."""
    return tuple(read_lines(Review, path / "reviews.jsonl"))


def list_runs(base: Path) -> list[Path]:
    """Run folders under `base`, oldest first; not those that they hold."""
    if not base.is_dir():
        return []
    with os.scandir(base) as entries:
        names = sorted(entry.name for entry in entries if not entry.name.startswith("."))
    return [base / name for name in names if os.path.isfile(f"{base}/{name}/run.json")]  # noqa: PTH113 (500 of them)


def find_run(base: Path, wanted: str) -> Path:
    """The run folder called `wanted`: a path, a name, the beginning or the last four digits of one, or "last".

    Where none of `base` is called so, one that these hold may be.

    Raises NameUnknown, with near misses, when none or more than one answers to it.
    """
    if (Path(wanted) / "run.json").is_file():
        return Path(wanted)
    runs = list_runs(base)
    if wanted == "last" and runs:
        return runs[-1]
    named = _named(wanted, runs)
    if not named and (inner := [one for run in runs for one in inner_runs(run)]):
        runs, named = runs + inner, _named(wanted, inner)
    if len(named) == 1:
        return named[0]
    if named:
        raise NameUnknown(f"{wanted!r} names {len(named)} runs", hint=f"which of {_some(p.name for p in named)}?")
    if not runs:
        raise NameUnknown(f"no run {wanted!r}: there are no runs in {base}")
    names = [p.name for p in runs]
    near = get_close_matches(wanted, names, n=3, cutoff=0.4) or names[-3:]
    raise NameUnknown(f"no run {wanted!r} in {base}", hint=f"there is {_some(near)}")


def inner_runs(path: Path) -> list[Path]:
    """The runs that a run holds in a folder `runs` of its own, as a campaign does, and those that they hold."""
    return [inner for one in list_runs(path / "runs") for inner in (one, *inner_runs(one))]


def _named(wanted: str, runs: Iterable[Path]) -> list[Path]:
    found = [p for p in runs if wanted and (p.name.startswith(wanted) or p.name.endswith(f"-{wanted}"))]
    return [p for p in found if p.name == wanted] or found


def require_different(paths: Iterable[Path]) -> None:
    """Raises ConfigurationError where one run stands twice: compared with itself it proves nothing."""
    seen: set[Path] = set()
    for path in paths:
        if path.resolve() in seen:
            raise ConfigurationError(f"{path.name} is named twice", hint="a run is no second measurement of itself")
        seen.add(path.resolve())


def _times(row: int, request: Request) -> TokenTimes:
    times = request.token_times
    return TokenTimes(row=row, at_s=tuple(at for at, _ in times), tokens=tuple(tokens for _, tokens in times))


def _times_line(row: int, request: Request) -> bytes:
    return to_line(_times(row, request)) + b"\n"


def _locked(path: Path, how: int) -> int:
    """An open folder, locked until it is closed. Raises HostBusy, HostError."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError as error:
        raise unwritable(path, error) from error
    try:
        fcntl.flock(descriptor, how | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise _busy(path) from None
    except OSError:  # some network file systems lock no folders: then nobody can be told apart there
        pass
    return descriptor


def is_written(path: Path) -> bool:
    """Whether a session writes to the run now. Asking keeps a new one out for a moment."""
    try:
        os.close(_locked(path, fcntl.LOCK_SH))
    except HostBusy:
        return True
    return False


def _busy(path: Path) -> HostBusy:
    return HostBusy(f"{path.name} goes on in another evener session", hint="wait for it, or end it")


def _cut_torn_ends(data: RunData) -> None:
    """What a crash has left of lines, and times without a row or a row without times."""
    for name in ("telemetry.jsonl", "answers.jsonl", "judgements.jsonl"):
        cut_torn_line(data.path / name)
    keep_lines(data.path / "events.jsonl", len(data.facts))
    whole = min(len(data.requests), count_lines(data.path / _TIMES))
    for name in (_REQUESTS, _TIMES):
        keep_lines(data.path / name, whole)


def _raise_schema(data: RunData) -> None:
    """Give a run of schema 1 the files of ours; where that is cut short, it stays of schema 1."""
    if data.run.schema < SCHEMA:
        write_lines(data.path / _TIMES, map(_times_line, count(), data.requests))
        write_whole(data.path / "run.json", replace(data.run, schema=SCHEMA))


def _file_name(name: str) -> str:
    return _UNFIT_FOR_FILES.sub("_", name) or "_"


def _some(names: Iterable[str]) -> str:
    shown = list(names)
    return ", ".join(shown[:5]) + (", ..." if len(shown) > 5 else "")
