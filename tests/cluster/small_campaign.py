"""A campaign of seven units in two loads, on alpha and over both machines; what its folder says, and what has to hold
of it when it is complete, however often it was cut.

Nothing that was kept is measured again: each unit has one end and one run, each level of users is whole in one part of
one run, each question is answered once. What was begun and cut may lie in `cut/`, but nothing that was whole.
"""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.cluster.conftest import ClusterRig

COUNTS, PROMPTS, REPETITIONS = (1, 2), 4, 2
CAPACITY_MIB = 1 << 16  # of a card that other programs use too, all of this machine's
WITHIN_S = 600.0  # of a session, on a machine that others use too
LANDS = ("France", "Italy", "Spain", "Japan", "Egypt", "Kenya")
CAMPAIGN = f"""\
name = "small"
rig = "rig.toml"
layouts = ["alpha", "cluster"]
contexts = [1024]
parallel = 2
repeats = 1
a_versus_a = false

[[models]]
model = "demo"

[speed]
prompts = [48]
outputs = [8]
repetitions = {REPETITIONS}

[[users]]
counts = {list(COUNTS)}
prompts = {PROMPTS}
prompt_tokens = 24
output_tokens = 16

[answers]
suites = ["capitals.jsonl"]
max_tokens = 8
"""


class Campaign:
    """One campaign.toml beside its rig, and what its folder says."""

    def __init__(self, rig: ClusterRig) -> None:
        self.rig = rig
        rig.path.write_text(rig.path.read_text().replace("cpu = 4096", f"cpu = {CAPACITY_MIB}"))
        self.file = rig.path.parent / "campaign.toml"
        self.file.write_text(CAMPAIGN)
        fields = {"category": "fact", "scoring": "match", "source": "an atlas", "references": ["a city"]}
        lines = [fields | {"id": one, "cluster": one, "prompt": f"The capital of {one}? One word."} for one in LANDS]
        (rig.path.parent / "capitals.jsonl").write_text("\n".join(map(json.dumps, lines)))

    def start(self) -> subprocess.Popen[str]:
        return self.rig.start("compare", str(self.file))

    @property
    def path(self) -> Path:
        """The newest: what was killed before it was planned is another one."""
        return max(self.rig.state.glob("runs/*-compare-*"), default=Path("/nowhere"))

    def facts(self, kind: str) -> list[dict[str, Any]]:
        return [fact["data"] for fact in rows(self.path / "events.jsonl") if fact["kind"] == kind]

    def has(self, kind: str, what: str, name: str) -> bool:
        """Whether there is a fact of that kind about a "visit" or "unit" of that id."""
        return any(fact.get("end", fact)[what] == name for fact in self.facts(kind))

    def visits(self) -> list[dict[str, Any]]:
        """As planned; empty before."""
        return next((fact["schedule"]["visits"] for fact in self.facts("schedule")), [])


def rows(file: Path) -> list[dict[str, Any]]:
    """Whole lines; what was killed may have left half of one."""
    lines = file.read_bytes().splitlines(keepends=True) if file.exists() else []
    return [json.loads(line) for line in lines if line.endswith(b"\n")]


# ---- what has to hold


def misses(campaign: Campaign) -> Iterator[str]:
    """Everything that does not hold, a line each."""
    said = campaign.rig.run("compare", "--status", "--json", within_s=WITHIN_S)
    state = json.loads(said.stdout)["state"] if said.returncode == 0 else said.stderr
    if state != "complete":
        yield f"its state is {state}"
    for holds in (_units, _users, _answers, _speeds, _memory, _report):
        yield from holds(campaign)


def _units(campaign: Campaign) -> Iterator[str]:
    """Each unit and each visit has one end, a good one, and a run of its own; no run is without an end."""
    units = [unit["id"] for visit in campaign.visits() for unit in visit["units"]]
    ends = [fact["end"] for fact in campaign.facts("unit ended")]
    visits = [fact["end"] for fact in campaign.facts("visit ended")]
    for what, wanted, have in (
        ("unit", Counter(units), Counter(end["unit"] for end in ends)),
        ("visit", Counter(visit["id"] for visit in campaign.visits()), Counter(end["visit"] for end in visits)),
    ):
        yield from (f"{what} {name} has {have[name]} ends" for name in wanted | have if have[name] != wanted[name])
    for end in (*ends, *visits):
        if end["state"] != "done":
            yield f"{end.get('unit') or end['visit']} is {end['state']}: {end['why']}"
    named = Counter(end["run"] for end in (*ends, *visits))
    there = Counter(path.name for path in (campaign.path / "runs").glob("*"))
    yield from (f"run {name} is named {named[name]} times, and there {there[name]} times" for name in
                named | there if not named[name] == there[name] == 1)  # fmt: skip
    yield from (f"changed: {fact['changed']}" for fact in campaign.facts("changed"))


