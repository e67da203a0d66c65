"""What a reader must know before using a figure of this run: what failed, was missed, or is only partly there. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from evener.records.card import Holder
from evener.records.context_limits import ContextResult
from evener.records.load import Level, Request, UsersResult
from evener.records.pair import PairResult
from evener.records.run import Stage, Summary
from evener.records.speed_rows import SpeedResult
from evener.records.verification import CardCheck, FreedCheck
from evener.report.parts import Caution, Layout
from evener.report.rows import condition, left_bytes
from evener.report.words import classes, count, listed, size

_UNFINISHED = "not finished"
_SATURATED = "the measuring client was saturated: the server may be faster than these figures say"


def cautions(
    summary: Summary | None, stages: Sequence[Stage], layouts: Sequence[Layout], requests: Sequence[Request]
) -> tuple[Caution, ...]:
    """Grave ones first; otherwise in the order of the run."""
    found = [*_run(summary, requests), *_tokens(stages, requests)]
    if summary and summary.pair:
        found += [Caution(grave=grave, text=text) for grave, text in _pair(summary.pair, summary.partial)]
    if shared := [layout.label for layout in layouts if layout.one_machine]:
        text = f"{listed(shared)}: its hosts are one machine; this is the cost of splitting, not of a cable"
        found.append(Caution(grave=False, text=text))
    whole = summary.partial if summary else _UNFINISHED
    for stage, layout in zip(stages, layouts, strict=True):
        where = f"{layout.label}: " if layout.kind or len(layouts) > 1 else ""
        found += [Caution(grave=grave, text=f"{where}{text}") for grave, text in _stage(stage, whole)]
    return tuple(sorted(found, key=lambda caution: not caution.grave))


def _run(summary: Summary | None, requests: Sequence[Request]) -> Iterator[Caution]:
    if summary is None:
        yield Caution(
            grave=True,
            text="This run is not finished: it still goes on, or was cut off. What was recorded is shown",
        )
        if requests:
            yield Caution(grave=True, text=f"Recorded before it ended: {_requests(requests)}")
    elif summary.partial:
        yield Caution(grave=True, text=f"This run is partial: {summary.partial}")


def _tokens(stages: Sequence[Stage], requests: Sequence[Request]) -> Iterator[Caution]:
    """What makes the times or the counts of requests doubtful. Only a cold curve of users forbids the cache."""
    real = [r for r in requests if not r.warm_up]
    cold = any(x.users and x.users.mode == "cold" for x in stages)
    if cold and (cached := sum(bool(r.cached_tokens) for r in real)):
        text = (
            f"{cached} of {count(len(real), 'request')} found part of the prompt in the cache: their TTFT is too good"
        )
        yield Caution(grave=True, text=text)
    if estimated := sum(r.tokens_estimated for r in real):
        text = (
            f"{estimated} of {count(len(real), 'request')}: the server gave no token count, chunks were counted instead"
        )
        yield Caution(grave=False, text=text)


def _requests(requests: Sequence[Request]) -> str:
    failed = Counter(str(r.failure) for r in requests if r.failure)
    done = sum(r.failure is None and r.end_s is not None for r in requests)
    return f"{count(len(requests), 'request')}, {done} completed" + (f", failed: {classes(failed)}" if failed else "")


def _stage(stage: Stage, whole: str | None) -> Iterator[tuple[bool, str]]:
    for check in stage.checks:
        yield from _check(check)
    if stage.users:
        yield from _users(stage.users, whole)
    for other in (stage.speed, stage.context):
        if other:
            yield from _result(other, whole)
    for freed in stage.freed:
        yield from _freed(freed)
    yield from _drifted(stage)


def _check(check: CardCheck) -> Iterator[tuple[bool, str]]:
    where, why = f"{check.host} / {check.card_name} ({check.device})", f" ({check.why})" if check.why else ""
    if check.verdict == "missing":
        yield True, f"{where} is missing: the plan gave it {count(check.layers_planned, 'layer')}{why}"
    elif check.verdict == "over":
        yield True, f"{where} holds {size(check.measured_bytes)}, over its ceiling of {size(check.ceiling_bytes)}{why}"
    elif check.verdict == "under":
        yield True, f"{where} holds {size(check.measured_bytes)}, under its floor of {size(check.floor_bytes)}{why}"
    elif check.verdict == "unknown":
        yield False, f"{where}: memory after load is unknown{why}"
    if check.verdict != "missing" and check.layers_seen not in (None, check.layers_planned):
        yield True, f"{where} got {check.layers_seen} layers, planned {check.layers_planned}"


def _pair(result: PairResult, whole: str | None) -> Iterator[tuple[bool, str]]:
    yield from _said(result, whole)
    if result.differing:
        yield False, f"A and B differ in: {listed([condition(name) for name in result.differing])}"
    if result.unknown:
        yield False, f"nobody knows whether A and B differ in: {listed([condition(name) for name in result.unknown])}"


def _said(
    result: UsersResult | SpeedResult | ContextResult | PairResult, whole: str | None
) -> Iterator[tuple[bool, str]]:
    """What a result says about itself, as far as the whole run does not say it already."""
    if result.validity != "valid":
        yield True, f"the figures must not be used: {result.validity}"
    if result.partial and whole not in (result.partial, _UNFINISHED):
        yield True, f"measured only in part: {result.partial}"
    for note in result.notes:
        yield False, note


def _result(result: SpeedResult | ContextResult, whole: str | None) -> Iterator[tuple[bool, str]]:
    yield from _said(result, whole)
    if result.client.saturated and result.validity == "valid":
        yield True, _SATURATED
    named = [(r.test, r.by_class, r.note) for r in result.rows] if isinstance(result, SpeedResult) else []
    if isinstance(result, ContextResult):
        named = [(f"at {count(x.tokens, 'token')}", x.by_class, x.note) for x in result.lengths]
        for length in result.lengths:
            if length.truncated:
                yield True, f"at {count(length.tokens, 'token')}, the server cut the prompt without saying so"
    for name, by_class, note in named:
        if by_class:
            yield True, f"{name}, failed: {classes(by_class)}"
        if note:
            yield False, f"{name}: {note}"


def _users(result: UsersResult, whole: str | None) -> Iterator[tuple[bool, str]]:
    yield from _said(result, whole)
    if result.client.saturated and result.validity == "valid":
        yield True, _SATURATED
    if result.kv_exhausted_from is not None:
        yield True, f"from {count(result.kv_exhausted_from, 'user')} on, requests died because the KV cache was full"
    for level in result.levels:
        yield from _level(level)


def _level(level: Level) -> Iterator[tuple[bool, str]]:
    counts = level.requests
    sent = counts.completed + counts.errored + counts.invalid
    users = f"with {count(level.users, 'user')}"
    if counts.errored:
        how = f": {classes(counts.by_class)}" if counts.by_class else ""
        yield True, f"{users}, {counts.errored} of {count(sent, 'request')} failed{how}"
    if counts.invalid:
        yield True, f"{users}, {counts.invalid} of {count(sent, 'request')} gave no usable figures"
    if level.note:
        yield False, f"{users}: {level.note}"


def _freed(check: FreedCheck) -> Iterator[tuple[bool, str]]:
    where, why = f"{check.host} / {check.card_name}", f" ({check.why})" if check.why else ""
    if check.verdict == "held":
        holders = f", held by {listed([holder(h) for h in check.holders])}" if check.holders else ", holder unknown"
        yield True, f"{where} kept {size(left_bytes(check))} after the stop{holders}{why}"
    elif check.verdict == "unknown":
        yield False, f"{where}: nobody could see whether its memory came back{why}"


def _drifted(stage: Stage) -> Iterator[tuple[bool, str]]:
    drifts = [left_bytes(check) or 0 for check in stage.freed if check.verdict == "freed, drifted"]
    if drifts:
        cards = count(len(drifts), "card is", "cards are")
        yield False, f"{cards} freed within tolerance, with at most {size(max(drifts))} of drift"


def holder(held: Holder) -> str:
    """A holder in a few words: "python3 (pid 4711, me, 512 MiB)"."""
    name = held.resident or held.command or held.kind
    known = [f"pid {held.pid}" if held.pid is not None else None, held.user]
    amount = size(held.bytes) if held.bytes is not None else None
    about = ", ".join(word for word in (*known, amount) if word)
    return f"{name} ({about})" if about else name
