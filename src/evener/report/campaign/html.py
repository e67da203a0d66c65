"""A campaign's story as one HTML page: it loads nothing, and its few lines of script, which sort tables, may be off."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

from evener.report import html, verdict_rows
from evener.report.campaign import cells, charts
from evener.report.campaign.parts import CampaignStory, PlaceStory
from evener.report.evals_rows import interval, points
from evener.report.forest import forest
from evener.report.judges_rows import judge_lines
from evener.report.language import Say

SCRIPT = "campaign.js"


def page(story: CampaignStory, say: Say, *, base: str = "") -> str:
    """The whole page. `base` leads from it to the campaign's folder, "" where it lies in there, else with a "/" behind.

    The same story gives the same bytes.
    """
    from markupsafe import Markup

    script = files("evener.report").joinpath("templates", SCRIPT).read_text(encoding="utf-8")
    layout_style, contestant_style = charts.styles(story)
    ranked = [place for place in story.places if place.is_ranked]
    text: str = html.environment().get_template("campaign.html.j2").render(
        story=story,
        base=base,
        say=say,
        c=cells,
        script=Markup(script),
        script_source=_source(script),
        ranked=ranked,
        place={place.id: place for place in story.places},
        place_of={place.contestant: [p for p in ranked if p.contestant == place.contestant] for place in ranked},
        layout_style=layout_style,
        contestant_style=contestant_style,
        rates_svg=Markup(charts.rates(story.places, say, name="rates")),
        changes_svg=Markup(charts.changes(story.second_machine, story.noise, say, name="changes")),
        curves=_curves(story, layout_style, say),
        forests=_forests(story, say),
        paretos=[Markup(charts.pareto(one, contestant_style, say, name=f"pareto-{n}"))
                 for n, one in enumerate(story.pareto)],
        pair_row=verdict_rows.pair_row,
        ending_row=verdict_rows.ending_row,
        judge_lines=judge_lines,
        penalty_row=verdict_rows.penalty_row,
        preference_line=verdict_rows.preference_line,
        points=points,
        score_interval=interval,
        token_scale=max((sum(s.ms for s in place.per_token_ms) for place in ranked), default=0.0),
        memory_scale=_memory_scale(ranked),
    )  # fmt: skip
    return text


def _memory_scale(places: Sequence[PlaceStory]) -> int:
    """Bytes of the longest bar: bars compare across cards."""
    return max((n for p in places for card in p.cards for n in (card.planned_bytes, card.loaded_bytes or 0)), default=0)


def _source(script: str) -> str:
    """The one script that the page lets run, by its hash."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return f"'sha256-{digest}'"


def _curves(story: CampaignStory, style: dict[str, int], say: Say) -> dict[tuple[str, str], tuple[Any, Any]]:
    """(profile, contestant) -> its two charts."""
    from markupsafe import Markup

    found = {}
    for p, profile in enumerate(cells.profiles(story)):
        for n, one in enumerate(story.contestants):
            mine = [place for place in _of(story, one.name) if any(x.profile == profile for x in place.levels)]
            if mine:
                each, wait = charts.curves(mine, profile, style, say, name=f"curve-{p}-{n}")
                found[profile, one.name] = (Markup(each), Markup(wait))
    return found


def _of(story: CampaignStory, contestant: str) -> list[PlaceStory]:
    return [place for place in story.places if place.contestant == contestant and place.is_ranked]


def _forests(story: CampaignStory, say: Say) -> list[Any]:
    from markupsafe import Markup

    return [
        Markup(forest(verdict_rows.lines(one.verdict), name=f"forest-{n}", groups=one.verdict.groups,
                      scale=say("points of 100, with 95 % intervals"), told=_forest_told(one.verdict.standings)))
        for n, one in enumerate(story.dimensions)
    ]  # fmt: skip


def _forest_told(standings: Any) -> str:
    return "; ".join(f"{s.candidate} {points(s.mean)} ({interval(s.interval)}), n={s.n}" for s in standings)
