"""Who may enter and what was used, on disk: hashes only, whole or not at all, read again when it changes."""

from __future__ import annotations

import stat
from datetime import UTC, datetime
from pathlib import Path

import pytest

from evener.edges import team
from evener.edges.team import Usage, Welcome
from evener.errors import HostError, StateUnreadable
from evener.records.serving import Person, Used
from evener.serve import people
from evener.serve.people import People

NOW = datetime(2026, 1, 2, tzinfo=UTC)


@pytest.fixture(autouse=True)
def _state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVENER_STATE", str(tmp_path))


def give(name: str, key: str) -> None:
    team.change_people(lambda known: people.added(People(everybody=known), name, key, now=NOW).everybody)


def take(name: str) -> None:
    team.change_people(lambda known: people.revoked(People(everybody=known), name, now=NOW).everybody)


def names(welcome: Welcome) -> list[str] | None:
    found = welcome()
    return None if found is None else [person.name for person in found.values()]


def test_before_anybody_was_given_a_key_everybody_may_enter_and_never_again() -> None:
    welcome = Welcome()
    assert names(welcome) is None
    give("ann", "ev-1")
    assert names(welcome) == ["ann"]
    take("ann")
    assert names(welcome) == []
    team.people_file().unlink()
    assert names(welcome) == []
    assert names(Welcome()) is None, "a door that opens now knows of nobody"


def test_a_change_is_seen_at_once() -> None:
    welcome = Welcome()
    give("ann", "ev-1")
    give("bob", "ev-2")
    assert names(welcome) == ["ann", "bob"]
    take("ann")
    assert names(welcome) == ["bob"]


def test_only_its_owner_may_read_it_and_no_key_is_in_it() -> None:
    key = people.new_key()
    give("ann", key)
    assert stat.S_IMODE(team.people_file().stat().st_mode) == 0o600
    assert key not in team.people_file().read_text()


def test_a_file_that_cannot_be_read_lets_nobody_in_and_is_not_written_over() -> None:
    team.people_file().write_text("{")
    assert names(Welcome()) == []
    with pytest.raises(StateUnreadable, match=r"people\.json"):
        give("ann", "ev-1")
    assert team.people_file().read_text() == "{"


def used(person: str = "ann", day: str = "2026-01-02", **more: int) -> Used:
    return Used(person=person, day=day, requests=1, **more)


def test_usage_is_added_up_and_survives_a_new_door() -> None:
    usage = Usage()
    usage.add(used(prompt_tokens=10, output_tokens=5))
    usage.add(used(prompt_tokens=1))
    usage.add(used("bob"))
    usage.write()
    again = Usage()
    again.add(used(output_tokens=4))
    again.write()
    rows = {one.person: one for one in team.read_day(team.usage_folder(), "2026-01-02")}
    assert (rows["ann"].requests, rows["ann"].prompt_tokens, rows["ann"].output_tokens) == (3, 11, 9)
    assert rows["bob"].requests == 1
    assert Usage().tokens("ann", "2026-01-02") == 20
    assert Usage().tokens("eve", "2026-01-02") == 0
    assert team.days() == ["2026-01-02"]


def test_what_could_not_be_written_is_kept_for_the_next_time() -> None:
    usage = Usage()
    usage.add(used(prompt_tokens=10))
    team.usage_folder().write_text("in the way")
    with pytest.raises(HostError, match="usage"):
        usage.write()
    team.usage_folder().unlink()
    usage.write()
    assert Usage().tokens("ann", "2026-01-02") == 10


def test_a_day_that_cannot_be_read_is_put_aside_and_begins_anew() -> None:
    team.usage_folder().mkdir()
    bad = team.usage_folder() / "2026-01-02.json"
    bad.write_text("[")
    usage = Usage()
    usage.add(used(prompt_tokens=3))
    usage.write()
    assert Usage().tokens("ann", "2026-01-02") == 3
    assert bad.with_name("2026-01-02.json.unreadable").read_text() == "["


def test_days_of_one_person_are_summed() -> None:
    rows = [used(day="2026-01-02", prompt_tokens=1), used(day="2026-01-03", prompt_tokens=2), used("bob")]
    summed = team.summed(rows)
    assert (summed["ann"].prompt_tokens, summed["ann"].requests, summed["ann"].day) == (3, 2, "2026-01-03")


def test_a_person_is_read_back_as_written() -> None:
    give("ann", "ev-1")
    assert team.read_people() == (Person(name="ann", key_sha256=people.hash_of("ev-1"), key_hint="ev-1", added_at=NOW),)


def test_what_comes_while_it_is_being_written_is_written_the_next_time(monkeypatch: pytest.MonkeyPatch) -> None:
    usage, write_whole = Usage(), team.write_whole
    usage.add(used(prompt_tokens=10))

    def slow(path: Path, text: str, *, mode: int | None = None) -> None:
        write_whole(path, text, mode=mode)
        monkeypatch.setattr(team, "write_whole", write_whole)
        usage.add(used("bob", prompt_tokens=5))

    monkeypatch.setattr(team, "write_whole", slow)
    usage.write()
    usage.write()
    assert Usage().tokens("bob", "2026-01-02") == 5
