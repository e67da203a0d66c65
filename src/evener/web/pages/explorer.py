"""The plan explorer: a question as a form, its answer beside it while somebody drags. `evener plan`, as a page."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from urllib.parse import parse_qsl

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from evener import profiles
from evener.api import models, what_if
from evener.dialects.shell_line import shell_line
from evener.errors import ConfigurationError
from evener.plan.links import PRESETS
from evener.plan.what_if import Asked
from evener.records.plan import Candidate, Share
from evener.records.whatif import PlanAnswer
from evener.report.words import figure, gib
from evener.web.app import ui_of
from evener.web.now import Now
from evener.web.words import spread

router = APIRouter()

FIRST_MODEL = "qwen3.6-35b-a3b"
USUAL_QUANT = "Q4_K_M"  # where a model of the catalogue has it, and nobody said which
CONTEXTS = tuple(2048 * 2**n for n in range(8))
KV = ("f16", "q8_0", "q4_0")
MOST_PEOPLE = 200
FRESH_S = 60.0  # of the rig below the slider
LONGEST = 1500  # of a field, in characters
MOST_HELD = 20
ASKED = {
    "model": "model",
    "quant": "quantisation",
    "users": "answered at one moment",
    "people": "or people, who think and read",
    "profile": "what they do",
    "context": "tokens of context for each",
    "kv": "KV cache",
    "link": "cable",
    "without": "without",
    "add": "with more cards",
    "prices": "prices",
}
FOUND = {
    "name": "layout",
    "cards": "on cards",
    "fullest": "fullest card",
    "decode": "one user tok/s",
    "users": "all users tok/s",
    "prompts": "prompts tok/s",
    "load": "load s",
    "cost": "cards cost",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What the form holds; the same names make the link that carries the state."""

    model: str = FIRST_MODEL
    quant: str = ""
    users: int = 4
    people: int = 0  # 0: `users` says how many
    profile: str = "chat"
    context: int = 8192
    kv: str = "f16"
    link: str = ""
    without: str = ""
    add: str = ""
    prices: str = ""
    layout: str = ""  # the row whose cards are shown; the choice, where there is none
    beside: str = ""  # another question, as its link has it

    def asked(self) -> Asked:
        people = self.people or None
        return Asked(
            users=None if people else self.users,
            people=people,
            profile=self.profile if people else None,
            context=self.context,
            kv=self.kv,
            quant=self.quant or None,
            link=self.link or None,
            without=tuple(_parts(self.without)),
            add=tuple(_parts(self.add)),
        )

    def changed(self) -> dict[str, str | int]:
        """What is not as usual: the link's own part."""
        return {f.name: getattr(self, f.name) for f in fields(self) if getattr(self, f.name) != f.default}

    def command(self, rig: str | None) -> str:
        """The same question in the terminal."""
        words = ["evener", "plan", f"{self.model}:{self.quant}" if self.quant else self.model]
        words += ["--rig", rig] if rig else []
        words += (
            ["--people", str(self.people), "--profile", self.profile] if self.people else ["--users", str(self.users)]
        )
        words += ["--context", str(self.context)]
        words += ["--kv", self.kv] if self.kv != "f16" else []
        words += ["--link", self.link] if self.link else []
        words += [word for name in _parts(self.without) for word in ("--without", name)]
        words += [word for text in _parts(self.add) for word in ("--add", text)]
        words += [word for text in _parts(self.prices) for word in ("--price", text)]
        return shlex.join(words)


def question_of(given: Mapping[str, str]) -> Question:
    """Raises ConfigurationError for a number that is none."""
    values: dict[str, str | int] = {}
    for one in fields(Question):
        text = given.get(one.name, "").strip()
        if not text:
            continue
        if isinstance(one.default, int):
            if not text.isascii() or not text.isdigit() or len(text) > 9:
                raise ConfigurationError(f"{one.name}: {text[:40]!r} is no number")
            values[one.name] = int(text)
        else:
            values[one.name] = text[:LONGEST]
    return Question(**values)  # type: ignore[arg-type]


async def _quantised(question: Question) -> Question:
    """The question with a quantisation, where its model has several and none was said."""
    if question.quant or ":" in question.model:
        return question
    sizes = next((e.sizes for e in await models.catalogue() if e.name.lower() == question.model.lower()), {})
    return replace(question, quant=USUAL_QUANT if USUAL_QUANT in sizes else next(reversed(sizes), ""))


def _parts(text: str) -> list[str]:
    return [part.strip() for part in text.split(";") if part.strip()]


@router.get("/plan")
async def whole(request: Request) -> HTMLResponse:
    """The form as the link says, and below it whatever it answers."""
    ui = ui_of(request)
    question = question_of(request.query_params)
    entries = await models.catalogue()
    here = [held.name for held in await models.held()]
    links = [link.name for link in ui.now.rig.record.links]
    scan = await ui.now.scan(fresh_s=FRESH_S)
    return ui.page(
        request,
        "plan.html.j2",
        q=question,
        catalogue=[(entry.name.lower(), list(entry.sizes)) for entry in entries],
        here=here,
        quants=next((list(e.sizes) for e in entries if e.name.lower() == question.model.lower()), []),
        profiles=list(profiles.PROFILES),
        contexts=CONTEXTS,
        kvs=KV,
        most_people=MOST_PEOPLE,
        links=links,
        presets=list(PRESETS),
        parts=[host.name for host in scan.hosts] + sorted({card.name for host in scan.hosts for card in host.cards}),
    )


