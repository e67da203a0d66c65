"""A real headless Chromium, asked through its DevTools protocol: what a page says, loads, logs, and prints to."""

from __future__ import annotations

import asyncio
import base64
import itertools
import json
import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
READY_WITHIN_S = 60.0
ANSWER_WITHIN_S = 60.0


@dataclass(kw_only=True)
class Tab:
    """One page. `said` is what it logged, `asked` what it asked for beside itself."""

    socket: aiohttp.ClientWebSocketResponse
    said: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    loaded: asyncio.Event = field(default_factory=asyncio.Event)
    _ids: itertools.count[int] = field(default_factory=itertools.count)
    _waiting: dict[int, asyncio.Future[dict[str, Any]]] = field(default_factory=dict)

    async def listen(self) -> None:
        async for message in self.socket:
            data = json.loads(message.data)
            if "id" in data:
                self._waiting.pop(data["id"]).set_result(data)
            else:
                self._hear(data["method"], data["params"])

    def _hear(self, method: str, params: dict[str, Any]) -> None:
        if method == "Page.loadEventFired":
            self.loaded.set()
        elif method == "Network.requestWillBeSent":
            self.asked.append(params["request"]["url"])
        elif method == "Log.entryAdded":
            self.said.append(params["entry"]["text"])
        elif method == "Runtime.consoleAPICalled":
            self.said.append(str(params["args"]))
        elif method == "Runtime.exceptionThrown":
            self.said.append(str(params["exceptionDetails"]))

    async def send(self, method: str, **params: Any) -> dict[str, Any]:
        id_ = next(self._ids)
        answer = self._waiting[id_] = asyncio.get_running_loop().create_future()
        await self.socket.send_json({"id": id_, "method": method, "params": params})
        found = await asyncio.wait_for(answer, ANSWER_WITHIN_S)
        assert "error" not in found, f"{method}: {found['error']}"
        return dict(found["result"])

    async def open(self, page: Path | str) -> None:
        """A file, or a URL."""
        await self.send("Page.navigate", url="about:blank")  # the same page again would only be scrolled
        for domain in ("Page", "Network", "Log", "Runtime"):
            await self.send(f"{domain}.enable")
        await self.send("Log.clear")
        await asyncio.sleep(0.1)  # what the last page still had to say
        self.said.clear()
        self.asked.clear()
        self.loaded.clear()
        await self.send("Page.navigate", url=page if isinstance(page, str) else page.resolve().as_uri())
        await asyncio.wait_for(self.loaded.wait(), READY_WITHIN_S)

    async def tell(self, script: str) -> Any:
        """What an expression comes to, as JSON."""
        found = await self.send("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    async def look(self, *, dark: bool = False, print_: bool = False, width: int = 1160) -> None:
        """Choose the colour scheme, screen or paper, and how wide the window is."""
        await self.send(
            "Emulation.setEmulatedMedia",
            media="print" if print_ else "",
            features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}],
        )
        await self.send(
            "Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False
        )

    async def pdf(self) -> bytes:
        found = await self.send("Page.printToPDF", printBackground=True, paperWidth=8.27, paperHeight=11.69)
        return base64.b64decode(found["data"])

    async def picture(self, *, height: int, width: int = 1160, scale: float = 1.0) -> bytes:
        clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": scale}
        found = await self.send("Page.captureScreenshot", clip=clip, captureBeyondViewport=True)
        return base64.b64decode(found["data"])


@asynccontextmanager
async def chromium() -> AsyncIterator[Tab]:
    """A fresh browser with one empty tab; it ends with the block."""
    assert CHROMIUM is not None
    with tempfile.TemporaryDirectory(prefix="chromium", ignore_cleanup_errors=True) as profile:
        process = await asyncio.create_subprocess_exec(
            CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--hide-scrollbars",
            "--disable-background-networking", "--remote-debugging-port=0", f"--user-data-dir={profile}", "about:blank",
            stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL,
        )  # fmt: skip
        try:
            async with (
                aiohttp.ClientSession() as session,
                session.ws_connect(await _address(session, Path(profile)), max_msg_size=0) as socket,
            ):
                tab = Tab(socket=socket)
                listening = asyncio.create_task(tab.listen())
                try:
                    yield tab
                finally:
                    listening.cancel()
        finally:
            with suppress(ProcessLookupError):
                process.terminate()
            with suppress(TimeoutError):
                await asyncio.wait_for(process.wait(), 10)
            if process.returncode is None:
                process.kill()
                await process.wait()


async def _address(session: aiohttp.ClientSession, profile: Path) -> str:
    """Where the browser listens: it says so in a file, and then which page it has."""
    said = profile / "DevToolsActivePort"
    async with asyncio.timeout(READY_WITHIN_S):
        while not (said.exists() and said.read_text().strip()):
            await asyncio.sleep(0.1)
        port = said.read_text().splitlines()[0]
        while True:
            async with session.get(f"http://127.0.0.1:{port}/json/list") as answer:
                pages = [one for one in await answer.json(content_type=None) if one["type"] == "page"]
            if pages:
                return str(pages[0]["webSocketDebuggerUrl"])
            await asyncio.sleep(0.1)
