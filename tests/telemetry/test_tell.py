"""A whole run, told as one record."""

from __future__ import annotations

from dataclasses import replace

from evener.records.card import Card
from evener.records.conditions import Conditions
from evener.records.rig import Money
from evener.records.telemetry import Joined, Sample
from evener.telemetry.tell import as_conditions, tell
from evener.telemetry.watch import Seen, Watched
from evener.testing.fake_shell import FakeShell
from tests.telemetry.samples import gpu


def seen(*samples: Sample, cards: tuple[Card, ...] = ()) -> Seen:
    shell = FakeShell(host="alpha")
    made = Seen([Watched(host="alpha", shell=shell, cards=cards)], every_s=1.0, started_ns=0, keep=lambda _sample: None)
    for sample in samples:
        made.add(sample)
    return made


def test_energy_of_the_time_that_made_the_tokens() -> None:
    samples = [gpu(float(s), power_w=360.0) for s in range(21)]
    told = tell(seen(*samples), from_s=5.0, to_s=15.0, tokens=1000, money=Money(currency="EUR", kwh_price=1.0))
    assert told.energy
    assert (told.energy.joules, told.energy.joules_per_1000_tokens) == (3600.0, 3600.0)
    assert told.energy.cost_per_1000_tokens == 0.001


def test_whoever_joined_before_or_after_is_not_told() -> None:
    joined = [Sample(at_s=s, host="alpha", joined=(Joined(at_s=s, host="alpha", card="a", pid=1),)) for s in (1.0, 9.0)]
    assert [one.at_s for one in tell(seen(*joined), from_s=0.0, to_s=5.0).joined] == [1.0]


def test_who_joined_and_who_was_lost_is_said_in_words() -> None:
    blender = Joined(at_s=2.0, host="alpha", card="GPU-1", pid=77, name="blender", bytes=3 << 30)
    unknown = Joined(at_s=2.0, host="alpha", card="GPU-9", pid=78)
    samples = [gpu(1.0), replace(gpu(2.0), joined=(blender, unknown)), Sample(at_s=6.0, host="alpha", lost="ssh broke")]
    assert tell(seen(*samples), to_s=9.0).notes == (
        "alpha was not seen from 2 s to the end: ssh broke",
        "alpha/RTX 5090: blender (pid 77) joined at 2 s with 3.0 GiB",
        "alpha/GPU-9: a process (pid 78) joined at 2 s",
    )


def test_a_card_that_a_scan_knows_and_nobody_speaks_of_is_named() -> None:
    arc = Card(id="0000:03:00.0", kind="sycl", name="Arc B580")
    (host,) = tell(seen(gpu(0.0), cards=(arc,)), to_s=1.0).hosts
    assert "Arc B580: nothing on this host tells what it does" in host.unknown


def test_the_cards_of_a_host_that_nobody_can_ask_are_not_blamed_on_its_tools() -> None:
    stated = Card(id="stated0", kind="unknown", name="RTX 5080")
    watched = Watched(host="maybe", shell=None, why="stated, not there to be asked", cards=(stated,))
    made = Seen([watched], every_s=1.0, started_ns=0, keep=lambda _sample: None)
    assert tell(made, to_s=1.0).hosts[0].unknown == ()


def test_conditions_hold_what_was_seen_and_stated() -> None:
    samples = [gpu(0.0, temperature_c=61.0, slowed_by=()), gpu(1.0, temperature_c=83.0, slowed_by=("heat",))]
    conditions = as_conditions(Conditions(users=4), tell(seen(*samples), to_s=2.0, ambient_c=35.0))
    assert (conditions.users, conditions.ambient_c) == (4, 35.0)
    assert conditions.temperatures_c == {"alpha/RTX 5090": (61.0, 83.0)}
    assert conditions.slowed_by == {"alpha/RTX 5090": ("heat",)}


def test_where_nothing_was_said_conditions_say_nothing() -> None:
    conditions = as_conditions(Conditions(), tell(seen(gpu(0.0)), to_s=1.0))
    assert (conditions.ambient_c, conditions.temperatures_c, conditions.slowed_by) == (None, {}, {})
