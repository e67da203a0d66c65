"""A campaign as lines for a spreadsheet. Shares are 0 to 1; unknown is an empty cell, and text is never a formula."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from evener.report.against_parts import SideFigure
from evener.report.campaign import cells
from evener.report.campaign.parts import CampaignStory, Reading
from evener.report.plain_tables import csv_text

Row = dict[str, Any]


def csv(story: CampaignStory) -> str:
    """A line per figure and block, and one over all blocks; a line per score, pair of scores, and figure against one
    machine."""
    rows = [*_figures(story), *_scores(story), *_pairs(story), *_paired(story)]
    heads = list(dict.fromkeys(name for row in rows for name in row))
    return csv_text(["run", *heads], [[story.id, *(row.get(head) for head in heads)] for row in rows])


def _figures(story: CampaignStory) -> Iterator[Row]:
    runs = {row.unit: row.folder for row in story.rows}
    for place in story.places:
        about: Row = {"kind": "figure", "contestant": place.contestant, "layout": place.label, "role": place.role,
                      "state": place.state}  # fmt: skip
        for reading in cells.readings(place):
            over = SideFigure(value=reading.value, interval=reading.interval, n=reading.n, basis=reading.basis)
            yield about | _line(reading, "all", over, None)
            for one in reading.blocks:
                yield about | _line(reading, str(one.block), one.figure, runs.get(one.unit))


def _line(reading: Reading, block: str, figure: SideFigure, folder: str | None) -> Row:
    low, high = figure.interval or (None, None)
    return {"figure": reading.name, "about": reading.about, "block": block, "unit": reading.unit or "share",
            "value": figure.value, "low": low, "high": high, "n": figure.n, "basis": figure.basis,
            "folder": folder}  # fmt: skip


def _scores(story: CampaignStory) -> Iterator[Row]:
    for contestant in story.contestants:
        for one in contestant.scores:
            low, high = one.interval or (None, None)
            yield {"kind": "score", "contestant": contestant.name, "figure": one.dimension, "value": one.mean,
                   "low": low, "high": high, "n": one.n, "unit": "share",
                   "verdict": "may be the best" if one.best else "ruled out"}  # fmt: skip


def _pairs(story: CampaignStory) -> Iterator[Row]:
    for one in story.dimensions:
        for p in one.verdict.pairs:
            low, high = p.interval or (None, None)
            yield {"kind": "pair", "contestant": p.first, "other": p.second, "figure": one.verdict.dimension,
                   "value": p.gap, "low": low, "high": high, "n": p.n, "unit": "share", "p_holm": p.p_holm,
                   "verdict": p.word, "needed": p.needed}  # fmt: skip


def _paired(story: CampaignStory) -> Iterator[Row]:
    for one in story.second_machine:
        base, other = story.place(one.base), story.place(one.other)
        for f in one.figures:
            low, high = f.interval or (None, None)
            yield {"kind": "against one machine", "contestant": one.contestant,
                   "layout": other.label if other else None, "other": base.label if base else None, "figure": f.name,
                   "about": f.about, "block": str(f.blocks), "unit": "share", "value": f.change, "low": low,
                   "high": high, "verdict": f.outcome, "noise": f.noise}  # fmt: skip
