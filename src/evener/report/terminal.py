"""One story and its tables as rich renderables, readable from 60 columns on. Names are text, never markup."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from evener.records.load import UsersResult
from evener.records.pair import PairResult
from evener.records.plan import Candidate, DevicePlan
from evener.records.verification import CardCheck, FreedCheck
from evener.report import bench_tables, cells, evals_view, users_view
from evener.report.cautions import holder
from evener.report.crowd import failed_lines, how
from evener.report.pair_view import pair_table
from evener.report.parts import Caution, Layout, RunRow, Story
from evener.report.watched import watched_lines
from evener.report.words import UNKNOWN, count, seconds, size

_STRIP = 24
_LAST_MOMENTS = 8


def view(story: Story) -> RenderableType:
    """The whole report."""
    pair = [pair_table(story.pair.differences, invalid=invalid_because(story.pair))] if story.pair else []
    evaluated = evals_view.parts(story.evaluation) if story.evaluation else ()
    parts = [_head(story), *pair, *evaluated, *(_layout(layout) for layout in story.layouts), _conditions(story)]
    parts += [_limits(story)] if story.limits else []
    if story.state != "complete" and story.moments:
        parts.insert(1, _moments(story))
    return Group(*_spaced(*parts))


def _spaced(*parts: RenderableType) -> Iterator[RenderableType]:
    for part in parts:
        yield part
        yield Text()


def _head(story: Story) -> RenderableType:
    when = f"{story.started_at:%Y-%m-%d %H:%M} UTC, {story.state}"
    lines: list[RenderableType] = [
        cells.text((story.title, "bold"), f"  {when}  ", (story.id, "dim")),
        cells.text((f"{story.headline}.", "bold cyan")),
    ]
    if story.basis:
        lines.append(cells.text((f"{story.basis}.", "dim")))
    lines += [_caution(caution) for caution in story.cautions]
    lines += [cells.bullet("-", sentence) for sentence in story.findings]
    return Group(*lines)


def _caution(caution: Caution) -> RenderableType:
    return cells.bullet("✕" if caution.grave else "!", caution.text, "red" if caution.grave else "yellow")


def _layout(layout: Layout) -> RenderableType:
    load = f"  loaded in {seconds(layout.load_s)}" if layout.load_s is not None else ""
    parts: list[RenderableType] = []
    if layout.cards:
        parts.append(layers_table(layout))
    if layout.levels:
        parts.append(users_view.levels_table(layout.levels, invalid=layout.invalid))
        parts.append(cells.text((f"{how(layout)}.", "dim")))
        parts += [cells.text(line) for line in failed_lines(layout)]
    if layout.speed:
        parts += [bench_tables.speed_table(layout.speed), cells.text((layout.speed.gaps, "dim"))]
    if layout.context:
        parts += bench_tables.context_parts(layout.context)
    parts += [cells.text(line) for line in watched_lines(layout)]
    if layout.checks:
        parts.append(checks_table(layout.checks))
    if layout.freed:
        parts.append(freed_table(layout.freed))
    heading = cells.text((layout.label, "bold"), load)
    return Group(heading, *(Padding(part, (1, 0, 0, 2)) for part in parts))


def _moments(story: Story) -> RenderableType:
    """How far a run came that did not come to its end."""
    lines = [
        cells.text((f"{moment.at:%H:%M:%S}", "dim"), f" {moment.text}") for moment in story.moments[-_LAST_MOMENTS:]
    ]
    return Group(cells.text(("The last that was recorded", "bold")), *lines)


def _conditions(story: Story) -> RenderableType:
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(overflow="fold", style="dim")
    grid.add_column(overflow="fold")
    for name, value in story.conditions:
        if value is not None:
            grid.add_row(cells.text(name), cells.text(value))
    unknown = ", ".join(name for name, value in story.conditions if value is None)
    if unknown:
        grid.add_row(cells.text("unknown"), cells.text(unknown))
    return Group(cells.text(("Conditions", "bold")), grid)


def _limits(story: Story) -> RenderableType:
    return Group(
        cells.text(("What these figures do not say", "bold")), *(cells.bullet("-", text) for text in story.limits)
    )


def layers_table(layout: Layout) -> Table:
    """Where the layers lie: a strip per card, the model's first layer on the left."""
    table = cells.table("layers", "card", "#device", "#layers")
    table.columns[0].no_wrap = True
    for card in layout.cards:
        table.add_row(
            _strip(card.first_layer, card.layers, layout.layers),
            cells.text(f"{card.host} / {card.card_name}"),
            cells.text(card.device),
            f"{card.layers} of {layout.layers}",
        )
    return table


def _strip(first: int, own: int, of: int) -> Text:
    start, end = (round(_STRIP * n / of) if of else 0 for n in (first, first + own))
    return cells.text("·" * start, ("━" * (end - start), "cyan"), "·" * (_STRIP - end))


