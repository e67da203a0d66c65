"""Run folders: list, filter, open, compare, download. `evener runs` and `evener report`, as pages."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, Response

from evener.api import campaign_reports, runs, side_by_side, store
from evener.edges.run_folder import RunData
from evener.errors import NameUnknown
from evener.report.parts import RunRow
from evener.report.words import gib
from evener.state import runs_folder
from evener.web.app import language, ui_of

router = APIRouter()

CAMPAIGN = "compare"
FORMS = {"html": "text/html", "md": "text/markdown", "csv": "text/csv", "json": "application/json"}
# A report is one file with its style, and a campaign's with a script, inside: it may load nothing.
REPORT_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; sandbox allow-scripts "
    "allow-popups allow-top-navigation-by-user-activation; frame-ancestors 'self'"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    id: str
    what: str
    when: str
    stamp: float
    model: str
    layouts: str
    state: str
    size: str
    bytes: int
    tags: tuple[str, ...]
    inside: int
    fault: str | None


@router.get("/runs")
async def whole(request: Request, what: str = "", model: str = "", tag: str = "") -> HTMLResponse:
    """Every run, the newest first. A fragment where htmx asks for the rows alone."""
    ui = ui_of(request)
    wanted = store.Wanted(what=what or None, model=model or None, tag=tag or None)
    found = await asyncio.to_thread(store.listed, wanted)
    kinds = sorted({row.what for row in found if row.what})
    name = "runs_rows.html.j2" if request.headers.get("HX-Request") else "runs.html.j2"
    return ui.page(request, name, rows=[_row(row) for row in found], kinds=kinds, what=what, model=model, tag=tag)


@router.get("/runs/compare")
async def compare(request: Request, run: Annotated[list[str] | None, Query()] = None) -> Response:
    """Several runs side by side, as one report."""
    chosen = run or []
    if len(chosen) < 2:
        raise NameUnknown("choose at least two runs", hint="the boxes in the list")
    named = await asyncio.to_thread(lambda: side_by_side.named([inside(one) for one in chosen]))
    text = await asyncio.to_thread(lambda: side_by_side.written(side_by_side.beside(named), "html"))
    return _report(text)


@router.get("/runs/{name}")
async def one(request: Request, name: str) -> HTMLResponse:
    """One run, its report inside."""
    data = await asyncio.to_thread(_found, name)
    return ui_of(request).page(request, "run.html.j2", run=data.run, id=data.path.name, is_eval=data.run.what == "eval")


@router.get("/runs/{name}/report.{form}")
async def report(request: Request, name: str, form: str) -> Response:
    """The report in any form; HTML for the frame, the others to be kept."""
    if form not in FORMS:
        raise NameUnknown(f"no form {form!r}", hint=f"one of {', '.join(FORMS)}")
    data = await asyncio.to_thread(_found, name)
    text = await asyncio.to_thread(_written, data, form, language(request))
    if form == "html":
        return _report(text)
    kept = {"Content-Disposition": f'attachment; filename="{data.path.name}.{form}"'}
    return Response(text, media_type=f"{FORMS[form]}; charset=utf-8", headers=kept)


def _written(data: RunData, form: str, spoken: str) -> str:
    if data.run.what == CAMPAIGN:
        told = campaign_reports.told(data, language="zh" if spoken == "zh" else "en")
        return campaign_reports.in_form(told, form)  # type: ignore[arg-type]
    return runs.written(data, runs.tell(data), form)  # type: ignore[arg-type]


def _found(name: str) -> RunData:
    return runs.find(inside(name))


def inside(name: str) -> str:
    """A run of the runs folder, by its id: a path would reach anywhere. Raises NameUnknown."""
    if "/" in name or "\\" in name or name in ("", ".", ".."):
        raise NameUnknown(f"no run {name[:80]!r}")
    if Path(name).exists() and not (runs_folder() / name).exists():
        raise NameUnknown(f"no run {name[:80]!r}")
    return name


def _report(text: str) -> Response:
    return HTMLResponse(text, headers={"Content-Security-Policy": REPORT_POLICY})


def _row(row: RunRow) -> Row:
    return Row(
        id=row.id,
        what=row.what or "?",
        when=f"{row.started_at:%Y-%m-%d %H:%M}" if row.started_at else "?",
        stamp=row.started_at.timestamp() if row.started_at else 0.0,
        model=row.model or "",
        layouts=", ".join(row.layouts),
        state=row.state or "?",
        size=gib(row.bytes),
        bytes=row.bytes or 0,
        tags=row.tags,
        inside=row.inside,
        fault=row.fault,
    )
