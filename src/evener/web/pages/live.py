"""Runs as they happen: start a measurement, watch any run grow, cancel what was started here."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response, StreamingResponse

from evener import profiles
from evener.api import deployments, door, runs, starting, store, suites
from evener.api.starting import Started
from evener.errors import ConfigurationError, HostError
from evener.state import runs_folder, state_folder
from evener.together import until
from evener.web.app import form, ui_of
from evener.web.growing import Growing, Growth, Watched
from evener.web.pages.deploy import sse, text_of
from evener.web.pages.runs import inside

router = APIRouter()

BEGINS_WITHIN_S = 60.0
COUNTS = re.compile(r"\d{1,4}(,\d{1,4}){0,15}")
PING_S = 15.0  # a silent stream is closed by proxies


@dataclass(kw_only=True)
class Mine:
    """What was started from this page, by run id: only that can be cancelled here."""

    started: dict[str, Started] = field(default_factory=dict)
    watched: Watched = field(default_factory=Watched)


MINE = Mine()


@router.get("/live")
async def whole(request: Request, on: str = "") -> HTMLResponse:
    """What goes on now, and a form to begin something."""
    found = await asyncio.to_thread(store.listed, store.Wanted(state="unfinished"))
    ready = [one.name for one in deployments.running() if one.state == "ready" and deployments.is_alive(one)]
    return ui_of(request).page(
        request,
        "live.html.j2",
        rows=found[:30],
        ready=ready,
        on=on,
        profiles=list(profiles.PROFILES),
        suites=[one.name for one in await asyncio.to_thread(suites.all_of_ours)],
    )


@router.get("/live/door")
async def door_now(request: Request) -> HTMLResponse:
    """What `evener serve` holds open, as it is now; nothing where there is none."""
    found = None
    if deployments.door_supervisor() is not None:
        with suppress(HostError):
            found = await door.status()
    return ui_of(request).page(request, "door.html.j2", door=found)


@router.post("/live/start")
async def start(request: Request) -> Response:
    """Begin a measurement as a process of its own; go to its page when its folder is there."""
    given = await form(request)
    before = {path.name for path in runs_folder().glob("*")}
    log = state_folder() / "ui" / f"{len(MINE.started)}.log"
    begun = await asyncio.to_thread(starting.started, _command(given), log)

    async def there() -> str | None:
        new = sorted(
            path.name for path in runs_folder().glob("*") if path.name not in before and (path / "run.json").exists()
        )
        return new[-1] if new else "" if begun.code is not None else None

    name = await until(there, within_s=BEGINS_WITHIN_S)
    if not name:
        begun.interrupt()
        raise ConfigurationError(f"it did not begin: {' '.join(begun.said(3)) or 'it said nothing'}")
    MINE.started[name] = begun
    return Response(status_code=204, headers={"HX-Redirect": f"/live/{name}"})


def _command(given: Mapping[str, str]) -> list[str]:
    """Raises ConfigurationError for what is no measurement."""
    on = given.get("on", "")
    if not any(one.name == on for one in deployments.running()):
        raise ConfigurationError(f"nothing called {on[:60]!r} is deployed")
    if given.get("what") == "eval":
        known = {one.name for one in suites.all_of_ours()}
        chosen = given.get("suite", "")
        if chosen not in known:
            raise ConfigurationError(f"no suite {chosen[:60]!r}")
        return ["eval", chosen, "--quick", "--url", on]
    counts, profile = given.get("counts", "1,2,4").replace(" ", ""), given.get("profile", "")
    if not COUNTS.fullmatch(counts):
        raise ConfigurationError("user counts are numbers, e.g. 1,2,4,8")
    if profile and profile not in profiles.PROFILES:
        raise ConfigurationError(f"no profile {profile[:60]!r}")
    return ["bench", "users", on, "--concurrency", counts, *(("--profile", profile) if profile else ())]


@router.get("/live/{name}")
async def one(request: Request, name: str) -> HTMLResponse:
    growing = await asyncio.to_thread(_growing, name)
    await asyncio.to_thread(growing.look)
    return ui_of(request).page(
        request, "live_run.html.j2", id=growing.path.name, may_cancel=name in MINE.started, **_values(growing.growth)
    )


@router.get("/live/{name}/events")
async def events(request: Request, name: str) -> StreamingResponse:
    """The part of the page that changes, whenever it has."""
    growing = await asyncio.to_thread(_growing, name)
    ui = ui_of(request)

    async def told() -> AsyncIterator[str]:
        async for growth in growing.watched():
            yield sse("grown", text_of(ui, request, "live_part.html.j2", _values(growth)))
        yield sse("over", "")

    return StreamingResponse(told(), media_type="text/event-stream")


@router.post("/live/{name}/cancel")
async def cancel(_request: Request, name: str) -> Response:
    """As Ctrl-C: it ends in good order, and keeps what was measured."""
    if name not in MINE.started:
        raise ConfigurationError("this run was not started here", hint="Ctrl-C where it was")
    MINE.started[name].interrupt()
    return Response(status_code=204)


def _growing(name: str) -> Growing:
    data = runs.find(inside(name))
    return MINE.watched.of(Path(data.path), data.run)


def _values(growth: Growth) -> dict[str, Any]:
    levels = growth.users.levels if growth.users else ()
    return {
        "growth": growth,
        "levels": levels,
        "curve": _curve([(level.users, level.total_tokens_per_s) for level in levels]),
    }


def _curve(points: list[tuple[int, float | None]]) -> str:
    """The users curve as the points of a polyline, in a box of 100 by 40; "" below two of them."""
    known = [(users, value) for users, value in points if value is not None]
    if len(known) < 2:
        return ""
    most_users, most = max(u for u, _ in known), max(v for _, v in known) or 1.0
    return " ".join(f"{100 * users / most_users:.1f},{40 - 38 * value / most:.1f}" for users, value in known)
