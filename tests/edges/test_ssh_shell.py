"""A host behind a real sshd keeps the shell contract, under every login shell; what goes wrong is said in one line."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import socket
import sys
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from evener.edges.ssh_shell import SshShell
from evener.errors import HostError, HostLogin, HostUnreachable
from tests.edges.processes import alive, gone_within, group, holds, leash_of, write_programs
from tests.edges.shell_contract import ShellContract
from tests.edges.sshd import Sshd, ssh_on_path, why_not

pytestmark = pytest.mark.skipif(why_not() is not None, reason=why_not() or "")
PORT = 28900
LEAKS = ("LLAMA_ARG_CTX_SIZE", "LLAMA_API_KEY", "CUDA_VISIBLE_DEVICES", "GGML_CUDA_X", "XDG_CONFIG_HOME")
OWNER = """
import asyncio
from evener.edges.ssh_shell import SshShell

async def main():
    child = await SshShell("far", "far").start(["sleep", "300"], env={})
    print(child.pid, flush=True)
    await child.wait()

asyncio.run(main())
"""


def free_port() -> int:
    """Below the range that the kernel gives to clients, and not taken."""
    for port in range(PORT, PORT + 99):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) != 0:
                return port
    raise AssertionError("no free port")


def served(folder: Path, more: str) -> Sshd:
    """A server named "far": its sessions find the contract's programs, and have settings that must not leak."""
    write_programs(folder)
    leaks = " ".join(f"{name}=leaked" for name in LEAKS)
    settings = f"SetEnv PATH={folder}:{os.environ['PATH']} {leaks}\n{more}"
    return Sshd(folder=folder / "sshd", name="far", port=free_port(), more=settings)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sshd]:
    made = served(tmp_path_factory.mktemp("far"), "")
    yield made
    made.stop()


