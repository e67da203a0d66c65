"""Every page in a real browser, in both languages and both colour schemes: in order, and usable without a mouse."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.report.browser import CHROMIUM, Tab, chromium
from tests.web.conftest import opened
from tests.web.visitor import Visitor

PAGES = (
    "/",
    "/plan",
    "/plan?people=12&users=8&context=32768&prices=RTX%205090=2200",
    "/plan?beside=users%3D8%26kv%3Dq8_0",
    "/deploy",
    "/live",
    "/runs",
    "/review",
    "/login",
)

pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium here"),
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.timeout(300),
]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def tab() -> AsyncIterator[Tab]:
    async with chromium() as one:
        yield one


@pytest_asyncio.fixture(loop_scope="module", autouse=True)
async def _nothing_remembered(tab: Tab) -> None:
    """One browser for all tests: what one of them has chosen is not the next one's."""
    await tab.send("Network.clearBrowserCookies")


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_every_page_is_in_order(rig: Path, tab: Tab, language: str) -> None:
    async with opened(rig) as page:
        at = Visitor(tab=tab, url=page.url)
        await tab.send("Network.setCookie", name="evener-language", value=language, url=page.url)
        for path in PAGES:
            for dark in (False, True):
                await tab.look(dark=dark)
                await at.open(path)
                assert await tab.tell("document.documentElement.lang") == language
                assert await at.faults() == [], path
                assert tab.said == [], path
                assert at.strangers() == [], path
            await tab.look(width=390)
            assert await tab.tell("document.documentElement.scrollWidth") <= 390, path


async def test_axe_sees_what_is_wrong(rig: Path, tab: Tab) -> None:
    async with opened(rig) as page:
        at = Visitor(tab=tab, url=page.url)
        await at.open("/review")
        await tab.tell("document.querySelector('label').replaceWith(document.querySelector('label input'))")
        assert [fault for fault in await at.faults() if "label" in fault]


async def test_what_a_link_carries_is_what_the_form_shows(rig: Path, tab: Tab) -> None:
    async with opened(rig) as page:
        at = Visitor(tab=tab, url=page.url)
        await tab.look()
        await at.open("/plan")
        await at.choose("#users", "12")
        await at.choose("#kv", "q8_0")
        await at.until("location.search.includes('users=12') && location.search.includes('kv=q8_0')")
        await at.click("button[data-beside]")
        await at.sees("Side by side")
        await at.choose("#users", "3")
        link = await at.until("location.search.includes('users=3') && location.pathname + location.search")
        told = (
            "[...document.querySelectorAll('#two ~ .scroll tr')].map(r => [...r.cells].map(c => c.innerText).join('|'))"
        )
        before = await at.until(f"document.querySelector('#two') && {told}")
        await at.open(link)
        assert await tab.tell("[document.querySelector('#users').value, document.querySelector('#kv').value]") == [
            "3",
            "q8_0",
        ]
        assert await tab.tell(told) == before
        assert "answered at one moment|3|12" in before
        assert "KV cache" not in "".join(before)  # the same on both sides


async def test_a_page_waits_for_a_server_that_is_away(rig: Path, tab: Tab) -> None:
    async with opened(rig) as page:
        at = Visitor(tab=tab, url=page.url)
        await at.open("/plan?users=5")
    await at.choose("#users", "6")
    await at.sees("evener does not answer")
    async with opened(rig, port=int(page.url.rpartition(":")[2])):
        await at.choose("#users", "7")
        await at.until("document.getElementById('offline').hidden && !document.querySelector('[aria-busy]')")
        await at.until("document.querySelector('#verdict')")


async def test_it_is_used_without_a_mouse(rig: Path, tab: Tab) -> None:
    async with opened(rig) as page:
        at = Visitor(tab=tab, url=page.url)
        await at.open("/")
        await at.press("Tab")
        assert await tab.tell("document.activeElement.className") == "skip"
        await at.press("Enter")
        assert await tab.tell("location.hash") == "#main"
        for _ in range(40):
            await at.press("Tab")
            if await tab.tell("document.activeElement.textContent") == "Look again":
                break
        else:
            raise AssertionError("the button is not reached by Tab")
