import os
import signal
import subprocess
import sys
import time

import pytest

from evener.edges.locks import hold, holder_pid
from evener.errors import HostBusy, HostError


def test_who_holds_a_lock_is_named(tmp_path):
    with hold(tmp_path, "machine-1", what="alpha", owner="qwen"):
        with pytest.raises(HostBusy) as caught, hold(tmp_path, "machine-1", what="alpha", owner="other"):
            pass
        assert caught.value.message.startswith(f"alpha is held by deployment qwen (evener pid {os.getpid()}, since 20")
        assert holder_pid(tmp_path, "machine-1") == os.getpid()
    assert holder_pid(tmp_path, "machine-1") is None


def test_another_name_is_another_lock(tmp_path):
    with hold(tmp_path, "a", what="a", owner="x"), hold(tmp_path, "b", what="b", owner="x"):
        assert holder_pid(tmp_path, "c") is None


def test_a_lock_ends_with_its_owner_however_it_dies(tmp_path):
    code = (
        "import sys, time, pathlib\n"
        "from evener.edges.locks import hold\n"
        "with hold(pathlib.Path(sys.argv[1]), 'a', what='a', owner='x'):\n"
        "    print('held', flush=True); time.sleep(60)\n"
    )
    owner = subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE)
    assert owner.stdout.readline() == b"held\n"
    assert holder_pid(tmp_path, "a") == owner.pid
    owner.send_signal(signal.SIGKILL)
    owner.wait()
    for _ in range(50):
        if holder_pid(tmp_path, "a") is None:
            break
        time.sleep(0.02)
    assert holder_pid(tmp_path, "a") is None


def test_a_key_cannot_leave_the_folder(tmp_path):
    with hold(tmp_path / "locks", "../../escape/x", what="a", owner="x"):
        pass
    assert [p.name for p in (tmp_path / "locks").iterdir()] == [".._.._escape_x.lock"]
    assert not (tmp_path / "escape").exists()


def test_a_folder_that_cannot_be_written_is_one_line(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(HostError, match="cannot write"), hold(tmp_path / "file", "a", what="a", owner="x"):
        pass
