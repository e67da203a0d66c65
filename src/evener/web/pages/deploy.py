"""Deployments: start one, watch it load, its cards checked, its logs; stop it and see the memory come back."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response, StreamingResponse
from markupsafe import Markup

from evener.api import deployments, models, plans, runs, starting
from evener.api.rig import Rig
from evener.codec import from_data
from evener.errors import ConfigurationError, EvenerError, HostBusy, NameUnknown
from evener.records.deployment import Deployment
from evener.records.events import Fact, Progress
from evener.records.plan import Workload
from evener.records.verification import CardCheck, FreedCheck
from evener.report.words import gib
from evener.together import until
from evener.web.app import Ui, form, say_of, ui_of

router = APIRouter()

BEGINS_WITHIN_S = 30.0
LOG_LINES = 200
LAYOUT = re.compile(r"[\w./ -]{1,100}")
FROM = "a supervisor"


@router.get("/deploy")
async def whole(
    request: Request, model: str = "", layout: str = "auto", users: int = 4, context: int = 4096
) -> HTMLResponse:
    """What runs, and a form to start something."""
    ui = ui_of(request)
    here = [held.name for held in await models.held()]
    return ui.page(
        request,
        "deploy.html.j2",
        known=[_view(one) for one in deployments.running()],
        here=here,
        model=model or (here[0] if here else "demo"),
        layout=layout,
        layouts=["auto", "cluster", *(host.name for host in ui.now.rig.record.hosts)],
        users=users,
        context=context,
    )


@router.post("/deploy/plan")
async def planned(request: Request) -> HTMLResponse:
    """What would be started, card by card, before anything is."""
    ui = ui_of(request)
    given = await form(request)
    model, layout, workload = _asked(given)
    found = await plans.launchable(Rig(ui.now.rig.record), model, workload, layout=layout)
    chosen = found.chosen()
    return ui.page(
        request,
        "deploy_plan.html.j2",
        sentence=found.plan.verdict.sentence,
        candidate=chosen,
        cards=[(f"{d.host}/{d.card_name}", d.layers, gib(d.total_bytes), gib(d.offered_bytes)) for d in chosen.devices],
        called=deployments.slug(found.weights.name),
        given=given,
    )


@router.post("/deploy/start")
async def start(request: Request) -> Response:
    """Start a supervisor of its own: it lives on when this page is closed."""
    ui = ui_of(request)
    given = await form(request)
    model, layout, workload = _asked(given)
    name = deployments.slug(given.get("name") or model.rpartition("/")[2])
    if (pid := deployments.supervisor(name)) is not None:
        raise HostBusy(f"{name} runs already (evener pid {pid})", hint="stop it first, or choose another name")
    rig = ui.now.rig.record.path
    arguments = ["up", model, *(("--rig", rig) if rig else ()), "--layout", layout, "--name", name]
    arguments += ["--users", str(workload.users), "--context", str(workload.context), "--no-baseline", "--supervised"]
    begun = await asyncio.to_thread(starting.started, arguments, deployments.supervisor_log(name))

    async def there() -> str | None:
        if begun.code is not None:
            return "ended"
        return "there" if any(one.name == name for one in deployments.running()) else None

    if await until(there, within_s=BEGINS_WITHIN_S) != "there":
        raise ConfigurationError(f"{name} did not start: {' '.join(begun.said(3)) or 'it said nothing'}")
    return Response(status_code=204, headers={"HX-Redirect": f"/deploy/{name}"})


@router.get("/deploy/{name}")
async def one(request: Request, name: str) -> HTMLResponse:
    """One deployment as it goes on."""
    found = deployments.pick(name)
    hosts = sorted({process.host for process in found.processes}) or list(found.candidate.hosts)
    ui = ui_of(request)
    past = Markup(await _past(ui, request, found))
    return ui.page(request, "deployment.html.j2", one=_view(found), hosts=hosts, past=past)


async def _past(ui: Ui, request: Request, one: Deployment) -> str:
    """All that has happened, the whole of it each time: whoever was away misses nothing, and sees nothing twice."""
    facts = await asyncio.to_thread(_facts, one)
    parts = [part for fact in facts for part in _of_fact(fact.kind, fact.data)]
    told = [Markup(text_of(ui, request, template, values)) for template, values in parts]
    remarks = [fact.data["text"] for fact in facts if fact.kind == "caution"]
    return text_of(ui, request, "deploy_past.html.j2", {"told": told, "remarks": remarks})


def _facts(one: Deployment) -> tuple[Fact, ...]:
    """What has happened so far; nothing where its run folder is gone."""
    try:
        return runs.find(one.run).facts if one.run else ()
    except EvenerError:
        return ()


@router.post("/deploy/{name}/stop")
async def stop(request: Request, name: str) -> Response:
    """Stop it; the page's own stream tells how the memory comes back."""
    found = deployments.pick(name)
    stopping = asyncio.ensure_future(deployments.down(found, on_message=lambda _message: None))
    _stopping.add(stopping)
    stopping.add_done_callback(_forgotten)
    return Response(status_code=204)


