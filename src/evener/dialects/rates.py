"""`iperf3` and `ping`, in both directions: short runs that end by themselves."""

from __future__ import annotations

import json
import re

IPERF3, PING = "iperf3", "ping"
SECONDS = 1  # per direction
INTERVAL_S = 0.2  # so that a run of a second has a spread
PINGS, PING_EVERY_S = 5, 0.2  # the shortest interval that ping allows everybody


def server_argv(*, address: str, port: int) -> list[str]:
    """A server for one test, on one address, that says at once when it listens."""
    return [IPERF3, "-s", "-1", "-B", address, "-p", str(port), "--forceflush"]


def client_argv(*, address: str, port: int, back: bool) -> list[str]:
    """Send for a second to `address`; with `back` receive from there."""
    times = ["-t", str(SECONDS), "-i", str(INTERVAL_S)]
    return [IPERF3, "-c", address, "-p", str(port), *times, "-J", *(["-R"] if back else [])]


def ping_argv(address: str) -> list[str]:
    return [PING, "-n", "-c", str(PINGS), "-i", str(PING_EVERY_S), "-W", "1", address]


def is_listening(line: str) -> bool:
    return line.startswith("Server listening on")


def gbit_per_s(text: str) -> tuple[float, ...]:
    """Rates of each interval of `iperf3 -J`, without the last where it was cut short."""
    try:
        rows = [interval["sum"] for interval in json.loads(text)["intervals"]]
        return tuple(row["bits_per_second"] / 1e9 for row in rows if row["seconds"] > INTERVAL_S / 2)
    except (ValueError, LookupError, TypeError):
        return ()


def iperf_error(text: str) -> str | None:
    """What `iperf3 -J` says went wrong."""
    try:
        said = json.loads(text).get("error")
    except (ValueError, AttributeError):
        return None
    return str(said) if said else None


def round_trips_us(text: str) -> tuple[float, ...]:
    """Each answer's time in `ping`'s output."""
    return tuple(float(ms) * 1000 for ms in re.findall(r"\btime=([\d.]+) ?ms", text))
