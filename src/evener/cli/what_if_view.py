"""What `evener plan` shows of many answers: rows of a sweep, models that fit, and the grid of how many machines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.markup import escape
from rich.table import Table

from evener.cli.console import fitted, out, widest
from evener.cli.plan_view import NAME_WIDTH, TIGHT, TIGHT_MARK
from evener.cli.words import count, spread
from evener.records.whatif import PlanAnswer, Point, WhatIf
from evener.report.words import gib

SLOW_MARK = "!"


def show(many: WhatIf) -> None:
    out.print(header(many))
    out.print(grid_table(many) if many.kind == "grid" else rows_table(many))
    for line in (*_speeds(many), *_marks(many)):
        out.print(line)
    for point in many.points:
        if point.fault:
            out.print(f"  ! {escape(_changes(point))}: {escape(point.fault)}", soft_wrap=True)
    for note in many.notes:
        out.print(f"  - {escape(note)}", soft_wrap=True)


def _speeds(many: WhatIf) -> list[str]:
    """What the speeds of the rows are for: not for full contexts."""
    depths = [point.depth for point in many.points if point.depth is not None]
    if not depths or many.kind == "grid":
        return []
    prompts = [point.workload.prompt_tokens for point in many.points]
    return [f"speeds at depth {_range(depths)}, prompts of {_range(prompts)} tokens"]


def _range(numbers: Sequence[int]) -> str:
    low, high = min(numbers), max(numbers)
    return f"{low}" if low == high else f"{low} to {high}"


def _marks(many: WhatIf) -> list[str]:
    """What the marks mean that occur."""
    if many.kind == "grid":
        return [_key(many.points)]
    marks = []
    if many.kind != "models" and any(point.tight for point in many.points):
        marks.append(TIGHT)
    if any(point.quick is False for point in many.points):
        marks.append(f"{SLOW_MARK} slow: with all users at once each gets fewer tokens a second than people want")
    return marks


def show_around(plan: PlanAnswer) -> None:
    """What stands beside a single plan: what was changed, what it costs, what is assumed."""
    if plan.changes:
        out.print(f"what if: {escape(', '.join(f'{key} {value}' for key, value in plan.changes.items()))}")
    if plan.costs:
        out.print(costs_table(plan))
    for note in plan.notes:
        out.print(f"  - {escape(note)}", soft_wrap=True)


def costs_table(plan: PlanAnswer) -> Table:
    """What each candidate that fits costs: its cards, a seat, a million tokens."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("costs", overflow="fold")
    seat = "per person" if plan.seats else "per user"
    for name in ("cards", seat, "watts", "energy per\nmillion tokens", "all per\nmillion tokens"):
        table.add_column(name, justify="right")
    for name, cost in plan.costs.items():
        unknown = f"no price: {', '.join(cost.cards_without_price)}" if cost.cards_without_price else "-"
        table.add_row(
            escape(name),
            escape(unknown) if cost.hardware is None else _amount(cost.hardware, cost.currency, 0),
            _amount(cost.per_seat, cost.currency, 0),
            "-" if cost.watts is None else f"{cost.watts:.0f}",
            _amount(cost.energy_per_million_tokens, cost.currency, 2),
            _amount(cost.per_million_tokens, cost.currency, 2),
        )
    return table


def header(many: WhatIf) -> str:
    """What all points have in common."""
    first = many.points[0]
    work, seats = first.workload, first.seats
    said = [] if many.kind == "models" else [escape(first.model.removesuffix(f"-{first.quantisation}"))]
    if not {"users", "people", "profile"} & set(many.axes):
        said += [f"{seats.people} people ({seats.profile.name})"] if seats else []
        said.append(count(work.users, "user"))
    if "context" not in many.axes:
        said.append(f"{work.context} tokens {'for all' if work.unified else 'per user'}")
    if "kv" not in many.axes:
        said.append(f"KV {work.kv_type_k}" + (f"/{work.kv_type_v}" if work.kv_type_v != work.kv_type_k else ""))
    return f"[bold]{', '.join(said)}[/]"


def rows_table(many: WhatIf) -> Table:
    """A row per point: what was asked, where it fits, what it needs, how fast. A model's costs are in its own plan."""
    optional = ("per mil.\ntokens", "per\nseat", "active", "full", "needs")
    rows = [_row(point, many) for point in many.points]
    used = [name for name in rows[0] if any(row[name] not in ("", "-") for row in rows) or name == "needs"]
    return fitted(
        lambda dropped: _rows_table(many, [{n: row[n] for n in used if n not in dropped} for row in rows]),
        [name for name in optional if name in used],
    )


