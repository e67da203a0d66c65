"""`evener judge`: a model labels answers of finished evaluations. Asks before anything leaves the house; asks once."""

from __future__ import annotations

import asyncio
import json
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from evener import state
from evener.api import eval_runs, evals, judge_door, measure
from evener.api.judge_door import Door
from evener.edges import chat, run_folder
from evener.edges.run_folder import RunData, RunFolder
from evener.edges.writing import write_whole, writing
from evener.errors import CannotRun, ConfigurationError, Interrupted
from evener.evals import suites
from evener.evals.judging import counting, everybody, families, labels, scores, talking, tasks
from evener.evals.judging.talking import Api, Judge
from evener.evals.judging.tasks import Task
from evener.ports import Chat, ChatReply, Report
from evener.records.answers import Answer, Judgement
from evener.records.evaluation import EvalAsked
from evener.records.events import Progress
from evener.records.judging import JudgeResult
from evener.records.questions import Question
from evener.report.words import model_file
from evener.together import together

ATTEMPTS = 3
PAUSE_S = 2.0
LONGEST_PAUSE_S = 60.0  # whatever a busy judge asks for
CHARACTERS_PER_TOKEN = 3.0  # of ASCII, for a rough count before anything is sent, rather too many than too few
TOKENS_PER_OTHER = 1.5  # characters: Chinese takes about one each, rare ones two or three


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeAsked:
    """Who judges, and how. `by` is a URL or a deployment of ours; `model` None is what a server at home serves.

    `api_key_env` names a variable; the key is never kept. Prices are per million tokens.
    """

    by: str
    model: str | None = None
    api: Api = "openai"
    api_key_env: str | None = None
    most_tokens: int = 1024
    temperature: float = 0.0
    parallel: int = 2
    probes: int = 12
    related: bool = False  # judge its own family all the same, and be marked for it
    timeout_s: float = 300.0
    price_in: float | None = None
    price_out: float | None = None
    suites: tuple[str, ...] = ()  # whose answers it sees, as the evaluation was asked for them; () for all
    extra: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaving:
    """What would be sent where. Token counts are rough; `cost` None without prices."""

    host: str
    requests: int
    tokens: int
    cost: float | None
    at_home: bool  # a deployment of ours, this machine, or a private network


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    data: RunData
    asked: EvalAsked
    questions: dict[str, Question]
    answers: tuple[Answer, ...]
    model: str | None


async def judge(
    named: Sequence[str],
    asked: JudgeAsked,
    *,
    agree: Callable[[Leaving], bool],
    report: Report,
    base: Path | None = None,
) -> JudgeResult:
    """Judge the answers of one run, or those of two against each other. Judgements are kept in the (first) run.

    `agree` is asked once, before anything is sent. Raises ConfigurationError when there is nothing to judge, the judge
    is of a candidate's own family, its key is missing, or `agree` says no; HostBusy while another session judges this
    run, or goes on with it.
    """
    runs = [_open(name, base, asked.suites) for name in named]
    run_folder.require_different(run.data.path for run in runs)
    with run_folder.alone(runs[0].data.path):
        return await _judged(runs, asked, agree, report)


async def _judged(
    runs: Sequence[_Run], asked: JudgeAsked, agree: Callable[[Leaving], bool], report: Report
) -> JudgeResult:
    door = await judge_door.door(
        asked.by, model=asked.model, api=asked.api, api_key_env=asked.api_key_env, parallel=asked.parallel
    )
    marks = _relations(door, runs, wanted=asked.related)
    judge_ = Judge(
        provider=door.url.host,
        url=str(door.url),
        model=door.model,
        api=asked.api,
        parameters={"temperature": asked.temperature, "max_tokens": asked.most_tokens} | asked.extra,
    )
    todo = _todo(runs)
    if not todo:
        raise _nothing(runs)
    todo += tasks.retests(todo, most=asked.probes)
    todo += tasks.probes(suites.shipped("restraint").questions, most=asked.probes, judge=door.model)
    leaving = _leaving(door, judge_, [task for task in todo if _cached(judge_, task) is None], asked)
    if leaving.requests and not agree(leaving):
        raise ConfigurationError("nothing was sent", hint="--yes agrees beforehand")
    session = _Session(
        judge=judge_, asked=asked, folder=RunFolder.beside(runs[0].data.path), report=report, of=len(todo)
    )
    before = run_folder.read_judgements(runs[0].data.path)
    session.written = {repr(replace(one, at=_ANY_TIME)) for one in before}
    partial = await _all(session, door, todo)
    return _result(session, runs, marks, partial)


