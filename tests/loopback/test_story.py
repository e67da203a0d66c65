"""The whole story on the real engine: plan, up, verify, bench, down, freed, report."""

import json
import signal
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from tests.loopback.conftest import eventually, listens

pytestmark = pytest.mark.engine


def facts(run, kind):
    lines = (run / "events.jsonl").read_text().splitlines()
    return [fact["data"] for line in lines if (fact := json.loads(line))["kind"] == kind]


def test_two_hosts_load_serve_and_give_their_memory_back(rig):
    deployment = rig.up()
    assert deployment["state"] == "ready"
    assert [p["role"] for p in deployment["processes"]] == ["worker", "worker", "head"]

    chat = urllib.request.Request(
        deployment["url"] + "/v1/chat/completions",
        data=json.dumps({"messages": [{"role": "user", "content": "Say hello."}], "max_tokens": 4}).encode(),
        headers={"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(chat, timeout=30) as answer:
        assert json.load(answer)["usage"]["completion_tokens"] >= 1

    measured = rig.run("bench", "users", "--concurrency", "1,2", "--osl", "8", "--isl", "16", "--json")
    assert measured.returncode == 0, measured.stderr
    levels = json.loads(measured.stdout)["levels"]
    assert [(level["users"], level["requests"]["errored"]) for level in levels] == [(1, 0), (2, 0)]

    down = rig.run("down")
    assert down.returncode == 0, down.stdout + down.stderr
    assert "freed" in down.stdout
    rig.assert_nothing_left(within_s=1)

    run = next(r for r in rig.runs() if "-up-" in r.name)
    checks = facts(run, "verified")[0]["checks"]
    assert [(c["host"], c["verdict"]) for c in checks] == [("beta", "as planned"), ("alpha", "as planned")]
    assert sum(c["layers_seen"] for c in checks) == 31
    for check in checks:
        assert check["floor_bytes"] <= check["measured_bytes"] <= check["ceiling_bytes"]
    for card in facts(run, "freed")[0]["checks"]:
        assert (card["before_bytes"], card["after_bytes"], card["verdict"]) == (0, 0, "freed")
        assert card["during_bytes"] > 100 << 20
    report = rig.run("report", run.name)
    assert report.returncode == 0
    assert (run / "report.html").read_text().startswith("<!doctype html>")


def test_a_cluster_that_one_host_could_replace_is_compared_with_it(rig):
    done = rig.run("up", "demo", "--rig", str(rig.path), "--layout", "cluster", "-d")
    assert done.returncode == 0, done.stderr
    assert rig.run("down").returncode == 0
    run = rig.runs()[-1]
    assert [m["layout"] for m in facts(run, "measured")] == ["alpha", "cluster"]
    assert all(m["users"]["levels"][0]["requests"]["completed"] == 6 for m in facts(run, "measured"))
    said = facts(run, "compared")[0]
    assert said["outcome"] in ("slower", "faster", "cannot be separated")
    assert "alpha alone: n=6" in said["basis"]


def test_auto_takes_one_host_and_starts_no_worker(rig):
    done = rig.run("up", "demo", "--rig", str(rig.path), "-d")
    assert done.returncode == 0, done.stderr
    deployment = rig.deployment()
    assert deployment["candidate"]["name"] == "alpha"
    assert [p["role"] for p in deployment["processes"]] == ["head"]
    assert rig.run("down").returncode == 0


def test_the_key_protects_the_model_and_is_written_nowhere(rig):
    rig.path.write_text(rig.path.read_text().replace("[serve]", '[serve]\napi_key_env = "EVENER_TEST_KEY"'))
    rig.environment["EVENER_TEST_KEY"] = "sesame-3141592"
    deployment = rig.up()
    with pytest.raises(urllib.error.HTTPError, match="401"):
        urllib.request.urlopen(deployment["url"] + "/v1/models", timeout=10)
    keyed = urllib.request.Request(deployment["url"] + "/v1/models", headers={"Authorization": "Bearer sesame-3141592"})
    with urllib.request.urlopen(keyed, timeout=10) as answer:
        assert answer.status == 200
    for process in deployment["processes"]:
        assert b"sesame" not in Path(f"/proc/{process['pid']}/cmdline").read_bytes()
    assert rig.run("down").returncode == 0
    for path in rig.state.rglob("*"):
        assert not path.is_file() or b"sesame" not in path.read_bytes(), path


def test_foreign_settings_do_not_reach_the_engine(rig):
    rig.environment |= {"LLAMA_ARG_CTX_SIZE": "256", "LLAMA_ARG_N_PARALLEL": "1", "GGML_RPC_DEBUG": "1"}
    deployment = rig.up("demo", "--context", "512", "--users", "2")
    with urllib.request.urlopen(deployment["url"] + "/props", timeout=10) as answer:
        props = json.load(answer)
    assert (props["total_slots"], props["default_generation_settings"]["n_ctx"]) == (2, 512)
    assert rig.run("down").returncode == 0


def test_extra_engine_flags_are_passed_and_conflicts_refused(rig):
    refused = rig.run("up", "demo", "--rig", str(rig.path), "--", "-ts", "1,2")
    assert refused.returncode == 2
    assert "error: -ts: evener decides this itself" in refused.stderr
    deployment = rig.up("demo", "--", "--alias", "my-model")
    with urllib.request.urlopen(deployment["url"] + "/v1/models", timeout=10) as answer:
        assert json.load(answer)["data"][0]["id"] == "my-model"
    assert rig.run("down").returncode == 0


def test_logs_of_every_host_are_shown(rig):
    rig.up()
    said = rig.run("logs", "--lines", "500").stdout
    assert "alpha/head-" in said
    assert "beta/worker-" in said
    assert "assigned to device RPC0" in said
    assert "unknown" not in rig.run("logs", "--host", "beta").stderr
    assert rig.run("logs", "--host", "gamma").returncode == 2
    assert rig.run("down").returncode == 0


def test_foreground_up_ends_with_one_ctrl_c_and_proves_it(rig):
    process = rig.start("up", "demo", "--rig", str(rig.path), "--layout", "cluster", "--no-baseline", "--json")
    eventually(lambda: listens("127.0.0.1", rig.serve))
    eventually(lambda: rig.deployment()["state"] == "ready")
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 0, err
    messages = [json.loads(line) for line in out.splitlines()]
    kinds = [m["fact"]["kind"] for m in messages if "fact" in m and m["fact"]["kind"] != "caution"]
    assert kinds == ["layout", "before", "verified", "ready", "serving", "breakdown", "freed"]
    assert messages[-1]["ended"]["clean"] is True
    rig.assert_nothing_left(within_s=1)
