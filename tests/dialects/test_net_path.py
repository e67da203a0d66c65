"""Interfaces, as Linux tells them."""

from __future__ import annotations

from pathlib import Path

import pytest

from evener.dialects import net_path
from evener.dialects.net_path import Route

CAPTURES = Path(__file__).parents[1] / "captures" / "net"


def test_the_route_names_the_interface_and_the_address_it_leaves_with() -> None:
    said = '[{"dst":"10.0.0.2","dev":"enp5s0","prefsrc":"10.0.0.1","flags":[],"uid":0,"cache":[]}]'
    assert net_path.route(said) == Route(interface="enp5s0", source="10.0.0.1")


def test_an_older_ip_without_json_is_read_as_well() -> None:
    said = "10.0.0.2 dev enp5s0 src 10.0.0.1 uid 0 \n    cache \n"
    assert net_path.route(said) == Route(interface="enp5s0", source="10.0.0.1")


@pytest.mark.parametrize("said", ["", "[]", "RTNETLINK answers: Network is unreachable", "[3]"])
def test_no_route_is_no_interface(said: str) -> None:
    assert net_path.route(said) == Route(interface=None, source=None)


@pytest.mark.parametrize(
    ("name", "state"), [("eee_active.txt", "active"), ("eee_inactive.txt", "enabled"), ("eee_disabled.txt", "disabled")]
)
def test_energy_efficient_ethernet_is_active_enabled_or_disabled(name: str, state: str) -> None:
    assert net_path.read_eee((CAPTURES / name).read_text()) == state


def test_an_interface_without_it_says_so_or_nothing() -> None:
    assert net_path.read_eee("netlink error: Operation not supported\n") == "not supported"
    assert net_path.read_eee("") is None


def test_files_tell_speed_duplex_driver_and_wi_fi() -> None:
    files = {
        "mtu": "9000\n",
        "speed": "2500\n",
        "duplex": "full\n",
        "uevent": "INTERFACE=x\n",
        "device": "DRIVER=igc\n",
    }
    seen = net_path.interface("alpha", Route(interface="enp5s0", source="10.0.0.1"), files, "")
    assert (seen.mtu, seen.mbit_per_s, seen.duplex, seen.driver, seen.wireless) == (9000, 2500, "full", "igc", False)
    wlan = net_path.interface("alpha", Route(interface="wl0", source=None), {"uevent": "DEVTYPE=wlan\n"}, "")
    assert (wlan.wireless, wlan.mtu, wlan.duplex) == (True, None, None)


def test_a_speed_of_minus_one_is_unknown() -> None:
    files = {"speed": "-1\n", "duplex": "unknown\n"}
    seen = net_path.interface("alpha", Route(interface="veth0", source=None), files, "")
    assert (seen.mbit_per_s, seen.duplex) == (None, None)
