"""What `evener bench self-test` shows."""

from __future__ import annotations

from collections.abc import Sequence

from rich.markup import escape
from rich.table import Table

from evener.cli.console import out, show_json
from evener.codec import to_data
from evener.errors import ResultInvalid
from evener.records.client import ClientCheck
from evener.report.words import UNKNOWN


def show(checks: Sequence[ClientCheck], *, as_json: bool) -> None:
    if as_json:
        show_json({"checks": to_data(list(checks))})
        return
    out.print(_table(checks))
    for check in checks:
        if check.fault:
            out.print(f"must not be used: {escape(check.fault)}", soft_wrap=True)
    machine, taken = checks[-1].machine, min(check.taken_at for check in checks)
    out.print(
        f"{escape(machine.cpu or 'unknown processor')}, {machine.threads or '?'} threads, Python {machine.python},"
        f" evener {machine.evener}; measured {taken:%Y-%m-%d %H:%M} UTC; --fresh measures again",
        soft_wrap=True,
    )


def raise_unless_valid(checks: Sequence[ClientCheck]) -> None:
    """Exit code 4 when figures of this client must not be used, after they have been shown."""
    for check in checks:
        if check.fault:
            raise ResultInvalid(
                check.fault, hint="end what else keeps this machine busy, or measure from another machine"
            )


def _table(checks: Sequence[ClientCheck]) -> Table:
    shown = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 1, 0, 0))
    for name in ("users", "n", "adds to TTFT ms", "p95", "max", "ITL error", "of a core", "loop late ms"):
        shown.add_column(name, justify="right", no_wrap=True)
    for check in checks:
        p95, late = check.added_ttft_p95_ms, check.lag_p95_ms
        shown.add_row(
            str(check.users),
            str(check.requests),
            f"{check.added_ttft_ms:.2f}",
            UNKNOWN if p95 is None else f"{p95:.2f}",
            f"{check.added_ttft_most_ms:.2f}",
            f"{check.itl_error_percent:.3f} %",
            f"{check.cpu_share:.0%}",
            UNKNOWN if late is None else f"{late:.1f}",
        )
    return shown
