"""Two runs side by side: what differs between them, and which figures can be told apart. Pure; draws nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from evener.records.conditions import Conditions
from evener.records.run import Run
from evener.report import rows
from evener.report.against_parts import Against, Differing, Figure, FigureOutcome, RunSide, SideFigure
from evener.report.figures import Apart, Measured, change, measured, told_apart
from evener.report.parts import Caution, Layout, Story
from evener.report.words import count, listed

# In `sampling` because the client sends it: drawn anew for each run, or part of the load and compared there.
_NO_SAMPLING = {"seed", "max_tokens", "max_completion_tokens", "cache_prompt", "ignore_eos", "timings_per_token"}
_WORDS: dict[Apart, FigureOutcome] = {
    "better": "B is better", "worse": "B is worse", "cannot be separated": "cannot be separated", "unknown": "unknown",
}  # fmt: skip


def against(a: Story, b: Story, run_a: Run, run_b: Run) -> Against:
    """`b` held against `a`. Where they did not measure the same thing, figures stand without any outcome."""
    pairs = matched(a, b)
    apart = [*_kinds(a, b), *unlike(run_a.conditions, run_b.conditions)]
    apart += [text for one, other in pairs for text in incomparable(one, other)]
    figures = [figure for one, other in pairs for figure in _figures(one, other)]
    if apart:
        figures = [_without_outcome(figure) for figure in figures]
    differing, unknown = conditions(run_a, run_b)
    cautions = [Caution(grave=True, text=f"not comparable: {text}") for text in dict.fromkeys(apart)]
    cautions += [c for name, story in (("A", a), ("B", b)) for c in _own(name, story)]
    if not pairs and not apart:
        cautions.append(Caution(grave=True, text="no layout was measured in both"))
    return Against(
        a=side(a),
        b=side(b),
        comparable=not apart and bool(pairs),
        sentence=_sentence(figures, bool(apart)),
        cautions=tuple(cautions),
        differing=differing,
        unknown=unknown,
        figures=tuple(figures),
    )


def side(story: Story) -> RunSide:
    """What a run is called beside others."""
    return RunSide(
        id=story.id, what=story.what, title=story.title, state=story.state, started_at=story.started_at,
        headline=story.headline,
    )  # fmt: skip


def matched(a: Story, b: Story) -> list[tuple[Layout, Layout]]:
    """Layouts of the same name; where each run has only one, those two, whatever they are called."""
    one, other = ([x for x in story.layouts if _measured(x)] for story in (a, b))
    if len(one) == len(other) == 1:
        return [(one[0], other[0])]
    by_name = {x.name: x for x in other}
    return [(x, by_name[x.name]) for x in one if x.name in by_name]


def _measured(layout: Layout) -> bool:
    return bool(layout.measured or layout.speed or layout.context)


def _kinds(a: Story, b: Story) -> Iterator[str]:
    kinds = [
        {kind for x in story.layouts for kind in ("users", "speed", "context") if _has(x, kind)} for story in (a, b)
    ]
    if all(kinds) and not kinds[0] & kinds[1]:
        yield f"A measured {listed(sorted(kinds[0]))}, B {listed(sorted(kinds[1]))}"


def _has(layout: Layout, kind: str) -> bool:
    return layout.measured if kind == "users" else getattr(layout, kind) is not None


def unlike(a: Conditions, b: Conditions, one: str = "A", other: str = "B") -> Iterator[str]:
    """Thinking and sampling that are known of both and were not asked alike. What a client sets anew each time, and
    what makes the load, is no sampling."""
    if None not in (a.thinking_asked, b.thinking_asked) and a.thinking_asked != b.thinking_asked:
        yield f"thinking asked: {one} {a.thinking_asked}, {other} {b.thinking_asked}"
    for name in sorted((a.sampling.keys() & b.sampling.keys()) - _NO_SAMPLING):
        if a.sampling[name] != b.sampling[name]:
            values = f"{one} {_as_asked(a.sampling[name])}, {other} {_as_asked(b.sampling[name])}"
            yield f"sampling, {name}: {values}"


def incomparable(a: Layout, b: Layout, one: str = "A", other: str = "B") -> Iterator[str]:
    """What makes figures of users answer different questions: the cache, lengths, who sends and when."""
    if a.crowd is None or b.crowd is None:
        return
    if a.crowd.mode != b.crowd.mode:
        modes = f"{one} was measured {a.crowd.mode}, {other} {b.crowd.mode}"
        yield f"{modes}: the cache alone changes waits many times over"
    for name, mine, theirs in (
        ("prompt tokens", a.prompt_tokens, b.prompt_tokens),
        ("answer tokens", a.output_tokens, b.output_tokens),
        ("tokens of a shared beginning", a.crowd.shared_prefix_tokens, b.crowd.shared_prefix_tokens),
        ("turns of a conversation", a.crowd.turns, b.crowd.turns),
        ("seconds of thinking", a.crowd.think_s, b.crowd.think_s),
        ("arrivals", a.crowd.arrivals, b.crowd.arrivals),
    ):
        if mine != theirs:
            yield f"{name}: {one} {_as_asked(mine)}, {other} {_as_asked(theirs)}"


def _as_asked(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _own(name: str, story: Story) -> Iterator[Caution]:
    """What each run says against itself, as far as it is grave."""
    for caution in story.cautions:
        if caution.grave:
            yield Caution(grave=True, text=f"{name}: {caution.text}")


def conditions(a: Run, b: Run) -> tuple[tuple[Differing, ...], tuple[str, ...]]:
    """Conditions known to differ, in words, and names of those of which nobody knows it."""
    pairs = list(zip(rows.conditions(a.conditions), rows.conditions(b.conditions), strict=True))
    differing = tuple(
        Differing(name=name, a=one, b=other)
        for (name, one), (_, other) in pairs
        if one is not None and other is not None and one != other
    )
    return differing, tuple(name for (name, one), (_, other) in pairs if one is None or other is None)


def _figures(a: Layout, b: Layout) -> Iterator[Figure]:
    """What both measured."""
    valid = not (a.invalid or b.invalid)
    others = {found.key: found for found in measured(b)}
    for one in measured(a):
        if (other := others.get(one.key)) is not None:
            figure = _figure(one, other.figure)
            yield figure if valid else _without_outcome(figure)


def _figure(one: Measured, other: SideFigure) -> Figure:
    return Figure(
        name=one.name,
        about=one.about,
        unit=one.unit,
        a=one.figure,
        b=other,
        change=change(one.figure, other),
        outcome=_WORDS[told_apart(one.figure, other, more_is_better=one.more_is_better)],
    )


def _without_outcome(figure: Figure) -> Figure:
    return Figure(
        name=figure.name, about=figure.about, unit=figure.unit, a=figure.a, b=figure.b, change=None,
        outcome="not comparable",
    )  # fmt: skip


def _sentence(figures: Sequence[Figure], apart: bool) -> str:
    """How many figures speak for which; no verdict of its own."""
    if apart:
        return "The two runs did not measure the same thing: their figures stand side by side, and no verdict is drawn"
    told = [
        (outcome, sum(figure.outcome == outcome for figure in figures))
        for outcome in ("B is better", "B is worse", "cannot be separated")
    ]
    if not any(n for _, n in told):
        return "No figure of the two runs can be told apart or held together: too few repetitions"
    words = {
        "B is better": "is better in B",
        "B is worse": "is worse in B",
        "cannot be separated": "cannot be separated",
    }
    parts = [f"{n} {words[outcome]}" for outcome, n in told if n]
    return f"Of {count(sum(n for _, n in told), 'figure')} with an interval, {listed(parts)}"
