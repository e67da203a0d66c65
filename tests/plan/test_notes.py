"""What is said beside a plan."""

from __future__ import annotations

from dataclasses import replace

from evener.plan import notes
from evener.records.plan import Candidate, Command, Plan, Predicted, Value, Verdict, Workload
from evener.records.rig import Host, Link, Rig
from tests import rigs
from tests.plan.test_points import MODEL, candidate

ALPHA, BETA = (Host(name=name, connection="stated") for name in ("alpha", "beta"))
SCAN = rigs.scan(rigs.seen("alpha", rigs.card("RTX 5090", 100)), rigs.seen("beta", rigs.card("RTX 5080", 60)))
SERVER = Command(host="alpha", argv=(), env={}, listen="")


def said(*links: Link) -> list[str]:
    return list(notes.cables(Rig(hosts=(ALPHA, BETA), links=links), SCAN))


def test_an_assumed_link_is_named_with_its_interval() -> None:
    wifi = Link(name="attic", between=("alpha", "beta"), preset="wifi")
    assert said(wifi) == [
        "link attic between alpha and beta, assumed: 0.4 (0.08 to 1.2) Gbit/s, 4000 (1500 to 15000) us a round trip"
    ]


def test_a_stated_link_is_said_to_be_stated() -> None:
    (line,) = said(Link(name="5gbe", between=("alpha", "beta"), gbit_per_s=4.7, rtt_us=250))
    assert line.startswith("link 5gbe between alpha and beta, stated: 4.7 (")


def test_without_a_link_next_to_nothing_is_known() -> None:
    (line,) = said()
    assert line.startswith("no link in the rig between alpha and beta, assumed: 1.5 (0.09 to 40) Gbit/s")


def test_a_part_in_ram_of_unknown_speed_is_not_compared() -> None:
    ram = replace(candidate(name="alpha-experts-in-ram", kind="experts-in-ram"), predicted=None)
    assert list(notes.not_compared([candidate(), ram])) == [
        "alpha-experts-in-ram is not compared: nobody knows how fast alpha's RAM is"
    ]


def made(*candidates: Candidate, choice: str) -> Plan:
    verdict = Verdict(choice=choice, kind="host", sentence="-")
    return Plan(model=MODEL, workload=Workload(users=4), verdict=verdict, candidates=candidates)


def test_replicas_are_not_what_up_runs() -> None:
    fast = Predicted(users_tokens_per_s=Value(value=100.0, low=90.0, high=110.0))
    both = replace(candidate(name="replicas", kind="replicas"), servers=(SERVER, SERVER), predicted=fast)
    one = replace(candidate(), servers=(SERVER,))
    assert list(notes.several_servers(made(one, both, choice="replicas"))) == [
        "replicas are 2 servers, and evener up runs one: evener up would take alpha"
    ]
    assert list(notes.several_servers(made(one, both, choice="alpha"))) == [
        "replicas are 2 servers, and evener up runs one"
    ]
    assert list(notes.several_servers(made(one, replace(both, fits=False), choice="alpha"))) == []


def test_with_drafts_the_speeds_are_said_to_be_without() -> None:
    plan = made(candidate(), choice="alpha")
    line = "speeds are without drafts: how many of these are taken depends on the text"
    rig = Rig(hosts=(ALPHA,))
    assert line not in notes.about(plan, rig, SCAN)
    assert line in notes.about(replace(plan, workload=Workload(users=4, drafts=3)), rig, SCAN)


def test_a_host_out_of_reach_is_no_silent_shrink() -> None:
    gone = replace(rigs.seen("beta"), connection="ssh", fault="nobody listens at 10.0.0.2 port 22")
    line = "beta is left out of every layout: nobody listens at 10.0.0.2 port 22"
    there = rigs.scan(rigs.seen("alpha", rigs.card("RTX 5090", 100)), gone)
    assert line in notes.about(made(candidate(), choice="alpha"), Rig(hosts=(ALPHA, BETA)), there)
    half = replace(rigs.seen("beta", rigs.card("RTX 5080", 60)), connection="ssh", fault="no engine there")
    assert list(notes.left_out(rigs.scan(half, replace(gone, connection="stated")))) == []