def _rows_table(many: WhatIf, rows: Sequence[Mapping[str, str]]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in many.axes:
        values = [name, *(escape(point.changes[name]) for point in many.points)]
        wide = min(NAME_WIDTH, widest(values))
        table.add_column(name, overflow="fold", no_wrap=many.kind == "models", min_width=wide)
    places = [_place(point) for point in many.points]
    table.add_column("take", overflow="fold", min_width=min(NAME_WIDTH, widest(places)))
    for name in rows[0]:
        table.add_column(name, justify="right", no_wrap=True)
    for point, place, row in zip(many.points, places, rows, strict=True):
        table.add_row(*(escape(point.changes[name]) for name in many.axes), place, *row.values())
    return table


def _row(point: Point, many: WhatIf) -> dict[str, str]:
    """A cell per column, "-" or nothing for what is not known."""
    models = many.kind == "models"
    return {
        "needs": "-" if point.needs_bytes is None else gib(point.needs_bytes),
        "active" if models else "full": _billions(point.active_parameters) if models else _full(point),
        "one user\ntok/s": spread(point.decode_tokens_per_s),
        "all users\ntok/s": _slow(point) + spread(point.users_tokens_per_s),
        "per\nseat": "-" if models else _money(point, "per_seat", 0),
        "per mil.\ntokens": "-" if models else _money(point, "per_million_tokens", 2),
    }


def grid_table(many: WhatIf) -> Table:
    """Contexts across, everything else down: how many machines each combination takes."""
    across = "context" if "context" in many.axes else list(many.axes)[-1]
    down: list[str] = [name for name in ("quant", "kv") if name in many.axes]
    down += [name for name in many.axes if name not in (*down, across)]
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in down:
        table.add_column(name, justify="right" if name in ("users", "people") else "left")
    for value in many.axes[across]:
        table.add_column(f"{across}\n{value}" if value == many.axes[across][0] else f"\n{value}", justify="right")
    rows: dict[tuple[str, ...], dict[str, Point]] = {}
    for point in many.points:
        rows.setdefault(tuple(point.changes[name] for name in down), {})[point.changes[across]] = point
    order = {name: {value: i for i, value in enumerate(values)} for name, values in many.axes.items()}
    for key in sorted(rows, key=lambda row: [order[name][value] for name, value in zip(down, row, strict=True)]):
        table.add_row(*map(escape, key), *(_cell(rows[key][value]) for value in many.axes[across]))
    return table


def _cell(point: Point) -> str:
    if point.fault:
        return "?"
    words = {"one machine": "[green]one[/]", "with main memory": "[yellow]ram[/]", "no": "[red]no[/]"}
    short = words.get(point.answer) or f"[yellow]{_several(len(point.fewest_hosts))}[/]"
    return f"{TIGHT_MARK}{short}" if point.fewest_tight else short


def _key(points: Sequence[Point]) -> str:
    one = dict.fromkeys(point.fewest_hosts[0] for point in points if point.answer == "one machine")
    where = f" ({escape(', '.join(one))})" if one else ""
    ram = "ram: with experts or layers in main memory; " if any(p.answer == "with main memory" for p in points) else ""
    machines = sorted({len(point.fewest_hosts) for point in points if point.answer == "several machines"})
    more = "".join(f"{_several(n)}: needs {_several(n)}; " for n in machines)
    return f"one: fits one machine{where}; {more}{ram}no: fits nowhere; {TIGHT}"


def _several(machines: int) -> str:
    return {2: "two", 3: "three"}.get(machines, str(machines))


def _place(point: Point) -> str:
    if point.choice is None:
        return "[red]nowhere[/]" + (f", {gib(point.short_bytes)} short" if point.short_bytes else "")
    return escape(point.choice)


def _full(point: Point) -> str:
    if point.full is None:
        return "-"
    return f"{TIGHT_MARK if point.tight else ''}{point.full:.0%}"


def _slow(point: Point) -> str:
    return SLOW_MARK if point.quick is False else ""


def _money(point: Point, what: str, digits: int) -> str:
    return "-" if point.cost is None else _amount(getattr(point.cost, what), point.cost.currency, digits)


def _amount(amount: float | None, currency: str, digits: int) -> str:
    return "-" if amount is None else f"{amount:.{digits}f} {escape(currency)}"


def _billions(count: int | None) -> str:
    return "-" if count is None else f"{count / 1e9:.1f}B"


def _changes(point: Point) -> str:
    return ", ".join(f"{key} {value}" for key, value in point.changes.items()) or point.model
