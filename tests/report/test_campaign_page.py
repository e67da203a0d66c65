"""The campaign's page: as text, and in a real browser in both languages and both colour schemes."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote

import pytest
import pytest_asyncio
from browser import CHROMIUM, Tab, chromium
from report_samples import HOSTILE
from test_html import Page

from evener.api import campaign_data, campaign_reports
from evener.report.campaign import html
from evener.report.campaign.story import tell
from evener.report.language import Language, Say

LANGUAGES: tuple[Language, ...] = ("en", "zh")


@pytest.fixture(scope="module", params=LANGUAGES)
def page(request: pytest.FixtureRequest, whole_campaign: Path) -> Path:
    told = campaign_reports.told(whole_campaign, language=request.param)
    return campaign_reports.write_page(told, whole_campaign / f"report-{request.param}.html")


def links(text: str) -> list[str]:
    return [url for url in Page(text).urls if not url.startswith("#")]


def test_every_tag_is_closed_and_every_drawing_has_words(page: Path) -> None:
    found = Page(page.read_text(encoding="utf-8"))
    assert found.unnamed == []
    assert len(found.ids) == len(set(found.ids))


def test_every_link_leads_somewhere(page: Path) -> None:
    """To a row of the page, or to a run's folder or file."""
    found = Page(page.read_text(encoding="utf-8"))
    rows = [url.removeprefix("#") for url in found.urls if url.startswith("#")]
    files = [url for url in found.urls if not url.startswith("#")]
    assert len(rows) > 200
    assert set(rows) <= set(found.ids)
    assert len(files) > 100
    assert [url for url in files if not (page.parent / unquote(url)).exists()] == []


def test_a_page_elsewhere_links_into_the_campaigns_folder(whole_campaign: Path, tmp_path: Path) -> None:
    (tmp_path / "pages of mine").mkdir()
    place = tmp_path / "pages of mine" / "six.html"
    written = campaign_reports.write_page(campaign_reports.told(whole_campaign), place)
    found = links(written.read_text(encoding="utf-8"))
    assert found
    assert all((place.parent / unquote(url)).exists() for url in found)


def test_the_same_story_gives_the_same_bytes(page: Path, whole_campaign: Path) -> None:
    told = campaign_reports.told(whole_campaign, language="zh" if "-zh" in page.name else "en")
    assert html.page(told.story, told.say) == page.read_text(encoding="utf-8")


def test_only_its_own_script_may_run(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert len(re.findall("<script", text)) == 1
    assert re.search(r"content=\"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-[\w+/=]+'\"", text)


def test_names_of_strangers_are_text(unfinished_campaign: Path) -> None:
    read = campaign_data.read(unfinished_campaign)
    state = read.data.state
    visits = tuple(replace(v, why_not=HOSTILE if v.why_not else None) for v in state.schedule.visits)
    campaign = replace(state.campaign, name=HOSTILE)
    data = replace(read.data, state=replace(state, campaign=campaign, schedule=replace(state.schedule, visits=visits)))
    text = html.page(tell(data, read.known, Say("en")), Say("en"))
    assert "<script>alert" not in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text


def test_an_unfinished_campaign_has_a_page(unfinished_campaign: Path) -> None:
    found = Page(html.page(campaign_reports.told(unfinished_campaign).story, Say("en")))
    assert "This campaign is not finished: 17 loads are still to be made. What was measured is shown." in found.words


# ---- in a browser, one for all of them

in_a_browser = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def tab() -> AsyncIterator[Tab]:
    if CHROMIUM is None:
        pytest.skip("no chromium here")
    async with chromium() as one:
        yield one


@in_a_browser
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
async def test_a_browser_has_nothing_to_complain_of_and_asks_nobody(page: Path, dark: bool, tab: Tab) -> None:
    await tab.look(dark=dark)
    await tab.open(page)
    style = "getComputedStyle(document.body)"
    colours = await tab.tell(f"[{style}.backgroundColor, {style}.color]")
    assert tab.said == []
    assert [url for url in tab.asked if url != page.resolve().as_uri()] == []
    assert colours == (["rgb(15, 19, 25)", "rgb(231, 235, 241)"] if dark else ["rgb(243, 245, 248)", "rgb(26, 34, 48)"])


@in_a_browser
async def test_tables_sort_by_figures_and_what_is_unknown_stays_last(page: Path, tab: Tab) -> None:
    rates = (
        "(() => { const t = document.querySelector('#speed').closest('section').querySelector('table.sorts');"
        " t.tHead.rows[0].cells[2].querySelector('button').click();"
        " return [...t.tBodies[0].rows].map(r => r.cells[2].dataset.v).map(v => v === '' ? null : Number(v)); })()"
    )
    await tab.open(page)
    down, up = await tab.tell(rates), await tab.tell(rates)
    assert down[-1] is up[-1] is None  # west does not fit on one machine
    assert down[:-1] == sorted(down[:-1], reverse=True)
    assert up[:-1] == sorted(up[:-1])
    assert down[0] == pytest.approx(141.3, abs=0.1)


@in_a_browser
async def test_a_figure_is_one_click_from_its_rows(page: Path, tab: Tab) -> None:
    await tab.open(page)
    await tab.tell("document.querySelector('#standing ~ .scroll ~ .scroll a.fig').click()")
    await tab.tell("new Promise(done => setTimeout(done, 200))")
    row = "document.getElementById(location.hash.slice(1))"
    assert await tab.tell(f"{row}.closest('details').open")
    assert await tab.tell(f"{row}.getBoundingClientRect().height") > 0
    assert "140 tok/s" in await tab.tell(f"{row}.textContent")  # the first block; 141 is over both


@in_a_browser
@pytest.mark.parametrize("width", [390, 1160])
async def test_nothing_is_wider_than_the_window(page: Path, width: int, tab: Tab) -> None:
    await tab.look(width=width)
    await tab.open(page)
    assert await tab.tell("document.documentElement.scrollWidth") <= width


@in_a_browser
async def test_it_prints_on_paper_and_nothing_is_cut_off(page: Path, tab: Tab) -> None:
    """A4 between margins of 10 mm is 718 px wide; a table that is wider would lose its last columns."""
    wider = (
        "[...document.querySelectorAll('table, svg, pre')].filter(e => e.checkVisibility() &&"
        " e.getBoundingClientRect().right > 718.5).map(e => e.tagName + ': ' + e.textContent.slice(0, 60))"
    )
    await tab.look(print_=True, width=718)
    await tab.open(page)
    assert await tab.tell(wider) == []
    await tab.look(print_=False)
    printed = await tab.pdf()
    assert printed.startswith(b"%PDF")
    assert 5 < len(re.findall(rb"/Type\s*/Page\b", printed)) < 60
