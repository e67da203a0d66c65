"""One story as Markdown to paste into a forum or an issue. Names are escaped; nothing folds, nothing is loaded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from evener.records.context_limits import ContextResult, Scored
from evener.records.load import Spread
from evener.records.pair import PairResult
from evener.records.speed_rows import SpeedResult
from evener.report import evals_written, level_columns
from evener.report.context_rows import HeatCell, heat
from evener.report.crowd import failed_lines, how
from evener.report.headlines import repeated
from evener.report.level_columns import Cell
from evener.report.pair_view import METRICS
from evener.report.parts import Layout, Story
from evener.report.plain_tables import escaped, markdown_table
from evener.report.rows import condition
from evener.report.watched import watched_lines
from evener.report.words import UNKNOWN, classes, kilo, number, percent, seconds, signed_percent, size, span


def document(story: Story) -> str:
    """The whole report; sections are headings of the third level, so that it fits into a longer text."""
    parts = [
        f"### {escaped(story.title)}\n",
        f"**{escaped(story.headline)}.**\n",
        f"{escaped(story.basis)}.\n" if story.basis else "",
        _list([f"{'**' if c.grave else ''}{escaped(c.text)}{'**' if c.grave else ''}" for c in story.cautions]),
        _list([escaped(text) for text in story.findings]),
        *(pair(story.pair) if story.pair else ()),
        *(evals_written.markdown(story.evaluation) if story.evaluation else ()),
        *(part for layout in story.layouts for part in _layout(layout)),
        _conditions(story),
        _list([escaped(text) for text in story.limits], "#### What these figures do not say"),
        f"Run {escaped(story.id)}, {story.started_at:%Y-%m-%d %H:%M} UTC, {story.state}; measured by evener\n",
    ]
    return "\n".join(part for part in parts if part)


def _list(lines: Sequence[str], heading: str = "") -> str:
    if not lines:
        return ""
    return (f"{heading}\n\n" if heading else "") + "".join(f"- {line}\n" for line in lines)


def _layout(layout: Layout) -> Iterator[str]:
    yield from figures(layout)
    if layout.commands:
        lines = "\n".join(f"# {c.role} on {_one_line(c.host)}\n{_one_line(c.text)}" for c in layout.commands)
        fence = "~" * max(3, lines.count("~") + 1)  # longer than any run of them inside
        yield f"{fence}sh\n{lines}\n{fence}\n"


def figures(layout: Layout) -> Iterator[str]:
    """Everything measured on a layout, and what it rests on."""
    load = f" (loaded in {seconds(layout.load_s)})" if layout.load_s is not None else ""
    yield f"#### {escaped(layout.label)}{load}\n"
    if layout.invalid:
        yield f"**Invalid, not to be used: {escaped(layout.invalid)}**\n"
    if layout.levels:
        yield _levels(layout)
        yield f"{escaped(how(layout))}. Medians, with their 95 % intervals; prompts are not part of tok/s.\n"
        yield _list([escaped(line) for line in failed_lines(layout)])
    if layout.speed:
        yield _speed(layout.speed)
        yield f"{escaped(layout.speed.gaps)}\n"
    if layout.context:
        yield from _context(layout.context)
    yield _list([escaped(line) for line in watched_lines(layout)])
    if layout.cards:
        yield _memory(layout)


def _one_line(text: str) -> str:
    return " ".join(text.split("\n"))


def _levels(layout: Layout) -> str:
    columns = level_columns.known(layout.levels)
    heads = [f"#{level_columns.who(layout.levels)}", *(f"#{column.title}" for column in columns)]
    rows = [[str(level.users), *(_written(column.of(level)) for column in columns)] for level in layout.levels]
    return markdown_table(heads, rows)


def _written(cell: Cell) -> str:
    if not isinstance(cell, Spread):
        return UNKNOWN if cell is None else cell
    if cell.p50 is None:
        return UNKNOWN
    return f"{number(cell.p50)} ({span(cell.interval)})" if cell.interval else f"{number(cell.p50)} (n={cell.n})"


def _speed(result: SpeedResult) -> str:
    heads = ("test", "#client, tok/s", "#server, tok/s", "#llama-bench, tok/s", "#first token, ms", "#n", "failed")
    rows = [
        (
            escaped(row.test),
            *(repeated(figure) for figure in (row.client, row.server, row.llama_bench, row.ttft_ms)),
            str(row.client.n),
            escaped(classes(row.by_class)) or UNKNOWN,
        )
        for row in result.rows
    ]
    return markdown_table(heads, rows)


def _context(result: ContextResult) -> Iterator[str]:
    ceilings = [
        (
            f"**{c.name}**, binds" if c.name == result.binding else c.name,
            "unknown" if c.tokens is None else f"{'at least ' if c.at_least else ''}{c.tokens}",
            escaped(c.why),
        )
        for c in result.ceilings
    ]
    yield markdown_table(("ceiling", "#tokens", "how it is known"), ceilings)
    if not result.lengths:
        return
    strip = heat(result.lengths)
    rows = [(name, *(_share(cell) for cell in cells)) for name, cells in strip.rows]
    yield markdown_table(("right answers: the fact was", *(f"#{kilo(tokens)}" for tokens in strip.tokens)), rows)
    heads = ("#tokens", "#first token, ms", "#prompt tok/s", "#answer tok/s", "#needles", "#put together", "failed")
    yield markdown_table(
        heads,
        [
            (
                str(x.tokens),
                *(repeated(figure) for figure in (x.ttft_ms, x.prefill_tokens_per_s, x.decode_tokens_per_s)),
                _scored(x.needles),
                _scored(x.reasoning),
                escaped(classes(x.by_class)) or UNKNOWN,
            )
            for x in result.lengths
        ],
    )


def _share(cell: HeatCell) -> str:
    return UNKNOWN if cell.share is None or cell.scored is None else f"{cell.scored.right}/{cell.scored.n}"


def _scored(scored: Scored) -> str:
    if not scored.n:
        return UNKNOWN
    ends = f" ({percent(scored.interval[0])} to {percent(scored.interval[1])})" if scored.interval else ""
    return f"{scored.right}/{scored.n}{ends}"


def pair(result: PairResult) -> Iterator[str]:
    """Two in turns: who they are, and each figure's change."""
    yield _list([f"{side.name}: {escaped(side.label)}" for side in (result.a, result.b)])
    rows = [
        (
            METRICS[d.metric],
            str(d.users),
            number(d.a),
            number(d.b),
            UNKNOWN if d.change is None else signed_percent(d.change),
            " to ".join(signed_percent(end) for end in d.interval) if d.interval else UNKNOWN,
            str(len(d.pairs)),
            d.outcome,
        )
        for d in result.differences
    ]
    yield markdown_table(("figure", "#users", "#A", "#B", "#B against A", "#95 %", "#pairs", "outcome"), rows)
    if result.differing:
        yield f"Conditions that differ: {escaped(', '.join(condition(name) for name in result.differing))}.\n"


def _memory(layout: Layout) -> str:
    rows = [
        (
            escaped(f"{card.host} / {card.card_name}"),
            escaped(card.device),
            f"{card.layers} of {layout.layers}",
            *(size(n) for n in (card.planned_bytes, card.measured_bytes, card.left_bytes)),
            card.verdict or "not checked",
        )
        for card in layout.cards
    ]
    heads = ("card, in order of use", "device", "#layers", "#planned", "#measured", "#left after stop", "after load")
    return markdown_table(heads, rows)


def _conditions(story: Story) -> str:
    rows = [(name, escaped(value)) for name, value in story.conditions if value is not None]
    unknown = ", ".join(name for name, value in story.conditions if value is None)
    if unknown:
        rows.append(("unknown", unknown))
    return "#### Conditions\n\n" + markdown_table(("condition", "value"), rows)
