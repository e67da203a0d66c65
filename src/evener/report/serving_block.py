"""One user count in the shape that vLLM's and SGLang's clients have made known: "Serving Benchmark Result"."""

from __future__ import annotations

from collections.abc import Iterator

from evener.records.load import Level, Spread, UsersResult
from evener.report.level_columns import first_answer

WIDTH = 50
Line = tuple[str, str]  # a name and its figure; no figure: a heading


def serving_block(result: UsersResult, level: Level) -> str:
    """The block, as plain text. A percentile that n is too small for is "-", and never a guess."""
    lines = [f"{' Serving Benchmark Result ':=^{WIDTH}}"]
    for name, figure in _lines(result, level):
        lines.append(f"{name:<40}{figure:<10}".rstrip() if figure else f"{name:-^{WIDTH}}")
    return "\n".join([*lines, "=" * WIDTH])


def shown_level(result: UsersResult) -> Level | None:
    """The level that the block is about: the most for whom it is comfortable, else the most that were measured."""
    whole = [level for level in result.levels if level.requests.completed]
    holds = result.comfortable.holds_for if result.comfortable else None
    return next((level for level in whole if level.users == holds), whole[-1] if whole else None)


def _lines(result: UsersResult, level: Level) -> Iterator[Line]:
    requests = level.requests
    failed = requests.errored + requests.invalid
    yield "Maximum request concurrency:", str(level.users)
    yield "Successful requests:", str(requests.completed)
    yield "Failed requests:", str(failed)
    for name, count in requests.by_class.items():
        yield f"  {name}:", str(count)
    yield "Benchmark duration (s):", f"{level.duration_s:.2f}"
    yield "Input tokens per request:", _range(level.prompt_tokens)
    yield "Generated tokens per request:", _range(level.output_tokens)
    yield "Request throughput (req/s):", _figure(level.requests_per_s)
    if result.limits is not None:
        yield "Request goodput (req/s):", _figure(level.goodput)
    yield "Output token throughput (tok/s):", _figure(level.total_tokens_per_s)
    yield "Output tokens per user (tok/s, median):", _figure(level.per_user_tokens_per_s.p50)
    yield from _spread("Time to First Token", "TTFT", level.ttft_ms)
    if (answer := first_answer(level)) is not None:
        yield from _spread("Time to First Answer Token", "TTFA", answer)
    yield from _spread("Time per Output Token (excl. 1st token)", "TPOT", level.tpot_ms)
    yield from _spread("Inter-token Latency", "ITL", level.itl_ms)


def _spread(title: str, short: str, spread: Spread) -> Iterator[Line]:
    yield title, ""
    for name, value in (("Mean", spread.mean), ("Median", spread.p50), ("P90", spread.p90), ("P95", spread.p95)):
        yield f"{name} {short} (ms):", _figure(value)
    if spread.p90 is None:
        yield f"Max {short} (ms), n={spread.n}:", _figure(spread.most)


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _range(pair: tuple[int, int] | None) -> str:
    if pair is None:
        return "-"
    return str(pair[0]) if pair[0] == pair[1] else f"{pair[0]}-{pair[1]}"
