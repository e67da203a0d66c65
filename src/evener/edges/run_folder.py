"""A run folder on disk: append and flush, summary last. Knows files and lines; nothing of what was measured.

runs/<utc>-<what>-<id>/
    run.json        written first, never changed
    events.jsonl    numbered facts, synced one by one: they survive a power cut
    requests.jsonl  one request per line
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
import json
import os
import re
import secrets
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar

from evener.codec import from_json, to_data, to_line
from evener.errors import ConfigurationError, HostBusy, HostError, NameUnknown, RunUnreadable
from evener.records.answers import Answer, Judgement, Review
from evener.records.events import Fact
from evener.records.load import Request
from evener.records.questions import Suite
from evener.records.run import SCHEMA, Run, Summary
from evener.records.telemetry import Sample

T = TypeVar("T")

# Values under such keys never reach the disk. `api_key_env` names a variable and is no secret.
_SECRET_KEY = re.compile(r"(api[-_]?key|authorization|password|passwd|secret|access[-_]?token)$", re.IGNORECASE)
_UNFIT_FOR_FILES = re.compile(r"[^\w.-]+|^\.+")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunData:
    """A run folder, read. `summary` is None for a run that did not reach its end."""

    path: Path
    run: Run
    facts: tuple[Fact, ...]
    requests: tuple[Request, ...]
    summary: Summary | None


def new_run_id(what: str, *, at: datetime | None = None) -> str:
    """`<utc>-<what>-<four hex digits>`: sorts by time, and two runs of one second differ."""
    moment = (at or datetime.now(UTC)).astimezone(UTC)
    return f"{moment:%Y%m%dT%H%M%SZ}-{what}-{secrets.token_hex(2)}"


class RunFolder:
    """A run being written. Every failure to write is a one-line HostError, and no half-written line stays behind."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._sequence = 0

    @classmethod
    def create(cls, base: Path, run: Run) -> RunFolder:
        """Make `base/<run.id>` and write run.json. Raises HostError when it exists or cannot be written."""
        path = base / run.id
        try:
            path.mkdir(parents=True)
        except OSError as error:
            raise _unwritable(path, error) from error
        _write_whole(path / "run.json", run)
        return cls(path)

    @classmethod
    def reopen(cls, data: RunData) -> RunFolder:
        """Go on with a run: facts and lines are appended, and it counts as unfinished until a new summary is written.

        Half a last line, which a crash leaves, is cut off: what follows must not be glued to it.
        """
        folder = cls(data.path)
        folder._sequence = max((fact.sequence for fact in data.facts), default=0)
        try:
            for name in ("events.jsonl", "requests.jsonl", "telemetry.jsonl", "answers.jsonl", "judgements.jsonl"):
                _cut_torn_line(data.path / name)
            (data.path / "summary.json").unlink(missing_ok=True)
        except OSError as error:
            raise _unwritable(data.path, error) from error
        return folder

    @classmethod
    def beside(cls, path: Path) -> RunFolder:
        """A finished run, to which judgements and reviews are added. Half a last line of them is cut off."""
        try:
            for name in ("judgements.jsonl", "reviews.jsonl"):
                _cut_torn_line(path / name)
        except OSError as error:
            raise _unwritable(path, error) from error
        return cls(path)

    def fact(self, kind: str, data: dict[str, Any]) -> Fact:
        """Append a numbered fact; when this returns, it is on the disk."""
        fact = Fact(sequence=self._sequence + 1, at=datetime.now(UTC), kind=kind, data=data)
        _append(self.path / "events.jsonl", [fact], sync=True)
        self._sequence = fact.sequence
        return fact

    def requests(self, requests: Iterable[Request]) -> None:
        """Append requests and hand them to the operating system. No key in them is a stranger's: none is a secret's."""
        _append_text(self.path / "requests.jsonl", b"".join(to_line(one) + b"\n" for one in requests), sync=False)

    def telemetry(self, samples: Iterable[Sample]) -> None:
        """Append samples and hand them to the operating system."""
        _append(self.path / "telemetry.jsonl", samples, sync=False)

    def suites(self, suites: tuple[Suite, ...]) -> None:
        """Keep the questions, whole or not at all."""
        _write_whole(self.path / "suites.json", suites)

    def answer(self, answer: Answer) -> None:
        """Append an answer; when this returns, it is on the disk and need not be asked for again."""
        _append(self.path / "answers.jsonl", [answer], sync=True)

    def judgement(self, judgement: Judgement) -> None:
        """Append a judge's reply; when this returns, it is on the disk."""
        _append(self.path / "judgements.jsonl", [judgement], sync=True)

    def review(self, review: Review) -> None:
        """Append what a person said; when this returns, it is on the disk."""
        _append(self.path / "reviews.jsonl", [review], sync=True)

    def log_path(self, host: str, name: str) -> Path:
        """Where a log of that host belongs; its folder exists when this returns."""
        path = self.path / "logs" / _file_name(host) / _file_name(name)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise _unwritable(path, error) from error
        return path

    def finish(self, summary: Summary) -> None:
        """Write summary.json, whole or not at all. The run is complete."""
        _write_whole(self.path / "summary.json", summary)


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
            raise HostBusy(f"{path.name} goes on in another evener session", hint="wait for it, or end it") from None
        yield


