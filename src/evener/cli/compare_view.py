"""A campaign before it begins: every step in order, what it takes, what the sizes can prove, what does not fit."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from rich.markup import escape
from rich.table import Table

from evener.campaign.predict import hours, total
from evener.cli.console import fitted, out, widest
from evener.cli.words import count
from evener.records.campaign import Campaign, Fetch, Schedule, Visit
from evener.records.rig import Rig
from evener.report.words import figure, gib

LOAD, ALL, FULLEST, RATE = "load", "all", "fullest\ncard", "one user\ntok/s"
NAME_WIDTH, PLACE_WIDTH = 30, 20
WHERE = {"here": "here", "fetch": "to fetch", "quantise": "to make here"}


def show(campaign: Campaign, made: Schedule, rig: Rig) -> None:
    """All of it on standard output."""
    where = f"{rig.path}: {count(len(rig.hosts), 'host')}" if rig.path else "this machine alone"
    blocks = max((visit.block for visit in made.visits), default=0)
    contestants = count(len(campaign.contestants), "contestant")
    out.print(
        f"[bold]{escape(campaign.name)}[/]: {contestants} in {count(blocks, 'block')}; {escape(where)}",
        soft_wrap=True,
    )
    for fetch in made.fetches:
        out.print(f"  {escape(_file(fetch))}", soft_wrap=True)
    for block in range(1, blocks + 1):
        visits = [visit for visit in made.visits if visit.block == block and visit.units]
        if visits:
            out.print(f"\nblock {block}: {count(len(visits), 'visit')}, predicted minutes")
            out.print(_table(visits))
    _lines("does not fit", _not_fitting(made.visits))
    _lines("what the sizes can prove", made.proves)
    _lines("to know", made.notes)
    out.print(f"\n[bold]in all[/]: {escape(', '.join(_in_all(made)))}", soft_wrap=True)


def _lines(title: str, lines: Collection[str]) -> None:
    if lines:
        out.print(f"\n{title}:")
    for line in lines:
        out.print(f"  - {escape(line)}", soft_wrap=True)


def _file(fetch: Fetch) -> str:
    size = f", {gib(fetch.bytes)}" if fetch.how != "here" else ""
    return f"{fetch.model}: {WHERE[fetch.how]}{size}"


def _table(visits: Sequence[Visit]) -> Table:
    """A row for each visit in its order; with little room the units go first, what they take is in the sum."""
    units = dict.fromkeys(unit.name for visit in visits for unit in visit.units)
    return fitted(lambda dropped: _visits(visits, [*units], dropped), (*units, LOAD, "on cards", FULLEST))


def _visits(visits: Sequence[Visit], units: Sequence[str], dropped: Collection[str]) -> Table:
    names = [name for name in (FULLEST, "on cards", RATE, LOAD, *units, ALL) if name not in dropped]
    table = Table(box=None, pad_edge=False, header_style="bold")
    contestants = [escape(visit.contestant) for visit in visits]
    table.add_column("contestant", overflow="fold", min_width=min(NAME_WIDTH, widest(contestants)))
    table.add_column("layout", overflow="fold", min_width=min(PLACE_WIDTH, widest(map(_place, visits))))
    for name in names:
        table.add_column(name, justify="right", no_wrap=True)
    for contestant, visit in zip(contestants, visits, strict=True):
        row = _row(visit)
        table.add_row(contestant, _place(visit), *(row.get(name, "") for name in names))
    return table


def _place(visit: Visit) -> str:
    """Where it is, and what it is there for where nobody asked for it."""
    place = escape(visit.key.removeprefix(f"{visit.contestant}/"))
    return f"{place} [dim](baseline)[/]" if visit.role == "baseline" else place


def _row(visit: Visit) -> dict[str, str]:
    """A cell per column."""
    parts = [unit.minutes for unit in visit.units]
    parts += [visit.load_minutes] if visit.candidate else []
    whole = None if any(part is None for part in parts) else sum(part or 0.0 for part in parts)
    return {
        FULLEST: "-" if visit.fullest is None else f"{visit.fullest:.0%}",
        "on cards": "-" if visit.cards_bytes is None else gib(visit.cards_bytes),
        RATE: "-" if visit.predicted is None else figure(visit.predicted.value),
        LOAD: _minutes(visit.load_minutes) if visit.candidate else "-",
        **{unit.name: _minutes(unit.minutes) for unit in visit.units},
        ALL: _minutes(whole),
    }


def _minutes(value: float | None) -> str:
    return "?" if value is None else figure(value)


def _not_fitting(visits: Sequence[Visit]) -> list[str]:
    return sorted(f"{visit.key}: {visit.why_not}" for visit in visits if visit.why_not is not None)


def _in_all(made: Schedule) -> Iterator[str]:
    whole = total(made.visits)
    if whole.minutes or whole.is_known:
        yield f"about {hours(whole.minutes)}" + ("" if whole.is_known else ", and what nobody can predict")
    else:
        yield "nobody can predict how long"
    units = sum(len(visit.units) for visit in made.visits)
    yield f"{count(units, 'unit')} in {count(sum(bool(visit.units) for visit in made.visits), 'visit')}"
    yield "disk: nobody knows" if made.disk_bytes is None else f"{gib(made.disk_bytes)} to fetch and write"
    fullest = max(made.visits, key=lambda visit: visit.fullest or 0.0, default=None)
    if fullest is not None and fullest.fullest is not None:
        yield f"the fullest card {fullest.fullest:.0%} in {fullest.key}"
