"""One story as one HTML file: no script, nothing loaded from elsewhere, every name escaped. Writes text, not files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from evener.records.run import Run
from evener.report import charts, picture, words
from evener.report.cautions import holder
from evener.report.parts import CardRow, Layout, Story
from evener.report.rows import left_bytes, slow_end

_MARKS = {  # the markers of charts.MARKERS, about (0, 0)
    "o": "M-4,0a4,4 0 1,0 8,0a4,4 0 1,0 -8,0z",
    "s": "M-4,-4h8v8h-8z",
    "^": "M0,-5l5,9h-10z",
    "D": "M0,-5l5,5l-5,5l-5,-5z",
    "v": "M0,5l5,-9h-10z",
    "P": "M-1.5,-5h3v3.5h3.5v3h-3.5v3.5h-3v-3.5h-3.5v-3h3.5z",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """A drawn chart with its caption; `svg` is "" where there was nothing to draw."""

    title: str
    svg: str
    caption: str


def page(story: Story, run: Run) -> str:
    """The whole page. The same story gives the same bytes."""
    import jinja2
    from markupsafe import Markup

    environment = jinja2.Environment(
        autoescape=True,
        finalize=lambda value: words.plain(value) if type(value) is str else value,
        loader=jinja2.PackageLoader("evener.report"),
        lstrip_blocks=True,
        trim_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    for write in (words.size, words.number, words.percent, words.seconds, words.milliseconds, words.count):
        environment.filters[write.__name__] = write
    return environment.get_template("report.html.j2").render(
        story=story,
        charts=[(chart, Markup(chart.svg)) for chart in _charts(story.layouts)],
        pictures=[picture.draw(run, layout) for layout in story.layouts],
        swatches=[(dash, _MARKS[mark]) for dash, mark in zip(charts.DASHES, charts.MARKERS, strict=True)],
        label={layout.name: layout.label for layout in story.layouts},
        memory_scale=memory_scale(story.layouts),
        load_scale=max((layout.load_s or 0 for layout in story.layouts), default=0),
        company=words.company,
        left_bytes=left_bytes,
        slow_end=slow_end,
        holder=holder,
    )


def memory_scale(layouts: Sequence[Layout]) -> int:
    """Bytes of the longest bar, over all layouts: bars compare across cards."""
    return max((n for layout in layouts for card in layout.cards for n in _bars(card)), default=0)


def _bars(card: CardRow) -> list[int]:
    bars = (card.planned_bytes, card.reported_bytes, card.measured_bytes, card.left_bytes, card.ceiling_bytes)
    return [n for n in bars if n is not None]


def _charts(layouts: Sequence[Layout]) -> tuple[Chart, ...]:
    names = words.listed([layout.label for layout in layouts])
    hollow = "Whiskers: 95 % interval of the median; a hollow mark had too few requests for one."
    return (
        Chart(
            title="All users together, tok/s",
            svg=charts.line_chart(
                charts.total(layouts), name="total", told=f"Total tokens per second by users: {names}",
                unit="tok/s, total", hollow=False,
            ),
            caption="One measurement per point: no interval exists.",
        ),
        Chart(
            title="One user, tok/s",
            svg=charts.line_chart(
                charts.per_user(layouts), name="each", told=f"Tokens per second of one user by users: {names}",
                unit="tok/s per user",
            ),
            caption=hollow,
        ),
        Chart(
            title="Time to first token, ms",
            svg=charts.line_chart(
                charts.ttft(layouts), name="ttft", told=f"Median time to first token by users: {names}",
                unit="ms to first token",
            ),
            caption=f"{hollow} A bar above a mark: p90, where n allows it.",
        ),
    )  # fmt: skip
