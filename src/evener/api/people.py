"""`evener people`: who may enter the door, and what they used."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from evener.edges import team
from evener.records.serving import Person, PersonLimits, Used
from evener.serve import people
from evener.serve.people import People

__all__ = ["Person", "PersonLimits", "Used", "add", "everybody", "limit", "new_key", "revoke", "usage"]


def everybody() -> tuple[Person, ...]:
    """Everybody who was ever given a key, revoked ones too. Raises StateUnreadable."""
    return team.read_people()


def add(name: str, limits: PersonLimits) -> str:
    """Give somebody a key and return it: it is kept nowhere. Raises ConfigurationError for a name that has one."""
    key = people.new_key()
    _change(lambda known: people.added(known, name, key, now=datetime.now(UTC), limits=limits))
    return key


def new_key(name: str) -> str:
    """Another key for somebody; the old one opens nothing from now on. Raises NameUnknown."""
    key, now = people.new_key(), datetime.now(UTC)

    def change(known: People) -> People:
        limits = known.called(name).limits
        return people.added(people.revoked(known, name, now=now), name, key, now=now, limits=limits)

    _change(change)
    return key


def revoke(name: str) -> None:
    """Take somebody's key; what is in flight with it ends. Raises NameUnknown."""
    _change(lambda known: people.revoked(known, name, now=datetime.now(UTC)))


def limit(name: str, limits: PersonLimits) -> None:
    """Other limits for somebody, from the next request on. Raises NameUnknown."""
    _change(lambda known: people.limited(known, name, limits))


def usage(*, days: int) -> tuple[Used, ...]:
    """Of each person everything of the last `days` days, today included, the busiest first. Raises StateUnreadable."""
    first = f"{datetime.now(UTC) - timedelta(days=days - 1):%Y-%m-%d}"
    folder = team.usage_folder()
    rows = (used for day in team.days(folder) if day >= first for used in team.read_day(folder, day))
    return tuple(sorted(team.summed(rows).values(), key=lambda u: -(u.prompt_tokens + u.output_tokens)))


def _change(change: Callable[[People], People]) -> None:
    team.change_people(lambda known: change(People(everybody=known)).everybody)
