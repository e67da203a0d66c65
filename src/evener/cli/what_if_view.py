"""What `evener plan` shows of many answers: rows of a sweep, models that fit, and the grid of how many machines."""

from __future__ import annotations

from collections.abc import Sequence

from rich.markup import escape
from rich.table import Table

from evener.cli.console import gib, out
from evener.records.plan import Value
from evener.records.whatif import PlanAnswer, Point, WhatIf

TIGHT_MARK = "~"


def show(many: WhatIf) -> None:
    out.print(header(many))
    out.print(grid_table(many) if many.kind == "grid" else rows_table(many))
    if many.kind == "grid":
        out.print(_key(many.points), soft_wrap=True)
    elif any(point.tight for point in many.points):
        out.print(f"{TIGHT_MARK} tight: the fullest card gives 95 % or more of what it offers", soft_wrap=True)
    for point in many.points:
        if point.fault:
            out.print(f"  ! {escape(_changes(point))}: {escape(point.fault)}", soft_wrap=True)
    for note in many.notes:
        out.print(f"  - {escape(note)}", soft_wrap=True)


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
    table.add_column("costs")
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
        said.append(
            f"{seats.people} people ({seats.profile.name}), {work.users} users" if seats else f"{work.users} users"
        )
    if "context" not in many.axes:
        said.append(f"{work.context} tokens per user")
    if "kv" not in many.axes:
        said.append(f"KV {work.kv_type_k}" + (f"/{work.kv_type_v}" if work.kv_type_v != work.kv_type_k else ""))
    return f"[bold]{', '.join(said)}[/]"


def rows_table(many: WhatIf) -> Table:
    """A row per point: what was asked, where it fits, what it needs, how fast."""
    varied = list(many.axes)
    speeds = any(point.decode_tokens_per_s for point in many.points)
    seats = any(point.cost and point.cost.per_seat is not None for point in many.points)
    tokens = any(point.cost and point.cost.per_million_tokens is not None for point in many.points)
    models = many.kind == "models"
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in varied:
        table.add_column(name, overflow="fold")
    table.add_column("fits on", overflow="fold")
    for name in (
        "needs",
        *(("full",) if not models else ("active",)),
        *(("one user\ntok/s", "all users\ntok/s") if speeds else ()),
        *(("per\nseat",) if seats else ()),
        *(("per million\ntokens",) if tokens else ()),
    ):
        table.add_column(name, justify="right")
    for point in many.points:
        middle = _billions(point.active_parameters) if models else _full(point)
        table.add_row(
            *(escape(point.changes[name]) for name in varied),
            _place(point),
            gib(point.needs_bytes) if point.needs_bytes is not None else "-",
            middle,
            *((_rate(point.decode_tokens_per_s), _rate(point.users_tokens_per_s)) if speeds else ()),
            *((_money(point, "per_seat", 0),) if seats else ()),
            *((_money(point, "per_million_tokens", 2),) if tokens else ()),
        )
    return table


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
    words = {"one machine": "[green]one[/]", "no": "[red]no[/]"}
    short = words.get(point.answer) or f"[yellow]{_several(len(point.hosts))}[/]"
    return f"{TIGHT_MARK}{short}" if point.tight else short


def _key(points: Sequence[Point]) -> str:
    one = dict.fromkeys(point.choice for point in points if point.answer == "one machine" and point.choice)
    where = f" ({escape(', '.join(one))})" if one else ""
    machines = sorted({len(point.hosts) for point in points if point.answer == "several machines"})
    more = "".join(f"{_several(n)}: needs {_several(n)}; " for n in machines)
    return f"one: fits one machine{where}; {more}no: fits nowhere; {TIGHT_MARK} tight: 95 % or more"


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


def _rate(value: Value | None) -> str:
    if value is None:
        return "-"
    return f"{number(value.value)} ({number(value.low)}-{number(value.high)})"


def number(value: float) -> str:
    """Two digits that mean something."""
    return f"{value:.1f}" if value < 10 else f"{value:.0f}"


def _money(point: Point, what: str, digits: int) -> str:
    return "-" if point.cost is None else _amount(getattr(point.cost, what), point.cost.currency, digits)


def _amount(amount: float | None, currency: str, digits: int) -> str:
    return "-" if amount is None else f"{amount:.{digits}f} {escape(currency)}"


def _billions(count: int | None) -> str:
    return "-" if count is None else f"{count / 1e9:.1f}B"


def _changes(point: Point) -> str:
    return ", ".join(f"{key} {value}" for key, value in point.changes.items()) or point.model
