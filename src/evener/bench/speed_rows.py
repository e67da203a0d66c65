"""Repetitions of one test to its row: the client's clock and the server's, side by side. Pure.

Definitions: docs/reference/metrics.md. Rates are in tokens per second; a spread is the sample's standard deviation.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, stdev

from evener.bench.sizes import SpeedTest
from evener.bench.summarise import decode_rate
from evener.records.load import Request
from evener.records.speed import BenchRow
from evener.records.speed_rows import Repeated, SpeedRow

RATE = "tok/s"
SHARED_TOKENS = 64
NAMES = {"server": "the server", "llama_bench": "llama-bench"}


@dataclass(frozen=True, slots=True)
class Sample:
    """One repetition. `before` is the shorter prompt of a difference, where a depth is one."""

    request: Request
    before: Request | None = None


def row(test: SpeedTest, samples: Sequence[Sample], *, rtt_s: float) -> SpeedRow:
    """The row of `test`. `rtt_s` is taken off each TTFT."""
    kinds = {(True, False): (_prompt_seen, _prompt_clocked), (False, True): (_answer_seen, _answer_clocked)}
    seen, clocked = kinds.get((bool(test.prompt), bool(test.output)), (_both_seen, _both_clocked))
    server = repeated((clocked(one) for one in samples), RATE)
    processed = [one.request.server_prompt_tokens for one in samples if one.request.server_prompt_tokens is not None]
    return SpeedRow(
        test=test.name,
        prompt_tokens=test.prompt,
        output_tokens=test.output,
        depth=test.depth,
        client=repeated((seen(one, test, rtt_s) for one in samples), RATE),
        server=server if server.n else None,
        ttft_ms=repeated((one.request.ttft_s * 1e3 for one in samples if one.request.ttft_s is not None), "ms"),
        processed_tokens=(min(processed), max(processed)) if processed else None,
        note="; ".join(_notes(test, samples)) or None,
    )


def is_cache_hit(request: Request) -> bool:
    """Whether more of a prompt came from a cache than the beginning that a chat template gives to all of them."""
    return (request.cached_tokens or 0) > min(SHARED_TOKENS, (request.prompt_tokens or 0) // 2)


def repeated(values: Iterable[float | None], unit: str) -> Repeated:
    """Mean and standard deviation of what is known of them."""
    known = tuple(value for value in values if value is not None)
    return Repeated(
        n=len(known),
        mean=fmean(known) if known else None,
        sd=stdev(known) if len(known) > 1 else None,
        unit=unit,
        values=known,
    )


def beside(rows: Sequence[SpeedRow], measured: Sequence[BenchRow]) -> tuple[SpeedRow, ...]:
    """The rows with what llama-bench measured of the same tests."""
    known = {(one.prompt_tokens, one.output_tokens, one.depth): one.tokens_per_s for one in measured}
    return tuple(
        replace(one, llama_bench=repeated(found, RATE))
        if (found := known.get((one.prompt_tokens, one.output_tokens, one.depth)))
        else one
        for one in rows
    )


def gaps(rows: Sequence[SpeedRow], *, through_template: bool) -> str:
    """Why the views differ, and by how much they do here."""
    template = "the chat template and " if through_template else ""
    said = (
        f"The client counts {template}HTTP, the queue, sampling and detokenising, less one round trip; the server's"
        " timings are prompt_n / prompt_ms and (n - 1) / predicted_ms, since the first token comes with the prompt;"
        " llama-bench decodes random tokens in a loop, without a server, a sampler or text."
    )
    shares = [line for line in (_shares(rows, "server"), _shares(rows, "llama_bench")) if line]
    return f"{said} Here the client's figures are {' and '.join(shares)}." if shares else said


def _shares(rows: Sequence[SpeedRow], view: str) -> str | None:
    """The client's figures as a share of another view's, from the least to the greatest."""
    shares = [
        one.client.mean / other.mean
        for one in rows
        if (other := getattr(one, view)) is not None and other.mean and one.client.mean
    ]
    if not shares:
        return None
    low, high = f"{min(shares):.1%}", f"{max(shares):.1%}"
    return f"{low if low == high else f'{low} to {high}'} of {NAMES[view]}'s"


def _prompt_seen(one: Sample, test: SpeedTest, rtt_s: float) -> float | None:
    """Prompt tokens / (TTFT - RTT); at a depth only those behind it, which the cache held or which a difference is."""
    request = one.request
    if request.ttft_s is None:
        return None
    if one.before is not None:
        seconds = request.ttft_s - (one.before.ttft_s or request.ttft_s)
        return _rate(_difference(one) or test.prompt, seconds)
    tokens = (request.prompt_tokens or test.depth + test.prompt) - (request.cached_tokens or 0)
    return _rate(tokens, request.ttft_s - rtt_s)


def _difference(one: Sample) -> int | None:
    longer, shorter = one.request.prompt_tokens, one.before.prompt_tokens if one.before else None
    return longer - shorter if longer is not None and shorter is not None else None


def _prompt_clocked(one: Sample) -> float | None:
    request = one.request
    if one.before is not None or not request.server_prompt_tokens or not request.server_prompt_ms:
        return None
    return 1e3 * request.server_prompt_tokens / request.server_prompt_ms


def _answer_seen(one: Sample, _test: SpeedTest, _rtt_s: float) -> float | None:
    return decode_rate(one.request)


def _answer_clocked(one: Sample) -> float | None:
    request = one.request
    if not request.server_predicted_ms or request.tokens is None:
        return None
    return _rate(request.tokens - 1, request.server_predicted_ms / 1e3)


def _both_seen(one: Sample, test: SpeedTest, rtt_s: float) -> float | None:
    request = one.request
    if request.last_token_s is None or request.tokens is None:
        return None
    if one.before is not None:
        tokens = (_difference(one) or test.prompt) + request.tokens - 1
        return _rate(tokens, request.last_token_s - (one.before.ttft_s or request.last_token_s))
    prompt = (request.prompt_tokens or test.depth + test.prompt) - (request.cached_tokens or 0)
    return _rate(prompt + request.tokens - 1, request.last_token_s - rtt_s)


def _both_clocked(one: Sample) -> float | None:
    request = one.request
    if one.before is not None or request.tokens is None or request.server_prompt_tokens is None:
        return None
    if request.server_prompt_ms is None or request.server_predicted_ms is None:
        return None
    tokens = request.server_prompt_tokens + request.tokens - 1
    return _rate(tokens, (request.server_prompt_ms + request.server_predicted_ms) / 1e3)


def _rate(tokens: int, seconds: float) -> float | None:
    return tokens / seconds if tokens > 0 and seconds > 0 else None


def _notes(test: SpeedTest, samples: Sequence[Sample]) -> Iterable[str]:
    if any(one.before is not None for one in samples):
        yield "by the difference of two cold prompts: this server's cache cannot be asked"
    lengths = {one.request.tokens for one in samples if one.request.tokens is not None}
    if test.output and lengths - {test.answer_tokens}:
        yield f"answers of {min(lengths)} to {max(lengths)} tokens, {test.answer_tokens} asked"
    if any(one.request.tokens_estimated for one in samples):
        yield "the server counts no tokens: chunks were counted"
    if not test.depth and not test.prompt and any((one.request.prompt_tokens or 0) > 1 for one in samples):
        yield f"behind a prompt of {max(one.request.prompt_tokens or 0 for one in samples)} tokens"
