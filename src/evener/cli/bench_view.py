"""What `evener bench users` shows of a result, at its end."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.markup import escape

from evener.cli.bench_speed_view import client_line
from evener.cli.console import err, out, show_json
from evener.codec import to_data
from evener.errors import HostError, Interrupted, ResultInvalid, RunUnreadable
from evener.records.load import Level, UsersResult
from evener.report import level_rows, serving_block
from evener.report.users_view import levels_table
from evener.report.words import count, model_file

if TYPE_CHECKING:
    from evener.api.bench_users import Measured


def show(measured: Measured, *, form: level_rows.Form | None, as_json: bool) -> None:
    """The answer in that form; then the exit code 4 of one that is partial or must not be used."""
    result = measured.result
    if as_json:
        show_json(document(measured))
    elif form is not None:
        sys.stdout.write(level_rows.written(result, form))
    else:
        _show(measured)
    # A page costs a second of CPU and 60 MB (matplotlib): not for programs, unless the run ended early.
    page = _page(measured) if result.partial or not (as_json or form) else None
    if measured.path is not None:
        to = err if as_json or form else out
        to.print(f"run: {escape(str(measured.path))}" + (f"\npage: {escape(page)}" if page else ""), soft_wrap=True)
    raise_unless_valid(measured)


def document(measured: Measured) -> dict[str, object]:
    """The whole answer with its company, as `--json` writes it."""
    return {
        **to_data(measured.result),
        "conditions": to_data(measured.conditions),
        "telemetry": to_data(measured.telemetry) if measured.telemetry else None,
        "drift": to_data(measured.drift) if measured.drift else None,
        "run": None if measured.path is None else str(measured.path),
    }


def _show(measured: Measured) -> None:
    result = measured.result
    model = model_file(result.model) if result.model else "unnamed model"
    out.print(f"[bold]{escape(model)}[/] at {escape(result.url)}", soft_wrap=True)
    if result.levels:
        out.print(levels_table(result.levels, invalid=None if result.validity == "valid" else result.validity))
    for line in remarks(measured):
        out.print(escape(line), soft_wrap=True)
    if (level := serving_block.shown_level(result)) is not None:
        out.print()
        out.print(escape(serving_block.serving_block(result, level)), soft_wrap=True)
    if result.comfortable is not None:
        out.print(f"[bold]{escape(result.comfortable.sentence)}[/]", soft_wrap=True)


def _page(measured: Measured) -> str | None:
    """The report, also of a partial run; None where there is no folder, no room for it, or somebody is in a hurry."""
    from evener.api import runs

    if measured.path is None:
        return None
    try:
        data = runs.find(str(measured.path))
        return str(runs.write_page(data, runs.tell(data)))
    except (HostError, RunUnreadable, KeyboardInterrupt):
        return None


def raise_unless_valid(measured: Measured) -> None:
    """Exit code 4 for figures that must not be used, after they have been shown."""
    result, path = measured.result, measured.path
    again = f"what was measured is kept: {path}; --resume {path.name} goes on" if path else None
    if result.partial == "interrupted":
        raise Interrupted("interrupted", hint=again)
    if result.partial is not None:
        raise ResultInvalid(f"incomplete: {result.partial}", hint=again)
    if result.validity != "valid":
        kept = f"what was measured is kept: {path}" if path else None
        raise ResultInvalid(f"these figures must not be used: {result.validity}", hint=kept)


def remarks(measured: Measured) -> list[str]:
    """Everything a reader must know beside the table, one line each."""
    result = measured.result
    lines = [f"{_users(level)}: {note}" for level in result.levels for note in _level_remarks(level)]
    lines += [*result.notes, *_mixed(result)]
    if result.kv_exhausted_from is not None:
        lines.append(f"the pool of context ran full from {result.kv_exhausted_from} users on")
    lines += [measured.drift.sentence] if measured.drift else []
    lines += _energy(measured)
    lines += [_company(result)] if result.levels else []
    lines.append(_client(result))
    if result.partial:
        lines.append(f"partial: {result.partial}")
    return lines


def _users(level: Level) -> str:
    if level.open_loop is not None:
        return "by the clock"
    return count(level.users, "user") if level.people is None else count(level.people, "person", "people")


def _level_remarks(level: Level) -> Iterator[str]:
    if level.requests.by_class:
        yield "failed: " + ", ".join(f"{count} {name}" for name, count in level.requests.by_class.items())
    if level.note:
        yield level.note


def _mixed(result: UsersResult) -> Iterator[str]:
    mixed = result.mixed
    if mixed is None:
        return
    stall, usual = mixed.worst_stall_ms.most, mixed.usual_gap_ms.p50
    if stall is not None and usual is not None:
        yield (
            f"while a prompt of {mixed.prompt_tokens_asked} tokens came in, the worst of {mixed.users} others stood "
            f"still for {stall:.0f} ms; before, {usual:.0f} ms between tokens (n={len(mixed.arrivals)})"
        )
    if mixed.limited_by:
        yield f"the long prompt is shorter than asked: {mixed.limited_by}"


def _energy(measured: Measured) -> Iterator[str]:
    energy = measured.telemetry.energy if measured.telemetry else None
    if energy is not None and energy.joules_per_1000_tokens is not None:
        cost = energy.cost_per_1000_tokens
        price = f", {cost:.5f} {energy.currency}" if cost is not None else ""
        yield f"energy: {energy.joules_per_1000_tokens:.1f} J per 1000 tokens{price} ({', '.join(energy.cards)} only)"


def _company(result: UsersResult) -> str:
    n = sum(level.requests.completed for level in result.levels)
    prompts = "as recorded" if result.prompt_tokens_asked is None else result.prompt_tokens_asked
    return (
        f"n={n} answers, {result.mode}; prompts {prompts}, answers {result.output_tokens_asked}"
        f" tokens; under a median its 95 % interval; p90 from n=29, p95 from n=59, else the greatest value"
    )


def _client(result: UsersResult) -> str:
    again = count(result.client.retries, "request")
    return f"{client_line(result.client)}, {again} sent again on a closed connection"
