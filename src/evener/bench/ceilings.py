"""Which of four ceilings binds, and which lengths are worth asking for. Pure: the same rows give the same sentence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from evener.bench.context_rows import Answered
from evener.bench.speed_rows import is_cache_hit
from evener.errors import ConfigurationError
from evener.records.context_limits import Ceiling, CeilingName, ContextLength, ContextResult, Reload, Scored
from evener.records.load import ClientCost

SHORTEST = 1024  # where the ladder begins, if there is room
LONGEST_UNASKED = 32_768  # where it ends when nobody knows a limit
FOUND = 0.9  # the share of needles below which a length is past the ceiling, once that is certain


@dataclass(frozen=True, slots=True, kw_only=True)
class Stated:
    """What a server says of its own limits, in tokens of one sequence; `by` names where."""

    trained: int | None
    configured: int | None
    by: str

    def ceilings(self) -> tuple[Ceiling, Ceiling]:
        """Trained and configured."""
        trained = "by the header, /v1/models says" if self.trained else "the server does not say"
        configured = f"by {self.by}, for one sequence" if self.configured else "the server does not say"
        return (
            Ceiling(name="trained", tokens=self.trained, why=trained),
            Ceiling(name="configured", tokens=self.configured, why=configured),
        )


def ladder(lengths: Sequence[int] | None, *, limit: int | None, room: int) -> tuple[int, ...]:
    """Prompt lengths, ascending: those asked for, else doubling up to what is left beside an answer of `room` tokens.

    Raises ConfigurationError for one that the limit excludes.
    """
    most = None if limit is None else limit - room
    if lengths is not None:
        if most is not None and max(lengths) > most:
            raise ConfigurationError(
                f"a prompt of {max(lengths)} tokens and its answer are more than the {limit} of one sequence",
                hint=f"at most --lengths {most}",
            )
        return tuple(sorted(set(lengths)))
    top = LONGEST_UNASKED if most is None else most
    if top < 256:
        raise ConfigurationError(f"{limit} tokens per sequence leave no room for a question and an answer")
    shortest = SHORTEST if top >= 2 * SHORTEST else 256
    steps = [shortest << n for n in range(32) if shortest << n < top]
    return (*(step for step in steps if step <= 0.75 * top), top)


def refused(answers: Sequence[Answered]) -> bool:
    """Whether nothing of this length was let in: longer ones will not be either."""
    return bool(answers) and all(one.request.failure in ("context_exceeded", "http_error") for one in answers)


def quality(lengths: Sequence[ContextLength]) -> Ceiling:
    """The longest length before the first that certainly finds less than `FOUND` of its needles."""
    asked = [one for one in lengths if one.needles.n]
    failing = next((one for one in asked if _is_below(one.needles)), None)
    before = [one.tokens for one in asked if failing is None or one.tokens < failing.tokens]
    if not asked:
        return Ceiling(name="quality", tokens=None, why="no question was answered")
    if failing is None:
        last = asked[-1]
        return Ceiling(
            name="quality", tokens=last.tokens, at_least=True, why=f"needles found up to there: {_share(last.needles)}"
        )
    why = f"at {failing.tokens} tokens needles found: {_share(failing.needles)}, certainly fewer than {FOUND:.0%}"
    if before:
        return Ceiling(name="quality", tokens=max(before), why=why)
    better = any(one.tokens > failing.tokens and not _is_below(one.needles) for one in asked)
    not_length = "; a longer one did better, so length is not what limits it" if better else ""
    return Ceiling(
        name="quality", tokens=None, why=f"no ceiling by length: {why}, and nothing shorter was asked{not_length}"
    )


def _is_below(needles: Scored) -> bool:
    return needles.interval is not None and needles.interval[1] < FOUND


def _share(one: Scored) -> str:
    low, high = one.interval or (0.0, 1.0)
    return f"{one.right} of {one.n} (95 % {low:.0%} to {high:.0%})"


def binding(ceilings: Sequence[Ceiling]) -> CeilingName | None:
    """The lowest ceiling that is known. One that nothing has reached yet does not bind below the others."""
    known = [one for one in ceilings if one.tokens is not None and not one.at_least]
    lowest = min(known, key=lambda one: one.tokens or 0, default=None)
    return lowest.name if lowest else None


WORDS = {
    "trained": "the window it was trained for",
    "configured": "what the server gives to one sequence",
    "memory": "memory",
    "quality": "the quality of its answers",
}


def sentence(allocation: str, ceilings: Sequence[Ceiling], binds: CeilingName | None) -> str:
    """The answer in one sentence; `Ceiling.why` tells the rest."""
    lowest = next((one for one in ceilings if one.name == binds), None)
    others = ", ".join(_said(one) for one in ceilings if one.name != binds)
    if lowest is None:
        return f"Under {allocation} no ceiling is known: {others}."
    return f"Under {allocation} {WORDS[lowest.name]} binds, at {lowest.tokens} tokens: {others}."


def _said(one: Ceiling) -> str:
    if one.tokens is None:
        return f"{one.name} unknown" if one.name != "quality" else "no ceiling by quality"
    return f"{one.name} {'at least ' if one.at_least else ''}{one.tokens}"


def answer_of(
    *,
    url: str,
    model: str | None,
    allocation: str,
    ceilings: tuple[Ceiling, ...],
    lengths: tuple[ContextLength, ...],
    client: ClientCost,
    rtt_ms: float | None,
    validity: str,
    partial: str | None,
    notes: tuple[str, ...],
) -> ContextResult:
    """The whole answer, with the ceiling that the answers show."""
    known = (*(_seen(one, lengths) for one in ceilings), quality(lengths))
    binds = binding(known)
    return ContextResult(
        url=url,
        model=model,
        allocation=allocation,
        ceilings=known,
        binding=binds,
        sentence=sentence(allocation, known, binds),
        lengths=lengths,
        client=client,
        rtt_ms=rtt_ms,
        validity=validity,
        partial=partial,
        notes=notes,
    )


def with_memory(result: ContextResult, memory: Ceiling, reloads: tuple[Reload, ...]) -> ContextResult:
    """The answer with what loads have shown of memory."""
    known = tuple(memory if one.name == "memory" else one for one in result.ceilings)
    binds = binding(known)
    return replace(
        result, ceilings=known, binding=binds, sentence=sentence(result.allocation, known, binds), reloads=reloads
    )


def _seen(one: Ceiling, lengths: Sequence[ContextLength]) -> Ceiling:
    """A configured limit that nobody states shows itself where a prompt is refused or cut."""
    if one.name != "configured" or one.tokens is not None:
        return one
    over = next((row for row in lengths if row.truncated or (row.by_class and not row.ttft_ms.n)), None)
    went = [row.tokens for row in lengths if over is None or row.tokens < over.tokens]
    if not went:
        return one
    if over is None:
        return replace(
            one, tokens=max(went), at_least=True, why="the server does not say; so long a prompt went through"
        )
    how = "was cut without a word" if over.truncated else "was refused"
    return replace(one, tokens=max(went), why=f"the server does not say; a prompt of {over.tokens} tokens {how}")


def invalid(answers: Sequence[Answered], client: ClientCost) -> Iterator[str]:
    """Why the figures must not be used."""
    if client.saturated:
        yield f"this client was saturated: its loop woke up {client.lag_p95_ms:g} ms late (p95)"
    hits = sum(is_cache_hit(one.request) for one in answers if one.request.failure is None)
    if hits:
        yield f"prompts came from a cache in {hits} requests"
    if answers and all(one.request.failure for one in answers):
        yield "no question was answered"


def told(lengths: Sequence[ContextLength], *, answer_tokens: int, thinking: str | None) -> Iterator[str]:
    """What a reader must know of all lengths."""
    if any(one.truncated for one in lengths):
        cut = next(one.tokens for one in lengths if one.truncated)
        yield f"silent truncation: from {cut} tokens on the server worked on fewer than it was sent"
    if any(one.note and "never answered" in one.note for one in lengths):
        mode = thinking or "unknown"
        yield f"answers may take {answer_tokens} tokens, and thinking is {mode}: --answer-tokens gives them more"


# ---- memory, by loading

STEP = 256  # the engine pads contexts to it
NEAR = 0.05  # how near the limit is near enough
MOST_LOADS = 6


def next_context(loads: Sequence[Reload], *, running: int, predicted: int | None, trained: int | None) -> int | None:
    """The next context to load, in tokens per user; None when it is enough.

    The predicted one first, then away from it in steps that double until the limit lies between two loads, then halves.
    `running` is what is known to hold, since it serves. Beyond the trained window nothing is looked for.
    """
    low, high = _between(loads, running=running, trained=trained)
    if high - low <= max(STEP, NEAR * low) or len(loads) >= MOST_LOADS:
        return None
    if not loads:
        return predicted if predicted is not None and low < predicted < high else _middle(low, high)
    if all(one.held for one in loads):
        return min(_step(low + max(STEP, NEAR * low) * 2 ** len(loads)), high - STEP)
    if not any(one.held for one in loads):
        nearer = _step(high - max(STEP, NEAR * high) * 2 ** len(loads))
        return nearer if nearer > low else _middle(low, high)
    return _middle(low, high)


def memory_of(predicted: Ceiling, loads: Sequence[Reload], *, running: int, trained: int | None) -> Ceiling:
    """The memory ceiling as loads have shown it; the prediction where there were none."""
    if not loads:
        return predicted
    low, high = _between(loads, running=running, trained=trained)
    failed = next((one for one in loads if not one.held and one.context == high), None)
    n = f"{len(loads)} load{'s' if len(loads) > 1 else ''}"
    if failed is None:
        return replace(predicted, tokens=low, at_least=True, why=f"loaded, {n}; nothing longer failed")
    return replace(predicted, tokens=low, at_least=False, why=f"loaded, {n}; {high} was not held: {failed.why}")


def _between(loads: Sequence[Reload], *, running: int, trained: int | None) -> tuple[int, int]:
    """(the longest that holds, the shortest that does not or is not looked for)."""
    low = max((one.context for one in loads if one.held), default=running)
    beyond = STEP + _step(max(trained or 2 * max(running, low), low))
    return max(low, running), min((one.context for one in loads if not one.held), default=beyond)


def _middle(low: int, high: int) -> int | None:
    middle = _step((low + high) / 2)
    return middle if low < middle < high else None


def _step(tokens: float) -> int:
    return int(tokens) // STEP * STEP
