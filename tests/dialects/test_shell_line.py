from __future__ import annotations

import shlex

from evener.dialects.shell_line import shell_line


def test_a_command_line_can_be_pasted_and_carries_no_secret() -> None:
    line = shell_line(
        ["/opt/llama server", "--api-key", "sesame", "--api-key=sesame", "-m", "it's.gguf"],
        {"LLAMA_API_KEY": "sesame", "GGML_NO_BACKTRACE": "1", "MY; TOKEN": "sesame"},
    )
    assert "sesame" not in line
    assert line == (
        """env GGML_NO_BACKTRACE=1 LLAMA_API_KEY="$LLAMA_API_KEY" 'MY; TOKEN=<left out>' '/opt/llama server' """
        """--api-key '<left out>' '--api-key=<left out>' -m 'it'"'"'s.gguf'"""
    )


def test_what_only_verification_reads_is_left_out() -> None:
    assert shell_line(["llama-server", "-lv", "4", "--log-jsonl", "-np", "4"], {}) == "llama-server -np 4"
    assert shell_line(["llama-server", "-lv"], {}) == "llama-server"


def test_a_pasted_worker_outlives_its_client() -> None:
    assert shlex.split(shell_line(["/opt/ggml-rpc-server", "-p", "50052"], {})) == [
        "sh", "-c", "trap '' PIPE; exec /opt/ggml-rpc-server -p 50052",
    ]  # fmt: skip