def _open(name: str, base: Path | None, wanted: Sequence[str]) -> _Run:
    data = run_folder.open_run(run_folder.find_run(base or state.runs_folder(), name))
    asked = evals.asked_of(data)
    result = eval_runs.result_of(data)
    suites_ = zip(asked.suites, evals.questions_of(data), strict=True)
    seen = {q.id for called, suite in suites_ if {called, suite.name} & set(wanted) for q in suite.questions}
    return _Run(
        data=data,
        asked=asked,
        questions=eval_runs.questions_of(data),
        answers=tuple(a for a in eval_runs.single_answers(data) if not wanted or a.asked.question in seen),
        model=result.model if result else eval_runs.served(data),
    )


def _relations(door: Door, runs: Sequence[_Run], *, wanted: bool) -> list[str]:
    """What must be said of judge and candidates. Raises ConfigurationError for relatives, unless they are wanted."""
    marks = []
    for run in runs:
        for name in dict.fromkeys(name for name in (run.model, run.asked.candidate) if name):
            relative = next((mine for mine in door.names if families.is_related(mine, name)), None)
            if relative and not wanted:
                raise ConfigurationError(
                    f"{model_file(relative)} would judge {model_file(name)}, a relative",
                    hint="another judge, or --related and be marked",
                )
            if relative:
                marks.append(f"judges its own family: {model_file(name)}")
    known = any(families.family(mine) is not None for mine in door.names)
    return list(dict.fromkeys(marks)) + ([] if known else [f"nobody here knows the family of {model_file(door.model)}"])


def _called(model: str, runs: Sequence[_Run]) -> list[str]:
    """What must be said once the replies have told whose they are."""
    names = dict.fromkeys(name for run in runs for name in (run.model, run.asked.candidate) if name)
    return [f"judges its own family: {model_file(name)}" for name in names if families.is_related(model, name)]


def _todo(runs: Sequence[_Run]) -> list[Task]:
    first = runs[0]
    if len(runs) == 1:
        alone = [tasks.alone(first.questions[a.asked.question], a) for a in first.answers]
        return [task for task in alone if task is not None]
    theirs = {(a.asked.question, a.asked.epoch): a for a in runs[1].answers}
    found: list[Task] = []
    for answer in first.answers:
        other = theirs.get((answer.asked.question, answer.asked.epoch))
        question = first.questions[answer.asked.question]
        if other is not None and question == runs[1].questions.get(question.id):
            found += tasks.pair(question, answer, other) or ()
    return found


def _nothing(runs: Sequence[_Run]) -> ConfigurationError:
    """Why nobody is asked: no question needs a judge, or no answer to one that does says anything about the model."""
    first = runs[0]
    mine = [a for a in first.answers if len(runs) > 1 or first.questions[a.asked.question].scoring in scores.NEEDS]
    lost = Counter(why for answer in mine if (why := scores.no_evidence(answer)) is not None)
    if lost:
        told = ", ".join(f"{n} {why.replace('_', ' ')}" for why, n in lost.most_common())
        return ConfigurationError(
            f"none of the {len(mine)} answers to be judged is evidence about the model: {told}",
            hint=f"evener report {first.data.path.name}",
        )
    return ConfigurationError(
        "nothing here needs a judge: code scores all of it",
        hint="translations, rubrics, or two runs to be compared: evener judge RUN RUN",
    )


def _leaving(door: Door, judge: Judge, todo: Sequence[Task], asked: JudgeAsked) -> Leaving:
    tokens = round(sum(_tokens(task.text) for task in todo))
    cost = None
    if asked.price_in is not None and asked.price_out is not None:
        cost = (tokens * asked.price_in + len(todo) * asked.most_tokens * asked.price_out) / 1e6
    return Leaving(host=door.url.host, requests=len(todo), tokens=tokens, cost=cost, at_home=door.at_home)


def _tokens(text: str) -> float:
    plain = sum(character.isascii() for character in text)
    return plain / CHARACTERS_PER_TOKEN + (len(text) - plain) * TOKENS_PER_OTHER


_ANY_TIME = datetime.min.replace(tzinfo=UTC)


@dataclass(kw_only=True)
class _Session:
    """One sitting of a judge: what it has said, and what that took."""

    judge: Judge
    asked: JudgeAsked
    folder: RunFolder
    report: Report
    of: int
    judgements: list[Judgement] = field(default_factory=list)
    requests: int = 0
    from_cache: int = 0
    refused: int = 0
    written: set[str] = field(default_factory=set)  # what the run holds: a second sitting's cache adds nothing to it

    def keep(self, judgement: Judgement) -> None:
        what = repr(replace(judgement, at=_ANY_TIME))
        if what not in self.written or judgement.probe == "retest":
            self.folder.judgement(judgement)
        self.written.add(what)
        self.judgements.append(judgement)
        self.report(Progress(what="judging", done=len(self.judgements), of=self.of))


