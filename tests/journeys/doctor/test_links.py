"""Cables, as the interfaces at both ends describe them."""

from evener.journeys.doctor import links
from evener.journeys.doctor.seen import Path
from evener.records.link import Interface
from evener.scan.paths import End, Ends
from tests.journeys.doctor.looks import look, told

BETWEEN = Ends(near=End(host="alpha", address="10.0.0.1"), far=End(host="beta", address="10.0.0.2"))


def over(*interfaces):
    return told(links.paths(look(paths=[Path(name="5gbe", between=BETWEEN, interfaces=interfaces)])))


def end(host, name, **more):
    return Interface(host=host, name=name, **more)


def test_a_sound_cable_is_described():
    assert over(end("alpha", "enp5s0", mbit_per_s=5000), end("beta", "enp1s0", mbit_per_s=5000)) == [
        ("fine", "5gbe", "alpha enp5s0, beta enp1s0 at 5000 Mbit/s")
    ]


def test_wifi_half_duplex_and_packets_of_two_sizes_cost():
    found = over(end("alpha", "wlan0", wireless=True, mtu=1500), end("beta", "enp1s0", duplex="half", mtu=9000))
    assert [level for level, _, _ in found] == ["costs"] * 3
    assert "Wi-Fi" in found[0][2]
    assert "half duplex" in found[1][2]
    assert found[2][2] == "the ends disagree on the largest packet (MTU 1500 and 9000)"


def test_on_one_machine_there_is_no_cable():
    assert over(end("alpha", "lo", mtu=65536), end("beta", "lo", mtu=65536)) == [
        ("fine", "5gbe", "alpha and beta are on this machine: no cable between them")
    ]


def test_nothing_known_is_nothing_said():
    assert over() == []
