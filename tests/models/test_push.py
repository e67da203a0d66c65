"""A model carried to a second home of this machine, by rsync and without it."""

from __future__ import annotations

import asyncio
import hashlib
import os
from pathlib import Path

import pytest

from evener.api import models
from evener.edges import ssh_command
from evener.edges.local_shell import LocalShell
from evener.edges.ssh_shell import SshShell
from evener.errors import HostError
from evener.models import push as pushing
from evener.models.push import Pushed, Way, push
from evener.records.events import Progress
from evener.testing.fake_shell import FakeShell, prints
from tests.elsewhere import Elsewhere
from tests.engine.toys import script

HERE = LocalShell("this machine")
VERSION = 'if [ "$1" = --version ]; then echo "rsync  version 3.2.7  protocol version 31"; exit; fi'


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVENER_STATE", str(tmp_path / "state"))
    monkeypatch.setattr(pushing, "SPARE_BYTES", 0)


@pytest.fixture
def parts(tmp_path: Path) -> list[Path]:
    (tmp_path / "mine").mkdir()
    made = [tmp_path / "mine" / f"m-0000{n}-of-00002.gguf" for n in (1, 2)]
    for path in made:
        path.write_bytes(os.urandom(300_000))
    return made


@pytest.fixture
def beta(tmp_path: Path) -> Elsewhere:
    return Elsewhere("beta", tmp_path / "beta")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "beta" / "my models"


async def pushed(
    beta: Elsewhere, parts: list[Path], folder: Path, *, rsync: Way | None = None, seen: list[Progress] | None = None
) -> Pushed:
    report = (seen if seen is not None else []).append
    return await push(HERE, beta, parts, folder=str(folder), rsync=rsync, report=report)


def held(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def wanted(parts: list[Path]) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in parts}


@pytest.mark.parametrize(("rsync", "by"), [(Way(), "rsync"), (None, "stream")])
async def test_all_parts_arrive_and_a_second_push_sends_nothing(
    beta: Elsewhere, parts: list[Path], folder: Path, rsync: Way | None, by: str
) -> None:
    done = await pushed(beta, parts, folder, rsync=rsync)
    assert (done.by, done.bytes, done.unchecked) == (by, 600_000, ())
    assert done.paths == tuple(str(folder / path.name) for path in parts)
    assert held(folder) == wanted(parts)
    assert (await pushed(beta, parts, folder, rsync=rsync)).by == "nothing"


async def test_without_a_modern_rsync_at_both_ends_it_is_a_stream(
    beta: Elsewhere, parts: list[Path], folder: Path, tmp_path: Path
) -> None:
    script(tmp_path / "old/rsync", "echo 'openrsync: protocol version 29'; echo 'rsync version 2.6.9 compatible'")
    beta.own["PATH"] = f"{tmp_path}/old:/usr/bin:/bin"
    assert (await pushed(beta, parts, folder, rsync=Way())).by == "stream"
    assert held(folder) == wanted(parts)


@pytest.mark.parametrize("rsync", [Way(), None])
async def test_an_interrupted_push_keeps_its_part_and_goes_on(
    beta: Elsewhere, parts: list[Path], folder: Path, rsync: Way | None
) -> None:
    digest = hashlib.sha256(parts[0].read_bytes()).hexdigest()
    folder.mkdir()
    part = folder / f"{parts[0].name}.{digest[:12]}.part"
    part.write_bytes(parts[0].read_bytes()[:100_000])
    seen: list[Progress] = []
    await pushed(beta, parts, folder, rsync=rsync, seen=seen)
    assert held(folder) == wanted(parts)
    if rsync is None:
        assert next(p.done for p in seen if p.what == parts[0].name) == 100_000


