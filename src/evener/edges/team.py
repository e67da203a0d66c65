"""Who may enter, and what everybody used, on disk: `people.json` and a file per day under the state folder.

Both hold no key and no prompt. `people.json` is read again whenever it has changed: whoever is revoked is out at once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock

from evener.codec import from_json, to_json
from evener.edges import locks
from evener.edges.writing import write_whole, writing
from evener.errors import RunUnreadable, StateUnreadable
from evener.records.serving import Person, Used
from evener.state import state_folder

_DAY = re.compile(r"\d{4}-\d\d-\d\d")


def people_file() -> Path:
    return state_folder() / "people.json"


def usage_folder() -> Path:
    return state_folder() / "usage"


def read_people(path: Path | None = None) -> tuple[Person, ...]:
    """Everybody who was ever given a key; nobody where there is no such file. Raises StateUnreadable."""
    path = path or people_file()
    try:
        return from_json(tuple[Person, ...], path.read_bytes(), source=str(path))
    except FileNotFoundError:
        return ()
    except (OSError, RunUnreadable) as error:
        raise StateUnreadable(
            f"{path}: cannot be read: {error}", hint="put it back as it was; without it nobody has a key"
        ) from None


def change_people(change: Callable[[tuple[Person, ...]], tuple[Person, ...]]) -> tuple[Person, ...]:
    """Read, change and write `people.json`, whole or not at all, one at a time.

    Raises HostBusy while another session does the same, StateUnreadable, HostError, or what `change` raises.
    """
    path = people_file()
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with locks.hold(state_folder() / "locks", "people", what="the list of people", owner="people"):
        changed = change(read_people(path))
        write_whole(path, to_json(changed, indent=1) + "\n", mode=0o600)
        return changed


@dataclass(kw_only=True)
class Welcome:
    """hash of a key -> who may enter with it, as the file says now; None while nobody was ever given a key.

    One look at the file's date costs a microsecond. A file that cannot be read any more lets nobody in, and once there
    were people, its absence neither: a key stays needed when the last one is revoked.
    """

    path: Path = field(default_factory=people_file)
    _seen: tuple[int, int, int] | None = None
    _by_key: Mapping[str, Person] | None = None

    def __call__(self) -> Mapping[str, Person] | None:
        now = self._stamp()
        if now != self._seen:
            self._seen = now
            self._by_key = self._read()
        return self._by_key

    def _stamp(self) -> tuple[int, int, int] | None:
        try:
            stat = self.path.stat()
        except OSError:
            return None
        return stat.st_mtime_ns, stat.st_size, stat.st_ino

    def _read(self) -> Mapping[str, Person] | None:
        try:
            everybody = read_people(self.path)
        except StateUnreadable:
            return {}
        known = {person.key_sha256: person for person in everybody if person.revoked_at is None}
        return known if everybody or self._by_key is not None else None


@dataclass(kw_only=True)
class Usage:
    """What everybody used, day by day: added up in memory, written every now and then and at the end."""

    folder: Path = field(default_factory=usage_folder)
    _days: dict[str, dict[str, Used]] = field(default_factory=dict)
    _unwritten: set[str] = field(default_factory=set)
    _writing: Lock = field(default_factory=Lock)

    def add(self, used: Used) -> None:
        day = self._of(used.day)
        day[used.person] = added(day[used.person], used) if used.person in day else used
        self._unwritten.add(used.day)

    def tokens(self, person: str, day: str) -> int:
        """That this person used on that day."""
        used = self._of(day).get(person)
        return used.prompt_tokens + used.output_tokens if used else 0

    def today(self) -> tuple[Used, ...]:
        return tuple(self._of(f"{datetime.now(UTC):%Y-%m-%d}").values())

    def write(self) -> None:
        """What has come since the last time. Raises HostError; it is then kept for the next time.

        From any thread, while more comes: what is added meanwhile is written the next time.
        """
        with self._writing:
            for day in sorted(self._unwritten):
                self._unwritten.discard(day)
                try:
                    self._write(day)
                except BaseException:
                    self._unwritten.add(day)
                    raise

    def _write(self, day: str) -> None:
        path = self.folder / f"{day}.json"
        with writing(path):
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_whole(path, to_json(tuple(self._days[day].values()), indent=1) + "\n", mode=0o600)

    def _of(self, day: str) -> dict[str, Used]:
        if day not in self._days:
            try:
                known = read_day(self.folder, day)
            except StateUnreadable:  # it is kept for whoever wants to look, and the day begins anew
                with suppress(OSError):
                    (self.folder / f"{day}.json").rename(self.folder / f"{day}.json.unreadable")
                known = ()
            self._days[day] = {used.person: used for used in known}
        return self._days[day]


def days(folder: Path | None = None) -> list[str]:
    """The days that something is known of, the oldest first."""
    folder = folder or usage_folder()
    if not folder.is_dir():
        return []
    return sorted(path.stem for path in folder.glob("*.json") if _DAY.fullmatch(path.stem))


def read_day(folder: Path, day: str) -> tuple[Used, ...]:
    """What everybody used on that day; nothing where there is no file. Raises StateUnreadable."""
    path = folder / f"{day}.json"
    try:
        return from_json(tuple[Used, ...], path.read_bytes(), source=str(path))
    except FileNotFoundError:
        return ()
    except (OSError, RunUnreadable) as error:
        raise StateUnreadable(
            f"{path}: cannot be read: {error}", hint="take it away: that day is then unknown"
        ) from None


def added(a: Used, b: Used) -> Used:
    """Both together; the person and the day are a's."""
    counts = [f.name for f in fields(Used) if f.name not in ("person", "day")]
    return replace(a, **{name: getattr(a, name) + getattr(b, name) for name in counts})


def summed(used: Iterable[Used]) -> dict[str, Used]:
    """person -> everything of that person, under the last of its days."""
    found: dict[str, Used] = {}
    for one in sorted(used, key=lambda u: u.day):
        found[one.person] = replace(added(found[one.person], one), day=one.day) if one.person in found else one
    return found
