"""Runs as Markdown that survives a blog or a forum, and answers what readers ask: under which conditions, how many
times, how sure, what was not measured, and how to do it again. Tables and lists only: no HTML, no fence, no link.

Paths are cut to their last name. Hosts keep the names that their rig gives them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from evener.records.events import Fact
from evener.records.run import Run
from evener.report import beside_view, evals_written, markdown, verdict_written
from evener.report.beside_parts import Beside
from evener.report.crowd import how
from evener.report.evals_rows import how as how_asked
from evener.report.parts import Layout, Story
from evener.report.plain_tables import escaped, markdown_table
from evener.report.repeat import command
from evener.report.words import UNKNOWN, count, listed, plain, size

# A path in a command line: everything before its last name is somebody's own.
_FOLDERS = re.compile(r"(?<![\w/:.~-])(?:~|[A-Za-z]:)?/(?:[^\s/'\"]+/)+")
_MEDIANS = (
    "Speeds and waits are medians over completed requests; in brackets the distribution-free 95 % interval of the "
    "median. Totals are single measurements and have none"
)
_MEANS = "Rows of speed are means ± standard deviation of the repetitions, after one to warm up that is dropped"
_SCORES = "Scores are means over questions, of 100 points, with 95 % intervals by clusters of related questions"
_APART = (
    "A difference is stated only where it can be separated: 95 % intervals that do not overlap, or repetitions of "
    "which all of one run lie beyond all of the other's and chance would do so less than once in twenty. Each figure "
    "is told by itself"
)
_ANSWERS = "Whether the answers are right: this is about speed alone."
_SPEEDS = "Speed: this is about answers alone."


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """One run, and all that a methods section takes from it. `name` is its letter where there are several."""

    story: Story
    run: Run
    facts: Sequence[Fact]
    name: str = ""


def one(told: Told) -> str:
    """One run: its answer, its tables, and how they came about."""
    story = told.story
    parts = [
        f"### {escaped(story.title)}\n",
        f"**{escaped(story.headline)}.**\n",
        f"{escaped(story.basis)}.\n" if story.basis else "",
        _list([*_grave(story), *(escaped(text) for text in story.findings)]),
        *(markdown.pair(story.pair) if story.pair else ()),
        *(evals_written.markdown(story.evaluation) if story.evaluation else ()),
        *(part for layout in story.layouts for part in markdown.figures(layout)),
        *_methods([told]),
    ]
    return "\n".join(part for part in parts if part)


def several(found: Beside, told: Sequence[Told]) -> str:
    """Several runs: what can be told apart, a table per thing measured, and how they came about."""
    titles = listed(list(dict.fromkeys(escaped(one.run.title) for one in found.runs)))
    parts = [
        f"### {titles or escaped(found.foreign[0].bench.model)}\n",
        f"**{escaped(found.sentence)}.**\n" if len(found.tables) != 1 else "",
        _list([f"**{escaped(c.text)}**" if c.grave else escaped(c.text) for c in found.cautions]),
        _list([escaped(text.removesuffix(" (--anyway shows it, marked)")) for text in beside_view.refusals(found)]),
        *(part for table in found.tables for part in beside_view.markdown_of(table)),
        verdict_written.markdown(found.evaluations) if found.evaluations else "",
        *_methods(told, beside=found),
    ]
    return "\n".join(part for part in parts if part)


def _grave(story: Story) -> list[str]:
    return [f"**{escaped(c.text)}**" if c.grave else escaped(c.text) for c in story.cautions]


def _methods(told: Sequence[Told], *, beside: Beside | None = None) -> Iterator[str]:
    yield "#### How it was measured\n"
    yield _list([escaped(line) for line in (*_how(told), *_figures(told, several=beside is not None))])
    yield _conditions(told)
    if beside:
        yield _list([escaped(beside_view.stated(one.bench)) for one in beside.foreign])
    yield "#### What was not measured\n"
    yield _list([escaped(line) for line in dict.fromkeys(_unmeasured(told))])
    yield "#### How to repeat it\n"
    yield from _repeat(told)


def _list(lines: Sequence[str]) -> str:
    return "".join(f"- {line}\n" for line in lines)


def _how(told: Sequence[Told]) -> Iterator[str]:
    """When, with what, on which machines, and under which load."""
    for one in told:
        story = one.story
        yield f"{_of(one)}{story.started_at:%Y-%m-%d %H:%M} UTC, {story.state}, run {story.id}"
        yield from (f"{_of(one)}{line}" for line in _machines(one.run))
        yield from (f"{_of(one)}{layout.label}: {line}" for layout in story.layouts for line in _layout(layout))
        if pair := story.pair:
            yield f"{_of(one)}A is {pair.a.label}, B is {pair.b.label}, measured in turns; {pair.basis}"
        if story.evaluation and story.evaluation.result:
            yield f"{_of(one)}{how_asked(story.evaluation.result)}"


def _of(one: Told) -> str:
    return f"{one.name}: " if one.name else ""


def _machines(run: Run) -> Iterator[str]:
    for host in run.scan.hosts if run.scan else ():
        cards = [f"{card.name} ({size(card.total_bytes)})" for card in host.cards if card.kind != "cpu"]
        processor = host.cpu or next((card.name for card in host.cards if card.kind == "cpu"), "")
        known = [processor, f"{size(host.memory_total_bytes)} RAM" if host.memory_total_bytes else "", *cards]
        yield f"{host.name}: {', '.join(word for word in known if word) or 'nothing is known of it'}"


def _layout(layout: Layout) -> Iterator[str]:
    if layout.crowd:
        yield how(layout)
        if layout.levels:
            yield f"requests per user count: {', '.join(f'{x.users}: n={x.requests.completed}' for x in layout.levels)}"
    if layout.speed:
        yield f"one request at a time, {count(layout.speed.repetitions, 'repetition')} of each test"
    if layout.context:
        yield layout.context.allocation
    if layout.cards:
        yield f"layers {', '.join(f'{card.device} of {card.host} {card.layers}' for card in layout.cards)}"


def _figures(told: Sequence[Told], *, several: bool) -> Iterator[str]:
    """What the numbers are, for the kinds that there are."""
    layouts = [layout for one in told for layout in one.story.layouts]
    if any(layout.measured for layout in layouts):
        yield _MEDIANS
    if any(layout.speed or layout.context for layout in layouts):
        yield _MEANS
    if any(one.story.evaluation for one in told):
        yield _SCORES
    if several or any(len(one.story.layouts) > 1 for one in told):
        yield _APART


def _conditions(told: Sequence[Told]) -> str:
    """Everything that is known of any run, a column per run; what is unknown of all stands below."""
    values = [dict(one.story.conditions) for one in told]
    known = [name for name in (values[0] if values else ()) if any(of[name] is not None for of in values)]
    written = [[name, *(_short(of[name] or UNKNOWN) for of in values)] for name in known]
    heads = ("condition", *(one.name or "value" for one in told))
    return markdown_table(heads, [[escaped(cell) for cell in row] for row in written]) if written else ""


def _unmeasured(told: Sequence[Told]) -> Iterator[str]:
    """What the figures do not say, what nobody watched, and what nobody knows; once for all runs that share it."""
    stories = [one.story for one in told]
    if stories and not any(story.evaluation or _reads(story) for story in stories):
        yield _ANSWERS
    if stories and all(story.evaluation for story in stories):
        yield _SPEEDS
    whose: dict[str, list[str]] = {}
    for one in told:
        for text in _unwatched(one.story):
            whose.setdefault(text, []).append(one.name)
    yield from (f"{listed(names)}: {text}" if names[0] else text for text, names in whose.items())
    for story in stories:
        yield from story.limits


def _unwatched(story: Story) -> Iterator[str]:
    if story.layouts and not any(layout.telemetry for layout in story.layouts):
        yield "Temperatures, power and clocks: nobody watched the hosts."
    if unknown := [name for name, value in story.conditions if value is None]:
        yield f"Not known: {', '.join(unknown)}."


def _reads(story: Story) -> bool:
    """Whether its questions have answers that were looked at."""
    return any(layout.context for layout in story.layouts)


def _repeat(told: Sequence[Told]) -> Iterator[str]:
    """Builds, servers and the client's command, in the order in which they are needed."""
    for one in told:
        lines = []
        if builds := one.run.conditions.engine_builds:
            lines.append(f"llama.cpp: {'; '.join(f'{host} {build}' for host, build in sorted(builds.items()))}")
        lines.append(f"evener {one.run.conditions.evener or '(version unknown)'}")
        head = f"{one.name}: " if one.name else ""
        yield f"{escaped(head + ', '.join(lines))}.\n"
        commands = [
            f"# {part.role} on {part.host}\n{_short(part.text)}"
            for layout in one.story.layouts
            for part in layout.commands
        ]
        again = command(one.story, one.run, one.facts)
        yield _code([*commands, *(["# the measurement\n" + _short(again)] if again else [])])
        if again is None and not commands:
            yield "No one command measures it again: its conditions stand above.\n"


def _code(blocks: Sequence[str]) -> str:
    """Four blanks before each line: the one kind of code block that every Markdown knows."""
    return "".join(f"    {line}\n" for block in blocks for line in block.splitlines())


def _short(text: str) -> str:
    """Without the folders of whoever measured."""
    return _FOLDERS.sub("", plain(" ".join(text.split("\n"))))
