"""The rig for people: hosts, cards and who holds them, the engine's order, links. Shows; asks nobody anything."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from evener.cli.link_view import link_lines
from evener.cli.words import count
from evener.records.card import Card, Device, Holder, HostSeen, Scan
from evener.records.plan import Value
from evener.records.rig import Rig
from evener.report.cells import Fitted
from evener.report.cells import table as table_of
from evener.report.cells import text as text_of
from evener.report.words import age, gib

NARROW = 100
LEGEND = Text("█ held   ▓ held by nobody we can name   ▒ kept by the driver   ░ free", style="dim")
UNEXPLAINED = "nobody we can name: programs that only draw, or the driver itself"


def scan_view(rig: Rig, scan: Scan, *, width: int) -> Group:
    """The whole of `evener scan`."""
    parts: list[RenderableType] = [headline(rig)]
    for host in scan.hosts:
        parts += [
            "",
            _host_line(host, rig, scan),
            *(_indented(Text(line, style="dim")) for line in _host_details(host)),
        ]
        parts += [_indented(part) for card in host.cards for part in _card(card, host.name, scan, width=width)]
        if host.fault:
            parts.append(_indented(Text(f"! {host.fault}", style="yellow")))
    return Group(*parts, "", LEGEND, "", order_view(rig, scan), *link_lines(rig, scan))


def headline(rig: Rig) -> Text:
    if rig.path is None:
        return Text.assemble(
            ("this machine alone", "bold"), ": there is no rig.toml (", ("evener scan --init", "cyan"), " writes one)"
        )
    links = len(rig.links)
    return Text.assemble((rig.path, "bold"), f": {count(len(rig.hosts), 'host')}, {count(links, 'link')}")


def order_view(rig: Rig, scan: Scan) -> Group:
    """The device table: which value of `--tensor-split` belongs to which card."""
    if not scan.devices:
        return Group(Text("No device takes part.", style="yellow"))
    table = Fitted(lambda dropped: _order_table(scan, dropped), ("worker", "offers"))
    return Group(Text("The engine's order of use", style="bold"), table, *_order_notes(rig, scan))


def _order_table(scan: Scan, dropped: Collection[str]) -> Table:
    columns = ("-ts value", "device", "card", "host", "worker", "#offers")
    names = [name for name in columns if name.removeprefix("#") not in dropped]
    table = table_of(*names)
    for column in table.columns:
        column.no_wrap = column.header not in ("card", "host")
    for device in scan.devices:
        card = _card_of(scan, device)
        row = {
            "-ts value": _ordinal(device.position + 1),
            "device": device.name,
            "card": _short((card.name if card else device.description) or "?"),
            "host": device.host,
            "worker": f"{device.endpoint} {device.worker_device or ''}".strip() if device.endpoint else "-",
            "#offers": gib(card.offered_bytes if card else None),
        }
        table.add_row(*(text_of(row[name]) for name in names))
    return table


def holder_text(holder: Holder) -> Text:
    """What matters first, so that a narrow terminal cuts the arguments and not the owner."""
    if holder.kind == "unattributed":
        return Text(UNEXPLAINED, style="yellow")
    program, _, arguments = (holder.command or "?").partition(" ")
    facts = [f"pid {holder.pid}", holder.user, None if holder.age_s is None else age(holder.age_s)]
    text = Text(program.replace("\\", "/").rsplit("/", 1)[-1], style="bold")
    if holder.resident:
        text.append(f" (resident {holder.resident}, declared)", style="green")
    text.append(" · " + " · ".join(fact for fact in facts if fact))
    return text.append(f" · {arguments}", style="dim") if arguments else text


def _host_line(host: HostSeen, rig: Rig, scan: Scan) -> Text:
    head = " head" if host.name == rig.head.name else ""
    text = Text.assemble((host.name, "bold cyan"), (head, "bold"), f"  {host.connection}")
    if twin := _twin(host, scan):
        text.append(f"  same machine as {twin}: they share its memory and cores", style="yellow")
    return text


def _twin(host: HostSeen, scan: Scan) -> str | None:
    """The first host that is the same machine under another name."""
    if host.machine_id is None:
        return None
    first = next(h.name for h in scan.hosts if h.machine_id == host.machine_id)
    return first if first != host.name else None


def _host_details(host: HostSeen) -> Iterator[str]:
    cores = None if host.cores is None else f"{count(host.cores, 'core')}, {count(host.threads or 0, 'thread')}"
    if host.cpu or cores:
        yield " · ".join(part for part in (host.system, host.cpu, cores) if part)
    if host.memory_total_bytes is not None:
        free = f"{gib(host.memory_available_bytes)} of {gib(host.memory_total_bytes)}"
        yield f"RAM {free} available · disk {gib(host.disk_free_bytes)} free"
    if host.engine is not None:
        build = f"b{host.engine.build}" if host.engine.build else "unknown build"
        yield f"llama.cpp {build} · RPC {host.engine.protocol or '?'} · {', '.join(host.engine.backends)}"
    elif host.memory_total_bytes is not None:
        yield "no engine (evener engine install)"


def _card(card: Card, host: str, scan: Scan, *, width: int) -> Iterator[RenderableType]:
    cells = 16 if width < NARROW else 32
    row = Table.grid(padding=(0, 2, 0, 0))
    row.add_column(no_wrap=True, overflow="ellipsis", width=max(12, width - cells - 32))
    row.add_column(no_wrap=True)
    row.add_column(no_wrap=True, justify="right", min_width=26)
    name = Text(_short(card.name), style="dim" if card.excluded else "")
    row.add_row(name, memory_bar(card, cells=cells), _memory(card))
    yield row
    facts = [*_card_facts(card)]
    if card.pasted_at is not None:
        facts.append(f"pasted {age((scan.taken_at - card.pasted_at).total_seconds())} ago")
    if facts:
        yield _indented(Text(" · ".join(facts), style="dim"))
    if card.note:
        yield _indented(Text(card.note, style="dim"))
    yield from (_indented(Text(line, style="dim")) for line in _speed(card, host, scan))
    yield from (_indented(line) for line in _holders(card))


def memory_bar(card: Card, *, cells: int) -> Text:
    """Held by somebody known, held by nobody known, neither free nor held, free; readable without colour."""
    total, free = card.total_bytes, card.free_bytes
    if not total or free is None:
        return Text("?" * cells, style="dim")
    rest = max(0, total - free)
    used = min(rest, card.used_bytes if card.used_bytes is not None else rest)
    told = sum(h.bytes or 0 for h in card.holders or () if h.kind != "unattributed")
    known = used if card.kind == "cpu" else min(used, told)  # main memory names only whoever is big
    ends = [round(cells * part / total) for part in (known, used, rest)]
    return Text.assemble(
        ("█" * ends[0], "cyan"),
        ("▓" * (ends[1] - ends[0]), "yellow"),
        ("▒" * (ends[2] - ends[1]), "dim"),
        ("░" * (cells - ends[2]), "green"),
    )


def _memory(card: Card) -> str:
    if card.total_bytes is None:
        return "memory unknown"
    return f"{gib(card.free_bytes)} of {gib(card.total_bytes)} free"


def _card_facts(card: Card) -> Iterator[str]:
    if card.excluded:
        yield "left out"
    if card.endpoint:
        yield f"{card.endpoint} {card.device} · RPC {card.protocol}"
    elif card.kind == "cpu" or card.kind == "unknown":
        return
    yield from (fact for fact in (None if card.endpoint else card.device, card.bus_id) if fact)
    if card.driver:
        yield f"driver {card.driver}"
    if card.temperature_c is not None:
        yield f"{card.temperature_c:.0f} °C"
    asked, effective = card.power_limit_asked_w, card.power_limit_effective_w
    if asked is not None and effective is not None and asked != effective:
        yield f"limit {asked:.0f} W, in effect {effective:.0f} W"
    elif asked is not None:
        yield f"limit {asked:.0f} W"
    if card.drives_display:
        yield "drives a display"


def _speed(card: Card, host: str, scan: Scan) -> Iterator[str]:
    """What llama-bench measured on it: how fast it reads weights and multiplies, and how long ago."""
    for known in scan.speeds:
        if (known.host, known.card) != (host, card.id):
            continue
        rate, flop = known.speed.weights_bytes_per_s, known.speed.flop_per_s
        figures = [
            rate and f"reads weights at {_scaled(rate, 1e9)} GB/s",
            flop and f"multiplies at {_scaled(flop, 1e9)} Gop/s",
        ]
        threads = f"{count(known.threads, 'thread')}, " if known.threads else ""
        then = known.speed.taken_at
        ago = "" if then is None else f", measured {age((scan.taken_at - then).total_seconds())} ago"
        build = f"b{known.build}" if known.build else "unknown build"
        said = " · ".join(figure for figure in figures if figure)
        yield f"{said} ({threads}n={known.speed.n}, {build}){ago}"


def _scaled(figure: Value, unit: float) -> str:
    """ "12.3 (11.9-12.7)"."""
    value, low, high = (_digits(part / unit) for part in (figure.value, figure.low, figure.high))
    return f"{value} ({low}-{high})"


def _digits(figure: float) -> str:
    return f"{figure:.0f}" if figure >= 100 else f"{figure:.3g}"


def _holders(card: Card) -> Iterator[RenderableType]:
    if card.endpoint:
        yield Text("somebody else's worker: no holders, no verification", style="yellow")
    elif card.kind == "unknown":
        return
    elif card.holders is None:
        yield Text("held by: unknown, nobody could look", style="yellow")
    if card.holders is None:
        return
    table = Table.grid(padding=(0, 1, 0, 0), expand=True)
    table.add_column(justify="right", width=8, no_wrap=True)
    table.add_column(no_wrap=True, overflow="ellipsis", ratio=1)
    for holder in card.holders:
        table.add_row(gib(holder.bytes), holder_text(holder))
    yield table


def _order_notes(rig: Rig, scan: Scan) -> Iterator[Text]:
    last = scan.devices[-1]
    if last.host == rig.head.name and last.card_id == "cpu":
        how = f"a worker on {last.host} serves its CPU" if last.endpoint else "the model stays on its CPU"
        yield Text(f"{last.host} has no GPU the engine can use: {how}.", style="dim")
    if any(device.card_id is None for device in scan.devices):
        yield Text(
            "An endpoint that was not asked, or did not answer, counts as one device: "
            "more behind it would move those after it.",
            style="yellow",
        )
    if len(scan.devices) > 1:
        yield Text("Values of `--tensor-split` go in this order; evener always names its devices.", style="dim")


def _card_of(scan: Scan, device: Device) -> Card | None:
    host = scan.host(device.host)
    return host.card(device.card_id) if host and device.card_id else None


def _indented(part: RenderableType) -> Padding:
    return Padding(part, (0, 0, 0, 2), expand=False)


def _short(name: str) -> str:
    """Everybody's card is an NVIDIA GeForce; the model is what tells them apart."""
    return name.removeprefix("NVIDIA ").removeprefix("GeForce ")


def _ordinal(n: int) -> str:
    return f"{n}{'th' if 10 <= n % 100 <= 20 else {1: 'st', 2: 'nd', 3: 'rd'}.get(n % 10, 'th')}"


def held_lines(hosts: Sequence[HostSeen], *, least_bytes: int = 256 << 20) -> Iterator[Text]:
    """One line per holder worth a newcomer's attention, over all hosts."""
    for host in hosts:
        for card in host.cards:
            for holder in card.holders or ():
                if (holder.bytes or 0) >= least_bytes:
                    where = f"  {gib(holder.bytes):>9}  {host.name} {_short(card.name)}  "
                    yield Text(where, no_wrap=True, overflow="ellipsis").append_text(holder_text(holder))
