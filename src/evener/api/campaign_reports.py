"""Reports of campaigns: told from a folder in a language, written in any form, as a page in that folder."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from evener.api import campaign_data
from evener.api.campaign_folder import PAGE
from evener.api.runs import Form, write
from evener.codec import to_data
from evener.edges.run_folder import RunData
from evener.report.campaign import html, sheet, written
from evener.report.campaign.parts import CampaignStory
from evener.report.campaign.story import tell
from evener.report.language import Language, Say


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """A campaign's story, in its language, and where its folder is."""

    story: CampaignStory
    say: Say
    folder: Path


def told(
    folder: RunData | Path,
    *,
    language: Language = "en",
    prices: Mapping[str, float] | None = None,
    kwh_price: float | None = None,
) -> Told:
    """Whatever the campaign has left so far. Raises RunUnreadable, as `campaign_data.read` does."""
    read = campaign_data.read(folder, prices=prices, kwh_price=kwh_price)
    say = Say(language)
    path = folder if isinstance(folder, Path) else folder.path
    return Told(story=tell(read.data, read.known, say), say=say, folder=path)


def in_form(found: Told, form: Form) -> str:
    """The whole report as one text. The links of a page lead from the campaign's folder."""
    if form == "html":
        return html.page(found.story, found.say)
    if form == "md":
        return written.markdown(found.story, found.say)
    if form == "csv":
        return sheet.csv(found.story)
    return json.dumps(to_data(found.story), indent=2, ensure_ascii=False) + "\n"


def post(found: Told) -> str:
    """Markdown for a blog or a forum, with how it was measured."""
    return written.post(found.story, found.say)


def write_page(found: Told, path: Path | None = None) -> Path:
    """The page, whole or not at all; `path` None: report.html in the campaign's folder. Raises HostError."""
    place = path or found.folder / PAGE
    return write(html.page(found.story, found.say, base=_way(place.parent, found.folder)), place)


def _way(start: Path, folder: Path) -> str:
    """From where the page is to the campaign's folder, as a link; "" where it lies in there."""
    way = os.path.relpath(folder.resolve(), start.resolve())
    return "" if way == "." else quote(Path(way).as_posix()) + "/"
