"""`evener eval`: put suites to a server, score what comes back, keep all of it. Wires `evals` with the real edges."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from evener import __version__, state
from evener.api import measure
from evener.api.suites import open_suite, own_path
from evener.bench.load import LIMITS, Load, optional_fields
from evener.bench.probe import Server, probe
from evener.codec import from_data, to_data
from evener.edges import chat, run_folder, sandbox
from evener.edges.run_folder import RunData, RunFolder
from evener.errors import CannotRun, ConfigurationError, HostError
from evener.evals import arms, asking, canary, suites, tally
from evener.evals.scoring import any as scoring
from evener.evals.scoring import checks, declining, patterns
from evener.ports import Chat, Report, Sandbox
from evener.records.answers import NO_REPLY, Answer, Arm, Asked, Score
from evener.records.conditions import Conditions
from evener.records.evaluation import EvalAsked, EvalResult, SuiteResult
from evener.records.events import Progress
from evener.records.questions import Suite
from evener.records.run import Stage, Summary
from evener.report.evals_rows import TRUNCATED_FROM, named

__all__ = ["EvalAsked", "Evaluated", "evaluate", "resume"]

ASKED = "eval asked"  # the fact that holds what was asked
MOST_CONTAMINATED = 0.5  # of the answers; with more, figures of a model that does not think do not exist


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluated:
    """The answer, what it holds for, and the run folder."""

    result: EvalResult
    conditions: Conditions
    path: Path


@dataclass(kw_only=True)
class _Work:
    """One evaluation as it goes on."""

    asked: EvalAsked
    suites: tuple[Suite, ...]
    folder: RunFolder
    server: Server
    manner: asking.Manner
    report: Report
    answers: list[Answer] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def keep(self, answer: Answer) -> None:
        self.folder.answer(answer)
        self.answers.append(answer)


async def evaluate(
    named: str | None,
    asked: EvalAsked,
    *,
    api_key_env: str | None = None,
    extra: dict[str, Any] | None = None,
    report: Report,
    base: Path | None = None,
) -> Evaluated:
    """Ask `named` (a URL or a deployment) what `asked` wants, into a new run folder.

    `asked.parallel` 0 is as many as the server has slots, and never more are used. When the caller is cancelled
    (Ctrl-C) or the server goes away, what was answered is scored, saved and returned with `result.partial`.
    """
    chosen_ = chosen(asked)
    asking.require_own_fields(extra or {})
    target = measure.target(named, api_key_env=api_key_env)
    server = await _server(target, asked, report)
    asked = replace(
        asked,
        candidate=asked.candidate or target.name,
        suites=tuple(own_path(name) for name in asked.suites),
        sha256=tuple(one.sha256 for one in chosen_),
        parallel=_parallel(asked.parallel, server),
    )
    conditions = measure.as_known(_conditions(server, asked), target)
    folder = measure.new_folder("eval", conditions, base=base)
    folder.suites(chosen_)
    folder.fact(ASKED, to_data(asked) | {"target": named, "extra": extra or {}, "served": server.model})
    work = _Work(
        asked=asked,
        suites=chosen_,
        folder=folder,
        server=server,
        manner=_manner(asked, server, extra or {}),
        report=report,
    )
    with run_folder.alone(folder.path):
        return await _to_its_end(work, target, conditions)


async def resume(run: str, *, api_key_env: str | None = None, report: Report, base: Path | None = None) -> Evaluated:
    """Go on with an evaluation that was cut short: what was answered is not asked again.

    Raises ConfigurationError when a suite has changed since, or the run is none of ours.
    """
    path = run_folder.find_run(base or state.runs_folder(), run)
    with run_folder.alone(path):
        return await _resumed(path, api_key_env, report)


async def _resumed(path: Path, api_key_env: str | None, report: Report) -> Evaluated:
    data = run_folder.open_run(path)
    fact, asked = _fact(data), asked_of(data)
    run_folder.read_answers(path)  # a file that cannot be read ends it here, before anything is changed
    chosen_ = questions_of(data)
    target = measure.target(fact.get("target"), api_key_env=api_key_env)
    server = await _server(target, asked, report)
    _require_served(fact.get("served"), server, path.name)
    asked = replace(asked, parallel=_parallel(asked.parallel, server))
    folder = RunFolder.reopen(data)
    work = _Work(
        asked=asked,
        suites=chosen_,
        folder=folder,
        server=server,
        manner=_manner(asked, server, fact.get("extra") or {}),
        report=report,
        answers=_latest(run_folder.read_answers(path)),  # what stays: a line without its end has been cut off
    )
    work.folder.fact("eval resumed", {"answered": len(work.answers)})
    return await _to_its_end(work, target, data.run.conditions)


def _require_served(was: str | None, server: Server, run: str) -> None:
    """Answers of two models in one run would be nobody's. Raises ConfigurationError."""
    if was is not None and server.model is not None and server.model != was:
        raise ConfigurationError(
            f"{run} asked {was}, and {server.url} now serves {server.model}",
            hint="serve what was asked before, or begin a run of its own",
        )


