"""What `evener plan` shows: every layout in a row, the chosen one card by card, the verdict, command lines."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from rich.markup import escape
from rich.table import Table

from evener.cli.console import fitted, out, widest
from evener.cli.words import count, spread
from evener.dialects.shell_line import shell_line
from evener.records.plan import Predicted
from evener.report.words import gib

if TYPE_CHECKING:
    from evener.records.plan import Candidate, DevicePlan, Plan, Workload

NAME_WIDTH = 17  # of a layout's name, before it is folded
FULLEST = "fullest\ncard"
TIGHT_MARK = "~"
TIGHT = f"{TIGHT_MARK} tight: with 5 % of each card kept free it would not fit"
KINDS = {"compute": "computing", "overhead": "starting graphs", "link": "on the cable"}


def show(plan: Plan, *, commands: bool, cards: bool = False) -> None:
    work = plan.workload
    out.print(
        f"[bold]{escape(plan.model.name)}[/] {plan.model.quantisation}, {gib(plan.model.file_bytes)}, "
        f"{plan.model.layers} layers; {users(work)}, KV {work.kv_type_k}"
    )
    if any(candidate.fits for candidate in plan.candidates):
        out.print(layouts_table(plan))
    for line in speeds_of(plan):
        out.print(line, soft_wrap=True)
    if any(candidate.marginal for candidate in plan.candidates):
        out.print(TIGHT)
    for line in _not_fitting(plan):
        out.print(line)
    for candidate in plan.candidates:
        if candidate.fits and (cards or commands or candidate.name == plan.verdict.choice):
            _show_cards(candidate)
        if candidate.fits and commands:
            _show_commands(candidate)
    for line in _token_times(plan):
        out.print(line, soft_wrap=True)
    _show_verdict(plan)


def users(work: Workload) -> str:
    """Who is answered at one moment, and how much context they have."""
    if work.unified and work.users > 1:
        return f"{work.users} users who share a pool of {work.context} tokens"
    return f"{count(work.users, 'user')} of {work.context} tokens"


def layouts_table(plan: Plan) -> Table:
    """Each layout that fits: what it takes, and how fast it will be, with the interval below."""
    return fitted(lambda dropped: _layouts_table(plan, dropped), ("load\ns", "prompts\ntok/s", FULLEST, "on cards"))


def _layouts_table(plan: Plan, dropped: Collection[str]) -> Table:
    fitting = [candidate for candidate in plan.candidates if candidate.fits]
    rows = [_row(candidate) for candidate in fitting]
    speeds = any(candidate.predicted for candidate in fitting)
    names = [name for name in rows[0] if name not in dropped and (speeds or name in ("on cards", FULLEST))]
    layouts = [
        f"[bold]{escape(c.name)}[/] (chosen)" if c.name == plan.verdict.choice else escape(c.name) for c in fitting
    ]
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("layout", overflow="fold", min_width=min(NAME_WIDTH, widest(layouts)))
    for name in names:
        table.add_column(name, justify="right", no_wrap=True)
    for layout, row in zip(layouts, rows, strict=True):
        table.add_row(layout, *(row[name] for name in names))
    return table


def _row(candidate: Candidate) -> dict[str, str]:
    """A cell per column."""
    predicted = candidate.predicted or Predicted()
    return {
        "on cards": gib(sum(device.total_bytes for device in _on_cards(candidate))),
        FULLEST: _fullest(candidate),
        "one user\ntok/s": spread(predicted.decode_tokens_per_s),
        "all users\ntok/s": spread(predicted.users_tokens_per_s),
        "prompts\ntok/s": spread(predicted.prefill_tokens_per_s),
        "load\ns": spread(predicted.load_s),
    }


def speeds_of(plan: Plan) -> Iterator[str]:
    """What the speeds of the table are for: not for a full context."""
    depths = [c.predicted.depth for c in plan.candidates if c.fits and c.predicted and c.predicted.depth is not None]
    if depths:
        yield f"speeds at depth {depths[0]} of {plan.workload.context}, prompts of {plan.workload.prompt_tokens} tokens"
    for candidate in plan.candidates:
        if candidate.predicted and candidate.predicted.of_host:
            yield f"{candidate.name}: one user and prompts are those of the copy on {candidate.predicted.of_host}"


def _on_cards(candidate: Candidate) -> list[DevicePlan]:
    """Without the layers that are left to the CPU of the head."""
    return [device for device in candidate.devices if device.position >= 0]


def _fullest(candidate: Candidate) -> str:
    shares = [device.total_bytes / device.offered_bytes for device in _on_cards(candidate) if device.offered_bytes]
    return f"{TIGHT_MARK if candidate.marginal else ''}{max(shares):.0%}" if shares else "-"


def _not_fitting(plan: Plan) -> Iterator[str]:
    """Those that memory keeps out on one line, by how much; others with their reason, which several may share."""
    out_of = [c for c in plan.candidates if not c.fits and c.short_bytes]
    if out_of:
        names = ", ".join(f"{escape(c.name)} by {gib(c.short_bytes)}" for c in out_of)
        yield f"too small: {names}"
    reasons: dict[str, list[str]] = {}
    for candidate in plan.candidates:
        if not candidate.fits and not candidate.short_bytes:
            reasons.setdefault(candidate.why_not or "", []).append(candidate.name)
    yield from (f"{escape(', '.join(names))}: {escape(why)}" for why, names in reasons.items())


def _show_cards(candidate: Candidate) -> None:
    from evener.report.terminal import plan_table

    out.print()
    out.print(f"[bold]{escape(candidate.name)}[/], card by card")
    out.print(plan_table(candidate))


def _token_times(plan: Plan) -> Iterator[str]:
    """Where the milliseconds of one user's token go, in the chosen layout and in the cluster."""
    shown = [c for c in plan.candidates if c.fits and (c.name == plan.verdict.choice or c.name == "cluster")]
    for candidate in shown:
        shares = candidate.predicted.per_token_ms if candidate.predicted else ()
        if not shares:
            continue
        sums = {kind: sum(share.ms for share in shares if share.kind == kind) for kind in KINDS}
        parts = ", ".join(f"{ms:.1f} {KINDS[kind]}" for kind, ms in sums.items() if ms >= 0.05)
        yield f"a token of one user on {escape(candidate.name)}: {sum(sums.values()):.1f} ms: {parts}"


def _show_verdict(plan: Plan) -> None:
    verdict = plan.verdict
    out.print()
    out.print(f"[bold]verdict:[/] {escape(verdict.sentence)}", soft_wrap=True)
    if verdict.second_machine:
        out.print("[bold]what the second machine buys:[/]")
        for benefit in verdict.second_machine:
            out.print(f"  - {escape(benefit.sentence)}", soft_wrap=True)
    if verdict.ways_out:
        out.print("[bold]ways out:[/]")
        for way in verdict.ways_out:
            out.print(f"  - {escape(way)}", soft_wrap=True)
    # What is said of single layouts stands in the table above.
    layouts = tuple(f"{candidate.name}: " for candidate in plan.candidates)
    for reason in verdict.reasons:
        if not reason.startswith(layouts) or ": stated" in reason:
            out.print(f"  - {escape(reason)}", soft_wrap=True)


def _show_commands(candidate: Candidate) -> None:
    for command in (*candidate.workers, *candidate.tunnels, *candidate.servers, *candidate.bench):
        out.print(f"  [dim]{escape(command.host)}:[/] {escape(shell_line(command.argv, command.env))}", soft_wrap=True)
