"""What a reader must know before using a figure of this run: what failed, was missed, or is only partly there. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from evener.records.card import Holder
from evener.records.load import Level, Request, UsersResult
from evener.records.run import Stage, Summary
from evener.records.verification import CardCheck, FreedCheck
from evener.report.parts import Caution, Layout
from evener.report.rows import left_bytes
from evener.report.words import count, listed, size


def cautions(
    summary: Summary | None, stages: Sequence[Stage], layouts: Sequence[Layout], requests: Sequence[Request]
) -> tuple[Caution, ...]:
    """Grave ones first; otherwise in the order of the run."""
    found = [*_run(summary, requests)]
    if shared := [layout.label for layout in layouts if layout.one_machine]:
        text = f"{listed(shared)}: its hosts are one machine; this is the cost of splitting, not of a cable"
        found.append(Caution(grave=False, text=text))
    for stage, layout in zip(stages, layouts, strict=True):
        found += [Caution(grave=grave, text=f"{layout.label}: {text}") for grave, text in _stage(stage)]
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
    real = [r for r in requests if not r.warm_up]
    if cached := sum(bool(r.cached_tokens) for r in real):
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
    return f"{count(len(requests), 'request')}, {done} completed" + (f", failed: {_classes(failed)}" if failed else "")


def _classes(by_class: Mapping[str, int]) -> str:
    return ", ".join(f"{n} {name.replace('_', ' ')}" for name, n in sorted(by_class.items()) if n)


def _stage(stage: Stage) -> Iterator[tuple[bool, str]]:
    for check in stage.checks:
        yield from _check(check)
    if stage.users:
        yield from _users(stage.users)
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


def _users(result: UsersResult) -> Iterator[tuple[bool, str]]:
    if result.validity != "valid":
        yield True, f"the figures must not be used: {result.validity}"
    if result.partial:
        yield True, f"measured only in part: {result.partial}"
    for note in result.notes:
        yield False, note
    if result.client.saturated:
        yield True, "the measuring client was saturated: the server may be faster than these figures say"
    for level in result.levels:
        yield from _level(level)


def _level(level: Level) -> Iterator[tuple[bool, str]]:
    counts = level.requests
    sent = counts.completed + counts.errored + counts.invalid
    users = f"with {count(level.users, 'user')}"
    if counts.errored:
        classes = f": {_classes(counts.by_class)}" if counts.by_class else ""
        yield True, f"{users}, {counts.errored} of {count(sent, 'request')} failed{classes}"
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