def _latest(answers: Sequence[Answer]) -> list[Answer]:
    """What was asked again after an outage counts once, as it was answered last."""
    return list({answer.asked: answer for answer in answers}.values())


def asked_of(data: RunData) -> EvalAsked:
    """What an evaluation was begun with. Raises ConfigurationError for a run of something else."""
    return from_data(EvalAsked, _fact(data), source=str(data.path))


def _fact(data: RunData) -> dict[str, Any]:
    fact = next((fact.data for fact in data.facts if fact.kind == ASKED), None)
    if fact is None:
        raise ConfigurationError(f"{data.path.name} is no evaluation", hint="evener runs --all --what eval")
    return fact


def questions_of(data: RunData) -> tuple[Suite, ...]:
    """The questions of a run, as they were asked; of a run that kept none, what its suites hold now.

    Raises ConfigurationError for a run of something else, or when those suites have changed since.
    """
    asked = asked_of(data)
    return run_folder.read_suites(data.path) or chosen(asked)


def chosen(asked: EvalAsked) -> tuple[Suite, ...]:
    """The questions that were asked for. Raises ConfigurationError when they are others than the run was begun with."""
    read = [
        suites.select(open_suite(name), quick=asked.quick, categories=asked.categories, most=asked.most)
        for name in asked.suites
    ]
    _require_own_ids(read)
    if "vote" in asked.arms:
        arms.require_votes([q for one in read for q in one.questions], temperature=asked.temperature)
    if changed := [one.name for one, was in zip(read, asked.sha256, strict=False) if one.sha256 != was]:
        raise ConfigurationError(
            f"{changed[0]}: its questions are others than this run was begun with",
            hint="put the file back as it was, or the evener that asked; scores are kept: evener verdict compares them",
        )
    return tuple(read)


def _require_own_ids(read: Sequence[Suite]) -> None:
    """Answers are kept by the id of their question: two suites of one run must not share one."""
    of: dict[str, str] = {}
    for suite in read:
        for question in suite.questions:
            if question.id in of:
                raise ConfigurationError(
                    f"{suite.name} and {of[question.id]} both have a question {question.id!r}",
                    hint="ask them in two runs, or give the questions ids of their own",
                )
            of[question.id] = suite.name


async def _server(target: measure.Target, asked: EvalAsked, report: Report) -> Server:
    report(Progress(what="asking the server"))
    server = await probe(target.url, Load(users=(1,), model=asked.model), api_key=target.api_key)
    report(Progress(what="asking the server", done=1, of=1))
    return server


def _parallel(wanted: int, server: Server) -> int:
    """Never more than the server has slots; one where nobody says how many it has and nobody asked for more."""
    if server.slots is None:
        return wanted or 1
    return min(wanted or server.slots, server.slots)


def _manner(asked: EvalAsked, server: Server, extra: dict[str, Any]) -> asking.Manner:
    optional = optional_fields(Load(users=(1,)))
    refused = {name for name in (*optional, *LIMITS) if name in optional and name not in server.fields}
    return asking.Manner(
        model=server.model,
        temperature=asked.temperature,
        most_tokens=asked.most_tokens,
        seed=asked.seed,
        thinking=asked.thinking,
        timeout_s=asked.timeout_s,
        back_within_s=asked.back_within_s,
        parallel=asked.parallel,
        extra=extra,
        refused=frozenset(refused),
    )


