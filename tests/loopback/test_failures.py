"""Everything that dies, hangs or is in the way: the cause in one line, and nothing left running."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path

import pytest

from tests.loopback.conftest import eventually, is_running, listens

pytestmark = pytest.mark.engine


def pid_of(deployment, role, host=None):
    return next(p["pid"] for p in deployment["processes"] if p["role"] == role and host in (None, p["host"]))


def failure(rig):
    """The fault of a deployment that ended by itself."""
    eventually(lambda: rig.deployment()["state"] == "failed")
    return rig.deployment()["fault"]


def generate(url, tokens=2000):
    """A long answer in a thread of its own; the thread ends when the stream does."""

    def ask():
        body = {"prompt": "Once", "n_predict": tokens, "ignore_eos": True, "stream": True}
        request = urllib.request.Request(url + "/completion", data=json.dumps(body).encode())
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                for _ in answer:
                    pass
        except OSError:
            pass

    thread = threading.Thread(target=ask)
    thread.start()
    eventually(lambda: b"requests_processing 1" in urllib.request.urlopen(url + "/metrics", timeout=5).read())
    return thread


def test_a_worker_killed_while_idle_is_named(rig):
    deployment = rig.up()
    os.kill(pid_of(deployment, "worker", "beta"), signal.SIGKILL)
    assert f"the worker on beta (127.0.0.2:{rig.first}) was ended by SIGKILL" in failure(rig)
    rig.assert_nothing_left()


def test_a_worker_killed_while_generating_is_named_and_not_the_head(rig):
    deployment = rig.up("demo", "--context", "4096")
    thread = generate(deployment["url"])
    os.kill(pid_of(deployment, "worker", "beta"), signal.SIGKILL)
    assert "the worker on beta" in failure(rig)
    rig.assert_nothing_left()
    thread.join(timeout=10)
    assert not thread.is_alive()


def test_a_stopped_worker_is_noticed_although_health_stays_200(rig):
    deployment = rig.up("demo", "--context", "4096")
    thread = generate(deployment["url"])
    os.kill(pid_of(deployment, "worker", "beta"), signal.SIGSTOP)
    assert "the worker on beta" in (said := failure(rig))
    assert "is stopped (state T)" in said
    rig.assert_nothing_left()
    thread.join(timeout=10)


def test_a_killed_head_takes_its_workers_along(rig):
    deployment = rig.up()
    os.kill(pid_of(deployment, "head"), signal.SIGKILL)
    assert "the head on alpha" in failure(rig)
    rig.assert_nothing_left()


def test_nothing_survives_a_supervisor_killed_with_nine(rig):
    deployment = rig.up()
    assert len(rig.engine_pids()) >= 3
    os.kill(deployment["supervisor_pid"], signal.SIGKILL)
    took = rig.assert_nothing_left(within_s=10)
    assert took < 10
    gone = rig.run("status").stdout
    assert "gone (its supervisor died)" in gone
    assert rig.run("down").returncode == 0
    assert rig.up()["state"] == "ready", "the lock of a dead supervisor holds nobody up"
    assert rig.run("down").returncode == 0


def test_nothing_survives_a_supervisor_killed_while_a_client_is_served(rig):
    deployment = rig.up("demo", "--context", "4096")
    thread = generate(deployment["url"])
    os.kill(deployment["supervisor_pid"], signal.SIGKILL)
    rig.assert_nothing_left(within_s=10)
    thread.join(timeout=10)


def test_down_does_not_wait_for_an_open_stream(rig):
    deployment = rig.up("demo", "--context", "4096")
    thread = generate(deployment["url"], tokens=100_000)
    begun = time.monotonic()
    assert rig.run("down").returncode == 0
    assert time.monotonic() - begun < 12
    rig.assert_nothing_left(within_s=1)
    thread.join(timeout=10)


def loading(rig, heavy_model, *more):
    """A foreground `up` in the middle of its load."""
    process = rig.start("up", str(heavy_model), "--rig", str(rig.path), "--layout", "cluster", "--no-baseline", *more)
    eventually(lambda: any(_program(pid) == "llama-server" for pid in rig.engine_pids()))
    return process


def test_ctrl_c_twice_while_loading_takes_everything_down(rig, heavy_model):
    process = loading(rig, heavy_model)
    process.send_signal(signal.SIGINT)
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 4
    assert "everything that was started has been stopped" in err.replace("\n", " ")
    assert "Traceback" not in err
    rig.assert_nothing_left(within_s=1)
    assert json.loads((rig.runs()[-1] / "summary.json").read_text())["partial"] == "interrupted"
    assert rig.run("status").stdout.startswith("nothing is deployed: evener up MODEL")


def test_a_worker_killed_while_loading_is_named(rig, heavy_model):
    process = loading(rig, heavy_model)
    workers = [p for p in rig.engine_pids() if _program(p) == "ggml-rpc-server"]
    os.kill(next(p for p in workers if "127.0.0.2" in _command(p)), signal.SIGKILL)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 3
    assert "while loading, the worker on beta" in err.replace("\n", " ")
    rig.assert_nothing_left(within_s=1)


def _command(pid):
    return Path(f"/proc/{pid}/cmdline").read_text().split("\0")


def _program(pid):
    return _command(pid)[0].rpartition("/")[2]


def test_down_works_while_loading(rig, heavy_model):
    process = loading(rig, heavy_model)
    assert rig.run("down").returncode == 0
    process.communicate(timeout=30)
    assert process.returncode == 4
    rig.assert_nothing_left(within_s=1)


def test_a_web_server_on_the_workers_port_makes_it_take_the_next(rig):
    with web_server("127.0.0.2", rig.first):
        deployment = rig.up()
        listening = {p["host"]: p["listen"] for p in deployment["processes"] if p["role"] == "worker"}
        assert listening["beta"] == f"127.0.0.2:{rig.first + 1}"
        assert rig.run("down").returncode == 0


def test_a_port_range_that_is_full_is_said_before_anything_starts(rig):
    text = rig.path.read_text().replace(f"{rig.first}-{rig.first + 2}", f"{rig.first}-{rig.first}")
    rig.path.write_text(text)
    with web_server("127.0.0.2", rig.first) as pid:
        done = rig.run("up", "demo", "--rig", str(rig.path), "--layout", "cluster", "--no-baseline")
        assert done.returncode == 3
        assert f"error: beta: 127.0.0.2:{rig.first} is taken by python" in done.stderr
        assert f"(pid {pid}, " in done.stderr
    rig.assert_nothing_left(within_s=1)


def test_a_taken_server_port_is_said_before_anything_starts(rig):
    with web_server("127.0.0.1", rig.serve):
        done = rig.run("up", "demo", "--rig", str(rig.path))
        assert done.returncode == 3
        assert f"127.0.0.1:{rig.serve} is taken" in done.stderr
    rig.assert_nothing_left(within_s=1)


def test_two_sessions_meet_by_name(rig):
    rig.up("demo", "--name", "first")
    second = rig.run("up", "demo", "--rig", str(rig.path), "--name", "second")
    assert second.returncode == 3
    assert "error: alpha is held by deployment first (evener pid " in second.stderr.replace("\n", " ")
    assert "evener down" in second.stderr
    assert rig.run("down").returncode == 0


def test_a_model_that_fits_nowhere_is_refused_with_the_gap(rig):
    done = rig.run("up", "demo", "--rig", str(rig.path), "--users", "200", "--context", "8192")
    assert done.returncode == 1
    assert "fits nowhere" in done.stderr
    assert "short" in done.stderr
    assert done.stderr.count("\n") <= 4


class web_server:
    """Something that is no worker, listening where one should. Gives its pid."""

    def __init__(self, address, port):
        self._where = [str(port), "--bind", address]
        self._address, self._port = address, port

    def __enter__(self):
        self._process = subprocess.Popen(
            [sys.executable, "-m", "http.server", *self._where], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        eventually(lambda: listens(self._address, self._port))
        return self._process.pid

    def __exit__(self, *_):
        self._process.terminate()
        self._process.wait()


def test_sockets_and_pids_helpers_tell_the_living_from_the_dead():
    with socket.create_server(("127.0.0.1", 0)) as server:
        assert listens("127.0.0.1", server.getsockname()[1])
    assert is_running(os.getpid())
    child = subprocess.Popen(["true"])
    child.wait()
    assert not is_running(child.pid)