def open_run(path: Path) -> RunData:
    """Read a run folder, complete or not. A torn last line is what a crash leaves, and is dropped.

    Raises RunUnreadable for a folder that is none, an earlier line that cannot be read, or a newer schema.
    """
    run, summary = open_head(path)
    facts, requests = _read_lines(Fact, path / "events.jsonl"), _read_lines(Request, path / "requests.jsonl")
    return RunData(path=path, run=run, facts=tuple(facts), requests=tuple(requests), summary=summary)


def open_head(path: Path) -> tuple[Run, Summary | None]:
    """What a list needs of a run folder: what it was to be, and what came of it. Raises RunUnreadable as `open_run`."""
    run = _read_whole(Run, path / "run.json", missing=f"{path} is not a run folder: it has no run.json")
    return run, _read_whole(Summary, path / "summary.json") if (path / "summary.json").exists() else None


def read_telemetry(path: Path) -> tuple[Sample, ...]:
    """The samples of a run folder, none where nothing was watched. Apart from `open_run`: it is the longest file.

    Raises RunUnreadable as `open_run` does.
    """
    return tuple(_read_lines(Sample, path / "telemetry.jsonl"))


def read_suites(path: Path) -> tuple[Suite, ...] | None:
    """The questions of a run, None where none were kept. Raises RunUnreadable."""
    place = path / "suites.json"
    return _read_whole(tuple[Suite, ...], place) if place.exists() else None


def read_answers(path: Path) -> tuple[Answer, ...]:
    """All answers of a run, in the order in which they came. Raises RunUnreadable."""
    return tuple(_read_lines(Answer, path / "answers.jsonl"))


def read_judgements(path: Path) -> tuple[Judgement, ...]:
    """All replies of judges to a run's answers. Raises RunUnreadable."""
    return tuple(_read_lines(Judgement, path / "judgements.jsonl"))


def read_reviews(path: Path) -> tuple[Review, ...]:
    """All labels that people gave, in the order in which they came. Raises RunUnreadable."""
    return tuple(_read_lines(Review, path / "reviews.jsonl"))


def list_runs(base: Path) -> list[Path]:
    """Run folders under `base`, oldest first."""
    if not base.is_dir():
        return []
    return sorted(path for path in base.iterdir() if (path / "run.json").is_file())


def find_run(base: Path, wanted: str) -> Path:
    """The run folder called `wanted`: a path, a name, the beginning or the last four digits of one, or "last".

    Raises NameUnknown, with near misses, when none or more than one answers to it.
    """
    if (Path(wanted) / "run.json").is_file():
        return Path(wanted)
    runs = list_runs(base)
    if wanted == "last" and runs:
        return runs[-1]
    named = [p for p in runs if p.name == wanted] or [
        p for p in runs if wanted and (p.name.startswith(wanted) or p.name.endswith(f"-{wanted}"))
    ]
    if len(named) == 1:
        return named[0]
    if named:
        raise NameUnknown(f"{wanted!r} names {len(named)} runs", hint=f"which of {_some(p.name for p in named)}?")
    if not runs:
        raise NameUnknown(f"no run {wanted!r}: there are no runs in {base}")
    names = [p.name for p in runs]
    near = get_close_matches(wanted, names, n=3, cutoff=0.4) or names[-3:]
    raise NameUnknown(f"no run {wanted!r} in {base}", hint=f"there is {_some(near)}")


