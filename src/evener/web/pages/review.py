"""The review desk: one answer after the other, blind, by keyboard. What `evener review` does, as a page."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from evener.api import reviews, store
from evener.api.reviews import Sitting
from evener.errors import ConfigurationError
from evener.records.answers import Pool
from evener.report.judges_rows import coefficients
from evener.report.words import plain, prose
from evener.stats.agreement import Agreement
from evener.web.app import form, ui_of
from evener.web.pages.runs import inside

router = APIRouter()

COOKIE = "evener-reviewer"
POOLS: tuple[Pool, ...] = ("random", "decisive")
KEYS_ALONE = (("r", "right"), ("w", "wrong"), ("u", "unsure"))
KEYS_PAIR = (("1", "the first"), ("2", "the second"), ("t", "a tie"), ("u", "unsure"))
NAME = re.compile(r"[^\x00-\x1f<>\"']{1,60}")
YEAR_S = 31_536_000
MOST_COMPARED = 1500  # words: beyond, telling two texts apart takes longer than reading them


@router.get("/review")
async def whole(request: Request) -> HTMLResponse:
    """Which runs can be looked at, and as whom."""
    found = await asyncio.to_thread(store.listed, store.Wanted(what="eval"), inner=True)
    return ui_of(request).page(
        request, "review.html.j2", rows=[row for row in found if row.fault is None], reviewer=_reviewer(request)
    )


@router.post("/review/as")
async def as_whom(request: Request) -> Response:
    """Remember who reviews in this browser."""
    name = (await form(request)).get("reviewer", "").strip()
    if not NAME.fullmatch(name):
        raise ConfigurationError("a reviewer has a name of up to 60 characters")
    answer = Response(status_code=204, headers={"HX-Refresh": "true"})
    answer.set_cookie(COOKIE, quote(name), max_age=YEAR_S, samesite="strict", httponly=True)
    return answer


@router.get("/review/pair")
async def pair(run: Annotated[list[str] | None, Query()] = None) -> Response:
    """Two runs, their answers to one question side by side."""
    chosen = run or []
    if len(chosen) != 2:
        raise ConfigurationError("choose two evaluations", hint="the boxes in the list")
    return RedirectResponse(f"/review/{quote(inside(chosen[0]))}?other={quote(inside(chosen[1]))}", status_code=303)


@router.get("/review/{name}")
async def desk(request: Request, name: str, pool: Pool = "random", other: str = "") -> Response:
    """The desk with the next answer on it."""
    if _reviewer(request) is None:
        return RedirectResponse("/review", status_code=303)
    sitting = await asyncio.to_thread(_sit, request, name, other, pool)
    return _page(request, "desk.html.j2", sitting, name, other)


@router.post("/review/{name}/label")
async def label(request: Request, name: str, pool: Pool = "random", other: str = "") -> Response:
    """Keep a label, or take the last one back, and put the next answer on the desk."""
    given = await form(request)
    sitting = await asyncio.to_thread(_sit, request, name, other, pool)
    mine = [item for item in sitting.queue if _id(item.key) == given.get("item")]
    if given.get("key") == "z":
        sitting.mine.extend(mine)
        sitting.undo()
        return _page(request, "desk_item.html.j2", sitting, name, other)
    said = mine[0].label(given.get("key", "")) if mine else None
    if said is None:
        raise ConfigurationError("this answer is not on the desk any more", hint="reload the page")
    sitting.say(mine[0], said, given.get("reason", "").strip()[:2000] or None)
    return _page(request, "desk_item.html.j2", sitting, name, other, last=given.get("item", ""))


def _page(request: Request, template: str, sitting: Sitting, name: str, other: str, *, last: str = "") -> HTMLResponse:
    item, left = sitting.next, len(sitting.left)
    found = sitting.agreement()
    return ui_of(request).page(
        request,
        template,
        run_name=name,
        other=other,
        pool=sitting.pool,
        pools=POOLS,
        reviewer=sitting.reviewer,
        item=item,
        item_id=_id(item.key) if item else "",
        last=last,
        shown=list(pieces([_readable(text) for text in item.shown])) if item else [],
        question=_readable(item.question.prompt) if item else "",
        context=_readable(item.question.context) if item and item.question.context else "",
        rubric=item.question.rubric if item else None,
        references=[_readable(text) for text in item.question.references] if item and item.other is None else [],
        keys=KEYS_ALONE if item is None or item.other is None else KEYS_PAIR,
        done=len(sitting.queue) - left,
        whole=len(sitting.queue),
        agreement=_agreed(found),
        others=[(who, said) for who, one in sitting.others().items() if (said := _agreed(one))],
    )


def pieces(texts: list[str]) -> Iterator[list[tuple[str, bool]]]:
    """Each text in pieces, and whether the other one lacks that piece. One text alone is one piece."""
    words = [re.findall(r"\s+|[^\W_]+|.", text) for text in texts]
    if len(texts) != 2 or max(map(len, words)) > MOST_COMPARED:
        yield from ([(text, False)] for text in texts)
        return
    changes = SequenceMatcher(a=words[0], b=words[1], autojunk=False).get_opcodes()
    yield [("".join(words[0][a:b]), kind != "equal") for kind, a, b, _, _ in changes if a < b]
    yield [("".join(words[1][a:b]), kind != "equal") for kind, _, _, a, b in changes if a < b]


def _agreed(found: Agreement) -> str | None:
    """None until there is something to agree on."""
    if not found.n or found.raw is None:
        return None
    return f"{found.raw:.0%} / n {found.n}" + coefficients(found.kappa, found.kappa_interval, found.ac1)


def _sit(request: Request, name: str, other: str, pool: Pool) -> Sitting:
    named = [inside(name), *([inside(other)] if other else [])]
    return reviews.sit(named, reviewer=_reviewer(request) or "?", pool=pool)


def _reviewer(request: Request) -> str | None:
    from urllib.parse import unquote

    found = unquote(request.cookies.get(COOKIE, ""))
    return found if NAME.fullmatch(found) else None


def _id(key: object) -> str:
    """Names an item without saying whose answer it is."""
    from hashlib import blake2b

    return blake2b(repr(key).encode(), digest_size=8).hexdigest()


def _readable(text: str) -> str:
    return plain(prose(text))
