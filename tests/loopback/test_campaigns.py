"""Campaigns of the real engine over two hosts: whole, killed in every unit, with parts that die, with what changes."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from evener.api import campaign_judging, campaigns
from evener.api.rig import Rig as OurRig
from evener.edges import run_folder
from evener.records import campaign as asked
from evener.records.campaign import JudgeAsked, Measure
from tests.evals.scripted import Scripted, scripted
from tests.loopback.conftest import Rig, eventually

pytestmark = [pytest.mark.engine, pytest.mark.timeout(600)]

HEAD = """\
name = "small"
rig = "rig.toml"
layouts = {layouts}
contexts = [1024]
parallel = 2
repeats = 1
a_versus_a = false

[[models]]
model = "{model}"
"""
SPEED = "\n[speed]\nprompts = [48]\noutputs = [8]\nrepetitions = 2\n"
USERS = "\n[[users]]\ncounts = [1, 2]\nprompts = 4\nprompt_tokens = 24\noutput_tokens = 16\n"
CONTEXT = "\n[context]\nlengths = [256]\n"
ANSWERS = '\n[answers]\nsuites = ["capitals.jsonl"]\nmax_tokens = 8\n'
LANDS = ("France", "Italy", "Spain", "Japan", "Egypt", "Kenya")
WITHIN_S = 300.0


class Campaign:
    """One campaign.toml beside the rig, and what its folder says."""

    def __init__(self, rig: Rig, *measures: str, layouts: tuple[str, ...] = ("alpha",), model: str = "demo") -> None:
        self.rig, self.folder = rig, rig.path.parent
        self.file = self.folder / "campaign.toml"
        head = HEAD.format(layouts=json.dumps(list(layouts)), model=model)
        self.file.write_text(head + "".join(measures))
        fields = {"category": "fact", "scoring": "match", "source": "an atlas", "references": ["a city"]}
        lines = [fields | {"id": one, "cluster": one, "prompt": f"The capital of {one}? One word."} for one in LANDS]
        (self.folder / "capitals.jsonl").write_text("\n".join(map(json.dumps, lines)))

    def run(self, *more: str) -> subprocess.CompletedProcess[str]:
        return self.rig.run("compare", str(self.file), *more, within_s=WITHIN_S)

    def start(self, *more: str) -> subprocess.Popen[str]:
        return self.rig.start("compare", str(self.file), *more)

    @property
    def path(self) -> Path:
        return next(iter(self.rig.state.glob("runs/*-compare-*")), Path("/nowhere"))

    def facts(self, kind: str) -> list[dict[str, Any]]:
        """Whole lines of the journal; who was killed may have left half of one."""
        file = self.path / "events.jsonl"
        lines = file.read_text().splitlines(keepends=True) if file.exists() else []
        whole = [json.loads(line) for line in lines if line.endswith("\n")]
        return [fact["data"] for fact in whole if fact["kind"] == kind]

    def ends(self) -> dict[str, dict[str, Any]]:
        return {fact["end"]["unit"]: fact["end"] for fact in self.facts("unit ended")}

    def began(self, unit: str) -> bool:
        return any(fact["unit"] == unit for fact in self.facts("unit begun"))

    def status(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.rig.run("compare", "--status", "--json").stdout)
        return found

    def head_pid(self) -> int:
        (record,) = self.rig.state.glob("deployments/*/deployment.json")
        return next(p["pid"] for p in json.loads(record.read_text())["processes"] if p["role"] == "head")


def in_run(campaign: Campaign, what: str) -> Path | None:
    """The run of a unit, when it has come so far that something is in it."""
    runs = sorted(campaign.path.glob(f"runs/*-{what}-*"))
    kept = ("answers.jsonl", "requests.jsonl")
    return next((run for run in reversed(runs) if any((run / name).exists() for name in kept)), None)


def test_killed_in_every_kind_of_unit_it_goes_on_there_and_measures_nothing_twice(rig: Rig) -> None:
    campaign = Campaign(rig, SPEED, USERS, CONTEXT, ANSWERS)
    kinds: dict[Measure, str] = {
        "canary": "eval", "speed": "speed", "users": "users", "context": "context", "answers": "eval"
    }  # fmt: skip
    session = campaign.start()
    eventually(lambda: campaign.facts("schedule"), within_s=60)
    (schedule,) = campaign.facts("schedule")
    asks = next(v for v in schedule["schedule"]["visits"] if any(u["measure"] == "answers" for u in v["units"]))
    for unit in (one["id"] for one in asks["units"]):
        what = kinds[unit.rpartition(":")[2]]
        eventually(lambda unit=unit: campaign.began(unit), within_s=WITHIN_S)
        last = campaign.facts("unit begun")[-1]["unit"]
        assert last == unit, "each unit begins when the one before has ended"
        eventually(lambda what=what, unit=unit: in_run(campaign, what) or unit in campaign.ends(), within_s=60)
        session.kill()
        session.communicate()
        rig.assert_nothing_left(within_s=15)
        assert campaign.status()["state"] == "stopped"
        session = campaign.start()
    out, err = session.communicate(timeout=WITHIN_S)
    assert session.returncode == 0, out + err
    assert "going on with" in err
    rig.assert_nothing_left(within_s=5)
    units = [unit["id"] for visit in schedule["schedule"]["visits"] for unit in visit["units"]]
    ended = [fact["end"]["unit"] for fact in campaign.facts("unit ended")]
    assert sorted(ended) == sorted(units)
    assert {end["state"] for end in campaign.ends().values()} == {"done"}
    visits = [fact["end"] for fact in campaign.facts("visit ended")]
    assert [(end["state"], [f["verdict"] for f in end["freed"]]) for end in visits] == [
        ("done", ["freed"] * len(end["freed"])) for end in visits
    ]
    assert campaign.facts("changed") == []
    named = {end["run"] for end in (*campaign.ends().values(), *visits)}
    assert named == {path.name for path in (campaign.path / "runs").iterdir()}
    assert campaign.status()["state"] == "complete"


def test_a_head_that_dies_once_is_loaded_again_and_the_unit_goes_on(rig: Rig) -> None:
    campaign = Campaign(rig, USERS)
    session = campaign.start()
    eventually(lambda: in_run(campaign, "users"), within_s=WITHIN_S)
    os.kill(campaign.head_pid(), signal.SIGKILL)
    _, err = session.communicate(timeout=WITHIN_S)
    assert session.returncode == 0, err
    end = campaign.ends()["demo/alpha/1:users"]
    assert (end["state"], end["why"]) == ("done", None)
    assert len(list(campaign.path.glob("runs/*-users-*"))) == 1
    assert len(list(campaign.path.glob("cut/*-up-*"))) == 1
    rig.assert_nothing_left(within_s=5)


def test_what_dies_twice_in_a_unit_is_its_result_and_the_others_are_measured(rig: Rig) -> None:
    campaign = Campaign(rig, SPEED, USERS)
    session = campaign.start()
    for _ in range(2):
        killed = len(list(campaign.path.glob("cut/*-up-*")))
        eventually(lambda: campaign.facts("unit begun")[-1:] == [{"unit": "demo/alpha/1:speed"}], within_s=WITHIN_S)
        eventually(lambda: rig.state_now() == "ready")
        os.kill(campaign.head_pid(), signal.SIGKILL)
        eventually(lambda killed=killed: len(list(campaign.path.glob("cut/*-up-*"))) > killed, within_s=60)
    _, err = session.communicate(timeout=WITHIN_S)
    assert session.returncode == 1, err
    ends = campaign.ends()
    assert {unit.rpartition(":")[2]: end["state"] for unit, end in ends.items()} == {
        "canary": "done", "speed": "failed", "users": "done"
    }  # fmt: skip
    failed = ends["demo/alpha/1:speed"]
    assert "died, 2 times" in failed["why"]
    assert any(line.startswith("alpha/head-") for line in failed["evidence"])
    assert campaign.status()["failed"] == 1


def test_ctrl_c_takes_everything_down_and_the_same_command_goes_on(rig: Rig) -> None:
    campaign = Campaign(rig, USERS.replace("prompts = 4", "prompts = 24"))
    session = campaign.start()
    eventually(lambda: campaign.began("demo/alpha/1:canary"), within_s=WITHIN_S)
    running = campaign.status()
    assert running["state"] == "running"
    assert running["unit"].startswith("demo/alpha/1:")
    eventually(lambda: in_run(campaign, "users"), within_s=WITHIN_S)
    second = campaign.run()
    assert second.returncode == 3
    assert f"{campaign.path.name} goes on in another evener session" in second.stderr.replace("\n", " ")
    session.send_signal(signal.SIGINT)
    _, err = session.communicate(timeout=60)
    assert session.returncode == 4
    assert f"evener compare --resume {campaign.path.name} goes on from there" in err.replace("\n", " ")
    assert "Traceback" not in err
    rig.assert_nothing_left(within_s=2)
    done = campaign.run()
    assert done.returncode == 0, done.stderr
    assert f"going on with {campaign.path.name}" in done.stderr.replace("\n", " ")
    assert {end["state"] for end in campaign.ends().values()} == {"done"}
    assert len(list(campaign.path.glob("runs/*-users-*"))) == 1


def test_a_load_that_cannot_succeed_fails_with_its_evidence_and_the_campaign_goes_on(rig: Rig) -> None:
    """The engine refuses a flag; the other contestant is not held up."""
    campaign = Campaign(rig, SPEED)
    good = campaign.file.read_text()
    bad = '\n[[models]]\nmodel = "demo"\nname = "refused"\nflags = ["--no-such-flag"]\n'
    campaign.file.write_text(good.replace("\n[speed]", bad + "\n[speed]"))
    done = campaign.run()
    assert done.returncode == 1, done.stderr
    ends = {fact["end"]["visit"]: fact["end"] for fact in campaign.facts("visit ended")}
    assert ends["demo/alpha/1"]["state"] == "done"
    failed = ends["refused/alpha/1"]
    assert failed["state"] == "failed"
    assert any("no-such-flag" in line for line in failed["evidence"])
    assert (campaign.path / "runs" / failed["run"] / "logs" / "alpha").is_dir()


def test_what_does_not_fit_is_a_result_and_nothing_is_loaded_for_it(rig: Rig) -> None:
    campaign = Campaign(rig, SPEED)
    text = campaign.file.read_text().replace("contexts = [1024]", "contexts = [1024, 400000]")
    campaign.file.write_text(text)
    done = campaign.run()
    assert done.returncode == 0, done.stderr
    ends = [fact["end"] for fact in campaign.facts("visit ended")]
    (too_large,) = (end for end in ends if end["state"] == "does not fit")
    assert "GiB" in too_large["why"]
    assert "400000" in too_large["visit"]
    assert len(list(campaign.path.glob("runs/*-up-*"))) == 1


def test_another_file_under_the_same_name_is_measured_anew_and_said(rig: Rig, model: Path, engine: Path) -> None:
    mine = rig.path.parent / "mine.gguf"
    shutil.copy(model, mine)
    campaign = Campaign(rig, SPEED, layouts=("alpha", "cluster"), model="mine.gguf")
    session = campaign.start()
    eventually(lambda: campaign.facts("visit ended"), within_s=WITHIN_S)
    first = campaign.facts("visit ended")[0]["end"]["visit"]
    session.kill()
    session.communicate()
    rig.assert_nothing_left(within_s=15)
    fresh = mine.with_suffix(".new")
    quantize = [engine / "llama-quantize", "--allow-requantize", model, fresh, "Q8_0"]
    subprocess.run(quantize, check=True, capture_output=True)
    fresh.replace(mine)
    done = campaign.run()
    assert done.returncode == 0, done.stderr
    (changed,) = (fact["changed"] for fact in campaign.facts("changed") if fact["changed"]["condition"] == "model file")
    assert first in changed["again"]
    assert campaign.status()["done"] == campaign.status()["units"]
    hashes = {
        json.loads((campaign.path / "runs" / end["run"] / "run.json").read_text())["conditions"]["model_sha256"]
        for end in campaign.ends().values()
    }
    assert len(hashes) == 1


async def test_a_judge_of_the_house_is_loaded_after_everything_else(
    rig: Rig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("EVENER_STATE", "EVENER_ENGINE"):
        monkeypatch.setenv(name, rig.environment[name])
    monkeypatch.setattr(campaign_judging, "PROBES", 1)
    monkeypatch.setattr(campaign_judging, "MOST_TOKENS", 16)
    suite = tmp_path / "translations.jsonl"
    fields = {"category": "en-zh", "scoring": "translation", "references": ["第1号。"], "source": "a test"}
    suite.write_text(json.dumps(fields | {"id": "t1", "cluster": "d1", "prompt": "Translate: Number 1."}))
    judge = JudgeAsked(name="ours", api="local", model="demo")
    async with scripted(Scripted(lambda _body: "第1号。")) as server:
        campaign = asked.Campaign(
            name="judged",
            contestants=(asked.Contestant(name="there", url=server.url),),
            answers=asked.AnswersAsked(suites=(str(suite),), judges=(judge,)),
            rig=str(rig.path),
        )
        unit = asked.Unit(id="there/endpoint/1:answers", measure="answers", name="answers")
        visit = asked.Visit(
            id="there/endpoint/1", contestant="there", block=1, role="asked", layout=None, candidate=None, cable=None,
            context=4096, units=(unit,),
        )  # fmt: skip
        schedule = asked.Schedule(visits=(visit,), fetches=(), minutes=None, disk_bytes=None)
        ours = OurRig.open(str(rig.path))
        path = campaigns.begin(campaign, schedule, text="", rig=ours, scan=await ours.scan())
        ended = await campaigns.go_on(path, campaigns.Wishes(), lambda _message: None)
    assert ended.partial is None
    facts = run_folder.open_run(path).facts
    (judged,) = (fact.data for fact in facts if fact.kind == "judged")
    assert (judged["judge"], judged["unit"], judged["why"]) == ("ours", unit.id, None)
    (run,) = path.glob("runs/*-eval-*")
    assert {one.judge.model for one in run_folder.read_judgements(run)} != set()
    assert len(list(path.glob("runs/*-up-*"))) == 1
    rig.assert_nothing_left(within_s=5)
