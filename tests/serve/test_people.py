"""Keys: given once, kept as hashes, revoked at once."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from evener.errors import ConfigurationError, NameUnknown
from evener.records.serving import PersonLimits
from evener.serve import people
from evener.serve.people import People

NOW = datetime(2026, 1, 2, tzinfo=UTC)


def one(name: str = "ann", key: str = "ev-1") -> People:
    return people.added(People(), name, key, now=NOW)


def test_a_key_is_long_random_and_on_no_record() -> None:
    keys = {people.new_key() for _ in range(50)}
    assert len(keys) == 50
    assert all(len(key) == len(people.PREFIX) + 64 for key in keys)
    key = people.new_key()
    assert key[len(people.PREFIX) + 4 :] not in repr(people.added(People(), "ann", key, now=NOW))


def test_the_key_leads_to_its_person_until_it_is_revoked() -> None:
    known = people.added(one(), "bob", "ev-2", now=NOW)
    assert known.by_key()[people.hash_of("ev-2")].name == "bob"
    without = people.revoked(known, "bob", now=NOW)
    assert people.hash_of("ev-2") not in without.by_key()
    assert [person.name for person in without.welcome] == ["ann"]
    assert [person.revoked_at for person in without.everybody] == [None, NOW]


def test_a_name_that_was_revoked_is_free_again_and_one_in_use_is_not() -> None:
    again = people.added(people.revoked(one(), "ann", now=NOW), "ann", "ev-3", now=NOW)
    assert list(again.by_key()) == [people.hash_of("ev-3")]
    with pytest.raises(ConfigurationError, match="ann has a key"):
        people.added(one(), "ann", "ev-2", now=NOW)


@pytest.mark.parametrize("name", ["", " ann", "a b", "../x", "-a", "a" * 65, "a\n"])
def test_what_is_no_name_is_refused(name: str) -> None:
    with pytest.raises(ConfigurationError, match="is no name"):
        people.added(People(), name, "ev-1", now=NOW)


def test_limits_are_of_the_person_and_a_stranger_is_named_with_those_there_are() -> None:
    limits = PersonLimits(parallel=2)
    assert people.limited(one(), "ann", limits).called("ann").limits == limits
    with pytest.raises(NameUnknown, match="eve") as raised:
        people.limited(one(), "eve", limits)
    assert raised.value.hint == "there is ann"
    with pytest.raises(NameUnknown, match="eve"):
        people.revoked(one(), "eve", now=NOW)


@pytest.mark.parametrize(
    ("headers", "key"),
    [
        ([("authorization", "Bearer ev-1")], "ev-1"),
        ([("authorization", "bearer  ev-1 ")], "ev-1"),
        ([("x-api-key", "ev-1")], "ev-1"),
        ([("authorization", "Basic ev-1"), ("x-api-key", "ev-2")], "ev-2"),
        ([("authorization", "Bearer ")], None),
        ([("cookie", "ev-1")], None),
        ([], None),
    ],
)
def test_where_clients_put_a_key(headers: list[tuple[str, str]], key: str | None) -> None:
    assert people.key_in(headers) == key
