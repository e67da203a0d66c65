"""The two ends of a link, and what stands out about the way between them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from evener.records.link import Interface
from evener.records.rig import Host, Link, Rig
from evener.scan import paths
from evener.scan.paths import End, Ends, both, ends, remarks
from evener.testing.fake_shell import FakeShell, prints

EEE = (Path(__file__).parents[1] / "captures" / "net" / "eee_active.txt").read_text()
FIVE = Link(name="5gbe", between=("beta", "alpha"))
TB5 = Link(name="tb5", between=("alpha", "beta"), addresses=(("alpha", "10.1.0.1"), ("beta", "10.1.0.2")))
RIG = Rig(
    hosts=(
        Host(name="alpha", connection="local", address="10.0.0.1"),
        Host(name="beta", connection="ssh", ssh="beta", address="10.0.0.2"),
    ),
    links=(FIVE, TB5),
)
BETWEEN = Ends(near=End(host="alpha", address="10.0.0.1"), far=End(host="beta", address="10.0.0.2"))
GOOD = Interface(
    host="alpha",
    name="enp5s0",
    source="10.0.0.1",
    mtu=1500,
    mbit_per_s=5000,
    duplex="full",
    driver="igc",
    eee="disabled",
)
FAR = replace(GOOD, host="beta", source="10.0.0.2")


def said(*seen: Interface) -> list[str]:
    return list(remarks(BETWEEN, seen))


def test_the_head_is_the_near_end_whichever_is_named_first() -> None:
    assert ends(RIG, FIVE) == BETWEEN


def test_a_second_cable_has_its_own_addresses() -> None:
    assert ends(RIG, TB5) == Ends(near=End(host="alpha", address="10.1.0.1"), far=End(host="beta", address="10.1.0.2"))


def test_a_good_cable_has_nothing_to_say() -> None:
    assert said(GOOD, FAR) == []


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"wireless": True}, "alpha: enp5s0 is Wi-Fi: its round trips cost each token milliseconds"),
        ({"mbit_per_s": 100}, "alpha: enp5s0 runs at 100 Mbit/s: a bad cable or an old switch does that"),
        ({"duplex": "half"}, "alpha: enp5s0 runs in half duplex: the two ends have not agreed"),
        (
            {"eee": "active"},
            "alpha: enp5s0 lets the cable sleep between packets (EEE active); ethtool --set-eee enp5s0 eee off",
        ),
        (
            {"source": "192.168.1.7"},
            "alpha: enp5s0 sends from 192.168.1.7, not from 10.0.0.1: this is not the cable that the link names",
        ),
        ({"mtu": 9000}, "the ends disagree on the largest packet (MTU 1500 and 9000)"),
        ({"name": None}, "alpha has no route to the other end"),
    ],
)
def test_what_is_wrong_with_an_end_is_named(change: dict[str, object], words: str) -> None:
    assert said(replace(GOOD, **change), FAR) == [words]  # type: ignore[arg-type]


def test_an_address_that_is_a_name_is_not_held_against_the_source() -> None:
    named = Ends(near=End(host="alpha", address="alpha.lan"), far=BETWEEN.far)
    assert list(remarks(named, (GOOD, FAR))) == []


def test_a_way_inside_one_machine_is_said_once_and_nothing_else() -> None:
    here = replace(GOOD, name="lo", mbit_per_s=None)
    assert said(here, replace(here, host="beta")) == [
        "alpha reaches the other end on this machine: no cable is between them"
    ]


def host(name: str, address: str, *, ethtool: bool = True) -> FakeShell:
    at = "/sys/class/net/enp5s0"
    return FakeShell(
        host=name,
        programs={
            "ip": prints(f'[{{"dst":"x","dev":"enp5s0","prefsrc":"{address}"}}]'),
            **({"ethtool": prints(EEE)} if ethtool else {}),
        },
        files={
            f"{at}/mtu": b"1500\n",
            f"{at}/speed": b"5000\n",
            f"{at}/duplex": b"full\n",
            f"{at}/device/uevent": b"DRIVER=igc\n",
        },
    )


async def test_both_ends_are_asked_for_the_interface_towards_the_other() -> None:
    near, far = host("alpha", "10.0.0.1"), host("beta", "10.0.0.2", ethtool=False)
    seen, faults = await both(near, far, BETWEEN)
    assert faults == ()
    assert seen == (replace(GOOD, eee="active"), replace(FAR, eee=None))
    assert near.ran[0] == ("ip", "-j", "route", "get", "10.0.0.2")
    assert far.ran[0] == ("ip", "-j", "route", "get", "10.0.0.1")


async def test_an_end_that_cannot_be_asked_leaves_the_other() -> None:
    seen, faults = await both(host("alpha", "10.0.0.1"), FakeShell(host="beta"), BETWEEN)
    assert [one.host for one in seen] == ["alpha"]
    assert faults == ("beta: ip: No such file or directory",)


async def test_the_far_end_of_an_endpoint_is_not_asked() -> None:
    seen, _ = await both(host("alpha", "10.0.0.1"), None, BETWEEN)
    assert [one.host for one in seen] == ["alpha"]


async def test_ethtool_is_found_where_a_users_path_does_not_lead() -> None:
    shell = host("alpha", "10.0.0.1", ethtool=False)
    await paths.interface(shell, "alpha", "10.0.0.2")
    assert ("/usr/sbin/ethtool", "--show-eee", "enp5s0") in shell.ran
