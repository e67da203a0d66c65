"""Hosts that are one machine under several names share its cores, and meet on loopback unless a cable is known."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from evener.plan.links import MEASURED_HOP_US, PRESETS
from evener.plan.routes import route
from evener.plan.seats import cpu_threads
from evener.records.card import Scan
from evener.records.link import LinkMeasured, Measured
from evener.records.rig import Link
from evener.records.speed import LinkSpeed
from tests import rigs

WIRE = Link(name="wire", between=("alpha", "beta"), gbit_per_s=4.7)
SLOW = LinkMeasured(
    name="wire",
    between=("alpha", "beta"),
    addresses=("127.0.0.1", "127.0.0.2"),
    taken_at=datetime(2026, 11, 2, tzinfo=UTC),
    out_gbit_per_s=Measured(n=5, p50=0.094, low=0.09, high=0.095),
)
RIG = replace(rigs.rig("alpha", "beta"), links=(WIRE,))
ONE_MACHINE = rigs.scan(rigs.seen("alpha", rigs.cpu(), machine="m"), rigs.seen("beta", rigs.cpu(), machine="m"))


def speed(near: str, far: str, scan: Scan) -> LinkSpeed:
    head, other = RIG.host(near), RIG.host(far)
    assert head is not None
    assert other is not None
    return route(head, other, RIG, scan).speed


def test_two_names_of_one_machine_meet_on_loopback_whatever_is_stated() -> None:
    assert speed("alpha", "beta", ONE_MACHINE) == PRESETS["loopback"]


def test_a_cable_that_was_measured_counts_between_names_of_one_machine_too() -> None:
    found = speed("alpha", "beta", replace(ONE_MACHINE, links=(SLOW,)))
    assert (found.source, found.gbit_per_s.value) == ("measured", 0.094)


def test_a_hop_over_loopback_costs_what_was_measured_there() -> None:
    assert speed("alpha", "alpha", ONE_MACHINE).hop_us == MEASURED_HOP_US


def test_hosts_of_one_machine_share_its_cores() -> None:
    alone = rigs.seen("gamma", rigs.cpu(), cores=8)
    scan = rigs.scan(*ONE_MACHINE.hosts, alone)
    assert [cpu_threads(seen, scan) for seen in scan.hosts] == [4, 4, 8]
    assert cpu_threads(replace(alone, cores=None), scan) is None
