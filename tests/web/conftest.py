"""The page on a real socket, for a rig that nobody need own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from yarl import URL

from evener.web.serve import Place, serve

RIG = """
[[hosts]]
name = "alpha"
connection = "stated"
cards = [{ model = "RTX 5090" }, { model = "RTX 5060 Ti 16GB" }]

[[hosts]]
name = "beta"
connection = "stated"
cards = [{ model = "RTX 5080" }]

[[links]]
name = "cable"
between = ["alpha", "beta"]
gbit_per_s = 4.7
"""


@dataclass(kw_only=True)
class Page:
    """The page, and a browser's session with it. `csrf` is what its pages hold."""

    url: str
    session: aiohttp.ClientSession
    token: str | None
    csrf: str = ""

    async def get(self, path: str, **headers: str) -> tuple[int, str]:
        url = URL(self.url + path, encoded=True)  # as it is: nothing is tidied on the way
        async with self.session.get(url, headers=headers, allow_redirects=False) as answer:
            return answer.status, await answer.text()

    async def post(self, path: str, data: Any = "", headers: Mapping[str, str] | None = None) -> tuple[int, str]:
        """As a page of ours does it; `headers` are laid over that."""
        own = {"Origin": self.url, "X-CSRF-Token": self.csrf, "HX-Request": "true"}
        sent = {name: value for name, value in (own | dict(headers or {})).items() if value}
        async with self.session.post(self.url + path, data=data, headers=sent, allow_redirects=False) as answer:
            return answer.status, await answer.text()


@asynccontextmanager
async def opened(rig: Path, *, port: int = 0, **place: Any) -> AsyncIterator[Page]:
    told: asyncio.Future[tuple[str, str | None]] = asyncio.get_running_loop().create_future()
    at = Place(port=port, **place)
    serving = asyncio.create_task(serve(str(rig), at, on_open=lambda url, token: told.set_result((url, token))))
    waits: list[asyncio.Future[Any]] = [serving, told]
    done, _ = await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    if serving in done:
        serving.result()
    url, token = told.result()
    try:
        async with aiohttp.ClientSession() as session:
            page = Page(url=url.rstrip("/"), session=session, token=token)
            if token is None:
                _, text = await page.get("/")
                page.csrf = text.partition('X-CSRF-Token": "')[2].partition('"')[0]
            yield page
    finally:
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)


@pytest.fixture
def rig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("EVENER_STATE", str(tmp_path / "state"))
    path = tmp_path / "rig.toml"
    path.write_text(RIG)
    return path


@pytest.fixture
async def page(rig: Path) -> AsyncIterator[Page]:
    async with opened(rig) as made:
        yield made
