"""What is told of one user count, column by column: the same in the terminal, on the page and in Markdown. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from evener.records.load import Level, Spread
from evener.report.words import number, percent

Cell: TypeAlias = str | Spread | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """`of` gives a figure already written, or a spread whose median is the figure; None is "not known".

    `rank` None: always shown. Else the column is shown where anything of it is known, and where room is short the
    greatest ranks go first.
    """

    title: str
    short: str  # two lines at most
    of: Callable[[Level], Cell]
    rank: int | None = None


def slow_end(spread: Spread) -> str | None:
    """How bad it gets: p90 where n allows it, else the greatest value, named so."""
    if spread.p90 is not None:
        return number(spread.p90)
    return None if spread.most is None else f"most {number(spread.most)}"


def who(levels: Sequence[Level]) -> str:
    """What user counts count: people, where they think and read; by the clock, how many may be in flight."""
    if levels and all(level.open_loop is not None for level in levels):
        return "at most"
    return "people" if levels and all(level.people is not None for level in levels) else "users"


def known(levels: Sequence[Level]) -> tuple[Column, ...]:
    """The columns of these levels."""
    return tuple(c for c in COLUMNS if c.rank is None or any(c.of(level) is not None for level in levels))


def _of(number_of: Callable[[Level], float | None]) -> Callable[[Level], Cell]:
    def cell(level: Level) -> Cell:
        value = number_of(level)
        return None if value is None else number(value)

    return cell


def _share(of: Callable[[Level], float | None]) -> Callable[[Level], Cell]:
    def cell(level: Level) -> Cell:
        value = of(level)
        return None if value is None else percent(value)

    return cell


def _within(level: Level) -> float | None:
    share = level.within_limits
    return share.met / share.of if share and share.of else None


def _cached(level: Level) -> float | None:
    """Of interest where the cache was meant to help, or helped unasked."""
    cache = level.cache
    if cache is None or not cache.prompt_tokens or not (cache.hits or level.mode == "warm"):
        return None
    return cache.cached_tokens / cache.prompt_tokens


def _at_once(level: Level) -> float | None:
    """Of people, who think and read; of users it is their number."""
    return level.in_flight.mean if level.in_flight and level.people is not None else None


def first_answer(level: Level) -> Spread | None:
    """Where it is another than the first token: a model that reasons answers later."""
    return level.ttfa_ms if level.ttfa_ms and level.ttfa_ms.p50 != level.ttft_ms.p50 else None


COLUMNS: tuple[Column, ...] = (
    Column(
        title="answered at once", short="at\nonce", rank=5, of=_of(_at_once)
    ),
    Column(title="total tok/s", short="total\ntok/s", of=_of(lambda x: x.total_tokens_per_s)),
    Column(title="tok/s per user", short="each\ntok/s", of=lambda x: x.per_user_tokens_per_s),
    Column(title="of one user's", short="of one\nuser's", rank=3, of=_share(lambda x: x.degradation)),
    Column(title="first token, ms", short="TTFT\nms", of=lambda x: x.ttft_ms),
    Column(title="its p90, ms", short="TTFT\np90", rank=2, of=lambda x: slow_end(x.ttft_ms)),
    Column(title="first answer token, ms", short="TTFA\nms", rank=1, of=first_answer),
    Column(title="between tokens, ms", short="ITL\nms", rank=10, of=_of(lambda x: x.itl_ms.p50)),
    Column(title="longest stall, ms", short="stall\nms", rank=9, of=_of(lambda x: x.worst_stall_ms)),
    Column(title="within limits", short="within\nlimits", rank=0, of=_share(_within)),
    Column(title="from the cache", short="cached", rank=4, of=_share(_cached)),
    Column(
        title="slots busy", short="slots\nbusy", rank=8, of=_of(lambda x: x.queue.busy_slots if x.queue else None)
    ),
    Column(
        title="waited for a slot, most", short="queued", rank=6,
        of=lambda x: str(x.queue.deferred_most) if x.queue and x.queue.deferred_most is not None else None,
    ),
    Column(title="n, completed", short="n", of=lambda x: str(x.requests.completed)),
    Column(title="failed", short="failed", of=lambda x: str(x.requests.errored + x.requests.invalid)),
)  # fmt: skip
