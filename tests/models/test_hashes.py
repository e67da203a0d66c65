"""A file's hash is computed once, and again for every other file."""

from __future__ import annotations

import asyncio
import hashlib
import os
from pathlib import Path

import pytest

from evener.errors import ModelMissing
from evener.models import hashes
from evener.models.hashes import remember, sha256_of, sha256_of_all
from evener.records.events import Progress

LONG_AGO_NS = 1_700_000_000_000_000_000


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVENER_STATE", str(tmp_path / "state"))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return settled(tmp_path / "model.gguf", b"weights")


def settled(path: Path, content: bytes, *, at_ns: int = LONG_AGO_NS) -> Path:
    path.write_bytes(content)
    os.utime(path, ns=(at_ns, at_ns))
    return path


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


async def read(path: Path) -> tuple[str, bool]:
    """(hash, whether the file was read for it)."""
    seen: list[Progress] = []
    return await sha256_of(path, report=seen.append), bool(seen)


async def test_a_file_is_read_once(file: Path) -> None:
    assert await read(file) == (digest(b"weights"), True)
    assert await read(file) == (digest(b"weights"), False)


async def test_another_name_of_the_folder_is_the_same_file(file: Path, tmp_path: Path) -> None:
    await read(file)
    (tmp_path / "link.gguf").symlink_to(file)
    assert await read(tmp_path / "link.gguf") == (digest(b"weights"), False)


async def test_other_size_time_or_inode_is_another_file(file: Path, tmp_path: Path) -> None:
    await read(file)
    assert await read(settled(file, b"more weights")) == (digest(b"more weights"), True)
    assert await read(settled(file, b"MORE WEIGHTS", at_ns=LONG_AGO_NS + 1)) == (digest(b"MORE WEIGHTS"), True)
    settled(tmp_path / "fresh", b"more WEIGHTS", at_ns=LONG_AGO_NS + 1).replace(file)
    assert await read(file) == (digest(b"more WEIGHTS"), True)


async def test_a_file_that_has_just_changed_is_not_trusted_to_stay(file: Path) -> None:
    file.write_bytes(b"written now")
    await read(file)
    assert await read(file) == (digest(b"written now"), True)


async def test_what_was_checked_elsewhere_is_known(file: Path) -> None:
    file.write_bytes(b"fetched now")
    remember(file, "ab" * 32)
    assert await read(file) == ("ab" * 32, False)


async def test_torn_memory_is_no_memory(file: Path, tmp_path: Path) -> None:
    await read(file)
    (kept,) = (tmp_path / "state" / "hashes").iterdir()
    for text in ('{"path": ', "[]", "{}"):
        kept.write_text(text)
        assert await read(file) == (digest(b"weights"), True)


async def test_a_model_in_parts_has_the_hash_of_its_hashes(file: Path, tmp_path: Path) -> None:
    other = settled(tmp_path / "other", b"o")
    both = f"{digest(b'weights')}\n{digest(b'o')}\n".encode()
    assert await sha256_of_all([file, other], report=lambda p: None) == digest(both)
    assert await sha256_of_all([str(file)], report=lambda p: None) == digest(b"weights")


async def test_progress_counts_bytes(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hashes, "CHUNK_BYTES", 4)
    seen: list[Progress] = []
    await sha256_of(file, report=seen.append)
    assert [(p.what, p.done, p.of) for p in seen] == [("hash", 4, 7), ("hash", 7, 7)]


async def test_cancelling_stops_the_reading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hashes, "CHUNK_BYTES", 1)
    seen: list[Progress] = []
    reading = asyncio.ensure_future(sha256_of(settled(tmp_path / "long", bytes(100_000)), report=seen.append))
    while len(seen) < 3:
        await asyncio.sleep(0)
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    assert len(seen) < 100_000


async def test_a_file_that_grows_meanwhile_or_is_not_there_is_one_line(file: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelMissing, match="changed while it was read"):
        await sha256_of(file, report=lambda p: settled(file, b"longer than before") and None)
    with pytest.raises(ModelMissing, match=r"none: cannot be read: No such file"):
        await sha256_of(tmp_path / "none", report=lambda p: None)
