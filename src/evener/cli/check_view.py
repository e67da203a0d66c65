"""What `evener plan --check` shows: each value of a split, where it lands, and what we would write."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.markup import escape
from rich.table import Table

from evener.cli.console import out

if TYPE_CHECKING:
    from evener.plan.check import Checked


def show(checked: Checked) -> None:
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("-ts", justify="right")
    table.add_column("device")
    table.add_column("card")
    table.add_column("layers")
    for place in checked.places:
        value = "-" if place.value is None else f"{place.value:g}"
        head = ", the output head among them" if place.holds_head else ""
        table.add_row(value, place.device, escape(place.card), f"{place.slots}{head}")
    out.print(table)
    if checked.cpu_slots:
        out.print(f"{checked.cpu_slots} of {checked.slots} layers stay on the head's CPU")
    for warning in checked.warnings:
        out.print(f"[yellow]![/] {escape(warning)}", soft_wrap=True)
    out.print(f"evener would write: [bold]{escape(checked.ours)}[/]", soft_wrap=True)
    out.print(f"({checked.ours_by})", markup=False, soft_wrap=True)