@pytest.fixture
def reached(server: Sshd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Sshd:
    """The server, with an `ssh` on PATH that knows it."""
    use(server, tmp_path, monkeypatch)
    return server


def use(server: Sshd, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{ssh_on_path(folder / 'bin', [server.config])}:{os.environ['PATH']}")
    monkeypatch.setenv("EVENER_STATE", str(folder / "state"))


@pytest.fixture
async def shell(reached: Sshd) -> AsyncIterator[SshShell]:
    made = SshShell("far", "far")
    yield made
    made.close()


class TestSshShell(ShellContract):
    @pytest.fixture(autouse=True)
    def _programs(self, server: Sshd) -> None:
        self._folder = server.folder.parent

    def at(self, name: str) -> str:
        return str(self._folder / name)


@pytest.mark.parametrize("login", ["sh", "bash", "zsh", "fish", "tcsh"])
class TestLoginShells:
    """The command goes through the login shell, as sshd would do it: `SHELL -c COMMAND`. It is a noisy one, too."""

    @pytest.fixture
    async def shell(self, login: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[SshShell]:
        if shutil.which(login) is None:
            pytest.skip(f"no {login} here")
        noise = "printf 'welcome'; printf 'be warned' >&2;"
        server = served(tmp_path, f'ForceCommand {noise} exec {login} -c "$SSH_ORIGINAL_COMMAND"')
        use(server, tmp_path, monkeypatch)
        made = SshShell("far", "far")
        yield made
        made.close()
        server.stop()

    async def test_words_arrive_as_they_were_sent(self, shell: SshShell) -> None:
        words = ["", "a b", "it's", '"', "$HOME", "`id`", "!!", "\\", "\\'", "*", "~", "a\nb", "ü", "--", ";", "%"]
        done = await shell.run(["printf", "%s|", *words], within_s=10, env={"A": "it's !\n$\\"})
        assert (done.stdout, done.stderr, done.code) == ("|".join(words) + "|", "", 0)
        assert (await shell.run(["sh", "-c", 'printf %s "$A"'], within_s=10, env={"A": "it's !\n$\\"})).stdout == (
            "it's !\n$\\"
        )

    async def test_input_files_and_children_work(self, shell: SshShell, tmp_path: Path) -> None:
        assert (await shell.run(["cat"], within_s=10, stdin=b"a\n\nb")).stdout == "a\n\nb"
        assert await shell.read(str(tmp_path / "file")) == b"content"
        assert (await shell.read("/proc/version") or b"").startswith(b"Linux")
        child = await shell.start([str(tmp_path / "talks")], env={})
        lines = child.lines()
        assert [await anext(lines), await anext(lines)] == ["one", "two"]
        assert await child.stop() == -15

    async def test_settings_of_the_far_account_do_not_reach_the_engine(self, shell: SshShell) -> None:
        wanted = {"CUDA_DEVICE_ORDER": "PCI_BUS_ID", "LLAMA_API_KEY": "wanted"}
        ran = (await shell.run(["env"], within_s=10, env=wanted)).stdout.splitlines()
        child = await shell.start(["env"], env=wanted)
        started = [line async for line in child.lines()]
        await child.wait()
        for lines in (ran, started):
            assert not [line for line in lines if line.endswith("leaked")]
            assert {"CUDA_DEVICE_ORDER=PCI_BUS_ID", "LLAMA_API_KEY=wanted", "GGML_NO_BACKTRACE=1"} <= set(lines)
            assert [line for line in lines if line.startswith("PATH=")]


# ---- short commands


@pytest.mark.parametrize("code", [0, 1, 127, 255])
async def test_a_code_is_the_commands_own_also_255(shell: SshShell, code: int) -> None:
    assert (await shell.run(["sh", "-c", f"exit {code}"], within_s=10)).code == code
    child = await shell.start(["sh", "-c", f"exit {code}"], env={})
    assert await child.wait() == code


async def test_a_signal_is_a_negative_code(shell: SshShell) -> None:
    assert (await shell.run(["sh", "-c", "kill -SEGV $$"], within_s=10)).code == -signal.SIGSEGV
    child = await shell.start(["sh", "-c", "kill -ABRT $$"], env={})
    assert await child.wait() == -signal.SIGABRT


async def test_megabytes_go_in_and_come_out(shell: SshShell) -> None:
    sent = os.urandom(1 << 20) * 3
    assert (await shell.run(["wc", "-c"], within_s=20, stdin=sent)).stdout.strip() == str(3 << 20)
    assert len((await shell.run(["head", "-c", "3000000", "/dev/zero"], within_s=20)).stdout) == 3_000_000


async def test_a_command_that_wants_no_input_is_not_held_up_by_it(shell: SshShell) -> None:
    assert (await shell.run(["echo", "done"], within_s=10, stdin=bytes(1 << 20))).stdout == "done\n"


async def test_binary_files_come_whole(shell: SshShell, tmp_path: Path) -> None:
    content = bytes(range(256)) * 40
    (tmp_path / "binary").write_bytes(content)
    assert await shell.read(str(tmp_path / "binary")) == content
    assert await shell.read("/proc/self/cmdline") == b"head\x00-c\x001048576\x00/proc/self/cmdline\x00"


async def test_after_the_deadline_the_whole_family_is_gone(shell: SshShell, tmp_path: Path) -> None:
    script = f"sleep 300 & echo $! > {tmp_path}/grandchild; echo $$ > {tmp_path}/child; wait"
    with pytest.raises(HostError, match=r"sh did not end within 1 s$"):
        await shell.run(["sh", "-c", script], within_s=1)
    for name in ("child", "grandchild"):
        assert await gone_within(int((tmp_path / name).read_text()), 2)


async def test_a_cancelled_command_is_gone(shell: SshShell, tmp_path: Path) -> None:
    child = tmp_path / "child"
    running = asyncio.ensure_future(shell.run(["sh", "-c", f"echo $$ > {child}; exec sleep 300"], within_s=60))
    assert await holds(lambda: child.exists() and child.read_text().endswith("\n"), within_s=5)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert await gone_within(int(child.read_text()), 2)


async def test_a_command_ends_at_its_deadline_although_nobody_can_say_so(shell: SshShell, tmp_path: Path) -> None:
    """As with a cut cable: our ssh is stopped, and so are its words."""
    child = tmp_path / "child"
    running = asyncio.ensure_future(shell.run(["sh", "-c", f"echo $$ > {child}; exec sleep 300"], within_s=2))
    assert await holds(lambda: child.exists() and child.read_text().endswith("\n"), within_s=5)
    assert shell._door is not None
    os.kill(shell._door._process.pid, signal.SIGSTOP)
    with pytest.raises(HostError):
        await running
    assert await gone_within(int(child.read_text()), 3)
    os.kill(shell._door._process.pid, signal.SIGKILL)


async def test_many_at_once_share_one_connection(shell: SshShell, reached: Sshd) -> None:
    before = (reached.folder / "log").read_text().count("Accepted publickey")
    done = await asyncio.gather(*(shell.run(["echo", str(i)], within_s=20) for i in range(20)))
    assert [d.stdout for d in done] == [f"{i}\n" for i in range(20)]
    assert (reached.folder / "log").read_text().count("Accepted publickey") == before + 1


async def test_a_broken_connection_is_made_again(shell: SshShell) -> None:
    assert await shell.read("/proc/version")
    assert shell._door is not None
    shell._door._process.kill()
    shell._door._process.wait()
    assert await shell.read("/proc/version")
    assert (await shell.run(["echo", "back"], within_s=10)).stdout == "back\n"


def test_a_shell_may_be_used_by_one_event_loop_after_the_other(reached: Sshd) -> None:
    shell = SshShell("far", "far")
    for _ in range(2):
        assert asyncio.run(shell.run(["echo", "x"], within_s=10)).stdout == "x\n"
        assert asyncio.run(shell.read("/proc/version"))
    shell.close()


# ---- children


async def test_a_child_has_its_own_pid_and_ignores_sigpipe(shell: SshShell) -> None:
    child = await shell.start(["sleep", "300"], env={})
    try:
        cmdline = Path(f"/proc/{child.pid}/cmdline")
        assert await holds(lambda: cmdline.read_bytes() == b"sleep\x00300\x00", within_s=5)
        status = Path(f"/proc/{child.pid}/status").read_text()
        ignored = int(next(line.split()[1] for line in status.splitlines() if line.startswith("SigIgn")), 16)
        assert ignored & 1 << (signal.SIGPIPE - 1)
        assert not ignored & 1 << (signal.SIGUSR1 - 1)
    finally:
        await child.stop()


async def test_output_and_errors_of_a_child_come_in_one_stream(shell: SshShell) -> None:
    child = await shell.start(["sh", "-c", "echo out; echo err >&2; cat"], env={})
    assert [line async for line in child.lines()] == ["out", "err"]
    assert await child.wait() == 0


async def test_a_line_of_megabytes_is_one_line(shell: SshShell) -> None:
    child = await shell.start(["sh", "-c", "head -c 3000000 /dev/zero | tr '\\0' x; echo"], env={})
    assert [len(line) async for line in child.lines()] == [3_000_000]
    await child.wait()


async def test_the_key_is_on_no_command_line(shell: SshShell) -> None:
    child = await shell.start(["sleep", "300"], env={"LLAMA_API_KEY": "sesame-27182"})
    try:
        for cmdline in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                assert b"sesame-27182" not in cmdline.read_bytes(), cmdline
            except (FileNotFoundError, ProcessLookupError):
                continue
    finally:
        await child.stop()


async def test_a_child_that_ignores_sigterm_is_killed_within_its_grace(shell: SshShell) -> None:
    child = await shell.start(["sh", "-c", "trap '' TERM; echo ready; while :; do sleep 0.1; done"], env={})
    assert await anext(child.lines()) == "ready"
    began = time.monotonic()
    assert await child.stop() == -signal.SIGKILL
    assert 4 < time.monotonic() - began < 8
    assert not alive(child.pid)


async def test_a_stopped_leash_does_not_keep_its_child(shell: SshShell) -> None:
    child = await shell.start(["sleep", "300"], env={})
    leash = leash_of(child.pid)
    os.kill(leash, signal.SIGSTOP)
    for reader in group(leash):
        os.kill(reader, signal.SIGSTOP) if reader != child.pid else None
    await child.stop()
    assert await gone_within(child.pid, 2)
    os.killpg(leash, signal.SIGKILL)


async def test_nothing_of_a_leash_is_left_after_stop(shell: SshShell) -> None:
    child = await shell.start(["sleep", "300"], env={})
    leash = leash_of(child.pid)
    assert len(group(leash)) >= 4
    await child.stop()
    assert await holds(lambda: not group(leash), within_s=0.5)


async def test_a_child_dies_when_its_owner_is_killed(reached: Sshd) -> None:
    owner, child = await _owner_and_child()
    os.kill(child, signal.SIGSTOP)  # and were it stopped
    owner.kill()
    await owner.wait()
    assert await gone_within(child, 7)


async def test_a_child_outlives_a_stopped_owner_and_not_its_silence(reached: Sshd) -> None:
    owner, child = await _owner_and_child()
    os.kill(owner.pid, signal.SIGSTOP)
    await asyncio.sleep(11)
    assert alive(child), "a busy owner is not a dead one"
    clients = [int(p.parent.name) for p in Path("/proc").glob("[0-9]*/cmdline") if _is_ssh_of(p, owner.pid)]
    assert clients
    for client in clients:  # as when the cable is cut: nothing ends, nothing comes
        os.kill(client, signal.SIGSTOP)
    began = time.monotonic()
    assert await gone_within(child, 12)
    assert time.monotonic() - began > 5
    for pid in (*clients, owner.pid):
        os.kill(pid, signal.SIGKILL)
    await owner.wait()


async def test_a_child_whose_connection_breaks_is_lost_and_says_so(shell: SshShell) -> None:
    child = await shell.start(["sleep", "300"], env={})
    session = leash_of(leash_of(child.pid))
    os.kill(session, signal.SIGKILL)
    with pytest.raises(HostUnreachable, match=r"^far: the ssh connection broke: "):
        await child.wait()
    assert await child.stop() == -signal.SIGHUP
    assert await gone_within(child.pid, 7)


# ---- what goes wrong before


async def test_a_refused_key_is_said_with_the_command_that_helps(reached: Sshd) -> None:
    keys = reached.folder / "authorized_keys"
    known = keys.read_text()
    keys.write_text("")
    try:
        with pytest.raises(HostLogin, match=r"^far: ssh far was refused: ") as error:
            await SshShell("far", "far").run(["true"], within_s=10)
        assert "ssh-copy-id far" in (error.value.hint or "")
        with pytest.raises(HostLogin):
            await SshShell("far", "far").start(["true"], env={})
    finally:
        keys.write_text(known)


async def test_an_unknown_and_a_changed_host_key_are_told_apart(reached: Sshd) -> None:
    known = reached.known_hosts.read_text()
    try:
        reached.known_hosts.write_text("")
        with pytest.raises(HostLogin, match=r"^far: the host key of far is not known yet$") as error:
            await SshShell("far", "far").read("/proc/version")
        assert "ssh far once" in (error.value.hint or "")
        where, kind, _ = known.split()
        other = (reached.folder / "key.pub").read_text().split()[1]
        reached.known_hosts.write_text(f"{where} {kind} {other}\n")
        with pytest.raises(HostLogin, match=r"^far: the host key of far has changed") as error:
            await SshShell("far", "far").which("sh")
        assert f"sed -i 1d {reached.known_hosts}" in (error.value.hint or "")
    finally:
        reached.known_hosts.write_text(known)


async def test_nobody_listening_and_no_such_name_are_said(reached: Sshd, tmp_path: Path) -> None:
    config = tmp_path / "more"
    config.write_text(f"Host off\n    HostName 127.0.0.1\n    Port {free_port()}\n")
    ssh_on_path(tmp_path / "bin", [reached.config, config])
    with pytest.raises(HostUnreachable, match=r"^beta: nobody listens at 127\.0\.0\.1 port \d+: connection refused$"):
        await SshShell("beta", "off").run(["true"], within_s=10)
    with pytest.raises(HostUnreachable, match=r"^beta: the name no-such-host\.invalid does not resolve$"):
        await SshShell("beta", "no-such-host.invalid").run(["true"], within_s=10)


async def test_a_server_that_is_no_ssh_server_is_said(reached: Sshd, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as web:
        config = tmp_path / "more"
        config.write_text(f"Host web\n    HostName 127.0.0.1\n    Port {web.getsockname()[1]}\n")
        ssh_on_path(tmp_path / "bin", [reached.config, config])
        asking = asyncio.ensure_future(SshShell("beta", "web").run(["true"], within_s=10))
        visitor, _ = await asyncio.to_thread(web.accept)
        visitor.close()
        with pytest.raises(HostUnreachable, match=r"^beta: the ssh server at web hung up before the login$"):
            await asking


async def test_no_ssh_client_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("EVENER_STATE", str(tmp_path / "state"))
    with pytest.raises(HostError, match=r"^beta: ssh: No such file or directory$"):
        await SshShell("beta", "beta").run(["true"], within_s=10)


async def _owner_and_child() -> tuple[asyncio.subprocess.Process, int]:
    owner = await asyncio.create_subprocess_exec(sys.executable, "-c", OWNER, stdout=asyncio.subprocess.PIPE)
    assert owner.stdout is not None
    return owner, int(await owner.stdout.readline())


def _is_ssh_of(cmdline: Path, owner: int) -> bool:
    try:
        return b"ssh\0" in cmdline.read_bytes() and leash_of(int(cmdline.parent.name)) == owner
    except (FileNotFoundError, ProcessLookupError):
        return False
