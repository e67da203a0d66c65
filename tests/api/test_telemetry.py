"""A rig's hosts as things to watch."""

from __future__ import annotations

from dataclasses import replace

from evener.api.rig import Rig
from evener.api.telemetry import watched, watching
from evener.records.rig import Host, Link
from evener.telemetry.watch import Way
from tests import rigs
from tests.journeys.doctor.looks import deployment

RIG = replace(
    rigs.rig("alpha", "beta"),
    links=(
        Link(name="5gbe", between=("alpha", "beta")),
        Link(name="tb5", between=("beta", "alpha"), addresses=(("alpha", "10.1.0.1"), ("beta", "10.1.0.2"))),
    ),
)


def test_each_end_of_a_link_looks_for_the_interface_towards_the_other() -> None:
    rig = Rig(RIG)
    assert watched(rig, RIG.hosts[0], None, None).ways == (
        Way(link="5gbe", own="127.0.0.1", other="127.0.0.2"),
        Way(link="tb5", own="10.1.0.1", other="10.1.0.2"),
    )
    assert watched(rig, RIG.hosts[1], None, None).ways == (
        Way(link="5gbe", own="127.0.0.2", other="127.0.0.1"),
        Way(link="tb5", own="10.1.0.2", other="10.1.0.1"),
    )


def test_a_link_whose_other_end_has_no_address_is_not_looked_for() -> None:
    stated = Host(name="maybe", connection="stated")
    record = replace(RIG, hosts=(RIG.head, stated), links=(Link(name="5gbe", between=("alpha", "maybe")),))
    rig = Rig(record)
    assert watched(rig, RIG.head, None, None).ways == ()
    assert watched(rig, stated, None, None).why == "stated, not there to be asked"


def test_cards_are_those_of_the_scan() -> None:
    scan = rigs.scan(rigs.seen("alpha", rigs.card("RTX 5090", 1)))
    assert [card.name for card in watched(Rig(RIG), RIG.head, scan, None).cards] == ["RTX 5090"]


def test_processes_of_the_deployment_are_ours_each_on_its_own_host() -> None:
    running = deployment("beta", 4711)
    ours = {host.name: watched(Rig(RIG), host, None, running).ours for host in RIG.hosts}
    assert ours == {"alpha": frozenset(), "beta": frozenset({4711})}


async def test_the_hosts_that_were_asked_for_are_watched_and_the_link_is_named() -> None:
    async with watching(Rig(RIG), hosts=["alpha"], every_s=0.2) as seen:
        pass
    assert {sample.host for sample in seen.samples} == {"alpha"}
    assert [(nic.name, nic.link) for nic in seen.samples[0].nics if nic.link] == [("lo", "5gbe")]


async def test_both_ends_of_a_link_on_one_machine_are_its_loopback() -> None:
    async with watching(Rig(RIG), hosts=["beta"], every_s=0.2) as seen:
        pass
    assert [(nic.name, nic.link) for nic in seen.samples[0].nics if nic.link] == [("lo", "5gbe")]


async def test_the_interface_of_another_address_does_not_carry_the_link() -> None:
    """Where the cable is out, packets to its other end would take the way to the internet."""
    async with watching(Rig(RIG), hosts=["alpha"], every_s=0.2) as seen:
        pass
    assert not any("tb5" in (nic.link or "") for sample in seen.samples for nic in sample.nics)
    assert seen.unknown["alpha"] == ["link tb5: no interface here leads to 10.1.0.2 from 10.1.0.1"]