def _conditions(server: Server, asked: EvalAsked) -> Conditions:
    return Conditions(
        quantisation=server.quantisation,
        context=server.context,
        users=asked.parallel,
        thinking_asked={True: "on", False: "off", None: "left to the model"}[asked.thinking],
        thinking_observed=server.thinking,
        sampling={"temperature": asked.temperature, "seed": asked.seed, "max_tokens": asked.most_tokens},
        client=f"evener {__version__}, whole answers",
        evener=__version__,
    )


async def _to_its_end(work: _Work, target: measure.Target, conditions: Conditions) -> Evaluated:
    partial: str | None = None
    headers = {"Authorization": f"Bearer {target.api_key}"} if target.api_key else None
    try:
        async with chat.chat(str(target.url), headers=headers) as endpoint:
            for arm in sorted(work.asked.arms, key=lambda arm: arm != "single"):
                await _ask_arm(work, endpoint, arm)
    except asyncio.CancelledError:
        measure.not_cancelled()
        partial = measure.INTERRUPTED
    except CannotRun as error:
        if not work.answers:
            raise
        partial = error.message
    work.answers[:] = _latest(work.answers)
    result = await _result(work, str(target.url), partial)
    work.folder.fact("eval measured", {"validity": result.validity, "partial": partial})
    stage = Stage(layout=result.candidate, evaluation=result)
    work.folder.finish(Summary(ended_at=datetime.now(UTC), stages=(stage,), partial=partial))
    return Evaluated(result=result, conditions=conditions, path=work.folder.path)


async def _ask_arm(work: _Work, endpoint: Chat, arm: Arm) -> None:
    """What this arm still lacks. A reflection is only on drafts that are answers."""
    questions = {q.id: q for one in work.suites for q in one.questions}
    have = {answer.asked: answer for answer in work.answers if answer.is_final}
    wanted = asking.wanted(
        list(questions.values()), candidate=work.asked.candidate, epochs=work.asked.epochs, arm=arm, k=work.asked.k
    )
    drafts = {asked: have.get(replace(asked, arm="single", sample=0)) for asked in wanted if arm == "reflection"}
    todo = [
        asked
        for asked in wanted
        if asked not in have and (arm != "reflection" or ((draft := drafts[asked]) is not None and draft.text))
    ]

    def turns(asked: Asked) -> list[dict[str, Any]]:
        draft = drafts.get(asked)
        return arms.reflection_turns(draft) if draft is not None else []

    await asking.ask_all(
        endpoint,
        questions,
        todo,
        work.manner,
        keep=work.keep,
        report=work.report,
        what=f"asking ({arm})",
        turns=turns,
        has_answered=any(answer.outcome not in NO_REPLY for answer in work.answers),
    )


async def _result(work: _Work, url: str, partial: str | None) -> EvalResult:
    box = await _box(work)
    results: list[SuiteResult] = []
    for one in work.suites:
        single: Sequence[Score] | None = None
        for arm in sorted(work.asked.arms, key=lambda arm: arm != "single"):
            found, scores = await _suite_result(work, one, arm, box, single)
            single = scores if arm == "single" else single
            results.append(found)
    return EvalResult(
        candidate=work.asked.candidate,
        url=url,
        model=work.server.model,
        results=tuple(results),
        temperature=work.asked.temperature,
        seed=work.asked.seed,
        epochs=work.asked.epochs,
        parallel=work.asked.parallel,
        most_tokens=work.asked.most_tokens,
        thinking_asked=work.asked.thinking,
        validity=_validity(results, work.asked),
        partial=partial,
        notes=(*work.notes, *_notes(results, work)),
    )