def _users(campaign: Campaign) -> Iterator[str]:
    """Each level was measured to its end in one part of one run, and in no other."""
    whole: Counter[tuple[str, int]] = Counter()
    for run in campaign.path.glob("*/*-users-*"):
        sent = [one for one in rows(run / "requests.jsonl") if not one["warm_up"] and one["failure"] is None]
        parts = Counter((one["users"], one["part"]) for one in sent)
        whole.update((run.name, users) for (users, _), n in parts.items() if n >= PROMPTS)
        where = f"{run.parent.name}/{run.name}"
        if run.parent.name == "cut":
            yield from (
                f"{where}: {name[1]} users were measured, and thrown away" for name in whole if name[0] == run.name
            )
        else:
            yield from (f"{where}: {users} users were measured {whole[run.name, users]} times"
                        for users in COUNTS if whole[run.name, users] != 1)  # fmt: skip


def _answers(campaign: Campaign) -> Iterator[str]:
    """Each question was answered once, and no answer was thrown away."""
    for run in campaign.path.glob("*/*-eval-*"):
        where = f"{run.parent.name}/{run.name}"
        final = Counter(
            json.dumps(one["asked"], sort_keys=True) for one in rows(run / "answers.jsonl") if _is_final(one)
        )
        yield from (f"{where}: answered {n} times: {asked}" for asked, n in final.items() if n > 1)
        if run.parent.name == "cut":
            if final:
                yield f"{where}: {len(final)} answers were thrown away"
            continue
        asked = next(fact["data"] for fact in rows(run / "events.jsonl") if fact["kind"] == "eval asked")
        suites = json.loads((run / "suites.json").read_text())
        wanted = asked["epochs"] * sum(len(suite["questions"]) for suite in suites)
        if len(final) != wanted:
            yield f"{where}: {len(final)} of {wanted} questions are answered"


def _is_final(answer: dict[str, Any]) -> bool:
    return answer["outcome"] not in ("server_restarted", "http_error", "timeout")


def _speeds(campaign: Campaign) -> Iterator[str]:
    """A cut run of `bench speed` is begun anew; one that came to its end is not."""
    for run in campaign.path.glob("*/*-speed-*"):
        ended = run / "summary.json"
        whole = ended.exists() and json.loads(ended.read_text()).get("partial") is None
        if whole == (run.parent.name == "cut"):
            yield f"{run.parent.name}/{run.name} is {'whole' if whole else 'not whole'}"


def _memory(campaign: Campaign) -> Iterator[str]:
    """All of it came back. Of one visit nobody may have seen it: of one that was cut after its last unit."""
    unseen = 0
    for end in (fact["end"] for fact in campaign.facts("visit ended")):
        yield from (
            f"{end['visit']}: {one['host']} is {one['verdict']}" for one in end["freed"] if one["verdict"] != "freed"
        )
        unseen += not end["freed"]
        if not end["freed"] and "cut before its memory" not in (end["why"] or ""):
            yield f"{end['visit']}: nobody looked whether its memory came back"
    if unseen > 1:
        yield f"of {unseen} visits nobody saw the memory come back"


def _report(campaign: Campaign) -> Iterator[str]:
    page = campaign.path / "report.html"
    said = campaign.rig.run("report", campaign.path.name, within_s=WITHIN_S)
    if said.returncode != 0 or not said.stdout.strip():
        yield f"its report: exit code {said.returncode}, {said.stderr.strip()[-200:]}"
    if not page.exists() or "</html>" not in page.read_text():
        yield "it has no page"


def counted(campaign: Campaign) -> str:
    ends = len(campaign.facts("unit ended"))
    loads = len(campaign.facts("visit begun"))
    answers = sum(len(rows(path)) for path in campaign.path.glob("runs/*-eval-*/answers.jsonl"))
    requests = sum(len(rows(path)) for path in campaign.path.glob("runs/*-users-*/requests.jsonl"))
    cut = sum(1 for _ in campaign.path.glob("cut/*"))
    return f"{ends} units, {loads} visits begun, {answers} answers, {requests} requests, {cut} runs cut"
