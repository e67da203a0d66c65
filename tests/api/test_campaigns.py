"""Campaigns over real HTTP on a server that runs already: made, stopped, gone on with, paid for, told."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from evener.api import campaign_folder, campaign_reports, campaigns
from evener.api.bench_eyes import Eyes
from evener.api.campaign_data import read
from evener.api.campaigns import Ended, Wishes
from evener.api.rig import Rig
from evener.config import this_machine
from evener.edges import run_folder
from evener.errors import ConfigurationError, HostBusy, HostError, Interrupted, NameUnknown, RunUnreadable
from evener.records.campaign import (
    AnswersAsked,
    Campaign,
    Contestant,
    ContextAsked,
    JudgeAsked,
    Measure,
    Notify,
    Schedule,
    SpeedAsked,
    Unit,
    UsersAsked,
    Visit,
)
from evener.records.card import Scan
from evener.testing.fake_engine import FakeEngine, fake_engine
from tests.evals.scripted import Scripted, scripted

QUICKLY = Wishes(eyes=Eyes(watch=False, check_client=False))
EVERYTHING: tuple[Measure, ...] = ("speed", "users", "context", "answers")
NOBODY_LOOKED = Scan(taken_at=datetime(2026, 12, 1, tzinfo=UTC), hosts=(), devices=())
SUITE = "\n".join(
    json.dumps(
        {
            "id": f"q{i}",
            "cluster": f"q{i}",
            "category": "fact",
            "prompt": f"number {i}?",
            "scoring": "match",
            "references": [f"answer {i}"],
            "source": "a test",
        }
    )
    for i in range(6)
)


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("EVENER_STATE", str(tmp_path / "state"))
    monkeypatch.delenv("EVENER_RIG", raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "suite.jsonl").write_text(SUITE)
    return tmp_path


@pytest.fixture
async def server() -> AsyncIterator[FakeEngine]:
    async with fake_engine(FakeEngine(itl_s=0.001, ttft_s=0.005, says=lambda _text: "answer 1")) as engine:
        yield engine


def campaign_of(server: FakeEngine | Scripted, *names: str, **more: Any) -> Campaign:
    fields: dict[str, Any] = {
        "name": "ours",
        "contestants": tuple(Contestant(name=name, url=server.url) for name in names or ("a",)),
        "speed": SpeedAsked(prompts=(16,), outputs=(4,), repetitions=1),
        "users": (UsersAsked(counts=(1, 2), prompts=2, prompt_tokens=8, output_tokens=4),),
        "context": ContextAsked(lengths=(256,)),
        "answers": AnswersAsked(suites=(str(Path("suite.jsonl").resolve()),)),
        "path": str(Path("campaign.toml").resolve()),
    }
    return Campaign(**(fields | more))


def visit_of(contestant: str, *measures: Measure, block: int = 1, **more: Any) -> Visit:
    id_ = f"{contestant}/endpoint/{block}"
    fields: dict[str, Any] = {
        "id": id_,
        "contestant": contestant,
        "block": block,
        "role": "asked",
        "layout": None,
        "candidate": None,
        "cable": None,
        "context": 4096,
        "units": tuple(Unit(id=f"{id_}:{one}", measure=one, name=one) for one in measures or EVERYTHING),
    }
    return Visit(**(fields | more))


def begin(campaign: Campaign, *visits: Visit) -> Path:
    schedule = Schedule(visits=visits, fetches=(), minutes=None, disk_bytes=None)
    Path("campaign.toml").write_text("name = 'ours'\n")
    return campaigns.begin(campaign, schedule, text="name = 'ours'\n", rig=Rig(this_machine()), scan=NOBODY_LOOKED)


@dataclass
class Heard:
    """What a session says; `at` is called with each unit that begins."""

    messages: list[dict[str, Any]] = field(default_factory=list)
    at: Callable[[str], None] = lambda _unit: None

    def __call__(self, message: dict[str, Any]) -> None:
        self.messages.append(message)
        if message.get("fact", {}).get("kind") == "unit begun":
            self.at(message["fact"]["data"]["unit"])

    def kinds(self) -> list[str]:
        return [message["fact"]["kind"] for message in self.messages if "fact" in message]


async def made(path: Path, heard: Heard | None = None, wishes: Wishes = QUICKLY) -> Ended:
    return await campaigns.go_on(path, wishes, heard or Heard())


def runs_of(path: Path) -> list[str]:
    return sorted(one.name.split("-")[1] for one in (path / "runs").iterdir())


async def cut_at(path: Path, unit: str, *, after_s: float = 0.0) -> None:
    """Ctrl-C so many seconds after the unit has begun."""
    task = asyncio.ensure_future(made(path, heard := Heard()))
    loop = asyncio.get_running_loop()
    heard.at = lambda begun: loop.call_later(after_s, task.cancel) and None if begun == unit else None
    with pytest.raises(Interrupted, match="interrupted"):
        await task


# ---- all of it


async def test_a_campaign_measures_everything_that_was_asked_for(server: FakeEngine) -> None:
    path = begin(campaign_of(server), visit_of("a"))
    heard = Heard()
    ended = await made(path, heard)
    assert (ended.partial, ended.is_clean, ended.status.done, ended.status.state) == (None, True, 4, "complete")
    assert runs_of(path) == ["context", "eval", "speed", "users"]
    data = read(path).data
    assert {unit: data.units[unit].run.what for unit in data.units} == {
        "a/endpoint/1:speed": "speed",
        "a/endpoint/1:users": "users",
        "a/endpoint/1:context": "context",
        "a/endpoint/1:answers": "eval",
    }
    assert (data.ended_at is not None, data.partial, data.loads) == (True, None, {})
    assert heard.kinds().count("unit ended") == 4
    assert heard.messages[-1]["campaign"]["done"] == 4
    log = (path / "logs" / "visits" / "a_endpoint_1.log").read_text()
    assert "unit ended done: unit a/endpoint/1:answers" in log
    summary = (path / "summary.json").read_text()
    again = await made(path)
    assert (again.status.done, again.is_clean) == (4, True)
    assert (path / "summary.json").read_text() == summary
    assert len(runs_of(path)) == 4


async def test_prompts_are_the_same_for_all_of_a_block_and_others_in_the_next(server: FakeEngine) -> None:
    users = UsersAsked(counts=(1,), prompts=2, prompt_tokens=24, output_tokens=4)
    campaign = campaign_of(server, "a", "b", users=(users,))
    path = begin(campaign, *(visit_of(one, "users", block=block) for block in (1, 2) for one in "ab"))
    began: list[int] = []
    await made(path, Heard(at=lambda _unit: began.append(len(server.seen))))
    prompts = [seen.body["messages"][-1]["content"] for seen in server.seen]
    first, second, third, _ = (prompts[at:][:5] for at in began)
    assert first == second
    assert not set(first) & set(third)


async def test_what_does_not_fit_is_a_result_and_a_dead_server_fails_with_its_reason(server: FakeEngine) -> None:
    dead = Contestant(name="dead", url="http://127.0.0.1:9")
    campaign = campaign_of(server)
    campaign = replace(campaign, contestants=(*campaign.contestants, dead))
    big = visit_of("a", block=2, units=(), why_not="needs 90.0 GiB, the cards offer 69.0 GiB")
    path = begin(campaign, visit_of("dead", "speed", "users"), big, visit_of("a", "speed"))
    ended = await made(path)
    state = read(path).data.state
    assert not ended.is_clean
    assert (ended.status.failed, ended.status.done) == (2, 1)
    assert state.visit_ends["a/endpoint/2"].state == "does not fit"
    assert "90.0 GiB" in (state.visit_ends["a/endpoint/2"].why or "")
    assert state.visit_ends["dead/endpoint/1"].state == "failed"
    assert "127.0.0.1:9" in (state.ends["dead/endpoint/1:speed"].why or "")


async def test_a_defect_of_ours_ends_one_unit_and_not_the_night(
    server: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_args: object, **_kwargs: object) -> None:
        raise ZeroDivisionError("by nothing")

    monkeypatch.setattr("evener.api.bench_speed.speed", broken)
    path = begin(campaign_of(server), visit_of("a", "speed", "users"))
    ended = await made(path)
    end = read(path).data.state.ends["a/endpoint/1:speed"]
    assert (end.state, ended.status.done) == ("failed", 1)
    assert end.evidence[-1] == "ZeroDivisionError: by nothing"


# ---- going on


@pytest.mark.parametrize(("unit", "after_s"), [("speed", 0.2), ("users", 0.2), ("context", 0.2), ("answers", 0.0)])
async def test_a_campaign_goes_on_at_the_unit_that_was_cut(server: FakeEngine, unit: str, after_s: float) -> None:
    server.itl_s, server.ttft_s = 0.01, 0.05
    path = begin(campaign_of(server), visit_of("a"))
    await cut_at(path, f"a/endpoint/1:{unit}", after_s=after_s)
    before = campaigns.status(path)
    assert (before.state, before.unit, before.done) == ("stopped", f"a/endpoint/1:{unit}", EVERYTHING.index(unit))
    server.itl_s, server.ttft_s = 0.001, 0.005
    ended = await made(path)
    assert (ended.status.done, ended.status.failed, ended.is_clean) == (4, 0, True)
    assert runs_of(path) == ["context", "eval", "speed", "users"]
    facts = run_folder.open_run(path).facts
    ends = [fact.data["end"]["unit"] for fact in facts if fact.kind == "unit ended"]
    assert len(ends) == len(set(ends)) == 4
    assert [fact.kind for fact in facts].count("campaign resumed") == 1


async def test_answers_that_were_given_are_not_asked_for_again() -> None:
    async with scripted(Scripted(lambda _body: "answer 1", slots=1, slow_s=0.1)) as slow:
        path = begin(campaign_of(slow), visit_of("a", "answers"))
        await cut_at(path, "a/endpoint/1:answers", after_s=0.6)
        (run,) = (path / "runs").iterdir()
        before = run_folder.read_answers(run)
        assert 0 < len(before) < 6
        await made(path)
    assert list((path / "runs").iterdir()) == [run]
    assert run_folder.read_answers(run)[: len(before)] == before
    assert len(run_folder.read_answers(run)) == 6
    assert len(slow.asked) <= 7  # one may have been under way


async def test_a_run_that_cannot_be_gone_on_with_is_set_aside(server: FakeEngine) -> None:
    server.ttft_s = 0.1
    path = begin(campaign_of(server), visit_of("a", "users"))
    await cut_at(path, "a/endpoint/1:users", after_s=0.6)
    (run,) = (path / "runs").iterdir()
    server.model = "another"  # the server that answers now is not the one that was measured
    ended = await made(path)
    assert ended.status.done == 1
    assert [one.name for one in (path / "cut").iterdir()] == [run.name]
    assert len(runs_of(path)) == 1


def cut_before_its_end_was_told(path: Path) -> None:
    """The campaign as a kill leaves it between the end of its only measurement and the fact that says so."""
    (path / "summary.json").unlink()
    events = path / "events.jsonl"
    lines = events.read_text().splitlines(keepends=True)
    begun = next(i for i, line in enumerate(lines) if json.loads(line)["kind"] == "unit begun")
    events.write_text("".join(lines[: begun + 1]))


@pytest.mark.parametrize("measure", EVERYTHING)
async def test_what_was_whole_before_its_end_was_told_is_not_measured_again(
    server: FakeEngine, measure: Measure
) -> None:
    path = begin(campaign_of(server), visit_of("a", measure))
    await made(path)
    (run,) = (path / "runs").iterdir()
    kept = {name: (run / name).read_bytes() for name in ("requests.jsonl", "answers.jsonl") if (run / name).exists()}
    cut_before_its_end_was_told(path)
    ended = await made(path)
    assert (ended.status.done, ended.is_clean) == (1, True)
    assert list((path / "runs").iterdir()) == [run]
    assert not (path / "cut").exists()
    assert kept
    assert {name: (run / name).read_bytes() for name in kept} == kept


async def test_levels_that_were_all_measured_are_only_summed_up(server: FakeEngine) -> None:
    path = begin(campaign_of(server), visit_of("a", "users"))
    await made(path)
    (run,) = (path / "runs").iterdir()
    kept = (run / "requests.jsonl").read_bytes()
    (run / "summary.json").unlink()
    cut_before_its_end_was_told(path)
    ended = await made(path)
    assert (ended.status.done, ended.is_clean) == (1, True)
    assert list((path / "runs").iterdir()) == [run]
    assert (run / "requests.jsonl").read_bytes() == kept
    summary = run_folder.open_run(run).summary
    assert summary is not None
    (stage,) = summary.stages
    assert stage.users is not None
    assert [(one.users, one.requests.completed) for one in stage.users.levels] == [(1, 2), (2, 2)]


async def test_half_a_last_line_of_the_journal_is_what_a_crash_leaves(server: FakeEngine) -> None:
    path = begin(campaign_of(server), visit_of("a", "speed", "users"))
    await cut_at(path, "a/endpoint/1:users")
    with (path / "events.jsonl").open("a") as file:
        file.write('{"sequence": 99, "at": "2026-12-0')
    assert campaigns.status(path).done == 1
    ended = await made(path)
    assert ended.status.done == 2
    assert all(json.loads(line) for line in (path / "events.jsonl").read_text().splitlines())


async def test_a_second_session_is_refused_by_name(server: FakeEngine) -> None:
    path = begin(campaign_of(server), visit_of("a", "speed"))
    with run_folder.alone(path):
        assert campaigns.status(path).state == "running"
        with pytest.raises(HostBusy, match=path.name):
            await made(path)
    assert campaigns.status(path).state == "stopped"


async def test_a_full_disk_stops_the_campaign_and_it_goes_on_when_there_is_room(
    server: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = begin(campaign_of(server), visit_of("a", "speed", "users"))

    def full(*_args: object, **_kwargs: object) -> None:
        raise HostError("cannot write somewhere: No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("evener.api.bench_users.users", full)
        with pytest.raises(HostError, match="No space left") as told:
            await made(path)
    assert f"evener compare --resume {path.name}" in (told.value.hint or "")
    assert campaigns.status(path).done == 1
    assert (await made(path)).is_clean


# ---- finding it again


async def test_the_same_file_goes_on_with_what_is_unfinished(server: FakeEngine) -> None:
    file = Path("campaign.toml")
    assert campaigns.unfinished(file) is None
    path = begin(campaign_of(server), visit_of("a", "speed"))
    assert campaigns.unfinished(file) == path
    file.write_text("name = 'other'\n")
    with pytest.raises(ConfigurationError, match=f"has been changed since {path.name}"):
        campaigns.unfinished(file)
    file.write_text("name = 'ours'\n")
    await made(path)
    assert campaigns.unfinished(file) == path, "its report is still to be written"
    await made(path)
    assert runs_of(path) == ["speed"]
    campaign_reports.write_page(campaign_reports.told(path))
    assert campaigns.unfinished(file) is None


def test_a_campaign_is_found_by_its_run_and_nothing_else_is_one() -> None:
    with pytest.raises(NameUnknown, match="there is no campaign"):
        campaigns.find(None)
    path = begin(campaign_of(FakeEngine(port=9)), visit_of("a"))
    assert campaigns.find(None) == campaigns.find("last") == campaigns.find(path.name[-4:]) == path
    other = campaign_folder.state.runs_folder() / "20261201T000000Z-users-abcd"
    other.mkdir()
    (other / "run.json").write_text((path / "run.json").read_text().replace('"what": "compare"', '"what": "users"'))
    with pytest.raises(RunUnreadable, match="is no campaign"):
        campaigns.find("abcd")


# ---- its price, and who is told


async def test_a_budget_ends_it_in_good_order_and_says_what_is_missing(server: FakeEngine) -> None:
    visits = [visit_of("a", "speed", block=block) for block in (1, 2)]
    long = replace(visits[1], units=(replace(visits[1].units[0], minutes=60.0),))
    path = begin(campaign_of(server, budget_s=600.0), visits[0], long)
    ended = await made(path)
    assert ended.partial == "its budget of 0.167 h is used up: 1 units of 1 visits are missing"
    assert (ended.status.done, ended.is_clean) == (1, True)
    assert read(path).data.partial == ended.partial
    more = await made(path, wishes=replace(QUICKLY, budget_s=7200.0))
    assert (more.partial, more.status.done) == (None, 2)


async def test_a_command_of_the_user_is_told_the_end_word_for_word(server: FakeEngine, tmp_path: Path) -> None:
    news = tmp_path / "news; touch nothing"
    script = tmp_path / "tell.sh"
    script.write_text('#!/bin/sh\nprintf "%s|%s" "$#" "$2" >"$1"\n')
    script.chmod(0o755)
    told = Notify(command=(str(script), str(news), "{text}"))
    path = begin(campaign_of(server, notify=told), visit_of("a", "speed"))
    await made(path)
    assert news.read_text() == f"2|ours is complete; 1 of 1 units measured: evener report {path.name}"


async def test_a_url_is_told_when_it_stops_for_somebody(server: FakeEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[bytes] = []

    async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
        heard.append(await reader.readexactly(length))
        writer.write(b"HTTP/1.1 204 No Content\r\n\r\n")
        writer.close()

    def full(*_args: object, **_kwargs: object) -> None:
        raise HostError("cannot write somewhere: No space left on device")

    door = await asyncio.start_server(listen, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{door.sockets[0].getsockname()[1]}/secret"
    monkeypatch.setattr("evener.api.bench_speed.speed", full)
    path = begin(campaign_of(server, notify=Notify(url=url)), visit_of("a", "speed"))
    async with door:
        with pytest.raises(HostError):
            await made(path)
    assert json.loads(heard[0]) == {
        "text": "ours has stopped: cannot write somewhere: No space left on device",
        "run": path.name,
    }


@pytest.mark.parametrize(
    ("told", "said"),
    [
        (Notify(command=("/nowhere/tell",)), "nobody was told: /nowhere/tell: No such file or directory"),
        (Notify(command=("/bin/sh", "-c", "echo no bell; exit 3")), "/bin/sh ended with 3: no bell"),
        (Notify(url="http://127.0.0.1:9/secret"), "the URL cannot be reached"),
    ],
)
async def test_who_cannot_be_told_is_a_caution_and_no_failure(server: FakeEngine, told: Notify, said: str) -> None:
    path = begin(campaign_of(server, notify=told), visit_of("a", "speed"))
    heard = Heard()
    ended = await made(path, heard)
    assert ended.is_clean
    texts = [m["fact"]["data"]["text"] for m in heard.messages if m.get("fact", {}).get("kind") == "caution"]
    assert len(texts) == 1
    assert said in texts[0]
    assert "secret" not in texts[0]


# ---- judges


def translations(tmp_path: Path) -> AnswersAsked:
    fields = {"category": "en-zh", "scoring": "translation", "references": ["第1号。"], "source": "a test"}
    lines = [fields | {"id": f"t{i}", "cluster": f"d{i}", "prompt": f"Translate: Number {i}."} for i in range(3)]
    path = tmp_path / "translations.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)))
    return AnswersAsked(suites=(str(path),))


async def test_judges_come_after_all_answers_and_judge_each_run_once(server: FakeEngine, tmp_path: Path) -> None:
    async with scripted(Scripted(lambda _body: "Fine.\nVERDICT: 0", model="claude-test")) as judge:
        asked = JudgeAsked(name="fair", url=judge.url, model="claude-test")
        answers = replace(translations(tmp_path), judges=(asked,))
        path = begin(campaign_of(server, "a", "b", answers=answers), visit_of("a", "answers"), visit_of("b", "answers"))
        heard = Heard()
        await made(path, heard)
        judged = [m["fact"]["data"] for m in heard.messages if m.get("fact", {}).get("kind") == "judged"]
        assert judged == [{"judge": "fair", "unit": f"{one}/endpoint/1:answers", "why": None} for one in ("a", "b")]
        assert heard.kinds().index("judged") > max(i for i, k in enumerate(heard.kinds()) if k == "visit ended")
        counted = len(judge.bodies)
        await made(path)
        assert len(judge.bodies) == counted
    state = read(path).data.state
    for end in state.ends.values():
        assert run_folder.read_judgements(path / "runs" / str(end.run))


async def test_a_judge_that_does_not_answer_is_said_and_the_campaign_is_complete(
    server: FakeEngine, tmp_path: Path
) -> None:
    asked = JudgeAsked(name="gone", url="http://127.0.0.1:9", model="claude-test")
    answers = replace(translations(tmp_path), judges=(asked,))
    path = begin(campaign_of(server, answers=answers), visit_of("a", "answers"))
    heard = Heard()
    ended = await made(path, heard)
    (judged,) = (m["fact"]["data"] for m in heard.messages if m.get("fact", {}).get("kind") == "judged")
    assert "no judge answers at http://127.0.0.1:9" in judged["why"]
    assert (ended.partial, ended.status.state) == (None, "complete")
