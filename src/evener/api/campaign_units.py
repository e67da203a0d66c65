"""One unit of a campaign: the right measurement against what serves, gone on with where it was cut."""

from __future__ import annotations

import asyncio
import time
import traceback
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from pathlib import Path

from evener.api import bench_context, bench_speed, bench_users, campaign_canary, evals, measure
from evener.api.bench_eyes import Eyes
from evener.api.campaign_folder import Journal
from evener.bench.context import Asked as ContextAsked
from evener.bench.load import Load
from evener.bench.sizes import Sizes
from evener.edges.run_folder import open_head
from evener.errors import CannotRun, ConfigurationError, EvenerError, ResultInvalid
from evener.ports import Report
from evener.profiles import find as profile_called
from evener.records.campaign import Campaign, Contestant, Measure, Unit, UnitEnd, UsersAsked, Visit
from evener.records.evaluation import EvalAsked
from evener.records.load import Limits

CANARY = "canary"
CANARY_TOKENS = 32  # as the how-to says: enough for two layouts to part, and a few seconds
TWICE = 2  # a contestant's first canary is asked twice: how far it parts from itself is the engine's noise
WHATS: dict[Measure, str] = {
    "canary": "eval",
    "speed": "speed",
    "users": "users",
    "context": "context",
    "answers": "eval",
}  # what their run folders are called
EVIDENCE_LINES = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Measuring:
    """Where a unit is measured: `target` is a deployment of ours or a URL."""

    journal: Journal
    campaign: Campaign
    contestant: Contestant
    visit: Visit
    target: str
    eyes: Eyes
    report: Report


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """What a measurement left: its run, and what is wrong with it."""

    path: Path | None
    partial: str | None
    validity: str = "valid"
    why: str | None = None


async def measured(unit: Unit, where: Measuring) -> UnitEnd:
    """Measure one unit, and say how it ended: a failure that is its own is an end, too.

    Raises what takes the whole campaign with it: being cancelled, a full disk. A unit that was begun before goes on in
    its run, where it can.
    """
    cut = where.journal.cut_run(unit.id, WHATS[unit.measure])
    where.journal.add("unit begun", {"unit": unit.id})
    begun = time.monotonic()
    try:
        found = await _gone_on_with(unit, cut, where) if cut else None
        found = found or await _MEASURES[unit.measure](unit, where)
    except (CannotRun, ConfigurationError, ResultInvalid) as error:
        _require_room(where, error)
        return _failed(unit, where, told(error), begun)
    except Exception as error:  # noqa: BLE001 - a night is not lost to a defect of ours: it is the end of one unit
        lines = traceback.format_exc().splitlines()
        return replace(
            _failed(unit, where, f"a defect of evener: {error!r}", begun), evidence=tuple(lines[-EVIDENCE_LINES:])
        )
    if found.partial == measure.INTERRUPTED:
        raise asyncio.CancelledError
    return UnitEnd(
        unit=unit.id,
        visit=where.visit.id,
        state="done" if found.partial is None else "partial",
        run=found.path.name if found.path else None,
        why=found.partial or (None if found.validity == "valid" else found.validity) or found.why,
        seconds=_since(begun),
    )


def _failed(unit: Unit, where: Measuring, why: str, begun: float) -> UnitEnd:
    return UnitEnd(unit=unit.id, visit=where.visit.id, state="failed", why=why, seconds=_since(begun))


def _since(begun: float) -> float:
    return round(time.monotonic() - begun, 1)


def _require_room(where: Measuring, error: EvenerError) -> None:
    """A disk that takes no more is no fault of a unit: the campaign stops, and goes on when there is room."""
    if error.message.startswith("cannot write"):
        raise error


# ---- each measure


async def _speed(unit: Unit, where: Measuring) -> _Found:
    asked = where.campaign.speed
    assert asked is not None
    sizes = Sizes(
        prompts=asked.prompts,
        outputs=asked.outputs,
        depths=asked.depths,
        repetitions=asked.repetitions,
        seed=_seed(where),
        model=where.contestant.served_model,
    )
    made = await bench_speed.speed(
        where.target,
        sizes,
        api_key_env=where.contestant.api_key_env,
        eyes=where.eyes,
        report=where.report,
        base=where.journal.runs,
    )
    return _Found(path=made.path, partial=made.result.partial, validity=made.result.validity)


async def _users(unit: Unit, where: Measuring) -> _Found:
    asked = next(one for one in where.campaign.users if one.name == unit.name)
    load = replace(load_of(asked), seed=_seed(where), model=where.contestant.served_model)
    made = await bench_users.users(where.target, load, _options(where), bench_users.Ears(report=where.report))
    return _of_users(made)


async def _context(unit: Unit, where: Measuring) -> _Found:
    asked = where.campaign.context
    assert asked is not None
    made = await bench_context.context(
        where.target,
        ContextAsked(lengths=asked.lengths, seed=_seed(where), model=where.contestant.served_model),
        api_key_env=where.contestant.api_key_env,
        eyes=where.eyes,
        report=where.report,
        base=where.journal.runs,
    )
    return _Found(path=made.path, partial=made.result.partial, validity=made.result.validity)


