"""What code that nobody has read may do: nothing outside, and not for long."""

import asyncio
import time
from pathlib import Path

import pytest

from evener.edges.sandbox import PYTHON, open_sandbox
from evener.errors import HostError
from tests.boxes import needs_box

pytestmark = needs_box


@pytest.fixture
async def box():
    return await open_sandbox()


async def run(box, code, *, within_s=10.0):
    return await box.run({"main.py": code}, [PYTHON, "main.py"], within_s=within_s)


def processes_with(word):
    found = []
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found += [place.parent.name] if word.encode() in place.read_bytes() else []
        except OSError:
            continue
    return found


async def test_a_program_runs_and_says_what_it_says(box):
    seen = await run(box, "import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)")
    assert (seen.ending, seen.code, seen.stdout, seen.stderr) == ("exited", 3, "out\n", "err\n")


async def test_files_are_its_own_copies(box):
    seen = await box.run({"a/b.txt": "given"}, ["sh", "-c", "cat a/b.txt; echo new > a/b.txt"], within_s=5)
    assert (seen.code, seen.stdout) == (0, "given")


@pytest.mark.parametrize("name", ["../x", "/etc/x", "a/../../x", ""])
async def test_files_stay_in_their_folder(box, name):
    with pytest.raises(HostError, match="no name for a file"):
        await box.run({name: ""}, ["true"], within_s=5)


@pytest.mark.parametrize("place", ["/usr/x", "/etc/x", "/given/x", "/x", "/root/x"])
async def test_nothing_is_written_outside(box, place):
    seen = await run(box, f"open({place!r}, 'w')")
    assert seen.code == 1
    assert not Path(place).exists()


async def test_the_house_is_not_seen(box):
    """No home folders, no environment, no processes but its own."""
    seen = await run(box, "import os; print(os.path.exists('/root'), os.path.exists('/home'), sorted(os.environ))")
    assert seen.stdout.startswith("False False")
    assert "SECRET" not in seen.stdout
    seen = await run(box, "import os; print(sum(name.isdigit() for name in os.listdir('/proc')))")
    assert int(seen.stdout) <= 3


async def test_there_is_no_network(box):
    seen = await run(box, "import socket; socket.create_connection(('192.0.2.1', 80), timeout=2)")
    assert "unreachable" in seen.stderr


async def test_loopback_of_the_host_is_not_reached(box):
    server = await asyncio.start_server(lambda r, w: w.close(), "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    seen = await run(box, f"import socket; socket.create_connection(('127.0.0.1', {port}), timeout=2)")
    server.close()
    assert seen.code == 1


async def test_a_fork_bomb_runs_into_its_limit_and_leaves_nobody(box):
    seen = await run(box, "import os\nwhile True: os.fork()  # box-bomb", within_s=5)
    assert seen.ending in ("exited", "time")
    assert seen.code != 0
    assert processes_with("main.py") == []


async def test_ten_gigabytes_are_not_had(box):
    seen = await run(box, "bytearray(10 << 30)")
    assert "MemoryError" in seen.stderr


async def test_memory_of_many_processes_together_is_watched(box):
    greedy = """
import os, time
for _ in range(8):
    if os.fork() == 0:
        mine = bytearray(500 << 20)
        mine[::4096] = b"x" * len(mine[::4096])
        time.sleep(20)
time.sleep(20)
"""
    assert (await run(box, greedy)).ending == "memory"


async def test_an_endless_loop_ends_at_its_time(box):
    begun = time.monotonic()
    seen = await run(box, "while True: pass", within_s=0.5)
    assert (seen.ending, seen.code) == ("time", None)
    assert time.monotonic() - begun < 3


async def test_endless_output_is_cut(box):
    seen = await run(box, "while True: print('x' * 1000)")
    assert seen.ending == "output"
    assert len(seen.stdout) == 256 << 10


async def test_a_disk_full_of_writing_ends_in_its_own_folder(box):
    seen = await run(box, "open('big', 'wb').write(b'x' * (100 << 20))")
    assert seen.code == 1
    assert "OSError" in seen.stderr


async def test_killing_everybody_kills_only_itself(box):
    seen = await run(box, "import os\nfor pid in (os.getppid(), 1, -1):\n    os.kill(pid, 9)")
    assert seen.ending == "exited"
    assert (await run(box, "print('still here')")).stdout == "still here\n"


async def test_a_child_that_hides_in_a_session_of_its_own_goes_too(box):
    await run(box, "import os, time\nif os.fork() == 0:\n    os.setsid()\n    time.sleep(60)")
    await asyncio.sleep(0.2)
    assert processes_with("main.py") == []


async def test_cancelling_leaves_nothing(box):
    task = asyncio.ensure_future(run(box, "import time; time.sleep(60)", within_s=60))
    await asyncio.sleep(0.4)
    assert processes_with("main.py")
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert processes_with("main.py") == []


async def test_without_bubblewrap_no_code_is_run(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(HostError, match="no sandbox: bwrap, prlimit"):
        await open_sandbox()


async def test_memory_behind_files_without_a_name_is_watched(box):
    code = (
        "import os\nfds = [os.memfd_create('a') for _ in range(60)]\n"
        "for fd in fds: os.write(fd, b'1' * (60 << 20))\nprint('had it')"
    )
    seen = await run(box, code)
    assert (seen.ending, seen.stdout) == ("memory", "")


async def test_devices_are_no_place_to_write_and_shared_memory_is_small(box):
    assert "Read-only" in (await run(box, "open('/dev/x', 'w')")).stderr
    seen = await run(box, "for i in range(4): open(f'/dev/shm/{i}', 'wb').write(b'1' * (40 << 20))")
    assert "No space left" in seen.stderr


async def test_a_program_reads_what_it_is_told(box):
    seen = await box.run({}, ["sh", "-c", "cat"], within_s=5, said="a word")
    assert seen.stdout == "a word"