async def _all(session: _Session, door: Door, todo: Sequence[Task]) -> str | None:
    """Judge everything; why not all of it, where that is so."""
    left = deque(todo)
    headers, path = _headers(session.judge, door.key), talking.PATHS[session.judge.api]
    async with chat.chat(str(door.url), headers=headers, path=path) as line:

        async def one_after_the_other() -> None:
            while left:
                session.keep(await _judge(session, line, left.popleft()))

        try:
            await together(one_after_the_other() for _ in range(door.parallel))
        except asyncio.CancelledError:
            measure.not_cancelled()
            return measure.INTERRUPTED
        except CannotRun as error:
            if not session.judgements:
                raise
            return error.message
    return None


def _headers(judge: Judge, key: str | None) -> dict[str, str]:
    if judge.api == "anthropic":
        return {"anthropic-version": talking.ANTHROPIC_VERSION} | ({"x-api-key": key} if key else {})
    return {"Authorization": f"Bearer {key}"} if key else {}


async def _judge(session: _Session, line: Chat, task: Task) -> Judgement:
    kept = None if task.probe == "retest" else _cached(session.judge, task)
    if kept is not None:
        session.from_cache += 1
        return talking.judgement(session.judge, task, kept)
    for attempt in range(1, ATTEMPTS + 1):
        reply = await line.ask(talking.request(session.judge, task), within_s=session.asked.timeout_s)
        session.requests += 1
        if attempt == ATTEMPTS or (reply.ending == "complete" and reply.status not in (429, 500, 502, 503, 529)):
            break
        await asyncio.sleep(min(LONGEST_PAUSE_S, reply.retry_after_s or PAUSE_S * 2 ** (attempt - 1)))
    found = talking.judgement(session.judge, task, reply)
    if found.outcome == "judge_error":
        session.refused += 1
        if session.refused == len(session.judgements) + 1 and session.refused > 2:
            raise CannotRun(f"the judge answers nothing: {found.details.get('why', reply.detail)}")
    elif task.probe != "retest":
        _remember(session.judge, task, reply)
    return found


def _place(judge: Judge, task: Task) -> Path:
    key = talking.cache_key(judge, task)
    return state.state_folder() / "judgements" / key[:2] / f"{key}.json"


def _cached(judge: Judge, task: Task) -> ChatReply | None:
    if task.probe == "retest":
        return None
    try:
        data = json.loads(_place(judge, task).read_text(encoding="utf-8"))
        return ChatReply(ending="complete", status=200, seconds=float(data["seconds"]), body=str(data["body"]).encode())
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _remember(judge: Judge, task: Task, reply: ChatReply) -> None:
    place = _place(judge, task)
    with writing(place):
        place.parent.mkdir(parents=True, exist_ok=True)
    write_whole(place, json.dumps({"seconds": reply.seconds, "body": reply.body.decode(errors="replace")}))


def _result(session: _Session, runs: Sequence[_Run], marks: list[str], partial: str | None) -> JudgeResult:
    judgements = session.judgements
    if not judgements:
        raise Interrupted("interrupted before the judge had answered")
    # What the replies call it: an error calls it what it was asked as.
    identity = next((one.judge for one in judgements if one.outcome != "judge_error"), judgements[0].judge)
    questions = {name: question for run in runs for name, question in run.questions.items()}
    clusters = {name: question.cluster for name, question in questions.items()}
    path = runs[0].data.path
    house = everybody.everybody(run_folder.read_judgements(path), run_folder.read_reviews(path), clusters)
    name = labels.name_in(house.judges, identity)
    found = house.passport(name, judgements)
    against = (*everybody.unread_marks(judgements), *everybody.passport_marks(found))
    return JudgeResult(
        judge=identity,
        asked=session.requests,
        from_cache=session.from_cache,
        unparseable=sum(one.outcome == "judge_unparseable" for one in judgements),
        failed=sum(one.outcome == "judge_error" for one in judgements),
        tokens=_sum([one.tokens for one in judgements]),
        seconds=sum(one.seconds or 0.0 for one in judgements),
        mqm=counting.mqm_results(questions, judgements),
        rubric=counting.rubric_results(judgements, clusters),
        pairs=counting.pair_results(judgements, clusters),
        passport=found,
        marks=tuple(dict.fromkeys((*marks, *_called(identity.model, runs), *against))),
        corrected=house.corrections(name),
        majority=house.majority,
        together=house.together,
        partial=partial,
        notes=("no two judges are equivalent: compare candidates judged by the same one only",),
    )


def _sum(values: Sequence[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None