def require_different(paths: Iterable[Path]) -> None:
    """Raises ConfigurationError where one run stands twice: compared with itself it proves nothing."""
    seen: set[Path] = set()
    for path in paths:
        if path.resolve() in seen:
            raise ConfigurationError(f"{path.name} is named twice", hint="a run is no second measurement of itself")
        seen.add(path.resolve())


def _append(path: Path, records: Iterable[object], *, sync: bool) -> None:
    _append_text(path, "".join(_line(record) + "\n" for record in records).encode(errors="replace"), sync=sync)


def _append_text(path: Path, text: bytes, *, sync: bool) -> None:
    """Append whole lines or none: what a full disk took of them is cut off again."""
    try:
        with path.open("ab", buffering=0) as file:
            start = file.seek(0, os.SEEK_END)
            try:
                _write_all(file.fileno(), text)
            except OSError:
                with suppress(OSError):
                    file.truncate(start)
                raise
            if sync:
                os.fsync(file.fileno())
    except OSError as error:
        raise _unwritable(path, error) from error


def _cut_torn_line(path: Path) -> None:
    if path.exists():
        with path.open("r+b") as file:
            file.truncate(file.read().rfind(b"\n") + 1)


def _write_all(descriptor: int, text: bytes) -> None:
    left = memoryview(text)
    while left:
        left = left[os.write(descriptor, left) :]


def _write_whole(path: Path, record: object) -> None:
    part = path.with_name(path.name + ".part")
    try:
        try:
            with part.open("wb") as file:
                file.write((_line(record, indent=2) + "\n").encode(errors="replace"))
                file.flush()
                os.fsync(file.fileno())
            part.replace(path)
        except OSError:
            with suppress(OSError):
                part.unlink()
            raise
        _sync_folder(path.parent)
    except OSError as error:
        raise _unwritable(path, error) from error


def _sync_folder(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _read_whole(kind: type[T], path: Path, *, missing: str | None = None) -> T:
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        raise RunUnreadable(missing or f"{path} is missing") from None
    except OSError as error:
        raise RunUnreadable(f"{path}: {error.strerror or error}") from error
    schema = _schema(text)
    if schema is not None and schema > SCHEMA:
        raise RunUnreadable(
            f"{path} has schema {schema}, this evener reads up to {SCHEMA}", hint="a newer evener wrote it: upgrade"
        )
    return from_json(kind, text, source=str(path))


def _schema(text: bytes) -> int | None:
    with suppress(ValueError):
        data = json.loads(text)
        if isinstance(data, dict) and isinstance(data.get("schema"), int):
            return int(data["schema"])
    return None


def _read_lines(kind: type[T], path: Path) -> list[T]:
    try:
        lines = path.read_bytes().split(b"\n")
    except FileNotFoundError:
        return []
    except OSError as error:
        raise RunUnreadable(f"{path}: {error.strerror or error}") from error
    last = max((number for number, line in enumerate(lines) if line), default=-1)
    read: list[T] = []
    for number, line in enumerate(lines[: last + 1]):
        try:
            read.append(from_json(kind, line, source=f"{path}:{number + 1}"))
        except RunUnreadable:
            if number < last:
                raise
    return read


def _line(record: object, *, indent: int | None = None) -> str:
    return json.dumps(_without_secrets(to_data(record)), indent=indent, ensure_ascii=False)


def _without_secrets(data: Any) -> Any:
    if isinstance(data, dict):
        return {
            key: "(secret)" if isinstance(value, str) and _SECRET_KEY.search(key) else _without_secrets(value)
            for key, value in data.items()
        }
    if isinstance(data, list):  # most items are numbers: the times of tokens
        return [_without_secrets(item) if isinstance(item, dict | list) else item for item in data]
    return data


def _file_name(name: str) -> str:
    return _UNFIT_FOR_FILES.sub("_", name) or "_"


def _some(names: Iterable[str]) -> str:
    shown = list(names)
    return ", ".join(shown[:5]) + (", ..." if len(shown) > 5 else "")


def _unwritable(path: Path, error: OSError) -> HostError:
    return HostError(
        f"cannot write {path}: {error.strerror or error}", hint="$EVENER_RUNS names another place for runs"
    )
