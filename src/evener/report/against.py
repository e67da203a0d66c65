"""Two runs side by side: what differs between them, and which figures can be told apart. Pure; draws nothing.

Medians are told apart when their 95 % intervals do not overlap, repetitions when all of one run lie beyond all of the
other's and chance would do so less than once in twenty (rank sums, exactly: 2 / C(n + m, n) < 0.05).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import comb

from evener.records.context_limits import Scored
from evener.records.load import Spread
from evener.records.run import Run
from evener.records.speed_rows import Repeated
from evener.report import rows
from evener.report.against_parts import Against, Differing, Figure, FigureOutcome, RunSide, SideFigure
from evener.report.parts import Caution, Layout, Story
from evener.report.words import count, kilo, listed

_RARE = 0.05


def against(a: Story, b: Story, run_a: Run, run_b: Run) -> Against:
    """`b` held against `a`. Where they did not measure the same thing, figures stand without any outcome."""
    pairs = matched(a, b)
    apart = [*_kinds(a, b), *(text for one, other in pairs for text in incomparable(one, other))]
    figures = [figure for one, other in pairs for figure in _figures(one, other)]
    if apart:
        figures = [_without_outcome(figure) for figure in figures]
    differing, unknown = conditions(run_a, run_b)
    cautions = [Caution(grave=True, text=f"not comparable: {text}") for text in dict.fromkeys(apart)]
    cautions += [c for name, story in (("A", a), ("B", b)) for c in _own(name, story)]
    if not pairs and not apart:
        cautions.append(Caution(grave=True, text="no layout was measured in both"))
    return Against(
        a=_side(a),
        b=_side(b),
        comparable=not apart and bool(pairs),
        sentence=_sentence(figures, bool(apart)),
        cautions=tuple(cautions),
        differing=differing,
        unknown=unknown,
        figures=tuple(figures),
    )


def _side(story: Story) -> RunSide:
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


def incomparable(a: Layout, b: Layout) -> Iterator[str]:
    """What makes figures of users answer different questions: the cache, lengths, who sends and when."""
    if a.crowd is None or b.crowd is None:
        return
    if a.crowd.mode != b.crowd.mode:
        yield f"A was measured {a.crowd.mode}, B {b.crowd.mode}: the cache alone changes waits many times over"
    for name, one, other in (
        ("prompt tokens", a.prompt_tokens, b.prompt_tokens),
        ("answer tokens", a.output_tokens, b.output_tokens),
        ("tokens of a shared beginning", a.crowd.shared_prefix_tokens, b.crowd.shared_prefix_tokens),
        ("turns of a conversation", a.crowd.turns, b.crowd.turns),
        ("seconds of thinking", a.crowd.think_s, b.crowd.think_s),
        ("arrivals", a.crowd.arrivals, b.crowd.arrivals),
    ):
        if one != other:
            yield f"{name}: A {_as_asked(one)}, B {_as_asked(other)}"


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
    valid = not (a.invalid or b.invalid)
    for figure in (*_levels(a, b), *_comfort(a, b), *_rows(a, b), *_lengths(a, b)):
        yield figure if valid else _without_outcome(figure)


def _levels(a: Layout, b: Layout) -> Iterator[Figure]:
    others = {level.users: level for level in b.levels}
    for one in a.levels:
        if (other := others.get(one.users)) is None:
            continue
        about = count(one.users, "user")
        totals = (_plain(one.total_tokens_per_s), _plain(other.total_tokens_per_s))
        yield _figure("total", about, "tok/s", *totals, more_is_better=True)
        each = (_median(one.per_user_tokens_per_s), _median(other.per_user_tokens_per_s))
        yield _figure("each", about, "tok/s", *each, more_is_better=True)
        waits = (_median(one.ttft_ms), _median(other.ttft_ms))
        yield _figure("first token", about, "ms", *waits, more_is_better=False)


def _comfort(a: Layout, b: Layout) -> Iterator[Figure]:
    """For how many each is comfortable, where the limits are the same."""
    one, other = (x.crowd.comfortable if x.crowd else None for x in (a, b))
    if one and other and (one.limits, one.target_share) == (other.limits, other.target_share):
        ends = (_plain(one.holds_for), _plain(other.holds_for))
        yield _figure("comfortable for", one.unit, one.unit, *ends, more_is_better=True)


def _rows(a: Layout, b: Layout) -> Iterator[Figure]:
    others = {row.test: row for row in b.speed.rows} if b.speed else {}
    for one in a.speed.rows if a.speed else ():
        if (other := others.get(one.test)) is not None:
            views = (_repeated(one.client), _repeated(other.client))
            yield _figure("speed", one.test, "tok/s", *views, more_is_better=True)


def _lengths(a: Layout, b: Layout) -> Iterator[Figure]:
    if a.context is None or b.context is None:
        return
    ceilings = {c.name: c for c in b.context.ceilings}
    for own in a.context.ceilings:
        if own.name in ceilings:
            ends = (_plain(own.tokens), _plain(ceilings[own.name].tokens))
            yield _figure("ceiling", own.name, "tokens", *ends, more_is_better=True)
    others = {x.tokens: x for x in b.context.lengths}
    for one in a.context.lengths:
        if (other := others.get(one.tokens)) is None:
            continue
        about = f"{kilo(one.tokens)} tokens"
        prompt = (_repeated(one.prefill_tokens_per_s), _repeated(other.prefill_tokens_per_s))
        yield _figure("prompt", about, "tok/s", *prompt, more_is_better=True)
        answer = (_repeated(one.decode_tokens_per_s), _repeated(other.decode_tokens_per_s))
        yield _figure("answer", about, "tok/s", *answer, more_is_better=True)
        yield _figure("needles found", about, "share", _share(one.needles), _share(other.needles), more_is_better=True)


def _plain(value: float | None) -> SideFigure:
    return SideFigure(value=value, interval=None, n=None, basis="single")


def _median(spread: Spread) -> SideFigure:
    return SideFigure(value=spread.p50, interval=spread.interval, n=spread.n, basis="95 %")


def _repeated(figure: Repeated) -> SideFigure:
    ends = (min(figure.values), max(figure.values)) if figure.values else None
    return SideFigure(value=figure.mean, interval=ends, n=figure.n, basis="range")


def _share(scored: Scored) -> SideFigure:
    value = scored.right / scored.n if scored.n else None
    return SideFigure(value=value, interval=scored.interval, n=scored.n, basis="95 %")


def _figure(name: str, about: str, unit: str, a: SideFigure, b: SideFigure, *, more_is_better: bool) -> Figure:
    change = b.value / a.value - 1 if a.value and b.value is not None else None
    outcome = _outcome(a, b, more_is_better)
    return Figure(name=name, about=about, unit=unit, a=a, b=b, change=change, outcome=outcome)


def _outcome(a: SideFigure, b: SideFigure, more_is_better: bool) -> FigureOutcome:
    if a.value is None or b.value is None or a.interval is None or b.interval is None:
        return "unknown"
    if a.basis == "range" and not _enough(a.n, b.n):
        return "unknown"
    if a.interval[0] <= b.interval[1] and b.interval[0] <= a.interval[1]:
        return "cannot be separated"
    return "B is better" if (b.value > a.value) == more_is_better else "B is worse"


def _enough(n: int | None, m: int | None) -> bool:
    """Whether two ranges without overlap are rarer than one in twenty when nothing differs: from 4 and 4 on."""
    return bool(n and m) and 2 / comb((n or 0) + (m or 0), n or 0) < _RARE


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
