"""Drawings as inline SVG that follow the page: its colours, its font, light or dark. Needs matplotlib only to draw.

Colours are drawn as stand-ins and replaced by CSS variables, so that one drawing serves both colour schemes. Series
differ in marker and dash as well: a grey print can be read. The same data gives the same bytes.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable
from html import escape
from typing import Any

from evener.report.words import plain

MARKERS = ("o", "s", "^", "D", "v", "P")
DASHES = ("", "6 3", "2 2", "8 3 2 3", "1 2", "10 4")
SERIES = ("#e1000a", "#e2000a", "#e3000a", "#e4000a", "#e5000a", "#e6000a")
INK, FAINT, PAPER = "#e7000a", "#e8000a", "#e9000a"
_VARIABLES = {
    **{stand_in: f"var(--series-{i})" for i, stand_in in enumerate(SERIES, start=1)},
    INK: "var(--ink)",
    FAINT: "var(--line)",
    PAPER: "var(--paper)",
}
_SETTINGS: dict[str, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "evener",
    "font.size": 9,
    "text.color": INK,
    "axes.edgecolor": FAINT,
    "axes.labelcolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
}


def svg(draw: Callable[[Any], None], *, size: tuple[float, float], name: str, told: str, css: str = "chart") -> str:
    """An inline `<svg>` of what `draw` puts on a matplotlib figure of `size` inches.

    `name` keeps its ids apart from other drawings' on the page. `told` is the drawing in words, for those who cannot
    see it. `css` is its class.
    """
    from matplotlib import style
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    with style.context(["default", _SETTINGS], after_reset=True), warnings.catch_warnings():  # not the reader's own
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")  # the page's font has it
        figure = Figure(figsize=size, layout="constrained")
        FigureCanvasSVG(figure)
        draw(figure)
        buffer = io.StringIO()
        nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        figure.savefig(buffer, format="svg", transparent=True, metadata=nothing)
    return _inline(buffer.getvalue(), name=name, told=told, css=css)


def dash_of(style: int) -> Any:
    """matplotlib's line style of a series."""
    dash = tuple(float(n) for n in DASHES[style % len(DASHES)].split())
    return (0, dash) if dash else "-"


def colour_of(style: int) -> str:
    return SERIES[style % len(SERIES)]


def dress(axes: Any) -> None:
    """Quiet axes: faint lines for reading off values, no frame."""
    axes.grid(axis="y", color=FAINT, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(length=0, pad=6)
    axes.tick_params(which="minor", length=0)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)


_SIZE = re.compile(r'<svg [^>]*?viewBox="([^"]+)"[^>]*>')
_ID = re.compile(r'(\bid="|url\(#|href="#)([^")]+)')
_PAGE_WIDE_STYLE = re.compile(r"\s*<defs>\s*<style.*?</style>\s*</defs>", re.DOTALL)
_FONT = re.compile(r"font-family: [^;\"]+")


def _inline(document: str, *, name: str, told: str, css: str) -> str:
    """A stand-alone SVG document as a part of a page."""
    found = _SIZE.search(document)
    if found is None:
        raise AssertionError("matplotlib wrote an SVG without a viewBox")
    body = document[found.end() : document.rindex("</svg>")]
    body = _PAGE_WIDE_STYLE.sub("", body, count=1)
    body = _FONT.sub("font-family: inherit", _ID.sub(rf"\1{name}-\2", body))
    for stand_in, variable in _VARIABLES.items():
        body = body.replace(stand_in, variable)
    head = f'<svg class="{css}" viewBox="{found.group(1)}" role="img" aria-labelledby="{name}-told">'
    return f'{head}<title id="{name}-told">{escape(plain(told))}</title>{body}</svg>'
