"""Rigs of other shapes: four machines, a slow cable, a weak machine, another login shell."""

import json
import shutil
from contextlib import contextmanager

import pytest

from tests.cluster.bed import CPU, bed
from tests.cluster.conftest import chat, rig_on
from tests.loopback.test_story import facts

pytestmark = [pytest.mark.engine, pytest.mark.cluster]


@pytest.fixture
def a_rig(tmp_path, engine, model):
    """A rig on a bed of its own: `with a_rig(hosts=3) as rig`."""

    @contextmanager
    def made(**how):
        with bed(tmp_path / "bed", **how) as hosts:
            yield from rig_on(hosts, tmp_path, engine)

    return made


def test_four_machines_hold_one_model(a_rig):
    with a_rig(hosts=3) as rig:
        deployment = rig.up()
        workers = [p["host"] for p in deployment["processes"] if p["role"] == "worker"]
        assert workers == ["beta", "gamma", "delta", "alpha"]
        assert chat(deployment["url"]) >= 1
        rig.bed["gamma"].cut()
        rig.assert_nothing_left()
        assert "the worker on gamma" in rig.failure()
        checks = facts(rig.the_run(), "verified")[0]["checks"]
        assert [(c["host"], c["verdict"]) for c in checks] == [(h, "as planned") for h in workers]
        assert sum(c["layers_seen"] for c in checks) == 31


def test_a_slow_cable_binds_the_load(slow_rig):
    slow_rig.up()
    assert slow_rig.run("down").returncode == 0
    run = slow_rig.the_run()
    (ready,) = facts(run, "ready")
    candidates = {c["name"]: c for c in json.loads((run / "run.json").read_text())["plan"]["candidates"]}
    (far,) = [d for d in candidates["cluster"]["devices"] if d["host"] == "beta"]
    least_s = far["weights_bytes"] * 8 / 100e6
    assert least_s * 0.9 < ready["load_s"] < least_s * 3
    slow_rig.assert_nothing_left(within_s=2)


def test_a_weak_second_machine_is_measured_and_said_to_cost(a_rig):
    with a_rig(cpus=[0.2]) as rig:
        done = rig.run("up", "demo", "--rig", str(rig.path), "--layout", "cluster", "-d")
        assert done.returncode == 0, done.stderr
        assert rig.run("down").returncode == 0
        (said,) = facts(rig.the_run(), "compared")
        assert said["outcome"] in ("slower", "cannot be separated"), "a busy test machine blurs it"
        stat = dict(line.split() for line in (CPU / rig.bed["beta"].namespace / "cpu.stat").read_text().splitlines())
        assert int(stat["nr_throttled"]) > 0
        rig.assert_nothing_left(within_s=2)


def test_fish_as_login_shell_changes_nothing(a_rig):
    fish = shutil.which("fish")
    if fish is None:
        pytest.skip("no fish on this machine (apt-get install fish)")
    with a_rig(login=fish) as rig:
        deployment = rig.up()
        assert chat(deployment["url"]) >= 1
        assert rig.run("down").returncode == 0
        rig.assert_nothing_left(within_s=2)
