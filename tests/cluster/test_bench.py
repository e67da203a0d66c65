"""`evener bench` on hosts that are really apart: a worker that dies under load, one machine against two in turns."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.bed import Bed, bed
from tests.cluster.conftest import ClusterRig, rig_on
from tests.loopback.conftest import eventually
from tests.loopback.test_failures import pid_of

pytestmark = [pytest.mark.engine, pytest.mark.cluster]

TINY = ("--isl", "32", "--osl", "8")
WEAK = (
    0.2  # of a processor: both hosts are one machine, and the far one must be slower than any neighbour makes the near
)


@pytest.fixture(scope="session")
def weak(_possible: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bed]:
    """alpha and beta; beta has a fifth of a processor."""
    with bed(tmp_path_factory.mktemp("weak"), cpus=[WEAK]) as made:
        yield made


@pytest.fixture
def weak_rig(weak: Bed, tmp_path: Path, engine: Path, model: Path) -> Iterator[ClusterRig]:
    yield from rig_on(weak, tmp_path, engine)


def measured(folder: Path, users: int) -> int:
    """Measured requests of that user count so far."""
    path = folder / "requests.jsonl"
    lines = path.read_text().splitlines() if path.exists() else []
    found = [json.loads(line) for line in lines if line.endswith("}")]
    return sum(r["users"] == users and not r["warm_up"] for r in found)


def test_a_worker_killed_under_load_is_classified_and_the_run_goes_on_when_it_is_back(rig):
    deployment = rig.up()
    asked = ("bench", "users", "-c", "1,2", "--num-prompts", "8", *TINY, "--no-self-test", "--json")
    process = rig.start(*asked)
    eventually(lambda: any("-users-" in path.name and measured(path, 2) >= 2 for path in rig.runs()))
    os.kill(pid_of(deployment, "worker", "beta"), signal.SIGKILL)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 4, err
    assert "error: incomplete: the server went away: connection refused" in err
    one, two = json.loads(out)["levels"]
    assert (one["requests"]["completed"], one["requests"]["errored"]) == (8, 0)
    assert two["requests"]["by_class"]["connection_cut"] >= 1
    assert "the worker on beta" in rig.failure()
    run = next(path for path in rig.runs() if "-users-" in path.name)
    assert (run / "report.html").exists()

    rig.run("down")
    rig.up()
    resumed = rig.run("bench", "users", "--resume", run.name, "--no-self-test", "--json")
    assert resumed.returncode == 0 or "this client was saturated" in resumed.stderr, resumed.stderr
    levels = json.loads(resumed.stdout)["levels"]
    assert [(at["users"], at["part"], at["requests"]["completed"], at["requests"]["errored"]) for at in levels] == [
        (1, 0, 8, 0), (2, 1, 8, 0),
    ]  # fmt: skip
    watched = json.loads((run / "summary.json").read_text())["stages"][0]["telemetry"]["hosts"]
    assert sorted(host["host"] for host in watched) == ["alpha", "beta"]
    assert rig.run("down").returncode == 0
    rig.assert_nothing_left()


def test_a_slow_second_machine_is_found_to_cost_and_every_load_is_given_back(weak_rig):
    rig = weak_rig
    done = rig.run(
        "bench", "pair", "demo", "--rig", str(rig.path), "--layout", "alpha", "--layout", "cluster", *TINY,
        "--num-prompts", "2", "--pairs", "6", "--json", within_s=180,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    if os.getloadavg()[0] < 2 * (os.cpu_count() or 1):
        assert told["outcome"] == "B is slower", told["basis"]
        assert told["sentence"].startswith("alpha + beta (B) is ")
    else:  # on a machine that is busy with other things the honest answer may be that nobody can tell
        assert told["outcome"] in ("B is slower", "cannot be separated"), told["basis"]
    assert {"device_order", "layers_per_device", "layout", "link"} & set(told["differing"])
    rate = told["differences"][0]
    assert len(rate["pairs"]) == 6
    assert rate["interval"] is not None
    summary = json.loads((Path(told["run"]) / "summary.json").read_text())
    assert {stage["layout"] for stage in summary["stages"]} == {"A: alpha alone", "B: alpha + beta"}
    assert all(check["verdict"] == "freed" for stage in summary["stages"] for check in stage["freed"])
    assert summary["pair"]["sentence"] == told["sentence"]
    rig.assert_nothing_left(within_s=5)
