"""Several sessions, names, sockets and terminals that go away: nobody overwrites, nobody hangs, nobody lies."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.loopback.conftest import eventually, listens

pytestmark = pytest.mark.engine


@pytest.mark.parametrize("name", ["../runs", "/tmp/x", "a/b"])
def test_a_name_that_is_a_path_is_refused_and_nothing_is_touched(rig, tmp_path, name):
    (tmp_path / "state" / "runs").mkdir(parents=True)
    precious = tmp_path / "state" / "runs" / "precious"
    precious.write_text("x")
    for more in ([], ["-d"]):
        done = rig.run("up", "demo", "--rig", str(rig.path), "--name", name, *more)
        assert done.returncode == 2
        assert "cannot be a deployment's name" in done.stderr
    assert precious.read_text() == "x"


def test_up_again_with_the_same_name_is_refused_at_once(rig):
    rig.up()
    for more in (["-d"], []):
        again = rig.run("up", "demo", "--rig", str(rig.path), "--layout", "cluster", *more, within_s=20)
        assert again.returncode == 3
        assert "evener pid" in again.stderr
    assert rig.deployment()["state"] == "ready"
    assert rig.run("down").returncode == 0


def test_the_same_machine_under_other_names_is_the_same_machine(rig, tmp_path):
    rig.up("demo", "--name", "first")
    other = tmp_path / "other.toml"
    other.write_text(rig.path.read_text().replace("alpha", "gamma").replace("beta", "delta"))
    second = rig.run("up", "demo", "--rig", str(other), "--name", "second")
    assert second.returncode == 3
    assert "gamma is held by deployment first" in second.stderr.replace("\n", " ")
    assert rig.deployment()["name"] == "first"
    assert rig.run("down").returncode == 0


def test_down_without_its_socket_still_stops_everything(rig):
    deployment = rig.up()
    (rig.state / "deployments" / deployment["name"] / "control.sock").unlink()
    done = rig.run("down")
    assert done.returncode == 0, done.stderr
    rig.assert_nothing_left(within_s=1)


def test_a_server_of_somebody_else_on_the_port_is_never_taken_for_ours(rig, tmp_path):
    """It answers 200 on /health, on every address, IPv6 too."""
    code = (
        "import http.server, socket\n"
        "class Six(http.server.ThreadingHTTPServer): address_family = socket.AF_INET6\n"
        "class Fine(http.server.BaseHTTPRequestHandler):\n"
        "    def do_GET(self): self.send_response(200); self.end_headers(); self.wfile.write(b'{}')\n"
        f"Six(('::', {rig.serve}), Fine).serve_forever()\n"
    )
    foreign = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.DEVNULL)
    try:
        eventually(lambda: listens("127.0.0.1", rig.serve))
        done = rig.run("up", "demo", "--rig", str(rig.path))
        assert done.returncode == 3
        assert f"127.0.0.1:{rig.serve} is taken" in done.stderr
        assert "serving" not in done.stdout
    finally:
        foreign.kill()
        foreign.wait()


def test_an_interrupted_baseline_is_partial(rig):
    process = rig.start("up", "demo", "--rig", str(rig.path), "--layout", "cluster", "--json")
    eventually(lambda: listens("127.0.0.1", rig.serve))
    eventually(lambda: rig.deployment()["state"] == "loaded")
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=40)
    assert process.returncode == 4
    assert json.loads((rig.runs()[-1] / "summary.json").read_text())["partial"] == "interrupted"
    rig.assert_nothing_left(within_s=1)


def test_logs_follow_until_the_end(rig):
    rig.up()
    process = rig.start("logs", "--follow", "--lines", "1")
    time.sleep(1)
    assert rig.run("down").returncode == 0
    out, _ = process.communicate(timeout=20)
    assert "cleaning up before exit" in out
    assert "beta/worker-" in out


def test_no_engine_is_said_before_anything_is_written(rig, tmp_path):
    rig.environment["EVENER_ENGINE"] = str(tmp_path / "nothing")
    done = rig.run("up", "demo", "--rig", str(rig.path))
    assert done.returncode == 3
    assert "has no engine that can be used" in done.stderr
    assert not (rig.state / "runs").exists()


def test_a_stray_word_is_not_passed_to_the_engine(rig):
    done = rig.run("up", "demo", "another", "--rig", str(rig.path))
    assert done.returncode == 2
    assert "another: not a flag of the engine" in done.stderr


def test_a_state_folder_that_cannot_be_written_is_one_line(rig, tmp_path):
    (tmp_path / "file").write_text("")
    rig.environment["EVENER_STATE"] = str(tmp_path / "file" / "state")
    for more in ([], ["-d"]):
        done = rig.run("up", "demo", "--rig", str(rig.path), *more)
        assert done.returncode == 3
        assert "cannot write" in done.stderr
        assert "Traceback" not in done.stderr
    rig.environment["EVENER_STATE"] = str(rig.state)


def test_the_key_of_a_file_reaches_our_own_bench(rig, tmp_path):
    key = tmp_path / "key"
    key.write_text("sesame-2718")
    key.chmod(0o600)
    rig.path.write_text(rig.path.read_text().replace("[serve]", f'[serve]\napi_key_file = "{key}"'))
    rig.up()
    done = rig.run("bench", "users", "--concurrency", "1", "--osl", "4", "--isl", "8", "--num-prompts", "1")
    assert done.returncode == 0, done.stderr
    assert rig.run("down").returncode == 0
    for path in rig.state.rglob("*"):
        assert not path.is_file() or b"sesame" not in path.read_bytes(), path


def test_a_full_disk_is_one_line_and_leaves_nothing_running(rig, tmp_path):
    small = tmp_path / "small"
    small.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(small)], check=False)
    if mounted.returncode != 0:
        pytest.skip("a small file system needs root")
    try:
        rig.environment["EVENER_STATE"] = str(small)
        done = rig.run("up", "demo", "--rig", str(rig.path), "--layout", "cluster", "--no-baseline")
        assert done.returncode == 3
        assert "No space left on device" in done.stderr
        assert "Traceback" not in done.stderr
        eventually(lambda: not rig.engine_pids(), within_s=10)
    finally:
        subprocess.run(["umount", "-l", str(small)], check=False)
        rig.environment["EVENER_STATE"] = str(rig.state)


def test_every_file_of_a_run_is_where_its_record_says(rig):
    deployment = rig.up()
    for process in deployment["processes"]:
        assert Path(process["log"]).is_file()
    assert rig.run("down").returncode == 0
