"""The rig's links for people: what is stated, what was measured and when. Shows; asks nobody anything."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.padding import Padding
from rich.text import Text

from evener.records.card import Scan
from evener.records.link import Interface, LinkMeasured, Measured, Payload
from evener.records.rig import Link, Rig
from evener.report.words import age

SHOWN_HOP_BYTES = 16 << 10  # an activation of a model 4096 wide, in F32


def link_lines(rig: Rig, scan: Scan, *, briefly: bool = False) -> list[RenderableType]:
    """Each link as stated, and below it the last measurement; `briefly` leaves out single hops and interfaces."""
    if not rig.links:
        return []
    known = {measured.name: measured for measured in scan.links}
    lines: list[RenderableType] = ["", Text("Links", style="bold")]
    for link in rig.links:
        lines.append(_stated(link))
        if measured := known.get(link.name):
            lines += [Padding(line, (0, 0, 0, 4)) for line in _measured(measured, scan, briefly=briefly)]
    if not known:
        lines.append(Text("  not measured yet: evener scan --links sends data over each for about 5 s", style="dim"))
    return lines


def _stated(link: Link) -> Text:
    facts = [
        None if link.gbit_per_s is None else f"{link.gbit_per_s:g} Gbit/s",
        None if link.rtt_us is None else f"{link.rtt_us:g} µs there and back",
        f"assumed from {link.preset}" if link.preset else None,
        "tunnelled" if link.tunnel else None,
    ]
    said = ", ".join(fact for fact in facts if fact)
    return Text.assemble(
        "  ",
        (link.name, "bold"),
        f"  {link.between[0]} - {link.between[1]}  ",
        f"stated: {said}" if said else "nothing stated",
    )


def _measured(link: LinkMeasured, scan: Scan, *, briefly: bool) -> Iterator[Text]:
    yield Text(f"measured {age((scan.taken_at - link.taken_at).total_seconds())} ago", style="dim")
    _, far = link.between
    if link.out_gbit_per_s or link.back_gbit_per_s:
        yield Text(
            f"raw {figure(link.out_gbit_per_s, 'Gbit/s')} to {far}, {figure(link.back_gbit_per_s, 'Gbit/s')} back"
        )
    if link.rtt_us:
        yield Text(f"round trip {figure(link.rtt_us, 'µs')} by {link.rtt_by}")
    if link.payload:
        yield from _payload(link.payload, "RPC", briefly=briefly)
        if link.out_gbit_per_s:
            yield Text(_share(link.payload, link.out_gbit_per_s), style="dim")
    if link.through_tunnel:
        yield from _payload(link.through_tunnel, "RPC through ssh", briefly=briefly)
        if link.payload:
            yield Text(_cost(link.payload, link.through_tunnel))
    if not briefly:
        yield from (Text(_interface(end), style="dim") for end in link.interfaces if end.name)
    yield from (Text(f"! {note}", style="yellow") for note in (*link.notes, *link.faults))


def _payload(payload: Payload, what: str, *, briefly: bool) -> Iterator[Text]:
    yield Text(
        f"{what} {figure(payload.set_mib_per_s, 'MiB/s')} to the worker's {payload.device}, "
        f"{figure(payload.get_mib_per_s, 'MiB/s')} back, {figure(payload.rtt_us, 'µs')} a question"
    )
    if not briefly:
        hops = (f"{hop.bytes >> 10} KiB {hop.set_us.p50:.0f} + {hop.get_us.p50:.0f} µs" for hop in payload.hops)
        yield Text(f"single activations, there + back: {', '.join(hops)}", style="dim")


def _share(payload: Payload, raw: Measured) -> str:
    gbit_per_s = payload.set_mib_per_s.p50 * 8 * 2**20 / 1e9
    return f"loading gets {gbit_per_s:.3g} Gbit/s of it, {gbit_per_s / raw.p50:.0%} of the raw rate"


def _cost(direct: Payload, tunnelled: Payload) -> str:
    """What the tunnel takes of loading, and adds to each activation."""
    share = tunnelled.set_mib_per_s.p50 / direct.set_mib_per_s.p50
    added = _there_and_back(tunnelled) - _there_and_back(direct)
    return f"ssh leaves {share:.0%} of the loading rate and adds {added:.0f} µs to an activation, there and back"


def _there_and_back(payload: Payload) -> float:
    hop = next(hop for hop in payload.hops if hop.bytes == SHOWN_HOP_BYTES)
    return hop.set_us.p50 + hop.get_us.p50


def _interface(end: Interface) -> str:
    facts = [
        end.driver,
        "Wi-Fi" if end.wireless else None,
        f"{end.mbit_per_s} Mbit/s" if end.mbit_per_s else None,
        f"{end.duplex} duplex" if end.duplex else None,
        f"MTU {end.mtu}" if end.mtu else None,
        f"EEE {end.eee}" if end.eee else None,
        f"from {end.source}" if end.source else None,
    ]
    return f"{end.host} uses {end.name} ({', '.join(fact for fact in facts if fact)})"


def figure(measured: Measured | None, unit: str) -> str:
    """ "4.69 Gbit/s (n=5, 4.62-4.71)"; "?" for what was not measured, no spread for n = 1."""
    if measured is None:
        return "?"
    value = f"{_short(measured.p50)} {unit}"
    if measured.n == 1:
        return f"{value} (n=1)"
    return f"{value} (n={measured.n}, {_short(measured.low)}-{_short(measured.high)})"


def _short(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"
