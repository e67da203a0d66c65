"""How the users of a layout were made, and what became of their failed requests, in words and rows. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from evener.records.load import Level, Limits, Percentile
from evener.report.parts import Crowd, Layout
from evener.report.words import UNKNOWN, count, listed, number

_MODES = {
    "cold": "cold: every prompt is new to the server",
    "warm": "warm: prompts share a beginning, and the server's cache is used",
}
_ARRIVALS = {
    "closed": "each sends when the former answer has ended",
    "constant": "requests come by the clock, evenly",
    "poisson": "requests come by the clock, at random (Poisson)",
    "replay": "requests come as they were recorded",
}


def how(layout: Layout) -> str:
    """Everything about the load that makes a figure mean something; "" where no users were made."""
    crowd = layout.crowd
    if crowd is None:
        return ""
    return "; ".join([*_who(crowd), *_lengths(layout, crowd), _MODES[crowd.mode], _ARRIVALS[crowd.arrivals]])


def _who(crowd: Crowd) -> Iterator[str]:
    if crowd.profile:
        yield f"profile {crowd.profile}"
    if crowd.people:
        yield f"users are people, who think {number(crowd.think_s)} s on average"
    elif crowd.think_s:
        yield f"{number(crowd.think_s)} s of thinking on average"
    if crowd.turns > 1:
        yield f"conversations of {count(crowd.turns, 'turn')}"
    if crowd.limits and (told := limits(crowd.limits)):
        yield f"limits: {told}"


def _lengths(layout: Layout, crowd: Crowd) -> Iterator[str]:
    if layout.prompt_tokens is not None:
        yield f"prompts of {layout.prompt_tokens} and answers of {layout.output_tokens} tokens"
    if crowd.shared_prefix_tokens:
        yield f"a shared beginning of {crowd.shared_prefix_tokens} tokens"


def limits(asked: Limits) -> str:
    """ "first token within 2000 ms, at least 10.0 tok/s" """
    parts = [f"first token within {asked.ttft_ms:.0f} ms"] if asked.ttft_ms is not None else []
    if asked.tpot_ms is not None:
        parts.append(f"at least {number(1000 / asked.tpot_ms)} tok/s")
    return ", ".join(parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedRow:
    """One user count with failures. `counts` are in the order of the classes; `p50`, `p90` count them as endless."""

    layout: str
    users: int
    counts: tuple[int, ...]
    sent: int
    p50: str
    p90: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Failures:
    classes: tuple[str, ...]
    rows: tuple[FailedRow, ...]


def failures(layouts: Sequence[Layout]) -> Failures:
    """By class and user count, of all layouts; no rows where nothing failed."""
    failed = [(x, level) for x in layouts for level in x.levels if _failed(level)]
    classes = tuple(sorted({name for _, level in failed for name, n in level.requests.by_class.items() if n}))
    return Failures(classes=classes, rows=tuple(_row(layout, level, classes) for layout, level in failed))


def failed_lines(layout: Layout) -> list[str]:
    """One line per user count with failures."""
    found = failures([layout])
    return [
        f"{count(row.users, 'user')}: {listed(_named(found.classes, row.counts))} of {count(row.sent, 'request')} "
        f"failed; counting them, TTFT p50 {row.p50} ms, p90 {row.p90}"
        for row in found.rows
    ]


def _named(classes: Sequence[str], counts: Sequence[int]) -> list[str]:
    return [f"{n} {name.replace('_', ' ')}" for name, n in zip(classes, counts, strict=True) if n]


def _failed(level: Level) -> int:
    return level.requests.errored + level.requests.invalid


def _row(layout: Layout, level: Level, classes: Sequence[str]) -> FailedRow:
    adjusted = level.adjusted_ttft_ms
    return FailedRow(
        layout=layout.label,
        users=level.users,
        counts=tuple(level.requests.by_class.get(name, 0) for name in classes),
        sent=level.requests.completed + _failed(level),
        p50=_percentile(adjusted.p50) if adjusted else UNKNOWN,
        p90=_percentile(adjusted.p90) if adjusted else UNKNOWN,
    )


def _percentile(value: Percentile) -> str:
    return "never" if value == "never" else number(value) if isinstance(value, float) else UNKNOWN
