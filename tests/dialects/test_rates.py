"""iperf3 and ping, read from what they print."""

from __future__ import annotations

from pathlib import Path

import pytest

from evener.dialects import rates, ssh_tunnel

CAPTURES = Path(__file__).parents[1] / "captures" / "net"


def test_each_interval_of_iperf3_is_a_rate() -> None:
    values = rates.gbit_per_s((CAPTURES / "iperf3_client.json").read_text())
    assert [round(v, 1) for v in values] == [25.0, 21.2, 14.5, 12.1, 12.9]


def test_a_stub_of_an_interval_is_no_rate() -> None:
    whole, stub = '{"seconds": 0.2, "bits_per_second": 1e9}', '{"seconds": 0.001, "bits_per_second": 9e9}'
    assert rates.gbit_per_s(f'{{"intervals": [{{"sum": {whole}}}, {{"sum": {stub}}}]}}') == (1.0,)


def test_an_error_of_iperf3_is_told() -> None:
    said = '{"start": {}, "intervals": [], "error": "unable to connect to server: Connection refused"}'
    assert rates.gbit_per_s(said) == ()
    assert rates.iperf_error(said) == "unable to connect to server: Connection refused"


@pytest.mark.parametrize("said", ["", "[]", "{}", "iperf3: command not found", '{"intervals": 3}'])
def test_what_is_no_result_has_no_rates(said: str) -> None:
    assert rates.gbit_per_s(said) == ()
    assert rates.iperf_error(said) is None


def test_every_answer_to_ping_is_a_round_trip() -> None:
    assert rates.round_trips_us((CAPTURES / "ping.txt").read_text()) == pytest.approx((153, 36, 25))


def test_the_server_serves_once_on_one_address_and_each_run_is_bounded() -> None:
    assert rates.server_argv(address="10.0.0.2", port=50059) == [
        "iperf3", "-s", "-1", "-B", "10.0.0.2", "-p", "50059", "--forceflush"
    ]  # fmt: skip
    assert rates.client_argv(address="10.0.0.2", port=50059, back=True)[-6:] == ["-t", "1", "-i", "0.2", "-J", "-R"]


def test_a_tunnel_listens_on_loopback_at_both_ends_and_never_asks() -> None:
    argv = ssh_tunnel.tunnel_argv("me@beta.lan", port=50052, local_port=50060)
    assert argv[:3] == ("ssh", "-N", "-T")
    assert argv[-4:] == ("-L", "127.0.0.1:50060:127.0.0.1:50052", "--", "me@beta.lan")
    assert {"BatchMode=yes", "ExitOnForwardFailure=yes", "RemoteCommand=none"} <= set(argv)
    assert "ClearAllForwardings=yes" not in argv  # its own would be cleared too
    assert ssh_tunnel.tunnel_argv("beta", port=50052)[-3] == "127.0.0.1:50052:127.0.0.1:50052"
