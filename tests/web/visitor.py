"""Somebody at the page with a real browser: opens, waits, clicks, types, presses keys, and has axe look."""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.report.browser import Tab

AXE = Path(__file__).parent / "axe" / "axe.min.js"
WITHIN_S = 60.0
ON_ITS_WAY = ".htmx-request, .htmx-settling"


@dataclass(kw_only=True)
class Visitor:
    """`url` is the page's, without a slash at its end."""

    tab: Tab
    url: str

    async def open(self, path: str) -> None:
        """The page, when nothing of it is still on its way."""
        await self.until(f"!document.querySelector('{ON_ITS_WAY}')")  # else the page before would say it was cut off
        await self.tab.send("Page.navigate", url="about:blank")
        await asyncio.sleep(0.3)
        await self.tab.open(self.url + path)
        await self.until(f"!document.querySelector('[aria-busy], {ON_ITS_WAY}')")

    async def until(self, condition: str, *, within_s: float = WITHIN_S) -> Any:
        """What a condition in the page comes to, once that is something. Fails the test when it never is."""
        ends = time.monotonic() + within_s
        while True:
            try:
                found = await self.tab.tell(f"(v => v instanceof Node ? true : v)({condition})")
            except AssertionError:  # between two pages, or not there yet
                found = None
            if found:
                return found
            if time.monotonic() > ends:
                where = await self.tab.tell("location.href + ' ' + document.body.innerText.slice(0, 1500)")
                raise AssertionError(f"not within {within_s} s: {condition}\n{where}")
            await asyncio.sleep(0.1)

    async def sees(self, text: str, *, within_s: float = WITHIN_S) -> None:
        await self.until(f"document.body.innerText.includes({json.dumps(text)})", within_s=within_s)

    async def click(self, selector: str) -> None:
        await self.until(f"document.querySelector({json.dumps(selector)})")
        await asyncio.sleep(0.5)  # nobody clicks before a part of the page that has just come is taken in
        await self.tab.tell(f"document.querySelector({json.dumps(selector)}).click()")

    async def agree(self) -> None:
        """Say yes to what is asked before something dangerous."""
        await self.until("document.getElementById('ask').open")
        await self.click("#ask [value=yes]")

    async def type(self, selector: str, text: str) -> None:
        field = f"document.querySelector({json.dumps(selector)})"
        await self.until(field)
        await self.tab.tell(f"{field}.focus(), {field}.value = ''")
        await self.tab.send("Input.insertText", text=text)

    async def choose(self, selector: str, value: str) -> None:
        field = f"document.querySelector({json.dumps(selector)})"
        await self.until(field)
        await self.tab.tell(
            f"{field}.value = {json.dumps(value)}, {field}.dispatchEvent(new Event('input', {{bubbles: true}}))"
        )

    async def press(self, key: str) -> None:
        """A key on the keyboard, as the browser gets it from there."""
        code = {"Enter": 13, "Escape": 27, "Tab": 9}.get(key, ord(key[0].upper()))
        text = {"Enter": "\r"}.get(key, key if len(key) == 1 else "")
        said = {"key": key, "windowsVirtualKeyCode": code}
        await self.tab.send("Input.dispatchKeyEvent", type="keyDown", text=text, **said)
        await self.tab.send("Input.dispatchKeyEvent", type="keyUp", **said)

    async def faults(self) -> list[str]:
        """What axe finds that is serious, one line each."""
        await self.tab.tell(AXE.read_text(encoding="utf-8") + "; 1")
        found = await self.tab.tell("axe.run(document).then(r => r.violations)")
        return [
            f"{one['impact']} {one['id']}: {node['html'][:120]} {node['failureSummary'][:240]}"
            for one in found
            if one["impact"] in ("serious", "critical")
            for node in one["nodes"]
        ]

    def strangers(self) -> list[str]:
        """Where the page asked beside its own server."""
        return [url for url in self.tab.asked if not url.startswith((self.url + "/", "data:"))]
