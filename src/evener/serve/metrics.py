"""The door's own `/metrics`, as Prometheus reads them. Pure. Names: docs/reference/door.md."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from evener.records.serving import Behind, DoorStatus, Used


@dataclass(frozen=True, slots=True, kw_only=True)
class CardNow:
    """What one card says of itself now; None where it does not say."""

    host: str
    card: str
    temperature_c: float | None = None
    power_w: float | None = None
    used_bytes: int | None = None
    total_bytes: int | None = None


Labels = Mapping[str, str]
Row = tuple[Labels, float | None]


def page(status: DoorStatus, used: Iterable[Used], cards: Iterable[CardNow] = ()) -> str:
    """Everything there is now; what nobody knows is left out. `used` is today's."""
    return "".join(_lines(status, tuple(used), tuple(cards)))


def _lines(status: DoorStatus, used: tuple[Used, ...], cards: tuple[CardNow, ...]) -> Iterator[str]:
    behind = status.behind
    yield from _metric("up", "gauge", "Whether the deployment serves.", [(_of(b), b.state == "ready") for b in behind])
    yield from _metric("slots", "gauge", "Requests it answers at once.", [(_of(b), b.slots) for b in behind])
    yield from _metric("busy", "gauge", "Requests in flight there.", [(_of(b), b.busy) for b in behind])
    yield from _metric("restarts_total", "counter", "Deaths since the start.", [(_of(b), b.restarts) for b in behind])
    yield from _metric("waiting", "gauge", "Requests in the queue.", [({}, status.waiting)])
    ended = {"answered": status.answered, "failed": status.failed, "refused": status.refused}
    counted: list[Row] = [({"how": how}, count) for how, count in ended.items()]
    yield from _metric("requests_total", "counter", "Requests that have ended.", counted)
    yield from _metric("tokens_per_second", "gauge", "Made now, by all.", [({}, status.tokens_per_s)])
    yield from _metric("people", "gauge", "Who may enter.", [({}, status.people)])
    mine = [({"person": u.person}, u) for u in used]
    yield from _metric("person_requests_today", "gauge", "Since midnight UTC.", [(p, u.requests) for p, u in mine])
    yield from _metric("person_failures_today", "gauge", "Since midnight UTC.", [(p, u.failures) for p, u in mine])
    yield from _metric(
        "person_tokens_today",
        "gauge",
        "Since midnight UTC.",
        [
            (p | {"kind": kind}, count)
            for p, u in mine
            for kind, count in (("prompt", u.prompt_tokens), ("output", u.output_tokens))
        ],
    )
    on = [({"host": c.host, "card": c.card}, c) for c in cards]
    yield from _metric("card_temperature_celsius", "gauge", "Of the card.", [(at, c.temperature_c) for at, c in on])
    yield from _metric("card_power_watts", "gauge", "Drawn by the card.", [(at, c.power_w) for at, c in on])
    yield from _metric("card_used_bytes", "gauge", "By everybody.", [(at, c.used_bytes) for at, c in on])
    yield from _metric("card_total_bytes", "gauge", "That the card has.", [(at, c.total_bytes) for at, c in on])


def _of(behind: Behind) -> dict[str, str]:
    return {"deployment": behind.name, "model": behind.model, "layout": behind.layout}


def _metric(name: str, kind: str, what: str, rows: Iterable[Row]) -> Iterator[str]:
    known = [(labels, value) for labels, value in rows if value is not None]
    if known:
        yield f"# HELP evener_{name} {what}\n# TYPE evener_{name} {kind}\n"
    for labels, value in known:
        told = ",".join(f'{key}="{_escaped(text)}"' for key, text in labels.items())
        yield f"evener_{name}{{{told}}} {float(value):.10g}\n" if told else f"evener_{name} {float(value):.10g}\n"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
