"""Answers at one prompt length to its row: right ones of how many, with the share's interval; TTFT and rates. Pure.

A request that failed, or an answer that never came out of its reasoning, is in no score: unknown is not wrong.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from evener.bench.fitting import Fitted
from evener.bench.needles import Item
from evener.bench.speed_rows import RATE, is_cache_hit, repeated
from evener.bench.summarise import decode_rate
from evener.records.context_limits import ContextLength, DepthScored, Scored
from evener.records.load import Request
from evener.stats.intervals import share_interval

TRUNCATED_BELOW = 0.98  # of the tokens that were sent, by the server's own tokenizer
TRUNCATED_BELOW_BY_WORDS = 0.7  # where words are all that is known


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """A question, what was sent, and what came back."""

    item: Item
    fitted: Fitted
    request: Request
    said: str

    @property
    def right(self) -> bool | None:
        """None for what cannot be judged."""
        if self.request.failure is not None or self.never_answered:
            return None
        return self.item.is_right(self.said)

    @property
    def never_answered(self) -> bool:
        """Every token was reasoning."""
        return self.request.failure is None and self.request.ttfa_s is None


def length_row(tokens: int, answers: Sequence[Answered], decodes: Sequence[Request], *, rtt_s: float) -> ContextLength:
    """The row of one length. `rtt_s` is taken off each TTFT."""
    fresh = [one.request for one in answers if one.request.failure is None and not is_cache_hit(one.request)]
    counted = [r.prompt_tokens for r in fresh if r.prompt_tokens is not None]
    needles = [one for one in answers if one.item.kind == "needle"]
    places = dict.fromkeys(one.item.place for one in needles if one.item.place is not None)
    return ContextLength(
        tokens=tokens,
        prompt_tokens=(min(counted), max(counted)) if counted else None,
        needles=scored(needles),
        depths=tuple(
            DepthScored(depth=place, scored=scored(one for one in needles if one.item.place == place))
            for place in places
        ),
        reasoning=scored(one for one in answers if one.item.kind == "reasoning"),
        ttft_ms=repeated((r.ttft_s * 1e3 for r in fresh if r.ttft_s is not None), "ms"),
        prefill_tokens_per_s=repeated((_prefill(r, rtt_s) for r in fresh), RATE),
        decode_tokens_per_s=repeated((decode_rate(r) for r in decodes if r.failure is None), RATE),
        truncated=_truncated(answers),
        by_class=dict(Counter(str(one.request.failure) for one in answers if one.request.failure)),
        note="; ".join(_notes(answers)) or None,
    )


def scored(answers: Iterable[Answered]) -> Scored:
    """Right ones of those that can be judged."""
    judged = [one.right for one in answers if one.right is not None]
    return Scored(n=len(judged), right=sum(judged), interval=share_interval(sum(judged), len(judged)))


def _prefill(request: Request, rtt_s: float) -> float | None:
    if request.ttft_s is None or request.prompt_tokens is None or request.ttft_s <= rtt_s:
        return None
    return (request.prompt_tokens - (request.cached_tokens or 0)) / (request.ttft_s - rtt_s)


def _truncated(answers: Sequence[Answered]) -> bool | None:
    """Whether the server worked on less than it was sent; None where it counts nothing."""
    found = [
        r.prompt_tokens < TRUNCATED_BELOW * one.fitted.tokens
        if one.fitted.tokens is not None
        else r.prompt_tokens < TRUNCATED_BELOW_BY_WORDS * one.fitted.words
        for one in answers
        if (r := one.request).failure is None and r.prompt_tokens is not None
    ]
    return any(found) if found else None


def _notes(answers: Sequence[Answered]) -> Iterator[str]:
    silent = sum(one.never_answered for one in answers)
    if silent:
        yield f"never answered, reasoning only: {silent} of {len(answers)}, in no score"
    failed = next((one.request for one in answers if one.request.failure), None)
    if failed is not None and failed.detail:
        yield failed.detail