def checks_table(checks: Sequence[CardCheck]) -> Table:
    """Promised against measured after load. `layers` is seen/planned."""
    table = cells.table("after load", "#layers", "#planned", "#reported", "#measured", "verdict")
    for check in checks:
        layers = f"{UNKNOWN if check.layers_seen is None else check.layers_seen}/{check.layers_planned}"
        table.add_row(
            _card(check.host, check.card_name, check.device, check.why),
            layers,
            size(check.planned_bytes),
            size(check.reported_bytes),
            size(check.measured_bytes),
            cells.verdict(check.verdict),
        )
    return table


def freed_table(freed: Sequence[FreedCheck]) -> Table:
    """Used memory of each card before the start, while loaded, and after the stop, with who still holds it."""
    table = cells.table("after stop", "#before", "#loaded", "#after", "verdict")
    for check in freed:
        holders = "; ".join(f"held by {holder(held)}" for held in check.holders)
        why = "; ".join(part for part in (check.why, holders) if part)
        table.add_row(
            _card(check.host, check.card_name, None, why),
            size(check.before_bytes),
            size(check.during_bytes),
            size(check.after_bytes),
            cells.verdict(check.verdict),
        )
    return table


def users_table(result: UsersResult, width: int | None = None) -> RenderableType:
    """The user curve; 95 % intervals of the medians stand below them. `width` None: what it is shown in."""
    return users_view.levels_table(result.levels, invalid=invalid_because(result), width=width)


def invalid_because(result: UsersResult | PairResult) -> str | None:
    return None if result.validity == "valid" else result.validity


def plan_table(candidate: Candidate) -> Table:
    """What each device will hold, in the --device order of each server."""
    table = cells.table("in order", "#layers", "#holds", "#total", "#free")
    devices = sorted(candidate.devices, key=lambda d: d.position)
    if candidate.kind == "replicas":
        devices.sort(key=lambda d: candidate.hosts.index(d.host))
    for device in devices:
        table.add_row(
            _card(device.host, device.card_name, device.device, None),
            str(device.layers),
            _holds(device),
            size(device.total_bytes),
            cells.text((size(device.free_bytes), "bold red" if _is_short(device) else "")),
        )
    return table


def _is_short(device: DevicePlan) -> bool:
    return device.free_bytes is not None and device.free_bytes < device.total_bytes


def _holds(device: DevicePlan) -> Text:
    parts = [("weights", device.weights_bytes), ("KV", device.kv_bytes)]
    parts.append(("compute, about" if device.compute_estimated else "compute", device.compute_bytes))
    parts += [(name, count) for name, count in _beside(device) if count]
    lines = [cells.text((f"{name} ", "dim"), size(count)) for name, count in parts]
    return Text("\n").join(lines)


def _beside(device: DevicePlan) -> Iterator[tuple[str, int]]:
    """What stands on the device beside the model."""
    seen = device.projector_dry_run_bytes == device.projector_bytes
    yield "projector" if seen else "projector, about", device.projector_bytes
    yield "draft model, about" if device.draft_dry_run is None else "draft model", device.draft_bytes
    yield "overhead", device.overhead_bytes


def runs_table(rows: Sequence[RunRow]) -> Table:
    """What has been measured, newest first."""
    table = cells.table("run", "when, UTC", "state", "#size")
    table.columns[0].min_width = 26  # an id on one line can be copied
    for row in rows:
        table.add_row(
            _run(row),
            f"{row.started_at:%Y-%m-%d\n%H:%M}" if row.started_at else UNKNOWN,
            cells.verdict(row.state or "unreadable"),
            size(row.bytes),
        )
    shown = {row.id for row in rows}
    known = sum(row.bytes or 0 for row in rows if row.within not in shown)
    table.caption = cells.text((f"{count(len(rows), 'run')}, {size(known)} in all", "dim"))
    table.caption_justify = "left"
    return table


def _run(row: RunRow) -> Text:
    """Its id, what is known of it, its tags. One that another run holds stands below that, further in."""
    about = row.fault or ", ".join(word for word in (row.model, " and ".join(row.layouts)) if word)
    holds = f"holds {count(row.inside, 'run')}" if row.inside else ""
    edge = "  " if row.within else ""
    words = "; ".join(word for word in (about, holds) if word)
    lines = [(f"\n{edge}{words}", "red" if row.fault else "dim")] if words else []
    lines += [(f"\n{edge}tagged {', '.join(row.tags)}", "cyan")] if row.tags else []
    return cells.text(f"{edge}{row.id}", *lines)


def _card(host: str, card_name: str, device: str | None, why: str | None) -> Text:
    lines = [(f"{host} / {card_name}", "")]
    lines += [(f" {device}", "dim")] if device else []
    lines += [(f"\n{why}", "dim")] if why else []
    return cells.text(*lines)
