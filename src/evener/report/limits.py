"""What a report's figures do not say, in plain words. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from evener.records.pair import PairResult
from evener.records.run import Run
from evener.report.parts import Crowd, Layout
from evener.report.rows import one_machine
from evener.report.words import listed


def limits(run: Run, layouts: Sequence[Layout], pair: PairResult | None = None) -> tuple[str, ...]:
    """Only those that hold for this run."""
    return tuple([*_rig(run), *_users(layouts), *_bench(layouts, pair), *_watched(layouts), *_memory(run, layouts)])


def _rig(run: Run) -> Iterator[str]:
    for names in one_machine(run):
        yield (
            f"{listed(names)} are one machine under {len(names)} names: its hosts share the same processor and memory, "
            "and the link between them never leaves it. The figures show what splitting itself costs, and say nothing "
            "about two real machines and a cable."
        )


def _users(layouts: Sequence[Layout]) -> Iterator[str]:
    measured = [x for x in layouts if x.measured]
    if not measured:
        return
    asked = {(x.prompt_tokens, x.output_tokens) for x in measured}
    if len(asked) == 1:
        prompt, output = asked.pop()
        yield f"Every request: about {prompt} prompt and {output} output tokens. Other lengths, other figures."
    yield (
        "Speed per user is the decode rate of one request after its first token; the wait before (TTFT) is not in it."
    )
    if any(_without_pause(x.crowd) for x in measured):
        yield (
            "Each user sends the next request as soon as the last one ends; people read and think in between, "
            "so a server carries more people than users."
        )
    if any(x.crowd and x.crowd.comfortable for x in measured):
        yield "Comfortable is what the stated limits say: people with other limits, other prompts, other counts."
    if any(x.crowd and x.crowd.mode == "warm" for x in measured):
        yield "Warm figures hold while the shared beginning stays in the server's cache: who comes first waits longer."
    yield (
        "n is the number of completed requests; the 95 % intervals are of the median and speak of this run only, "
        "not of another day, prompt or temperature."
    )
    yield "Total tok/s and load time are single measurements: they have no interval, and no verdict is drawn from them."


def _without_pause(crowd: Crowd | None) -> bool:
    return crowd is None or (crowd.arrivals == "closed" and not crowd.people and not crowd.think_s)


def _bench(layouts: Sequence[Layout], pair: PairResult | None) -> Iterator[str]:
    if any(x.speed for x in layouts):
        yield "Rows of speed are one request at a time: they say nothing about several users."
    if any(x.context for x in layouts):
        yield (
            "The ceiling of quality is about facts to be found and put together in a long text: "
            "other tasks may fail earlier, and hard ones do."
        )
    if pair:
        yield "A verdict about a pair holds for these two, these prompts and this user count, on this day."


def _watched(layouts: Sequence[Layout]) -> Iterator[str]:
    if any(x.telemetry and x.telemetry.energy for x in layouts):
        yield "Energy is that of the cards alone: a whole machine draws more from the wall."


def _memory(run: Run, layouts: Sequence[Layout]) -> Iterator[str]:
    if not any(x.checks for x in layouts):
        return
    yield "Layers count the output head as one. Reported is what the engine says of its own buffers."
    if any(_is_cpu(run, check.host, check.card) for x in layouts for check in x.checks):
        yield (
            "For a processor used as a card, measured is the worker's resident memory: "
            "pages of buffers that were never touched are promised, and not yet there."
        )


def _is_cpu(run: Run, host: str, card: str) -> bool:
    seen = run.scan.host(host) if run.scan else None
    found = seen.card(card) if seen else None
    return found.kind == "cpu" if found else card == "cpu"
