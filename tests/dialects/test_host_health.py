"""What a host says of itself, read; and the script that asks, on this machine."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from evener.dialects import host_health
from evener.dialects.host_health import Health, engine_variables, read

GIB = 1 << 30


def said(*lines: str) -> Health:
    health = read("\n".join([*lines, "end of it"]))
    assert health is not None
    return health


def test_an_answer_that_broke_off_is_none() -> None:
    assert read("clock 12\ngovernor powersave\n") is None


def test_keys_without_a_value_are_unknown() -> None:
    assert said("governor ", "gnome_sleep", "clock x") == Health()


def test_a_whole_answer_is_read() -> None:
    health = said(
        "clock 1796077409", "governor powersave", "address_space 8388608", "address 10.0.0.2", "address 127.0.0.1",
        "program ss", "config /etc/llama.cpp/config.ini", "cache /root/.cache/llama.cpp/rpc", "cache_kib 1048576",
        "cache_free_kib 2097152", "variable LLAMA_ARG_CTX_SIZE", "variable HOME",
    )  # fmt: skip
    assert health == Health(
        clock_s=1796077409, governor="powersave", address_space_bytes=8 * GIB,
        addresses=frozenset({"10.0.0.2", "127.0.0.1"}), programs=frozenset({"ss"}),
        configs=("/etc/llama.cpp/config.ini",), cache="/root/.cache/llama.cpp/rpc", cache_bytes=GIB,
        cache_free_bytes=2 * GIB, variables=("LLAMA_ARG_CTX_SIZE",),
    )  # fmt: skip


def test_promises_count_only_where_the_kernel_keeps_them() -> None:
    kib = ("CommitLimit 3145728", "Committed_AS 1048576")
    assert said("overcommit 2", *kib).commit_left_bytes == 2 * GIB
    assert said("overcommit 0", *kib).commit_left_bytes is None


@pytest.mark.parametrize(
    ("lines", "sleeps"),
    [
        (["sleep_target static", "idle_action ignore"], None),
        (["idle_action suspend"], "logind: IdleAction=suspend"),
        (["sleep_target masked", "idle_action suspend", "gnome_sleep 'suspend'"], None),
        (
            ["gnome_sleep 'suspend'", "gnome_sleep_after uint32 1200"],
            "GNOME: suspend after 20 min without anybody at it",
        ),
        (["gnome_sleep 'suspend'", "gnome_sleep_after 0"], None),
        (["gnome_sleep 'nothing'", "gnome_sleep_after 1200"], None),
    ],
)  # fmt: skip
def test_what_will_put_a_host_to_sleep(lines: list[str], sleeps: str | None) -> None:
    assert said(*lines).sleeps == sleeps


def test_only_variables_that_change_an_engine_count() -> None:
    names = ["GGML_NO_BACKTRACE", "GGML_CUDA_FORCE_MMQ", "CUDA_VISIBLE_DEVICES", "CUDA_HOME", "LLAMA_ARG_HOST", "PATH"]
    assert engine_variables(names) == ("CUDA_VISIBLE_DEVICES", "GGML_CUDA_FORCE_MMQ", "LLAMA_ARG_HOST")


def test_the_script_finds_what_a_login_shell_would_hand_to_a_worker(tmp_path: Path) -> None:
    (tmp_path / ".profile").write_text(
        "export LLAMA_ARG_DEVICE=secret XDG_CONFIG_HOME=$HOME/conf LLAMA_CACHE=$HOME/c\n"
    )
    (tmp_path / "conf" / "llama.cpp").mkdir(parents=True)
    (tmp_path / "conf" / "llama.cpp" / "config.ini").touch()
    (tmp_path / "c" / "rpc").mkdir(parents=True)
    (tmp_path / "c" / "rpc" / "0123456789abcdef").write_bytes(bytes(1 << 20))
    done = subprocess.run(
        ["sh", "-c", host_health.SCRIPT], capture_output=True, text=True,
        env={"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(tmp_path)},
    )  # fmt: skip
    health = read(done.stdout)
    assert health is not None
    assert "LLAMA_ARG_DEVICE" in health.variables
    assert f"{tmp_path}/conf/llama.cpp/config.ini" in health.configs
    assert health.cache == f"{tmp_path}/c/rpc"
    assert (health.cache_bytes or 0) >= 1 << 20
    assert "127.0.0.1" in health.addresses
    assert "secret" not in done.stdout
