"""Links for people."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from rich.console import Group

from evener.cli.link_view import figure, link_lines
from evener.cli.scan_view import scan_view
from evener.records.card import Card, HostSeen, Scan
from evener.records.link import Hop, Interface, LinkMeasured, Measured, Payload
from evener.records.rig import Host, Link, Rig
from tests import case_one
from tests.cli.test_scan_view import shown


def measured(p50: float, n: int = 5, spread: float = 0.1) -> Measured:
    return Measured(n=n, p50=p50, low=p50 * (1 - spread), high=p50 * (1 + spread))


def payload(set_mib: float, hop_us: float) -> Payload:
    hops = tuple(Hop(bytes=size, set_us=measured(hop_us), get_us=measured(hop_us)) for size in (4096, 16384, 65536))
    return Payload(
        endpoint="10.0.0.2:50052",
        device="CUDA0",
        connect_us=300,
        rtt_us=measured(260, n=100),
        set_mib_per_s=measured(set_mib, n=8),
        get_mib_per_s=measured(500, n=8),
        hops=hops,
    )


LINK = LinkMeasured(
    name="5gbe",
    between=("alpha", "beta"),
    addresses=("10.0.0.1", "10.0.0.2"),
    taken_at=case_one.NOON - timedelta(hours=3),
    out_gbit_per_s=measured(4.7),
    back_gbit_per_s=measured(4.6),
    rtt_us=measured(251),
    rtt_by="ping",
    payload=payload(520, 300),
    through_tunnel=payload(260, 550),
    interfaces=(
        Interface(host="alpha", name="enp5s0", mtu=1500, mbit_per_s=5000, duplex="full", driver="igc", eee="active"),
    ),
    notes=("alpha: enp5s0 lets the cable sleep",),
    faults=("raw rate: no iperf3 on beta",),
)
SCAN = Scan(taken_at=case_one.NOON, hosts=(), devices=(), links=(LINK,))


def text(*, briefly: bool = False, width: int = 200) -> str:
    rig = replace(case_one.rig(), links=(Link(name="5gbe", between=("alpha", "beta"), gbit_per_s=5, tunnel=True),))
    return shown(Group(*link_lines(rig, SCAN, briefly=briefly)), width)


def test_a_measured_link_has_its_age_n_and_spread() -> None:
    assert text() == (
        "\n"
        "Links\n"
        "  5gbe  alpha - beta  stated: 5 Gbit/s, tunnelled\n"
        "    measured 3 h ago\n"
        "    raw 4.7 Gbit/s (n=5, 4.23-5.17) to beta, 4.6 Gbit/s (n=5, 4.14-5.06) back\n"
        "    round trip 251 µs (n=5, 226-276) by ping\n"
        "    RPC 520 MiB/s (n=8, 468-572) to the worker's CUDA0, 500 MiB/s (n=8, 450-550) back, "
        "260 µs (n=100, 234-286) a question\n"
        "    single activations, there + back: 4 KiB 300 + 300 µs, 16 KiB 300 + 300 µs, 64 KiB 300 + 300 µs\n"
        "    loading gets 4.36 Gbit/s of it, 93% of the raw rate\n"
        "    RPC through ssh 260 MiB/s (n=8, 234-286) to the worker's CUDA0, 500 MiB/s (n=8, 450-550) back, "
        "260 µs (n=100, 234-286) a question\n"
        "    single activations, there + back: 4 KiB 550 + 550 µs, 16 KiB 550 + 550 µs, 64 KiB 550 + 550 µs\n"
        "    ssh leaves 50% of the loading rate and adds 500 µs to an activation, there and back\n"
        "    alpha uses enp5s0 (igc, 5000 Mbit/s, full duplex, MTU 1500, EEE active)\n"
        "    ! alpha: enp5s0 lets the cable sleep\n"
        "    ! raw rate: no iperf3 on beta\n"
    )


def test_the_first_screen_leaves_out_the_details_and_not_the_warnings() -> None:
    brief = text(briefly=True)
    assert "single activations" not in brief
    assert "uses enp5s0" not in brief
    assert "! alpha: enp5s0 lets the cable sleep" in brief


def test_a_single_value_has_no_spread_and_an_unknown_one_no_number() -> None:
    assert figure(Measured(n=1, p50=77.4, low=77.4, high=77.4), "µs") == "77.4 µs (n=1)"
    assert figure(None, "Gbit/s") == "?"


def test_rows_of_an_endpoint_say_that_nobody_looks_and_nobody_verifies() -> None:
    worker = Card(
        id="10.0.0.3:50052/0",
        kind="unknown",
        name="device 0 of 10.0.0.3:50052",
        total_bytes=32 << 30,
        free_bytes=30 << 30,
        device="#0",
        endpoint="10.0.0.3:50052",
        protocol="7.0.0",
        note="a note of one line",
    )
    named = replace(
        worker, kind="cuda", name="NVIDIA GeForce RTX 5090", bus_id="00000000:01:00.0", pasted_at=LINK.taken_at
    )
    host = HostSeen(name="windows", connection="endpoint", cards=(worker, replace(named, id="10.0.0.3:50053/0")))
    rig = Rig(hosts=(Host(name="windows", connection="endpoint", endpoints=("10.0.0.3:50052",)),))
    view = shown(scan_view(rig, replace(SCAN, hosts=(host,)), width=120), 120)
    assert "    10.0.0.3:50052 #0 · RPC 7.0.0\n    a note of one line\n" in view
    assert view.count("somebody else's worker: no holders, no verification") == 2
    assert "10.0.0.3:50052 #0 · RPC 7.0.0 · 00000000:01:00.0 · pasted 3 h ago" in view
    assert "held by:" not in view
