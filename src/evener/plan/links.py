"""What a link carries: assumed from its kind, stated by its owner, or measured. Pure; knows nothing of tokens.

Presets are payload rates of one TCP stream and round trips between two idle hosts, as intervals: Ethernet loses
5.1 % to frames (1460 of 1538 bytes, IEEE 802.3); one stream seldom fills 25 GbE and more; Thunderbolt networking
carries half of its cable or less (Apple and the Linux thunderbolt-net driver document 10 and 20 Gbit/s lanes);
Wi-Fi rates and round trips vary with everything. They are assumptions until `evener scan` has measured.
"""

from __future__ import annotations

from dataclasses import replace

from evener.plan.speed_values import value
from evener.records.link import LinkMeasured, Measured
from evener.records.plan import Value
from evener.records.rig import Link
from evener.records.speed import LinkSpeed

# name -> (Gbit/s, round trip in us), each as (likely, low, high)
_ASSUMED: dict[str, tuple[tuple[float, float, float], tuple[float, float, float]]] = {
    "loopback": ((20, 5, 60), (50, 20, 150)),
    "100mbit": ((0.094, 0.09, 0.095), (350, 150, 1000)),
    "1gbe": ((0.94, 0.85, 0.95), (250, 100, 600)),
    "2.5gbe": ((2.35, 2.0, 2.37), (220, 100, 500)),
    "5gbe": ((4.7, 3.5, 4.75), (220, 100, 500)),
    "10gbe": ((9.2, 6, 9.5), (120, 40, 300)),
    "25gbe": ((20, 10, 23.7), (60, 20, 200)),
    "50gbe": ((30, 12, 47), (50, 15, 200)),
    "100gbe": ((40, 15, 94), (40, 10, 200)),
    "thunderbolt4": ((12, 7, 20), (150, 60, 400)),
    "thunderbolt5": ((24, 10, 45), (130, 50, 400)),
    "wifi": ((0.4, 0.08, 1.2), (4000, 1500, 15000)),
}
# Beyond a measured round trip and the bytes: SmolLM2 on build 11434 over loopback, one thread each, 5.74 ms a token
# without a worker, 6.17 behind one and 6.67 behind two. A network's interrupts are in its round trip.
MEASURED_HOP_US = value(380, 200, 1200)
PRESETS: dict[str, LinkSpeed] = {
    name: LinkSpeed(name=name, source="assumed", gbit_per_s=value(*rate), rtt_us=value(*rtt))
    for name, (rate, rtt) in _ASSUMED.items()
}
PRESETS["loopback"] = replace(PRESETS["loopback"], hop_us=MEASURED_HOP_US)
UNKNOWN = LinkSpeed(
    name="unknown", source="assumed", gbit_per_s=value(1.5, 0.09, 40), rtt_us=value(250, 40, 1500)
)  # fmt: skip
STATED = 0.1  # an owner's figure is a data sheet's


def preset(name: str) -> LinkSpeed | None:
    """A kind of link by its name, in any case and with any of "-", "_" and blanks."""
    plain = name.lower()
    for mark in "-_ ":
        plain = plain.replace(mark, "")
    return PRESETS.get(plain)


def link_speed(link: Link, measured: LinkMeasured | None = None) -> LinkSpeed:
    """The best that is known of a link: measured, else stated, else assumed from its kind, else hardly anything."""
    kind = (preset(link.preset) if link.preset else None) or UNKNOWN
    if measured is not None and (found := _measured(measured, kind)) is not None:
        return found
    rate = _stated(link.gbit_per_s) or kind.gbit_per_s
    rtt = _stated(link.rtt_us) or kind.rtt_us
    said = link.gbit_per_s is not None or link.rtt_us is not None
    return LinkSpeed(name=link.name, source="stated" if said else "assumed", gbit_per_s=rate, rtt_us=rtt)


def _stated(figure: float | None) -> Value | None:
    return None if figure is None else value(figure, figure * (1 - STATED), figure * (1 + STATED))


def _measured(seen: LinkMeasured, kind: LinkSpeed) -> LinkSpeed | None:
    """None when neither rate nor round trip could be measured. The slower direction counts."""
    payload = seen.through_tunnel or seen.payload
    raw = [rate for rate in (seen.out_gbit_per_s, seen.back_gbit_per_s) if rate is not None]
    rtt = payload.rtt_us if payload else seen.rtt_us
    if not raw and rtt is None:
        return None
    slower = min(raw, key=lambda rate: rate.p50, default=None)
    return LinkSpeed(
        name=seen.name,
        source="measured",
        gbit_per_s=_value(slower) if slower else kind.gbit_per_s,
        rtt_us=_value(rtt) if rtt else kind.rtt_us,
        hop_us=MEASURED_HOP_US if payload else None,
        taken_at=seen.taken_at,
    )


def _value(figure: Measured) -> Value:
    return value(figure.p50, figure.low, figure.high)
