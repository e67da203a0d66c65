"""The application: pages, templates, and what every page has. `create` is all that anybody needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import jinja2
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException

from evener import __version__
from evener.errors import ConfigurationError, EvenerError, NameUnknown
from evener.report.language import Say
from evener.web import safety
from evener.web.now import Now
from evener.web.safety import Rules, Safety
from evener.web.speaking import COOKIE as LANGUAGE_COOKIE
from evener.web.speaking import LANGUAGES, language_of, say_in

PAGES = (
    ("Rig", "/"),
    ("Plan", "/plan"),
    ("Deployments", "/deploy"),
    ("Live", "/live"),
    ("Runs", "/runs"),
    ("Review", "/review"),
)
YEAR_S = 31_536_000
STYLES = (("evener.report", ("templates", "report.css")), ("evener.web", ("static", "page.css")))
STATUS = {NameUnknown: 404, ConfigurationError: 400}


@dataclass(frozen=True, slots=True, kw_only=True)
class Ui:
    """What every page needs, as `request.app.state.ui`."""

    rules: Rules
    now: Now
    templates: jinja2.Environment = field(repr=False)
    language: str | None = None  # for everybody; None for each browser's own

    def page(self, request: Request, name: str, *, status: int = 200, **values: Any) -> HTMLResponse:
        """A template, whole or a part of a page, in the reader's language."""
        spoken = self.language or language_of(request)
        shared = {
            "say": say_in(spoken),
            "language": spoken,
            "languages": LANGUAGES,
            "csrf": self.rules.csrf,
            "needs_token": self.rules.token is not None,
            "path": request.url.path,
            "pages": PAGES,
            "version": __version__,
            "rig_name": self.now.rig_name,
        }
        text = self.templates.get_template(name).render(**shared, **values)
        return HTMLResponse(text, status_code=status)


def create(*, rig: str | None, rules: Rules, language: str | None = None) -> Safety:
    """The page for the rig file `rig` (None for the usual one), behind `rules`."""
    from evener.web.pages import deploy, explorer, live, review, runs
    from evener.web.pages import rig as rig_page

    app = FastAPI(title="evener", version=__version__, docs_url=None, redoc_url=None, openapi_url=None)
    app.state.ui = Ui(rules=rules, now=Now(rig), templates=_templates(), language=language)
    static = Path(str(files("evener.web").joinpath("static")))
    app.mount("/static", _Static(directory=static), name="static")
    for page in (rig_page, explorer, deploy, live, runs, review):
        app.include_router(page.router)
    app.add_api_route("/style.css", _style, methods=["GET"])
    app.add_api_route("/language/{code}", _language, methods=["GET"])
    app.add_api_route("/login", _login_page, methods=["GET"])
    app.add_api_route("/login", _login, methods=["POST"])
    app.add_exception_handler(EvenerError, _told)
    app.add_exception_handler(HTTPException, _not_here)
    app.add_exception_handler(RequestValidationError, _not_here)
    return Safety(app, rules)


class _Static(StaticFiles):
    """Vendored files: their names in the pages carry the version, so that they may be kept."""

    def file_response(self, *args: Any, **more: Any) -> Response:
        response = super().file_response(*args, **more)
        response.headers["Cache-Control"] = f"public, max-age={YEAR_S}, immutable"
        return response


def _templates() -> jinja2.Environment:
    made = jinja2.Environment(
        loader=jinja2.PackageLoader("evener.web", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["query"] = lambda values: urlencode(values, doseq=True)
    return made


def ui_of(request: Request) -> Ui:
    found: Ui = request.app.state.ui
    return found


# ---- the door


async def _login_page(request: Request) -> HTMLResponse:
    return ui_of(request).page(request, "login.html.j2", wrong=False)


async def _login(request: Request) -> Response:
    ui = ui_of(request)
    given = await form(request)
    if ui.rules.token is not None and not safety.same(given.get("token", ""), ui.rules.token):
        return ui.page(request, "login.html.j2", wrong=True, status=401)
    answer = RedirectResponse("/", status_code=303)
    if ui.rules.token is not None:
        is_secure = ui.rules.scheme == "https"
        answer.set_cookie(safety.COOKIE, ui.rules.token, httponly=True, samesite="strict", secure=is_secure)
    return answer


async def form(request: Request) -> Mapping[str, str]:
    """The fields of a form; of one that comes twice the last."""
    from urllib.parse import parse_qsl

    return dict(parse_qsl((await request.body()).decode(errors="replace"), keep_blank_values=True))


# ---- faults


async def _told(request: Request, error: Exception) -> Response:
    """One line and a hint, as in the terminal."""
    assert isinstance(error, EvenerError)
    status = next((code for kind, code in STATUS.items() if isinstance(error, kind)), 502)
    name = "fault.html.j2" if request.headers.get("HX-Request") else "fault_page.html.j2"
    return ui_of(request).page(request, name, message=error.message, hint=error.hint, status=status)


async def _not_here(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 400
    name = "fault.html.j2" if request.headers.get("HX-Request") else "fault_page.html.j2"
    said = "there is no such page" if status == 404 else "this request makes no sense"
    return ui_of(request).page(request, name, message=say_of(request)(said), hint=None, status=status)


def language(request: Request) -> str:
    """The reader's: what was chosen for everybody, else what this browser wants."""
    return ui_of(request).language or language_of(request)


def say_of(request: Request) -> Say:
    return say_in(language(request))


# ---- what every page loads


async def _style(_request: Request) -> Response:
    """The report's style and the page's own: both share their colours."""
    text = "".join(files(package).joinpath(*path).read_text(encoding="utf-8") for package, path in STYLES)
    return Response(text, media_type="text/css", headers={"Cache-Control": f"public, max-age={YEAR_S}, immutable"})


async def _language(request: Request, code: str) -> Response:
    """Remember the reader's choice, and go back."""
    back = request.query_params.get("back", "/")
    answer = RedirectResponse(back if back.startswith("/") and not back.startswith("//") else "/", status_code=303)
    if code in LANGUAGES:
        answer.set_cookie(LANGUAGE_COOKIE, code, max_age=YEAR_S, samesite="strict")
    return answer