async def _canary(unit: Unit, where: Measuring) -> _Found:
    """The same prompts at every layout: other answers than those of the first one are said."""
    first = campaign_canary.reference(where.journal.state, unit.id)
    asked = EvalAsked(
        candidate=where.contestant.name,
        suites=(CANARY,),
        sha256=(),
        epochs=1 if first else TWICE,
        most_tokens=CANARY_TOKENS,
        thinking=False,  # so few tokens would all be thoughts
        parallel=1,  # answers in one batch would round differently
        model=where.contestant.served_model,
    )
    return await _evaluated(asked, unit, where)


async def _answers(unit: Unit, where: Measuring) -> _Found:
    asked = where.campaign.answers
    assert asked is not None
    wanted = EvalAsked(
        candidate=where.contestant.name,
        suites=asked.suites,
        sha256=(),
        quick=asked.quick,
        arms=asked.arms,
        k=asked.k,
        epochs=asked.epochs,
        temperature=asked.temperature,
        most_tokens=asked.most_tokens,
        seed=where.campaign.seed,
        thinking=where.contestant.thinking,
        parallel=0,  # as many as the server takes at once
        model=where.contestant.served_model,
    )
    return await _evaluated(wanted, unit, where)


async def _evaluated(asked: EvalAsked, unit: Unit, where: Measuring) -> _Found:
    made = await evals.evaluate(
        where.target,
        asked,
        api_key_env=where.contestant.api_key_env,
        report=where.report,
        base=where.journal.runs,
    )
    return _of_eval(made, unit, where)


_MEASURES: dict[Measure, Callable[[Unit, Measuring], Awaitable[_Found]]] = {
    "canary": _canary,
    "speed": _speed,
    "users": _users,
    "context": _context,
    "answers": _answers,
}


def load_of(asked: UsersAsked) -> Load:
    """Users of a profile are people, who read and think; without one they ask as soon as they are answered."""
    if asked.profile is None:
        return Load(
            users=asked.counts,
            prompts=asked.prompts,
            prompt_tokens=asked.prompt_tokens,
            output_tokens=asked.output_tokens,
        )
    who = profile_called(asked.profile)
    return Load(
        users=asked.counts,
        people=True,
        prompts=asked.prompts,
        prompt_tokens=who.prompt_tokens,
        output_tokens=who.output_tokens,
        think_s=who.think_s,
        profile=who.name,
        limits=Limits(ttft_ms=1000 * who.ttft_limit_s, tpot_ms=who.tpot_limit_ms),
    )


def _seed(where: Measuring) -> int:
    """The same prompts for all layouts of a block, others in the next one."""
    return where.campaign.seed * 1000 + where.visit.block


def _options(where: Measuring) -> bench_users.Options:
    return bench_users.Options(api_key_env=where.contestant.api_key_env, base=where.journal.runs, eyes=where.eyes)


# ---- going on


async def _gone_on_with(unit: Unit, cut: Path, where: Measuring) -> _Found | None:
    """The unit in the run in which it was cut; None where it has to be begun anew, the old run being set aside."""
    goes_on: dict[Measure, Callable[[], Awaitable[_Found]]] = {
        "users": lambda: _users_again(cut, where),
        "answers": lambda: _eval_again(cut, unit, where),
        "canary": lambda: _eval_again(cut, unit, where),
    }
    try:
        if (whole := _whole(cut)) is not None:
            return whole
        if unit.measure in goes_on:
            return await goes_on[unit.measure]()
    except (ConfigurationError, CannotRun) as error:
        _require_room(where, error)
    where.journal.set_aside(cut)
    return None


def _whole(cut: Path) -> _Found | None:
    """What was measured to its end, and cut only before that was told. Answers are looked at again: none is missing."""
    _, summary = open_head(cut)
    stage = summary.stages[0] if summary is not None and summary.partial is None and summary.stages else None
    result = stage and (stage.speed or stage.users or stage.context)
    return _Found(path=cut, partial=None, validity=result.validity) if result else None


async def _users_again(cut: Path, where: Measuring) -> _Found:
    ears = bench_users.Ears(report=where.report)
    return _of_users(await bench_users.resumed(str(cut), where.target, _options(where), ears, force=False))


async def _eval_again(cut: Path, unit: Unit, where: Measuring) -> _Found:
    made = await evals.resume(str(cut), api_key_env=where.contestant.api_key_env, report=where.report)
    return _of_eval(made, unit, where)


def _of_users(made: bench_users.Measured) -> _Found:
    return _Found(path=made.path, partial=made.result.partial, validity=made.result.validity)


def _of_eval(made: evals.Evaluated, unit: Unit, where: Measuring) -> _Found:
    why = None
    if unit.measure == CANARY and made.result.partial is None:
        why = campaign_canary.parted(where.journal, unit.id, made.path)
    return _Found(path=made.path, partial=made.result.partial, validity=made.result.validity, why=why)


def told(error: EvenerError) -> str:
    return f"{error.message} ({error.hint})" if error.hint else error.message