async def test_what_arrives_damaged_never_lands(beta: Elsewhere, parts: list[Path], folder: Path) -> None:
    digest = hashlib.sha256(parts[0].read_bytes()).hexdigest()
    folder.mkdir()
    (folder / f"{parts[0].name}.{digest[:12]}.part").write_bytes(bytes(100_000))  # of another file
    with pytest.raises(HostError, match=r"^beta: .*\.part arrived damaged$"):
        await pushed(beta, parts, folder)
    assert held(folder) == {}
    await pushed(beta, parts, folder)
    assert held(folder) == wanted(parts)


@pytest.mark.parametrize("content", [b"shorter", bytes(300_000)])
async def test_another_file_of_the_same_name_stays(
    beta: Elsewhere, parts: list[Path], folder: Path, content: bytes
) -> None:
    folder.mkdir()
    (folder / parts[1].name).write_bytes(content)
    with pytest.raises(HostError, match="is there and is another file"):
        await pushed(beta, parts, folder)
    assert held(folder) == {parts[1].name: content}


async def test_no_room_is_told_before_anything_is_sent(
    beta: Elsewhere, parts: list[Path], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pushing, "SPARE_BYTES", 1 << 50)
    with pytest.raises(HostError, match=r"^beta: .* free, m-00001-of-00002.gguf takes 1048576\.0 GiB"):
        await pushed(beta, parts, folder)
    assert not folder.exists()


async def test_a_host_without_any_tool_for_hashes_is_checked_by_size_and_says_so(
    beta: Elsewhere, parts: list[Path], folder: Path, tmp_path: Path
) -> None:
    for name in ("sha256sum", "shasum", "openssl"):
        script(tmp_path / "poor" / name, "exit 127")
    beta.own["PATH"] = f"{tmp_path}/poor:/usr/bin:/bin"
    done = await pushed(beta, parts, folder)
    assert done.unchecked == done.paths


