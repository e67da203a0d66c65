"""Who may enter: keys, their hashes, limits. Pure.

A key is looked up by its hash, so that how long a wrong one takes says nothing about a right one.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from evener.errors import ConfigurationError, NameUnknown
from evener.records.serving import Person, PersonLimits

PREFIX = "ev-"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")
NO_LIMITS = PersonLimits()
NOBODY = "somebody"  # the name of all who need no key, on this machine's own loopback


def new_key() -> str:
    """256 random bits, spelled so that a double click selects all of it."""
    return PREFIX + secrets.token_hex(32)


def hash_of(key: str) -> str:
    """One round is enough: there is nothing to guess in 256 random bits."""
    return hashlib.sha256(key.encode(errors="replace")).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class People:
    """Everybody who was ever given a key, in the order in which they came."""

    everybody: tuple[Person, ...] = ()

    @property
    def welcome(self) -> tuple[Person, ...]:
        return tuple(person for person in self.everybody if person.revoked_at is None)

    def by_key(self) -> dict[str, Person]:
        """hash -> who may enter with it."""
        return {person.key_sha256: person for person in self.welcome}

    def called(self, name: str) -> Person:
        """Raises NameUnknown, with who there is."""
        found = next((person for person in self.welcome if person.name == name), None)
        if found is None:
            known = ", ".join(person.name for person in self.welcome) or "nobody yet"
            raise NameUnknown(f"nobody called {name!r} has a key", hint=f"there is {known}")
        return found


def added(people: People, name: str, key: str, *, now: datetime, limits: PersonLimits = NO_LIMITS) -> People:
    """With one more. Raises ConfigurationError for a name that is none, or taken."""
    if not NAME.fullmatch(name):
        raise ConfigurationError(
            f"{name!r} is no name", hint="letters, digits, dots, dashes, underscores and @, up to 64 of them"
        )
    if any(person.name == name for person in people.welcome):
        raise ConfigurationError(f"{name} has a key", hint=f"evener people new-key {name} replaces it")
    person = Person(name=name, key_sha256=hash_of(key), key_hint=key[: len(PREFIX) + 4], added_at=now, limits=limits)
    return People(everybody=(*people.everybody, person))


def revoked(people: People, name: str, *, now: datetime) -> People:
    """Without that person's key. The record stays, for what was used under it. Raises NameUnknown."""
    gone = people.called(name)
    return _with(people, gone, replace(gone, revoked_at=now))


def limited(people: People, name: str, limits: PersonLimits) -> People:
    """With other limits for that person. Raises NameUnknown."""
    person = people.called(name)
    return _with(people, person, replace(person, limits=limits))


def _with(people: People, old: Person, new: Person) -> People:
    return People(everybody=tuple(new if person is old else person for person in people.everybody))


def key_in(headers: Sequence[tuple[str, str]]) -> str | None:
    """The key that a request shows: `Authorization: Bearer KEY` as OpenAI's clients do, or `X-Api-Key: KEY`.

    `headers` have lower-case names.
    """
    for name, value in headers:
        if name == "authorization" and value[:7].lower() == "bearer ":
            return value[7:].strip() or None
        if name == "x-api-key":
            return value.strip() or None
    return None
