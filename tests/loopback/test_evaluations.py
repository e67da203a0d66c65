"""An evaluation of a model that is split over two hosts, killed in the middle and gone on with."""

import json
import re

import pytest

from tests.loopback.conftest import eventually

pytestmark = pytest.mark.engine

CAPITALS = (
    "France",
    "Italy",
    "Spain",
    "Japan",
    "Egypt",
    "Kenya",
    "Peru",
    "Cuba",
    "Norway",
    "Greece",
    "Austria",
    "Poland",
)
MOST_TOKENS = 12


@pytest.fixture
def questions(tmp_path):
    path = tmp_path / "capitals.jsonl"
    fields = {"category": "fact", "scoring": "match", "source": "an atlas", "references": ["a city"]}
    lines = [
        fields | {"id": land, "cluster": land, "prompt": f"What is the capital of {land}? One word."}
        for land in CAPITALS
    ]
    path.write_text("\n".join(map(json.dumps, lines)) + "\n")
    return path


def evaluation(rig):
    return next((path for path in rig.runs() if "-eval-" in path.name), None)


def answered(rig):
    """The whole lines of answers.jsonl; a killed writer may leave half of one."""
    path = evaluation(rig)
    kept = path / "answers.jsonl" if path else None
    text = kept.read_text() if kept and kept.exists() else ""
    return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]


def seen_by_server(rig):
    """How many requests the engine began, by its own log."""
    (log,) = rig.state.glob("runs/*-up-*/logs/alpha/head-*.log")
    return len(set(re.findall(r"init_sampler: id +\d+ \| task (\d+)", log.read_text(errors="replace"))))


def test_an_evaluation_that_was_killed_goes_on_and_nothing_is_asked_twice(rig, questions):
    rig.up()
    begun = seen_by_server(rig)
    first = rig.start("eval", str(questions), "--max-tokens", str(MOST_TOKENS), "--parallel", "1", "--as", "two hosts")
    eventually(lambda: len(answered(rig)) >= 4)
    first.kill()
    first.wait()
    before = answered(rig)
    assert len(before) < len(CAPITALS)
    run = evaluation(rig).name
    unfinished = rig.run("verdict", run)
    assert unfinished.returncode == 2
    assert f"evener eval --resume {run}" in unfinished.stderr.replace("\n", " ")

    done = rig.run("eval", "--resume", run, "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["partial"], found["results"][0]["answered"]) == (None, len(CAPITALS))
    asked, layout = found["conditions"]["thinking_asked"], found["conditions"]["layout"]
    assert (asked, layout) == ("off", "cluster")  # what the client asks for, beside what the deployment knows of itself
    after = answered(rig)
    assert after[: len(before)] == before
    assert sorted(one["asked"]["question"] for one in after) == sorted(CAPITALS)
    assert all(one["prompt_tokens"] == one["prompt_tokens_sent"] > 0 for one in after), "nothing of a prompt was cut"
    beside = seen_by_server(rig) - begun - len(CAPITALS)
    assert beside in (2, 3), "each of the two starts probes the server once; one question may have been under way"

    measures = found["results"][0]["measures"]
    assert measures["F"]["n"] == measures["net"]["n"] == found["results"][0]["standing"]["n"]
    planned = json.loads(rig.run("eval", str(questions), "--plan", "--from", run, "--json").stdout)
    assert planned["minutes"] > 0, "by the lengths and the rate of the run"
    assert not any("assumed" in note for note in planned["notes"])

    assert rig.run("eval", "--resume", run).returncode == 0
    assert answered(rig) == after
    assert rig.run("down").returncode == 0