@router.get("/plan/answer")
async def answer(request: Request) -> HTMLResponse:
    """The answer alone, as the form changes."""
    ui = ui_of(request)
    question = await _quantised(question_of(request.query_params))
    found = await _answered(ui.now, question)
    shown = _shown(question, found)
    rows = [_row(one, found) for one in found.candidates]
    response = ui.page(
        request,
        "plan_answer.html.j2",
        q=question,
        found=found,
        rows=rows,
        fastest=max((row.users_value for row in rows), default=0.0) or 1.0,
        shown=shown,
        cards=list(_cards(shown)) if shown else [],
        waterfall=list(_waterfall(shown.predicted.per_token_ms)) if shown and shown.predicted else [],
        token_ms=sum(one.ms for one in shown.predicted.per_token_ms) if shown and shown.predicted else 0.0,
        commands=[(c.host, shell_line(c.argv, c.env)) for c in (*shown.workers, *shown.tunnels, *shown.servers)]
        if shown
        else [],
        command=question.command(ui.now.rig_name),
        link=question.changed(),
        mine=replace(question, beside="").changed(),
        beside=await _beside(ui.now, question, found),
    )
    return response


@router.get("/plan/advice")
async def advice(request: Request) -> HTMLResponse:
    """What takes longer than a slider waits: what the second machine buys, ways out, and what all of it rests on."""
    ui = ui_of(request)
    found = await _answered(ui.now, await _quantised(question_of(request.query_params)), advice=True)
    return ui.page(request, "plan_advice.html.j2", found=found)


async def _answered(now: Now, question: Question, *, advice: bool = False) -> PlanAnswer:
    look, prices = await now.look(fresh_s=FRESH_S), _parts(question.prices)
    return await what_if.estimated(look, question.model, question.asked(), changes={}, prices=prices, advice=advice)


def _shown(question: Question, found: PlanAnswer) -> Candidate | None:
    """The layout that somebody wants to see, else the one of the verdict."""
    choice = found.verdict.choice
    return found.candidate(question.layout) or (found.candidate(choice) if choice else None)


async def _beside(now: Now, question: Question, found: PlanAnswer) -> list[tuple[str, str, str]]:
    """(what, here, there) where another question is held beside this one: what was asked otherwise, what comes of it.

    Empty where none is held.
    """
    if not question.beside:
        return []
    other = await _quantised(replace(question_of(dict(parse_qsl(question.beside))), beside=""))
    await now.look(fresh_s=FRESH_S)
    if question.beside not in now.held:
        if len(now.held) >= MOST_HELD:
            now.held.clear()
        now.held[question.beside] = await _answered(now, other)
    there = now.held[question.beside]
    pairs = [(what, str(getattr(question, key)), str(getattr(other, key))) for key, what in ASKED.items()]
    rows = [
        _row(shown, answer) if (shown := _shown(asked, answer)) else None
        for asked, answer in ((question, found), (other, there))
    ]
    told = [(what, *(str(getattr(row, key)) if row else "-" for row in rows)) for key, what in FOUND.items()]
    return [pair for pair in pairs if pair[1] != pair[2]] + [(what, a, b) for what, a, b in told if a or b]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One layout."""

    name: str
    is_choice: bool
    fits: bool
    why_not: str | None
    cards: str
    fullest: str
    decode: str
    users: str
    users_value: float
    prompts: str
    load: str
    cost: str


def _row(one: Candidate, found: PlanAnswer) -> Row:
    speed, cost = one.predicted, found.costs.get(one.name)
    full = [d.total_bytes / d.offered_bytes for d in one.devices if d.offered_bytes]
    return Row(
        name=one.name,
        is_choice=one.name == found.verdict.choice,
        fits=one.fits,
        why_not=one.why_not,
        cards=gib(sum(d.total_bytes for d in one.devices)),
        fullest=f"{max(full):.0%}" if full else "?",
        decode=spread(speed.decode_tokens_per_s if speed else None),
        users=spread(speed.users_tokens_per_s if speed else None),
        users_value=speed.users_tokens_per_s.value if speed and speed.users_tokens_per_s and one.fits else 0.0,
        prompts=spread(speed.prefill_tokens_per_s if speed else None),
        load=spread(speed.load_s if speed else None),
        cost=f"{cost.hardware:.0f} {cost.currency}" if cost and cost.hardware is not None else "",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class CardRow:
    """One device of a layout; shares are of what the card offers."""

    name: str
    layers: int
    parts: tuple[tuple[str, float, str], ...]  # kind, share, size in words
    told: str


def _cards(one: Candidate) -> Iterator[CardRow]:
    for device in one.devices:
        room = max(device.offered_bytes or 0, device.total_bytes) or 1
        kinds = {
            "weights": device.weights_bytes,
            "kv": device.kv_bytes,
            "compute": device.compute_bytes,
            "overhead": device.overhead_bytes,
        }
        yield CardRow(
            name=f"{device.host}/{device.card_name}",
            layers=device.layers,
            parts=tuple((kind, size / room, gib(size)) for kind, size in kinds.items() if size),
            told=f"{gib(device.total_bytes)} / {gib(device.offered_bytes)}",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """One part of a token's time, from left to right."""

    where: str
    kind: str
    ms: str
    from_share: float
    share: float


def _waterfall(parts: tuple[Share, ...]) -> Iterator[Stretch]:
    whole = sum(part.ms for part in parts) or 1.0
    at = 0.0
    for part in parts:
        share = part.ms / whole
        yield Stretch(where=part.where, kind=part.kind, ms=figure(part.ms), from_share=at, share=share)
        at += share
