"""What we rely on in a real engine build. Run it against each new pin before moving to it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evener.dialects import llama_build
from evener.dialects.llama_build import BENCH, FIT, QUANTIZE, SERVER, WORKER
from evener.edges.local_shell import LocalShell
from evener.engine import smoke
from evener.engine.capability import NOWHERE, capability, demand, present, worker_banner
from evener.engine.source import PIN
from evener.engine.tiny_model import tiny_model
from evener.ports import Finished

pytestmark = pytest.mark.engine

HERE = LocalShell("here")
ABORTED = -6


async def run(engine: Path, program: str, *arguments: str) -> Finished:
    return await HERE.run([str(engine / program), *arguments], within_s=30)


@pytest.fixture
def tiny(tmp_path: Path) -> str:
    path = tmp_path / "tiny.gguf"
    path.write_bytes(tiny_model())
    return str(path)


async def test_all_programs_are_there(engine: Path) -> None:
    assert await present(HERE, engine) == {SERVER, WORKER, FIT, BENCH, QUANTIZE}


async def test_it_has_every_flag_and_the_protocol_we_need(engine: Path) -> None:
    able = demand(await capability(HERE, engine))
    assert able.log_jsonl
    assert able.protocol == "7.0.0"


async def test_our_own_build_says_our_number_and_mark(engine: Path) -> None:
    if not (engine / "engine.json").exists():
        pytest.skip("this engine is not one that we built")
    able = await capability(HERE, engine)
    assert (able.build, able.commit) == (PIN.build, PIN.commit)


async def test_it_generates_a_token_of_the_tiny_model_and_of_a_real_one(engine: Path, model: Path) -> None:
    assert "CPU" in (await smoke.generate_one(HERE, engine)).backends
    assert (await smoke.generate_one(HERE, engine, model=model)).token_ms > 0


async def test_the_worker_tells_protocol_and_devices_without_listening(engine: Path) -> None:
    banner = await worker_banner(HERE, engine)
    assert banner.protocol == "7.0.0"
    assert banner.devices[-1].name == "CPU"
    assert (await run(engine, WORKER, "-H", NOWHERE)).code == 0


async def test_worker_exit_codes_for_what_it_cannot_do(engine: Path) -> None:
    unknown_device = await run(engine, WORKER, "-d", "NOPE", "-p", "50999")
    assert unknown_device.code == 1
    assert "unknown device: NOPE" in unknown_device.stderr
    assert (await run(engine, WORKER, "-p", "70000")).code == 1
    assert (await run(engine, WORKER, "--no-such-flag")).code == 0, "0 is what it says, so nobody may trust it"


async def test_worker_that_cannot_bind_ends_with_zero(engine: Path, unused_tcp_port: int) -> None:
    import socket

    with socket.create_server(("127.0.0.1", unused_tcp_port)):
        done = await run(engine, WORKER, "-H", "127.0.0.1", "-p", str(unused_tcp_port))
    assert done.code == 0
    assert "Failed to create server socket" in done.stderr


async def test_head_exit_codes_for_what_it_cannot_do(engine: Path) -> None:
    unknown_flag = await run(engine, SERVER, "--no-such-flag")
    assert (unknown_flag.code, "invalid argument: --no-such-flag" in unknown_flag.stderr) == (1, True)
    device_before_rpc = await run(engine, SERVER, "--device", "RPC0")
    assert (device_before_rpc.code, "invalid device: RPC0" in device_before_rpc.stderr) == (1, True)
    refused = await run(engine, SERVER, "--rpc", "127.0.0.1:1", "--list-devices")
    assert (refused.code, "Failed to connect to 127.0.0.1:1" in refused.stderr) == (ABORTED, True)
    ipv6 = await run(engine, SERVER, "--rpc", "::1", "--list-devices")
    assert (ipv6.code, "Failed to parse endpoint: ::1" in ipv6.stderr) == (ABORTED, True)


async def test_device_list_is_on_standard_output_and_ends_with_zero(engine: Path) -> None:
    done = await run(engine, SERVER, "--list-devices")
    assert done.code == 0
    assert done.stdout.startswith("Available devices:\n")
    assert "  (none)\n" in done.stdout or llama_build.devices(done.stdout)


async def test_dry_run_rows_are_name_and_three_whole_numbers(engine: Path, tiny: str) -> None:
    done = await run(engine, FIT, "-m", tiny, "-c", "64", "--fit-print", "on")
    assert done.code == 0
    name, *figures = done.stdout.splitlines()[-1].split()
    assert name == "Host"
    assert len([int(figure) for figure in figures]) == 3


async def test_dry_run_of_no_model_aborts(engine: Path) -> None:
    assert (await run(engine, FIT, "-m", "/no/such.gguf", "--fit-print", "on")).code == ABORTED


async def test_jsonl_log_is_one_object_per_line_with_level_and_message(engine: Path) -> None:
    done = await run(engine, SERVER, "-m", "/no/such.gguf", "--log-jsonl", "--port", "0")
    assert done.code == 1
    records = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert {"type", "time", "level", "msg"} <= records[0].keys()
    assert any(record.get("level") == "error" for record in records)
