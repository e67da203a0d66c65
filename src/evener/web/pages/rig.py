"""The rig: hosts, cards and who holds them, cables, what runs where. What `evener scan` and `evener status` show."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from evener.records.card import Card, Holder, HostSeen, Scan
from evener.records.deployment import Deployment
from evener.records.link import LinkMeasured, Measured
from evener.records.rig import Link, Rig
from evener.report.language import Say
from evener.report.words import age, figure, gib
from evener.web.app import say_of, ui_of

router = APIRouter()

COLOURS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A piece of a card's memory bar; shares are of one."""

    kind: str
    share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class HolderView:
    kind: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CardView:
    name: str
    positions: str  # its places in the engine's order of use, from 1
    told: str  # its memory, in words
    state: str  # temperature and power limit, where the driver says
    parts: tuple[Part, ...]
    holders: tuple[HolderView, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ram:
    free: str
    total: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HostView:
    name: str
    is_head: bool
    twin: str | None  # another name of the same machine
    fault: str | None
    is_stated: bool  # nobody looks at it: that is no fault
    engine: str | None
    ram: Ram | None
    cards: tuple[CardView, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkView:
    """`raw` and `payload` there and back: what the cable carries, and what of it arrives through RPC."""

    name: str
    between: str
    raw: str
    rtt: str
    payload: str
    told: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceView:
    device: str
    host: str
    card_name: str
    first: int
    last: int
    colour: int  # one for each host

    @property
    def layers(self) -> int:
        return self.last - self.first + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningView:
    name: str
    state: str
    model: str
    layout: str
    users: int
    context: int
    url: str | None
    fault: str | None
    devices: tuple[DeviceView, ...]


@router.get("/")
async def whole(request: Request) -> HTMLResponse:
    return ui_of(request).page(request, "rig.html.j2")


@router.get("/rig/now")
async def now(request: Request) -> HTMLResponse:
    """The part of the page that changes."""
    ui, say = ui_of(request), say_of(request)
    scan = await ui.now.scan()
    rig, running = ui.now.rig.record, ui.now.deployments()
    ours = {(process.host, process.pid) for one in running for process in one.processes}
    return ui.page(
        request,
        "rig_now.html.j2",
        scan=scan,
        hosts=[_host(host, rig, scan, ours, say) for host in scan.hosts],
        links=[_link(link, scan, say) for link in rig.links],
        running=[_running(one) for one in running],
    )


@router.get("/rig/doctor")
async def doctor(request: Request) -> HTMLResponse:
    """What would stop, slow or change a load, the worst first, and what to do."""
    ui = ui_of(request)
    found = await ui.now.examined()
    told = [one for one in found.findings if one.level != "fine"]
    return ui.page(request, "doctor.html.j2", told=told, fine=len(found.findings) - len(told), at=found.taken_at)


def _host(host: HostSeen, rig: Rig, scan: Scan, ours: set[tuple[str, int]], say: Say) -> HostView:
    twin = next((h.name for h in scan.hosts if host.machine_id and h.machine_id == host.machine_id), host.name)
    ram = None
    if host.memory_total_bytes is not None:
        ram = Ram(free=gib(host.memory_available_bytes), total=gib(host.memory_total_bytes))
    engine = None
    if host.engine is not None:
        build = f"b{host.engine.build}" if host.engine.build else say("unknown build")
        engine = f"llama.cpp {build} · RPC {host.engine.protocol or '?'} · {', '.join(host.engine.backends)}"
    return HostView(
        name=host.name,
        is_head=host.name == rig.head.name,
        twin=twin if twin != host.name else None,
        fault=host.fault,
        is_stated=host.connection == "stated",
        engine=engine,
        ram=ram,
        cards=tuple(_card(card, host.name, scan, ours, say) for card in host.cards if not card.excluded),
    )


def _card(card: Card, host: str, scan: Scan, ours: set[tuple[str, int]], say: Say) -> CardView:
    places = [str(d.position + 1) for d in scan.devices if (d.host, d.card_id) == (host, card.id)]
    total, free = card.total_bytes, card.free_bytes
    is_known = total is not None or free is not None
    told = say("{free} of {total} free", free=gib(free), total=gib(total)) if is_known else say("not looked at")
    return CardView(
        name=card.name,
        positions=", ".join(places),
        told=told if card.offered_bytes is None else f"{told}, " + say("{n} for a plan", n=gib(card.offered_bytes)),
        state=" · ".join(_state(card, say)),
        parts=tuple(_parts(card, host, ours)),
        holders=tuple(_holder(one, host, ours, say) for one in card.holders or ()),
    )


def _state(card: Card, say: Say) -> Iterator[str]:
    if card.temperature_c is not None:
        yield f"{card.temperature_c:.0f} °C"
    asked, effective = card.power_limit_asked_w, card.power_limit_effective_w
    if effective is not None:
        yield say("limit {n} W", n=f"{effective:.0f}")
        if asked is not None and effective < asked:
            yield say("throttled from {n} W", n=f"{asked:.0f}")


def _parts(card: Card, host: str, ours: set[tuple[str, int]]) -> Iterator[Part]:
    """What the bar shows; a card that does not say how large it is has none."""
    if not card.total_bytes:
        return
    for one in card.holders or ():
        if one.bytes:
            yield Part(kind=_kind(one, host, ours), share=one.bytes / card.total_bytes)
    if card.free_bytes:
        yield Part(kind="free", share=card.free_bytes / card.total_bytes)


def _kind(holder: Holder, host: str, ours: set[tuple[str, int]]) -> str:
    return "ours" if holder.pid is not None and (host, holder.pid) in ours else holder.kind


def _holder(holder: Holder, host: str, ours: set[tuple[str, int]], say: Say) -> HolderView:
    size, kind = gib(holder.bytes), _kind(holder, host, ours)
    if kind == "unattributed":
        return HolderView(kind=kind, text=f"{size} " + say("nobody we can name"))
    program = (holder.command or "?").partition(" ")[0].replace("\\", "/").rsplit("/", 1)[-1]
    facts = [f"pid {holder.pid}", holder.user, None if holder.age_s is None else age(holder.age_s), holder.resident]
    return HolderView(kind=kind, text=" · ".join([f"{size} {program}", *(fact for fact in facts if fact)]))


def _link(link: Link, scan: Scan, say: Say) -> LinkView:
    known = next((one for one in scan.links if one.name == link.name), None)
    raw = _both(known.out_gbit_per_s, known.back_gbit_per_s) if known else None
    payload = known.payload if known else None
    rtt = _middle(known.rtt_us) if known and known.rtt_us else None
    return LinkView(
        name=link.name,
        between=" – ".join(link.between),
        raw=raw or "?",
        rtt=rtt or "?",
        payload=_both(payload.set_mib_per_s, payload.get_mib_per_s) or "?" if payload else "?",
        told="; ".join(_measured(known, say) if known else _stated(link, say)) or say("nothing"),
    )


def _both(out: Measured | None, back: Measured | None) -> str | None:
    """There and back."""
    return None if out is None and back is None else " / ".join("?" if v is None else _middle(v) for v in (out, back))


def _measured(link: LinkMeasured, say: Say) -> Iterator[str]:
    yield say("measured {at}", at=f"{link.taken_at:%Y-%m-%d %H:%M UTC}")
    if link.payload:
        yield say("an RPC round trip {n} µs", n=_middle(link.payload.rtt_us))
    yield from (*link.notes, *link.faults)


def _stated(link: Link, say: Say) -> Iterator[str]:
    if link.gbit_per_s is not None:
        yield say("stated: {n} Gbit/s", n=f"{link.gbit_per_s:g}")
    if link.rtt_us is not None:
        yield say("stated: round trip {n} µs", n=f"{link.rtt_us:g}")
    if link.preset:
        yield say("assumed from {preset}", preset=link.preset)


def _middle(value: Measured) -> str:
    return (
        figure(value.p50)
        if value.n == 1
        else f"{figure(value.p50)} ({figure(value.low)}–{figure(value.high)}, n {value.n})"
    )


def _running(one: Deployment) -> RunningView:
    return RunningView(
        name=one.name,
        state=one.state,
        model=one.model,
        layout=one.candidate.name,
        users=one.users,
        context=one.context,
        url=one.url,
        fault=one.fault,
        devices=tuple(_layers(one)),
    )


def _layers(one: Deployment) -> Sequence[DeviceView]:
    """Which layers each device has, in the engine's order."""
    found, first = [], 0
    hosts = list(dict.fromkeys(device.host for device in one.candidate.devices))
    for device in sorted(one.candidate.devices, key=lambda d: d.position):
        view = DeviceView(
            device=device.device,
            host=device.host,
            card_name=device.card_name,
            first=first,
            last=first + device.layers - 1,
            colour=hosts.index(device.host) % COLOURS + 1,
        )
        found.append(view)
        first += device.layers
    return found
