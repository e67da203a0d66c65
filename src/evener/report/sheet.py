"""A story's figures as CSV: a line per user count, speed row, length of the context, difference of a pair, or suite.

Unknown is an empty cell, never zero. Text of strangers cannot become a formula.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from evener.records.context_limits import Scored
from evener.records.pair import PairResult
from evener.records.speed_rows import Repeated
from evener.report import evals_written
from evener.report.level_rows import level_row
from evener.report.parts import Layout, Story
from evener.report.plain_tables import csv_text
from evener.report.words import classes

Row = dict[str, Any]


def sheet(story: Story) -> str:
    """Every line says which run and layout it is of. A run holds lines of one kind; "" where nothing was measured."""
    rows = list(_rows(story))
    heads = list(dict.fromkeys(name for row in rows for name in row))
    about = [story.id, story.what]
    return csv_text(["run", "what", *heads], [[*about, *(row.get(head) for head in heads)] for row in rows])


def _rows(story: Story) -> Iterator[Row]:
    if story.pair:
        return _pair(story.pair)
    if story.evaluation:
        return evals_written.lines(story.evaluation)
    return (row for layout in story.layouts for row in _layout(layout))


def _layout(layout: Layout) -> Iterator[Row]:
    about: Row = {"layout": layout.label, "validity": layout.invalid or "valid"}
    asked: Row = {"prompt_tokens": layout.prompt_tokens, "output_tokens": layout.output_tokens}
    yield from (about | asked | level_row(level) for level in layout.levels)
    yield from (about | row for row in _speed(layout))
    yield from (about | row for row in _context(layout))


def _speed(layout: Layout) -> Iterator[Row]:
    for row in layout.speed.rows if layout.speed else ():
        views = {"client": row.client, "server": row.server, "llama_bench": row.llama_bench}
        yield (
            {"test": row.test, "prompt_tokens": row.prompt_tokens, "output_tokens": row.output_tokens}
            | {"depth": row.depth}
            | {key: value for name, view in views.items() for key, value in _of(f"{name}_tokens_per_s", view).items()}
            | _of("ttft_ms", row.ttft_ms)
            | {"by_class": classes(row.by_class), "note": row.note}
        )


def _of(name: str, figure: Repeated | None) -> Row:
    known = figure or Repeated(n=0, mean=None, sd=None, unit="")
    return {f"{name}_mean": known.mean, f"{name}_sd": known.sd, f"{name}_n": known.n if figure else None}


def _context(layout: Layout) -> Iterator[Row]:
    if layout.context is None:
        return
    for ceiling in layout.context.ceilings:
        yield {"ceiling": ceiling.name, "tokens": ceiling.tokens, "note": ceiling.why}
    for length in layout.context.lengths:
        yield (
            {"tokens": length.tokens}
            | _of("ttft_ms", length.ttft_ms)
            | _of("prompt_tokens_per_s", length.prefill_tokens_per_s)
            | _of("answer_tokens_per_s", length.decode_tokens_per_s)
            | _right("needles", length.needles)
            | _right("put_together", length.reasoning)
            | {"by_class": classes(length.by_class), "note": length.note}
        )


def _right(name: str, scored: Scored) -> Row:
    low, high = scored.interval or (None, None)
    return {f"{name}_right": scored.right, f"{name}_n": scored.n, f"{name}_low": low, f"{name}_high": high}


def _pair(pair: PairResult) -> Iterator[Row]:
    for found in pair.differences:
        low, high = found.interval or (None, None)
        yield {
            "a": pair.a.label,
            "b": pair.b.label,
            "validity": pair.validity,
            "figure": found.metric,
            "users": found.users,
            "a_median": found.a,
            "b_median": found.b,
            "change": found.change,
            "change_low": low,
            "change_high": high,
            "pairs": len(found.pairs),
            "outcome": found.outcome,
        }
