"""A judge of one's own, loaded after the candidate has left its machines: real engine, real model, real answers."""

import json

import pytest

from tests.loopback.test_evaluations import evaluation

pytestmark = [pytest.mark.engine, pytest.mark.timeout(480)]  # two loads, and a small model that is asked twice

LETTERS = 2


@pytest.fixture
def letters(tmp_path):
    path = tmp_path / "letters.jsonl"
    fields = {"category": "letter", "scoring": "rubric", "source": "a test", "rubric": "It is polite."}
    lines = [
        fields | {"id": f"r{n}", "cluster": f"r{n}", "prompt": f"Say hello to neighbour {n} in one short sentence."}
        for n in range(LETTERS)
    ]
    path.write_text("\n".join(map(json.dumps, lines)) + "\n")
    return path


def test_a_judge_loaded_after_the_candidate_judges_its_answers_and_nothing_leaves_the_house(rig, letters):
    rig.up()
    asked = rig.run("eval", str(letters), "--max-tokens", "60", "--as", "writer", "--json")
    assert asked.returncode == 0, asked.stderr
    run = evaluation(rig).name
    assert rig.run("down").returncode == 0

    nobody = rig.run("judge", run, "--by", f"127.0.0.1:{rig.serve}")
    assert nobody.returncode == 3
    assert "no judge answers at" in nobody.stderr
    assert "evener up" in nobody.stderr

    judge = rig.up()["name"]
    itself = rig.run("judge", run, "--by", judge, "--model", "a-great-judge")
    assert itself.returncode == 2
    assert "would judge" in itself.stderr
    assert "a relative" in itself.stderr

    done = rig.run("judge", run, "--by", judge, "--related", "--probes", "1", "--max-tokens", "16", "--json")
    assert done.returncode == 0, done.stderr
    assert "nothing leaves this house" in done.stderr.replace("\n", " ")
    found = json.loads(done.stdout)
    assert "SmolLM2" in found["judge"]["model"]
    assert any(mark.startswith("judges its own family") for mark in found["marks"])
    # two answers, one of them again, five probes of one question
    assert (found["asked"], found["failed"], found["from_cache"]) == (LETTERS + 1 + 5, 0, 0)
    kept = [json.loads(line) for line in (evaluation(rig) / "judgements.jsonl").read_text().splitlines()]
    assert len(kept) == found["asked"]
    read = sum(one["verdict"] is not None for one in kept)
    assert read + found["unparseable"] == found["asked"]
    assert all(json.loads(one["raw"])["choices"] for one in kept)

    again = json.loads(
        rig.run("judge", run, "--by", judge, "--related", "--probes", "1", "--max-tokens", "16", "--json").stdout
    )
    assert (again["asked"], again["from_cache"]) == (1, LETTERS + 5)
    report = rig.run("report", run, "-o", "json")
    assert json.loads(report.stdout)["evaluation"]["judged"][0]["judgements"] >= found["asked"]
    assert rig.run("down").returncode == 0