async def _box(work: _Work) -> Sandbox | None:
    """A sandbox where a question needs one; without it such questions stay unscored, and it is said."""
    if not any(q.scoring in ("tests", "fill") for one in work.suites for q in one.questions):
        return None
    try:
        return await sandbox.open_sandbox()
    except HostError as error:
        work.notes.append(f"{error.message}: answers that are code stay unscored ({error.hint})")
        return None


async def _suite_result(
    work: _Work, one: Suite, arm: Arm, box: Sandbox | None, single: Sequence[Score] | None
) -> tuple[SuiteResult, list[Score]]:
    """What an arm came to, and the scores that it rests on."""
    questions = {q.id: q for q in one.questions}
    used, ties = arms.used(arm, questions, work.answers, k=work.asked.k)
    what = f"scoring {one.name}" + ("" if arm == "single" else f" ({arm})")
    scores = [Score(asked=tied, scorer=one.name, value=None, why="no majority") for tied in ties]
    for done, answer in enumerate(used, start=1):
        scores.append(await scoring.score(questions[answer.asked.question], answer, sandbox=box))
        work.report(Progress(what=what, done=done, of=len(used)))
    work.notes += [note for note in _pattern_notes(scores) if note not in work.notes]
    found = tally.tally(
        one, used, scores, arm=arm, epochs=work.asked.epochs, asked=len(questions) * work.asked.epochs, single=single
    )
    if arm == "vote":
        found = _with_ties(found, [a for a in work.answers if a.asked.question in questions])
    return found, scores


def _pattern_notes(scores: Sequence[Score]) -> Iterator[str]:
    """Each pattern of a suite that ran out of time, once."""
    slow = {score.details["pattern"]: score.asked.question for score in scores if score.why == checks.SLOW_PATTERN}
    yield from (
        f"{name}: its pattern {pattern!r} takes longer than {patterns.CPU_S} s on an answer, which stays unscored"
        for pattern, name in slow.items()
    )


def _with_ties(found: SuiteResult, answers: Sequence[Answer]) -> SuiteResult:
    """A vote's price is that of all its answers, also where nobody won."""
    spent = [answer for answer in answers if answer.asked.arm in ("single", "vote")]
    known = [answer.tokens for answer in spent if answer.tokens is not None]
    tokens = sum(known) if len(known) == len(spent) else None
    return replace(found, tokens=tokens, seconds=sum(answer.seconds for answer in spent))


def _validity(results: Sequence[SuiteResult], asked: EvalAsked) -> str:
    thought = max((r.thought or 0.0 for r in results), default=0.0)
    if asked.thinking is False and thought > MOST_CONTAMINATED:
        return f"thinking was asked to be off and {thought:.0%} of the answers show it"
    if results and not any(r.answered for r in results):
        return "no question was answered"
    return "valid"


def _notes(results: Sequence[SuiteResult], work: _Work) -> list[str]:
    notes = []
    for result in results:
        if result.suite != canary.SUITE and (result.truncated or 0.0) >= TRUNCATED_FROM:
            notes.append(
                f"{named(result)}: {result.truncated:.0%} of the answers were cut short at {work.asked.most_tokens} "
                "tokens and are not scored: --max-tokens"
            )
    if any((told := result.measures.get("abstain_recall")) and told.value is not None for result in results):
        notes.append(declining.MEASURED)
    notes += _prompt_notes(work.answers)
    if cached := sum(bool(answer.cached_tokens) for answer in work.answers):
        notes.append(f"part of the prompt came from a cache in {cached} of {len(work.answers)} answers")
    if work.server.slots is None:
        notes.append("the server does not say how many it serves at once")
    return notes


def _prompt_notes(answers: Sequence[Answer]) -> Iterator[str]:
    """Whether the server read all that it was sent."""
    if cut := [answer for answer in answers if answer.outcome == "prompt_cut"]:
        yield (
            f"the server cut {len(cut)} of {len(answers)} prompts short without a word ({cut[0].detail}); their "
            "answers are not scored: give it a longer context"
        )
    counted = [a for a in answers if a.outcome not in NO_REPLY]
    if counted and not any(a.prompt_tokens is not None and a.prompt_tokens_sent is not None for a in counted):
        yield "whether prompts were cut short without a word is not known: the server has no tokenizer to ask"
