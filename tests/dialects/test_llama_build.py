"""Captured from build 11434 on Linux unless a test says otherwise."""

from __future__ import annotations

from pathlib import Path

import pytest

from evener.dialects import llama_build
from evener.dialects.llama_build import NEEDED_FIT, NEEDED_SERVER, NEEDED_WORKER, PROGRAMS

CAPTURES = Path(__file__).parent.parent / "captures" / "llama"


def captured(name: str) -> str:
    return (CAPTURES / name).read_text()


def test_version_names_build_commit_and_compiler() -> None:
    said = llama_build.version(captured("version.txt"))
    assert said == llama_build.Version(build=11434, commit="b0a2feb", compiler="GNU 12.2.0")


def test_version_line_of_older_builds_is_read() -> None:
    said = llama_build.version(
        "version: 4321 (0a1b2c3)\nbuilt with cc (Debian 12.2.0-14) 12.2.0 for x86_64-linux-gnu\n"
    )
    assert said == llama_build.Version(build=4321, commit="0a1b2c3", compiler="cc (Debian 12.2.0-14) 12.2.0")


def test_build_zero_of_a_build_outside_git_is_unknown() -> None:
    said = llama_build.version("version: 0.6.0-dev (build 0, commit unknown)\n")
    assert said == llama_build.Version(build=None, commit=None, compiler=None)


@pytest.mark.parametrize("text", ["", "GNU bash, version 5.2.15(1)-release", "version: soon"])
def test_other_text_is_no_version(text: str) -> None:
    assert llama_build.version(text) is None


def test_flags_have_every_spelling_and_no_mention() -> None:
    flags = llama_build.flags(captured("server_help.txt"))
    assert {"-ngl", "--gpu-layers", "--n-gpu-layers", "-nkvo", "--no-kv-offload", "-h", "--cpu-strict"} <= flags
    assert "--usage" in flags
    # Named only inside a description ("same as --threads"; "--fit," and a link) or as an argument.
    assert not flags & {"-infinity", "-hi", "-value"}
    assert llama_build.flags("--first N   like --second, but\n                --third is prose\n") == {"--first"}


def test_the_build_we_pin_has_all_that_we_need() -> None:
    server = llama_build.flags(captured("server_help.txt"))
    worker = llama_build.flags(captured("worker_help.txt"))
    fit = frozenset(NEEDED_FIT)
    assert (
        llama_build.lacks(programs=frozenset(PROGRAMS), server=server, fit=fit, worker=worker, protocol="7.0.0") == ()
    )


def test_what_a_build_lacks_is_named() -> None:
    said = llama_build.lacks(
        programs=frozenset(PROGRAMS) - {"llama-bench", "llama-quantize"},
        server=frozenset(NEEDED_SERVER) - {"--log-jsonl"},
        fit=frozenset(NEEDED_FIT),
        worker=frozenset(NEEDED_WORKER),
        protocol="5.0.0",
    )
    assert said == (
        "llama-bench (not in the folder)",
        "llama-server --log-jsonl",
        "RPC protocol 7 (its worker speaks 5.0.0)",
    )


def test_flags_of_a_missing_program_are_not_asked_for() -> None:
    said = llama_build.lacks(
        programs=frozenset(PROGRAMS) - {"ggml-rpc-server"},
        server=frozenset(NEEDED_SERVER),
        fit=frozenset(NEEDED_FIT),
        worker=frozenset(),
        protocol=None,
    )
    assert said == ("ggml-rpc-server (not in the folder)",)


def test_banner_tells_protocol_and_devices() -> None:
    banner = llama_build.banner(captured("worker_banner.txt"))
    assert banner.protocol == "7.0.0"
    (cpu,) = banner.devices
    assert (cpu.name, cpu.description) == ("CPU", "AMD EPYC")
    assert cpu.total_bytes == cpu.free_bytes == 24105 * 1024 * 1024


def test_device_descriptions_may_hold_anything() -> None:
    text = (
        "Available devices:\n"
        "  CUDA0: NVIDIA GeForce RTX 5090 (32607 MiB, 31900 MiB free)\n"
        "  Vulkan1: AMD Radeon Graphics (RADV RAPHAEL_MENDOCINO) (12288 MiB, 11000 MiB free)\n"
        "  RPC0: 127.0.0.1:50052 (24105 MiB, 24105 MiB free)\n"
    )
    assert [(d.name, d.description) for d in llama_build.devices(text)] == [
        ("CUDA0", "NVIDIA GeForce RTX 5090"),
        ("Vulkan1", "AMD Radeon Graphics (RADV RAPHAEL_MENDOCINO)"),
        ("RPC0", "127.0.0.1:50052"),
    ]


def test_no_devices_is_an_empty_list() -> None:
    assert llama_build.devices("Available devices:\n  (none)\n") == ()


def test_bench_row_tells_backends_and_time() -> None:
    row = llama_build.bench_row(captured("bench.json"))
    assert row is not None
    assert row.backends == ("CPU",)
    assert 0 < row.token_ms < 100


@pytest.mark.parametrize("text", ["", "[]", "null", "[{}]", '{"avg_ns": 1}', "main: error: unable to load model"])
def test_anything_else_is_no_bench_row(text: str) -> None:
    assert llama_build.bench_row(text) is None


def test_devices_of_every_backend_are_read_and_blas_is_none() -> None:
    listed = llama_build.devices((CAPTURES / "list_devices_others.txt").read_text())
    assert [(d.name, d.description) for d in listed] == [
        ("MTL0", "Apple M1 Max"),
        ("SYCL0", "Intel(R) Arc(TM) B580 Graphics"),
        ("SYCL1", "Intel(R) Graphics"),
        ("ROCm0", "AMD Radeon AI PRO R9700"),
        ("ROCm1", "AMD Radeon(TM) Graphics"),
        ("Vulkan0", "AMD Radeon 890M Graphics (RADV STRIX1)"),
    ]
    assert (listed[1].total_bytes, listed[1].free_bytes) == (12216 << 20, 11959 << 20)


def test_more_free_than_there_is_means_that_nobody_knows() -> None:
    # ggml-org/llama.cpp#17536, unified memory.
    (device,) = llama_build.devices("  CUDA0: NVIDIA GB10 (32106 MiB, 55372 MiB free)\n")
    assert (device.total_bytes, device.free_bytes) == (32106 << 20, None)