_stopping: set[asyncio.Future[bool | None]] = set()  # asyncio keeps no hold of what nobody awaits


def _forgotten(stopping: asyncio.Future[bool | None]) -> None:
    _stopping.discard(stopping)
    if not stopping.cancelled():
        stopping.exception()  # the page's stream has told it


@router.get("/deploy/{name}/events")
async def events(request: Request, name: str) -> StreamingResponse:
    """Everything that its supervisor says, as parts of the page."""
    deployments.pick(name)
    return StreamingResponse(_told(ui_of(request), request, name), media_type="text/event-stream")


@router.get("/deploy/{name}/log")
async def log(request: Request, name: str, host: str = "") -> HTMLResponse:
    """The last lines of what the engine said on a host."""
    found = deployments.pick(name)
    try:
        lines = list(deployments.log_lines(found, host=host or None, lines=LOG_LINES, follow=False))
    except NameUnknown:
        lines = []
    return ui_of(request).page(request, "log.html.j2", lines=[f"{source}  {line}" for source, line in lines])


async def _told(ui: Ui, request: Request, name: str) -> AsyncIterator[str]:
    """Server-sent events; at the end one that says so."""
    async for message in deployments.follow(name):
        if progress := message.get("progress"):
            one = from_data(Progress, progress, source=FROM)
            yield sse("progress", text_of(ui, request, "progress.html.j2", {"one": one}))
        elif (record := message.get("deployment")) is not None:
            view = _view(from_data(Deployment, record, source=FROM))
            yield sse("state", text_of(ui, request, "deploy_state.html.j2", {"one": view}))
        elif message.get("fact"):
            yield sse("facts", await _past(ui, request, deployments.pick(name)))
    say = say_of(request)
    yield sse("over", say("its supervisor has ended"))


def text_of(ui: Ui, request: Request, template: str, values: Mapping[str, Any]) -> str:
    return bytes(ui.page(request, template, **values).body).decode()


def sse(event: str, text: str) -> str:
    """One event; a line of data for each line of text."""
    data = "".join(f"data: {line}\n" for line in text.splitlines()) or "data: \n"
    return f"event: {event}\n{data}\n"


def _of_fact(kind: str, data: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """(template, values); nothing for what a page need not show."""
    if kind == "verified":
        checks = from_data(tuple[CardCheck, ...], data["checks"], source=FROM)
        yield "checks.html.j2", {"checks": checks, "gib": gib}
    elif kind == "freed":
        freed = from_data(tuple[FreedCheck, ...], data["checks"], source=FROM)
        yield "freed.html.j2", {"checks": freed, "gib": gib}
    elif kind in ("ready", "serving", "layout"):
        yield "deploy_fact.html.j2", {"kind": kind, "data": data}


def _asked(given: Mapping[str, str]) -> tuple[str, str, Workload]:
    """Model, layout and workload of a form. Raises ConfigurationError."""
    model, layout = given.get("model", "").strip(), given.get("layout", "auto").strip() or "auto"
    if not model or model.startswith("-") or not LAYOUT.fullmatch(layout) or layout.startswith("-"):
        raise ConfigurationError("a model and a layout are needed")
    try:
        users, context = int(given.get("users", "4")), int(given.get("context", "4096"))
    except ValueError:
        raise ConfigurationError("users and context are numbers") from None
    if not (1 <= users <= 256 and 256 <= context <= 4_000_000):
        raise ConfigurationError("1 to 256 users, and at least 256 tokens for each")
    return model, layout, Workload(users=users, context=context)


def _view(one: Deployment) -> dict[str, Any]:
    alive = deployments.is_alive(one)
    state = one.state if alive or one.state == "failed" else "gone"
    return {
        "name": one.name,
        "state": state,
        "alive": alive,
        "model": one.model,
        "layout": one.candidate.name,
        "users": one.users,
        "context": one.context,
        "url": one.url,
        "fault": one.fault,
        "processes": [(p.role, p.host, p.pid, p.listen) for p in one.processes] if alive else [],
    }
