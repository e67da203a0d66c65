"""Files of a host through its shell, on a second home of this machine."""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from evener import files
from evener.errors import HostError
from evener.records.events import Progress
from evener.testing.fake_shell import FakeShell, prints
from tests.elsewhere import Elsewhere

AWKWARD = "a b'c\"d $HOME `x` ünï"


@pytest.fixture
def beta(tmp_path: Path) -> Elsewhere:
    return Elsewhere("beta", tmp_path / "beta")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 8 MiB."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = os.geteuid() == 0 and subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=8m", "none", str(place)], check=False, capture_output=True
    )
    if not mounted or mounted.returncode != 0:
        pytest.skip("a small disk takes root and a mount")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def quiet(_progress: Progress) -> None:
    """Nobody watches."""


async def test_entries_know_size_and_identity_and_leave_out_what_is_not_there(beta: Elsewhere, tmp_path: Path) -> None:
    first, second = tmp_path / AWKWARD, tmp_path / "second"
    first.write_bytes(b"123")
    second.hardlink_to(first)
    (tmp_path / "link").symlink_to(first)
    asked = [str(tmp_path / name) for name in (AWKWARD, "second", "link", "none")]
    found = await files.entries(beta, asked)
    assert list(found) == asked[:3]
    assert {entry.bytes for entry in found.values()} == {3}
    assert {(e.device, e.inode) for e in found.values()} == {(first.stat().st_dev, first.stat().st_ino)}
    assert await files.entries(beta, []) == {}


async def test_a_name_with_a_line_break_is_refused_in_one_line(beta: Elsewhere) -> None:
    with pytest.raises(HostError, match=r"^beta: '/m/a\\nb\.gguf' has a line break in its name$"):
        await files.entries(beta, ["/m/a\nb.gguf"])


async def test_the_cache_of_a_host_is_in_its_own_home(beta: Elsewhere, tmp_path: Path) -> None:
    assert await files.cache_folder(beta) == f"{tmp_path}/beta/.cache/evener"
    beta.own["EVENER_CACHE"] = "/data/evener"
    assert await files.cache_folder(beta) == "/data/evener"
    assert await files.expanded(beta, "~/models") == f"{tmp_path}/beta/models"
    assert await files.expanded(beta, "/models/~") == "/models/~"


async def test_room_is_known_for_a_folder_that_is_still_to_be_made(beta: Elsewhere, tmp_path: Path) -> None:
    assert await files.free_bytes(beta, str(tmp_path / "not" / "yet")) == await files.free_bytes(beta, str(tmp_path))
    with pytest.raises(HostError, match=r"^beta: .*/not has .* free, the model takes 1048576\.0 GiB$"):
        await files.demand_room(beta, str(tmp_path / "not"), needed_bytes=1 << 50, what="the model")


async def test_a_file_is_sent_in_pieces_with_progress(
    beta: Elsewhere, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "CHUNK_BYTES", 1000)
    source, seen = tmp_path / "source", list[Progress]()
    source.write_bytes(os.urandom(2500))
    await files.send(beta, source, str(tmp_path / AWKWARD), what="send", report=seen.append, before=10, of=5000)
    assert (tmp_path / AWKWARD).read_bytes() == source.read_bytes()
    assert [(p.done, p.of) for p in seen] == [(10, 5000), (1010, 5000), (2010, 5000), (2510, 5000)]


async def test_a_broken_off_transfer_goes_on_where_it_stopped(beta: Elsewhere, tmp_path: Path) -> None:
    source, target, seen = tmp_path / "source", tmp_path / "target", list[Progress]()
    source.write_bytes(b"0123456789")
    target.write_bytes(b"0123")
    await files.send(beta, source, str(target), what="send", report=seen.append)
    assert target.read_bytes() == b"0123456789"
    assert [p.done for p in seen] == [4, 10]


async def test_an_empty_file_arrives_too(beta: Elsewhere, tmp_path: Path) -> None:
    (tmp_path / "source").touch()
    await files.send(beta, tmp_path / "source", str(tmp_path / "target"), what="send", report=quiet)
    assert (tmp_path / "target").read_bytes() == b""


async def test_remains_larger_than_the_file_are_thrown_away(beta: Elsewhere, tmp_path: Path) -> None:
    (tmp_path / "source").write_bytes(b"new")
    (tmp_path / "target").write_bytes(b"another, longer")
    await files.send(beta, tmp_path / "source", str(tmp_path / "target"), what="send", report=quiet)
    assert (tmp_path / "target").read_bytes() == b"new"


async def test_somebody_else_who_writes_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "source").write_bytes(b"12345")
    shell = FakeShell(host="beta", programs={"sh": prints("7\n")})
    with pytest.raises(HostError, match="has 7 bytes and not 5: somebody else writes to it"):
        await files.send(shell, tmp_path / "source", "/there", what="send", report=quiet)


async def test_a_full_disk_is_one_line_and_keeps_what_came(
    beta: Elsewhere, tmp_path: Path, small_disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "CHUNK_BYTES", 1 << 20)
    (tmp_path / "source").write_bytes(bytes(20 << 20))
    with pytest.raises(HostError, match=r"^beta: cannot write .*/target: the disk is full$") as caught:
        await files.send(beta, tmp_path / "source", str(small_disk / "target"), what="send", report=quiet)
    assert caught.value.hint == "make room there, then run the same command again"
    assert (small_disk / "target").stat().st_size >= 7 << 20


async def test_a_small_file_is_written_whole_or_not_at_all(beta: Elsewhere, tmp_path: Path, small_disk: Path) -> None:
    await files.write(beta, str(tmp_path / "deep" / AWKWARD), b"one")
    await files.write(beta, str(tmp_path / "deep" / AWKWARD), b"two")
    assert (tmp_path / "deep" / AWKWARD).read_bytes() == b"two"
    (small_disk / "kept").write_bytes(b"old")
    with pytest.raises(HostError, match="the disk is full"):
        await files.write(beta, str(small_disk / "kept"), bytes(9 << 20))
    assert [(path.name, path.read_bytes()) for path in small_disk.iterdir()] == [("kept", b"old")]


async def test_a_hash_is_computed_on_the_host(beta: Elsewhere, tmp_path: Path) -> None:
    (tmp_path / AWKWARD).write_bytes(b"content")
    expected = hashlib.sha256(b"content").hexdigest()
    assert await files.sha256(beta, str(tmp_path / AWKWARD), bytes=7) == expected
    assert await files.sha256(beta, str(tmp_path / "none"), bytes=0) is None


async def test_a_folder_is_never_renamed_into_another(beta: Elsewhere, tmp_path: Path) -> None:
    (tmp_path / "fresh").mkdir()
    (tmp_path / "there").mkdir()
    with pytest.raises(HostError, match=r"cannot rename .*/fresh to .*/there"):
        await files.rename(beta, str(tmp_path / "fresh"), str(tmp_path / "there"))
    assert list((tmp_path / "there").iterdir()) == []
