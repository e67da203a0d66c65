from __future__ import annotations

import os
from pathlib import Path

import pytest

from evener.edges.local_shell import LocalShell
from evener.engine.capability import capability, demand, remembered
from evener.errors import EngineUnfit

from .toys import script, toy_engine

HERE = LocalShell("here")


async def test_everything_is_read_from_the_binaries(tmp_path: Path) -> None:
    able = demand(await capability(HERE, toy_engine(tmp_path)))
    assert (able.build, able.commit, able.protocol) == (11434, "b0a2feb", "7.0.0")
    assert able.log_jsonl
    assert "--fit-print" in able.fit_flags
    assert "-c" in able.worker_flags
    assert list(able.flags) == sorted(able.flags)


async def test_what_is_missing_is_named_and_refused(tmp_path: Path) -> None:
    folder = toy_engine(tmp_path)
    (folder / "llama-bench").unlink()
    script(
        folder / "ggml-rpc-server", "echo 'Starting RPC server v5.1.0'; echo '  -d, --device D'; echo '  -H, --host H'"
    )
    able = await capability(HERE, folder)
    assert able.lacks == (
        "llama-bench (not in the folder)",
        "ggml-rpc-server --port",
        "ggml-rpc-server --threads",
        "RPC protocol 7 (its worker speaks 5.1.0)",
    )
    with pytest.raises(EngineUnfit, match=r"b11434 \(b0a2feb\) lacks llama-bench"):
        demand(able)


async def test_a_binary_that_is_something_else_is_refused(tmp_path: Path) -> None:
    folder = toy_engine(tmp_path)
    script(folder / "llama-server", "echo hello")
    with pytest.raises(EngineUnfit, match="says nothing that can be read"):
        await capability(HERE, folder)


async def test_it_is_asked_once_per_build(tmp_path: Path) -> None:
    folder, memory = toy_engine(tmp_path / "engine"), tmp_path / "memory"
    first = await remembered(HERE, folder, memory=memory)
    server = folder / "llama-server"
    before = server.stat()
    server.write_bytes(b"#" * before.st_size)  # broken, and nobody looks: size and time are the same
    os.utime(server, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert await remembered(HERE, folder, memory=memory) == first


async def test_another_build_of_the_same_size_is_asked_anew(tmp_path: Path) -> None:
    folder, memory = toy_engine(tmp_path / "engine"), tmp_path / "memory"
    for build in (12000, 12001):
        server = script(folder / "llama-server", f"echo 'version: 0.7.0 (build {build}, commit abcdef0)'")
        os.utime(server, (build, build))
        assert (await remembered(HERE, folder, memory=memory)).build == build


async def test_a_torn_memory_is_written_again(tmp_path: Path) -> None:
    folder, memory = toy_engine(tmp_path / "engine"), tmp_path / "memory"
    first = await remembered(HERE, folder, memory=memory)
    (kept,) = memory.iterdir()
    kept.write_text('{"folder": ')
    assert await remembered(HERE, folder, memory=memory) == first
    assert kept.read_text().endswith("}")
