"""One story as one HTML file: no script, nothing loaded from elsewhere, every name escaped. Writes text, not files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from evener.records.load import Spread
from evener.records.run import Run
from evener.records.verdicts import Verdicts
from evener.report import (
    beside_charts,
    beside_view,
    charts,
    crowd,
    drawing,
    evals_rows,
    judges_rows,
    level_columns,
    measure_rows,
    pair_chart,
    picture,
    time_chart,
    verdict_rows,
    words,
)
from evener.report.against_parts import Against
from evener.report.against_view import written
from evener.report.beside_parts import Beside
from evener.report.cautions import holder
from evener.report.charts import Series
from evener.report.context_rows import heat
from evener.report.forest import Line, forest
from evener.report.headlines import repeated
from evener.report.pair_view import METRICS
from evener.report.parts import CardRow, Curve, Layout, Panel, Story
from evener.report.rows import condition, left_bytes
from evener.report.watched import energy, notes

_MARKS = {  # the markers of drawing.MARKERS, about (0, 0)
    "o": "M-4,0a4,4 0 1,0 8,0a4,4 0 1,0 -8,0z",
    "s": "M-4,-4h8v8h-8z",
    "^": "M0,-5l5,9h-10z",
    "D": "M0,-5l5,5l-5,5l-5,-5z",
    "v": "M0,5l5,-9h-10z",
    "P": "M-1.5,-5h3v3.5h3.5v3h-3.5v3.5h-3v-3.5h-3.5v-3h3.5z",
}
_HOLLOW = "Whiskers: 95 % interval of the median; a hollow mark had too few requests for one."


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """A drawn chart with its caption; `svg` is "" where there was nothing to draw."""

    title: str
    svg: str
    caption: str


def page(story: Story, run: Run) -> str:
    """The whole page. The same story gives the same bytes."""
    from markupsafe import Markup

    text: str = environment().get_template("report.html.j2").render(
        story=story,
        charts=[(chart, Markup(chart.svg)) for chart in _charts(story.layouts)],
        time_svg=Markup(_time(story)),
        drift_svgs=[Markup(svg) for svg in _drifts(story.layouts)],
        pair_svgs=[Markup(svg) for svg in _pairs(story)],
        scores_svg=Markup(_scores(story)),
        pictures=[picture.draw(run, layout) for layout in story.layouts],
        label={layout.name: layout.label for layout in story.layouts},
        memory_scale=memory_scale(story.layouts),
        load_scale=max((layout.load_s or 0 for layout in story.layouts), default=0),
    )  # fmt: skip
    return text


def against_page(found: Against) -> str:
    """Two runs side by side, as one page."""
    text: str = environment().get_template("against.html.j2").render(found=found, written=written)
    return text


def beside_page(found: Beside) -> str:
    """Several runs side by side, as one page."""
    from markupsafe import Markup

    known = found.evaluations
    dimensions = (*known.dimensions, *known.judged, *known.arms) if known else ()
    text: str = environment().get_template("beside.html.j2").render(
        found=found,
        view=beside_view,
        curves=lambda table, n: [(title, Markup(svg)) for title, svg in beside_charts.curves(table, name=f"table-{n}")],
        drawn=[
            (one, Markup(forest(verdict_rows.lines(one), name=f"forest-{n}", groups=one.groups)))
            for n, one in enumerate(dimensions)
        ],
        verdict_cautions=verdict_rows.cautions(found.evaluations) if found.evaluations else (),
        pair_heads=verdict_rows.PAIR_HEADS,
        pair_row=verdict_rows.pair_row,
        remarks=verdict_rows.remarks,
    )  # fmt: skip
    return text


def verdict_page(found: Verdicts) -> str:
    """Several candidates on the same questions, as one page."""
    from markupsafe import Markup

    dimensions = (*found.dimensions, *found.judged, *found.arms)
    text: str = environment().get_template("verdict.html.j2").render(
        found=found,
        cautions=verdict_rows.cautions(found),
        drawn=[
            (one, Markup(forest(verdict_rows.lines(one), name=f"forest-{n}", groups=one.groups)))
            for n, one in enumerate(dimensions)
        ],
        pair_heads=verdict_rows.PAIR_HEADS,
        pair_row=verdict_rows.pair_row,
        ending_heads=verdict_rows.ENDING_HEADS,
        ending_row=verdict_rows.ending_row,
        remarks=verdict_rows.remarks,
        penalty_heads=verdict_rows.PENALTY_HEADS,
        penalty_row=verdict_rows.penalty_row,
        penalty_pair_row=verdict_rows.penalty_pair_row,
        penalty_remarks=verdict_rows.penalty_remarks,
        preferences=verdict_rows.preferences(found),
        judges=verdict_rows.judges(found),
        side_by_side=measure_rows.side_by_side,
        by_pair=verdict_rows.by_pair,
        whose=verdict_rows.whose,
        canary_line=verdict_rows.canary_line,
    )  # fmt: skip
    return text


def environment() -> Any:
    """Where every page's template is found: escaped, strict about names, with the writers of figures as filters."""
    import jinja2

    environment = jinja2.Environment(
        autoescape=True,
        finalize=lambda value: words.plain(value) if type(value) is str else value,
        loader=jinja2.PackageLoader("evener.report"),
        lstrip_blocks=True,
        trim_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    for write in (
        words.size, words.number, words.percent, words.signed_percent, words.seconds, words.milliseconds, words.count,
        words.classes, words.kilo, words.span, words.model_file, words.prose, repeated, condition, energy,
    ):  # fmt: skip
        environment.filters[write.__name__] = write
    environment.globals.update(
        swatches=[(dash, _MARKS[mark]) for dash, mark in zip(drawing.DASHES, drawing.MARKERS, strict=True)],
        company=words.company,
        left_bytes=left_bytes,
        holder=holder,
        heat=heat,
        level_columns=level_columns.known,
        who=lambda layout: level_columns.who(layout.levels),
        notes=notes,
        metrics=METRICS,
        how=crowd.how,
        failures=crowd.failures,
        legend=_legend,
        is_spread=lambda value: isinstance(value, Spread),
        suite_rows=evals_rows.suite_rows,
        suite_name=evals_rows.named,
        why=evals_rows.reasons,
        how_asked=evals_rows.how,
        measure_heads=measure_rows.HEADS,
        measure_rows=measure_rows.measure_rows,
        judge_lines=judges_rows.judge_lines,
        jury_lines=judges_rows.jury_lines,
        label_lines=judges_rows.label_lines,
    )
    return environment


def _legend(panels: Sequence[Panel]) -> list[Curve]:
    """Each card once, whatever of it is shown."""
    return list({curve.style: curve for panel in panels for curve in panel.curves}.values())


def memory_scale(layouts: Sequence[Layout]) -> int:
    """Bytes of the longest bar, over all layouts: bars compare across cards."""
    return max((n for layout in layouts for card in layout.cards for n in _bars(card)), default=0)


def _bars(card: CardRow) -> list[int]:
    bars = (card.planned_bytes, card.reported_bytes, card.measured_bytes, card.left_bytes, card.ceiling_bytes)
    return [n for n in bars if n is not None]


def _who(layouts: Sequence[Layout]) -> str:
    return level_columns.who([level for layout in layouts for level in layout.levels])


def _time(story: Story) -> str:
    return time_chart.time_chart(story.timeline, name="time", who=_who(story.layouts)) if story.timeline else ""


def _drifts(layouts: Sequence[Layout]) -> list[str]:
    """One per layout, "" for those without a sustained load."""
    return [
        time_chart.drift_chart(layout.drift, name=f"drift-{index}") if layout.drift else ""
        for index, layout in enumerate(layouts)
    ]


def _pairs(story: Story) -> list[str]:
    """One per difference; none is drawn of a result that must not be used."""
    if story.pair is None:
        return []
    return [
        ""
        if story.pair.validity != "valid"
        else pair_chart.dot_plot(found, margin=story.pair.margin, name=f"pair-{index}")
        for index, found in enumerate(story.pair.differences)
    ]


def _scores(story: Story) -> str:
    """A line per suite and arm of an evaluation."""
    result = story.evaluation.result if story.evaluation else None
    lines = [
        Line(
            name=evals_rows.named(one),
            mean=one.standing.mean,
            interval=one.standing.interval,
            n=one.standing.n,
            ended=evals_rows.others(one),
        )
        for one in (result.results if result else ())
        if one.standing.mean is not None
    ]
    return forest(lines, name="scores")


def _charts(layouts: Sequence[Layout]) -> tuple[Chart, ...]:
    """Speed of all, speed and share of one, first token: each with the limits that people set."""
    draw = _drawer(layouts)
    return (
        draw("All {who} together, tok/s", charts.total(layouts), "total", "tok/s, total",
             caption="One measurement per point: no interval exists.", hollow=False),
        draw("Each of them, tok/s", charts.per_user(layouts), "each", "tok/s", rules=charts.rate_rules(layouts),
             marks=charts.marks(layouts)),
        draw("Time to first token, ms", charts.ttft(layouts), "ttft", "ms", rules=charts.ttft_rules(layouts),
             marks=charts.marks(layouts), may_be_log=True,
             caption=f"{_HOLLOW} A bar above a mark: p90, where n allows it."),
        draw("Each one's share of what one alone gets", charts.degradation(layouts), "share", "%",
             caption="Medians against each other; their intervals are in the table.", hollow=False),
    )  # fmt: skip


def _drawer(layouts: Sequence[Layout]) -> Callable[..., Chart]:
    who = _who(layouts)

    def draw(
        title: str, series: Sequence[Series], name: str, unit: str, *, caption: str = _HOLLOW, **how: Any
    ) -> Chart:
        title = title.format(who=who)
        told = charts.told(f"{title}, by {who}", series, layouts)
        svg = charts.line_chart(series, name=name, told=told, unit=unit, who=who, **how)
        return Chart(title=title, svg=svg, caption=caption)

    return draw