async def test_what_rsync_complains_about_is_passed_on(
    beta: Elsewhere, parts: list[Path], folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script(tmp_path / "bad/rsync", f"{VERSION}; echo 'rsync: write failed: No space left on device (28)'; exit 11")
    monkeypatch.setenv("PATH", f"{tmp_path}/bad:{os.environ['PATH']}")
    with pytest.raises(HostError, match=r"^beta: cannot write .*: the disk is full$") as caught:
        await pushed(beta, parts, folder, rsync=Way())
    assert caught.value.hint == "the same command goes on where it stopped"


async def test_progress_is_the_size_that_grows_at_the_other_end(
    beta: Elsewhere, parts: list[Path], folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = 'for last; do :; done; head -c 1000 /dev/zero >"$last"; sleep 1; exit 12'
    script(tmp_path / "slow/rsync", f"{VERSION}; {slow}")
    monkeypatch.setenv("PATH", f"{tmp_path}/slow:{os.environ['PATH']}")
    monkeypatch.setattr(pushing, "LOOK_EVERY_S", 0.1)
    seen: list[Progress] = []
    with pytest.raises(HostError, match="rsync ended with 12"):
        await pushed(beta, parts, folder, rsync=Way(), seen=seen)
    assert 1000 in [p.done for p in seen if p.what == parts[0].name]


async def test_cancelling_ends_rsync(
    beta: Elsewhere, parts: list[Path], folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script(tmp_path / "stuck/rsync", f"{VERSION}; echo $$ >{tmp_path}/pid; exec sleep 300")
    monkeypatch.setenv("PATH", f"{tmp_path}/stuck:{os.environ['PATH']}")
    running = asyncio.ensure_future(pushed(beta, parts, folder, rsync=Way()))
    while not (tmp_path / "pid").exists():
        await asyncio.sleep(0.02)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    gone = Path(f"/proc/{(tmp_path / 'pid').read_text().strip()}")
    async with asyncio.timeout(5):  # the kernel takes a moment to forget it
        while gone.exists():
            await asyncio.sleep(0.02)


async def test_rsync_is_told_the_way_and_a_path_that_no_shell_reads(parts: list[Path]) -> None:
    here = FakeShell(programs={"rsync": prints("rsync  version 3.2.7  protocol version 31\n")}, children={"rsync": []})
    there = FakeShell(host="beta", programs={"rsync": prints("rsync  version 3.2.7\n"), "sh": prints("")})
    way = Way(to="me@beta:", ssh="ssh -o BatchMode=yes")
    running = asyncio.ensure_future(
        push(here, there, parts, folder="/data/my models", rsync=way, report=lambda p: None)
    )
    while not here.started:
        await asyncio.sleep(0.01)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    argv = here.ran[-1]
    assert argv[:7] == ("rsync", "--append", "--partial", "--protect-args", "--timeout=60", "-e", way.ssh)
    assert argv[-2] == str(parts[0])
    assert argv[-1].startswith("me@beta:/data/my models/m-00001-of-00002.gguf.")


async def test_where_rsync_fails_before_the_first_byte_the_stream_carries_all(
    beta: Elsewhere, parts: list[Path], folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script(tmp_path / "bad/rsync", f"{VERSION}; echo 'ssh: no such option'; echo x >>{tmp_path}/tried; exit 255")
    monkeypatch.setenv("PATH", f"{tmp_path}/bad:{os.environ['PATH']}")
    assert (await pushed(beta, parts, folder, rsync=Way())).by == "stream"
    assert held(folder) == wanted(parts)
    assert (tmp_path / "tried").read_text() == "x\n"  # not once for each part


async def test_where_nothing_more_arrives_rsync_is_ended_with_one_line(
    beta: Elsewhere, parts: list[Path], folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stuck = f'for last; do :; done; head -c 1000 /dev/zero >"$last"; echo $$ >{tmp_path}/pid; exec sleep 300'
    script(tmp_path / "stuck/rsync", f"{VERSION}; {stuck}")
    monkeypatch.setenv("PATH", f"{tmp_path}/stuck:{os.environ['PATH']}")
    monkeypatch.setattr(pushing, "LOOK_EVERY_S", 0.05)
    monkeypatch.setattr(pushing, "STILL_FOR_S", 0.5)
    with pytest.raises(HostError, match=r"^beta: .*\.part: nothing has arrived for 0\.5 s$"):
        await pushed(beta, parts, folder, rsync=Way())
    gone = Path(f"/proc/{(tmp_path / 'pid').read_text().strip()}")
    async with asyncio.timeout(5):  # the kernel takes a moment to forget it
        while gone.exists():
            await asyncio.sleep(0.02)


async def test_the_ssh_of_rsync_is_ours_in_the_users_environment(
    parts: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A real rsync calls a stand-in for ssh, which writes down how it was called."""
    script(tmp_path / "bin/ssh", f'env >{tmp_path}/env; printf "%s\\n" "$@" >{tmp_path}/argv; exit 255')
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    monkeypatch.setenv("KRB5CCNAME", "FILE:/tmp/krb5cc_1")
    way = models._by_rsync(SshShell("beta", "me@beta"))
    beta = Elsewhere("beta", tmp_path / "beta")
    done = await pushed(beta, parts, tmp_path / "beta/models", rsync=way)
    assert done.by == "stream"
    argv, env = (tmp_path / "argv").read_text().splitlines(), (tmp_path / "env").read_text().splitlines()
    wishes = {f"{key}={value}" for key, value in ssh_command.OPTIONS.items()}
    assert wishes | {"RemoteCommand=none", "ClearAllForwardings=yes", "ControlPath=none"} <= set(argv)
    assert argv[argv.index("-l") + 1 : argv.index("-l") + 3] == ["me", "beta"]
    assert {"KRB5CCNAME=FILE:/tmp/krb5cc_1", "SSH_ASKPASS_REQUIRE=never"} <= set(env)


@pytest.mark.parametrize("target", ["ssh://me@beta:2222", "-oProxyCommand=x"])
def test_what_rsync_would_misread_is_a_stream(target: str) -> None:
    assert models._by_rsync(SshShell("beta", target)) is None
    assert models._by_rsync(LocalShell("here")) == Way()
