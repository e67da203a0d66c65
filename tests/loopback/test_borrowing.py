"""`bench speed --with-llama-bench`, `bench context --reload`: a deployment leaves its machines, and comes back."""

import json
import os
import signal

import pytest

from tests.loopback.conftest import eventually

pytestmark = pytest.mark.engine

BLIND = ("--no-self-test", "--no-telemetry")
SMALL = ("-p", "32", "-n", "4", "-r", "1", *BLIND)
UP = ("demo", "--context", "512", "--users", "1")


def is_back(rig, before):
    """The same deployment as it was: same supervisor, plan and address, and its processes are others."""
    after = rig.deployment()
    same = ("name", "state", "supervisor_pid", "candidate", "url", "users", "context")
    assert {key: after[key] for key in same} == {key: before[key] for key in same}
    assert {p["pid"] for p in after["processes"]}.isdisjoint(p["pid"] for p in before["processes"])
    return after


def test_llama_bench_runs_on_the_same_plan_and_the_server_comes_back_also_after_ctrl_c(rig):
    before = rig.up(*UP)
    done = rig.run("bench", "speed", *SMALL, "--with-llama-bench", "--yes", "--json")
    assert done.returncode in (0, 4), done.stderr  # 4: this machine was too busy to measure
    told = json.loads(done.stdout)
    assert [(row["test"], row["llama_bench"]["n"]) for row in told["rows"]] == [("pp32", 1), ("tg4", 1)]
    assert told["llama_bench_argv"][0].endswith("/llama-bench")
    assert "RPC0/RPC1" in told["llama_bench_argv"]
    assert told["partial"] is None
    first = is_back(rig, before)

    process = borrowing(rig)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 4, err
    assert "Traceback" not in err
    kept = json.loads((rig.runs()[-1] / "summary.json").read_text())
    assert (kept["partial"], len(kept["stages"][0]["speed"]["rows"])) == ("interrupted", 2)
    is_back(rig, first)
    assert rig.run("down").returncode == 0
    rig.assert_nothing_left()
    (up,) = [run for run in rig.runs() if "-up-" in run.name]
    (stage,) = json.loads((up / "summary.json").read_text())["stages"]
    assert {card["verdict"] for card in stage["freed"]} <= {"freed", "freed, drifted"}
    kinds = [json.loads(line)["kind"] for line in (up / "events.jsonl").read_text().splitlines()]
    assert (kinds.count("lent"), kinds.count("given back"), kinds.count("freed")) == (2, 2, 3)


def test_longer_contexts_are_really_loaded_and_the_deployment_comes_back(rig):
    # Four users of the 8192 trained tokens would take 550 MiB on one of the hosts. Engines of others count as held.
    card = json.loads(rig.run("scan", "--json", "--rig", str(rig.path)).stdout)["hosts"][0]["cards"][0]
    capacity = 4096 - (card["offered_bytes"] >> 20) + 350
    rig.path.write_text(rig.path.read_text().replace("cpu = 4096", f"cpu = {capacity}"))
    before = rig.up("demo", "--context", "512", "--users", "4")
    asked = ("--lengths", "256", "--needles", "1", "--reasoning", "0", "--answer-tokens", "4", *BLIND)
    done = rig.run("bench", "context", *asked, "--reload", "--yes", "--json")
    assert done.returncode in (0, 4), done.stderr
    told = json.loads(done.stdout)
    trained, configured, memory, _ = told["ceilings"]
    assert (trained["tokens"], configured["tokens"], told["partial"]) == (8192, 512, None)
    assert told["binding"] == "configured"
    loads = told["reloads"]
    assert [load["held"] for load in loads].count(True) >= 1
    assert [load["held"] for load in loads].count(False) >= 1
    assert memory["tokens"] == max(load["context"] for load in loads if load["held"])
    assert memory["tokens"] < 8192
    assert all(load["load_s"] > 0 for load in loads)
    is_back(rig, before)


def borrowing(rig, *more):
    """A measurement that has just borrowed the machines."""
    process = rig.start("bench", "speed", *SMALL, *more, "--with-llama-bench", "--yes")
    eventually(lambda: rig.state_now() == "lent")
    return process


def test_a_borrower_killed_with_nine_gives_back_and_down_ends_a_loan(rig):
    before = rig.up(*UP)
    process = borrowing(rig)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate(timeout=20)
    eventually(lambda: rig.state_now() == "ready")
    is_back(rig, before)

    process = borrowing(rig, "-d", "256")  # longer than it takes to say `down`
    assert rig.run("down").returncode == 0
    _, err = process.communicate(timeout=60)
    assert process.returncode == 4, err
    assert "was taken down meanwhile" in err.replace("\n", " ")
    rig.assert_nothing_left()
