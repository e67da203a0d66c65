"""The page of several runs in a real browser: both colour schemes, a phone, and paper."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from browser import CHROMIUM, Tab, chromium
from test_beside import foreign, speed, users

from evener.report import html
from evener.report.beside import beside

in_a_browser = pytest.mark.asyncio(loop_scope="module")


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six columns of users, one of them marked, and two runs of speed beside a foreign file."""
    rows = [speed("G", 1, 2, 3, 4, 5), speed("H", 11, 12, 13, 14, 15)]
    crowd = [users(name, 1 + n / 10) for n, name in enumerate("ABCDE")]
    found = beside([*crowd, users("F", partial="interrupted"), *rows], [("I", foreign())], anyway=True)
    path = tmp_path_factory.mktemp("beside") / "all.html"
    path.write_text(html.beside_page(found), encoding="utf-8")
    return path


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
    ink = await tab.tell("getComputedStyle(document.querySelector('td')).color")
    assert tab.said == []
    assert [url for url in tab.asked if url != page.resolve().as_uri()] == []
    assert ink == ("rgb(231, 235, 241)" if dark else "rgb(26, 34, 48)")


@in_a_browser
@pytest.mark.parametrize("width", [390, 1160])
async def test_nothing_is_wider_than_the_window(page: Path, width: int, tab: Tab) -> None:
    await tab.look(width=width)
    await tab.open(page)
    assert await tab.tell("document.documentElement.scrollWidth") <= width


@in_a_browser
async def test_six_runs_print_on_paper_and_no_column_is_cut_off(page: Path, tab: Tab) -> None:
    """A4 between margins of 10 mm is 718 px wide."""
    wider = (
        "[...document.querySelectorAll('table, svg')].filter(e => e.checkVisibility() &&"
        " e.getBoundingClientRect().right > 718.5).map(e => e.tagName + ': ' + e.textContent.slice(0, 60))"
    )
    await tab.look(print_=True, width=718)
    await tab.open(page)
    assert await tab.tell(wider) == []
    await tab.look(print_=False)
    assert (await tab.pdf()).startswith(b"%PDF")
