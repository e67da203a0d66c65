"""The fake shell and the real one keep one contract; the real one keeps its children on a leash."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from pathlib import Path

import pytest

from evener.edges.local_shell import LocalShell
from evener.errors import HostError
from evener.testing.fake_shell import FakeShell, hangs, prints
from tests.edges.processes import alive, gone_within, group, holds, leash_of, state, write_programs
from tests.edges.shell_contract import ShellContract

OWNER = """
import asyncio, sys
from evener.edges.local_shell import LocalShell

async def main():
    child = await LocalShell("here").start(["sleep", "300"], env={})
    print(child.pid, flush=True)
    await child.wait()

asyncio.run(main())
"""


class TestFakeShell(ShellContract):
    @pytest.fixture
    def shell(self) -> FakeShell:
        return FakeShell(
            host="fake",
            programs={
                "says": prints("hello\n", code=3, stderr="oops\n"),
                "echoes": lambda argv, stdin: prints(stdin.decode())(argv, stdin),
                "sticks": hangs,
            },
            children={"talks": ["one", "two"]},
            files={"/fake/bin/file": b"content"},
        )

    def at(self, name: str) -> str:
        return f"/fake/bin/{name}"


class TestLocalShell(ShellContract):
    @pytest.fixture(autouse=True)
    def _programs(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._folder = tmp_path
        write_programs(tmp_path)
        monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")

    @pytest.fixture
    def shell(self) -> LocalShell:
        return LocalShell("here")

    def at(self, name: str) -> str:
        return str(self._folder / name)

    async def test_a_signal_is_a_negative_code(self, shell: LocalShell) -> None:
        done = await shell.run(["sh", "-c", "kill -SEGV $$"], within_s=10)
        assert done.code == -signal.SIGSEGV
        child = await shell.start(["sh", "-c", "kill -ABRT $$"], env={})
        assert await child.wait() == -signal.SIGABRT

    @pytest.mark.parametrize("code", [0, 1, 127, 255])
    async def test_a_code_that_is_no_signal_stays_what_it_is(self, shell: LocalShell, code: int) -> None:
        child = await shell.start(["sh", "-c", f"exit {code}"], env={})
        assert await child.wait() == code

    async def test_after_the_deadline_the_whole_family_is_gone(self, shell: LocalShell, tmp_path: Path) -> None:
        script = f"sleep 300 & echo $! > {tmp_path}/grandchild; echo $$ > {tmp_path}/child; wait"
        with pytest.raises(HostError):
            await shell.run(["sh", "-c", script], within_s=0.5)
        for name in ("child", "grandchild"):
            assert await gone_within(int((tmp_path / name).read_text()), 2)

    async def test_a_grandchild_that_keeps_the_output_open_does_not_outlive_the_deadline(
        self, shell: LocalShell, tmp_path: Path
    ) -> None:
        with pytest.raises(HostError):
            await shell.run(["sh", "-c", f"sleep 300 & echo $! > {tmp_path}/grandchild"], within_s=0.5)
        assert await gone_within(int((tmp_path / "grandchild").read_text()), 2)

    async def test_a_cancelled_command_is_gone(self, shell: LocalShell, tmp_path: Path) -> None:
        running = asyncio.ensure_future(
            shell.run(["sh", "-c", f"echo $$ > {tmp_path}/child; exec sleep 300"], within_s=60)
        )
        child = tmp_path / "child"
        assert await holds(lambda: child.exists() and child.read_text().endswith("\n"), within_s=5)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert await gone_within(int(child.read_text()), 2)

    async def test_nobodys_shell_settings_leak_into_a_child(
        self, shell: LocalShell, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name in ("LLAMA_ARG_CTX_SIZE", "LLAMA_API_KEY", "CUDA_VISIBLE_DEVICES", "GGML_CUDA_X", "XDG_CONFIG_HOME"):
            monkeypatch.setenv(name, "leaked")
        wanted = {"CUDA_DEVICE_ORDER": "PCI_BUS_ID", "LLAMA_API_KEY": "wanted"}
        ran = (await shell.run(["env"], within_s=10, env=wanted)).stdout.splitlines()
        child = await shell.start(["env"], env=wanted)
        started = [line async for line in child.lines()]
        await child.wait()
        for lines in (ran, started):
            assert not [line for line in lines if line.endswith("leaked")]
            assert {"CUDA_DEVICE_ORDER=PCI_BUS_ID", "LLAMA_API_KEY=wanted", "GGML_NO_BACKTRACE=1"} <= set(lines)
            assert [line for line in lines if line.startswith("PATH=")]

    async def test_a_child_ignores_sigpipe(self, shell: LocalShell) -> None:
        child = await shell.start(["sleep", "300"], env={})
        try:
            status = Path(f"/proc/{child.pid}/status").read_text()
            ignored = int(next(line.split()[1] for line in status.splitlines() if line.startswith("SigIgn")), 16)
            assert ignored & 1 << (signal.SIGPIPE - 1)
        finally:
            await child.stop()

    async def test_the_pid_is_the_commands_own(self, shell: LocalShell) -> None:
        child = await shell.start(["sleep", "300"], env={})
        try:
            cmdline = Path(f"/proc/{child.pid}/cmdline")
            assert await holds(lambda: cmdline.read_bytes() == b"sleep\x00300\x00", within_s=5)
        finally:
            await child.stop()

    async def test_a_child_reads_nothing(self, shell: LocalShell) -> None:
        child = await shell.start(["cat"], env={})
        assert await asyncio.wait_for(child.wait(), 5) == 0

    async def test_output_and_errors_of_a_child_come_in_one_stream(self, shell: LocalShell) -> None:
        child = await shell.start(["sh", "-c", "echo out; echo err >&2"], env={})
        assert [line async for line in child.lines()] == ["out", "err"]
        assert await child.wait() == 0

    async def test_a_line_of_megabytes_is_one_line(self, shell: LocalShell) -> None:
        child = await shell.start(["sh", "-c", "head -c 3000000 /dev/zero | tr '\\0' x; echo"], env={})
        assert [len(line) async for line in child.lines()] == [3_000_000]
        await child.wait()

    async def test_a_child_that_ignores_sigterm_is_killed_within_its_grace(self, shell: LocalShell) -> None:
        child = await shell.start(["sh", "-c", "trap '' TERM; echo ready; while :; do sleep 0.1; done"], env={})
        assert await anext(child.lines()) == "ready"
        began = time.monotonic()
        assert await child.stop() == -signal.SIGKILL
        assert 4 < time.monotonic() - began < 8
        assert not alive(child.pid)

    async def test_the_second_sigterm_comes_after_a_second(self, shell: LocalShell) -> None:
        script = "trap 'n=$((n+1)); [ $n -eq 2 ] && exit 7' TERM; echo ready; while :; do sleep 0.05; done"
        child = await shell.start(["sh", "-c", f"n=0; {script}"], env={})
        assert await anext(child.lines()) == "ready"
        began = time.monotonic()
        assert await child.stop() == 7
        assert 0.8 < time.monotonic() - began < 4

    async def test_a_child_stopped_by_a_signal_is_killed_within_its_grace(self, shell: LocalShell) -> None:
        child = await shell.start(["sleep", "300"], env={})
        os.kill(child.pid, signal.SIGSTOP)
        assert await holds(lambda: state(child.pid) == "T", within_s=5)
        began = time.monotonic()
        assert await child.stop() == -signal.SIGKILL
        assert time.monotonic() - began < 8
        assert not alive(child.pid)

    async def test_a_child_dies_when_its_owner_is_killed(self) -> None:
        owner, child = await _owner_and_child()
        assert alive(child)
        owner.kill()
        await owner.wait()
        assert await gone_within(child, 7)

    async def test_a_stopped_child_too_dies_when_its_owner_is_killed(self) -> None:
        owner, child = await _owner_and_child()
        os.kill(child, signal.SIGSTOP)
        owner.kill()
        await owner.wait()
        assert await gone_within(child, 7)

    async def test_a_child_dies_when_its_leash_is_killed(self, shell: LocalShell) -> None:
        if await shell.which("setpriv") is None:
            pytest.skip("no setpriv on this host: a killed leash is noticed by nobody")
        child = await shell.start(["sleep", "300"], env={})
        leash = leash_of(child.pid)
        os.kill(leash, signal.SIGKILL)
        assert await gone_within(child.pid, 2)
        assert await child.wait() == -signal.SIGKILL
        await child.stop()

    async def test_nothing_of_a_leash_is_left_after_stop(self, shell: LocalShell) -> None:
        child = await shell.start(["sleep", "300"], env={})
        leash = leash_of(child.pid)
        await child.stop()
        assert await holds(lambda: not group(leash), within_s=3)


async def _owner_and_child() -> tuple[asyncio.subprocess.Process, int]:
    owner = await asyncio.create_subprocess_exec(sys.executable, "-c", OWNER, stdout=asyncio.subprocess.PIPE)
    assert owner.stdout is not None
    return owner, int(await owner.stdout.readline())
