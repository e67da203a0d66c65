"""Rows of a real llama-bench run (build 11434, SmolLM2 on one thread; the path is shortened), and what is none."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from evener.dialects.llama_bench import rows, sized_argv
from evener.errors import EngineError

CAPTURED = (Path(__file__).parent.parent / "captures/llama/bench_smollm2_cpu.json").read_text(encoding="utf-8")


def test_captured_run_has_a_prompt_and_an_answer_with_five_samples_each() -> None:
    prompt, answer = rows(CAPTURED)
    assert (prompt.prompt_tokens, prompt.output_tokens, answer.prompt_tokens, answer.output_tokens) == (128, 0, 0, 32)
    assert prompt.tokens_per_s[0] == 266.523
    assert len(answer.tokens_per_s) == 5
    assert (answer.model, answer.model_bytes, answer.model_parameters) == (
        "SmolLM2-135M-Instruct.Q4_1.gguf", 96576768, 134515008,
    )  # fmt: skip
    assert answer.taken_at == datetime(2026, 11, 30, 21, 50, 27, tzinfo=UTC)
    assert (answer.build, answer.backends, answer.devices, answer.threads, answer.depth) == (11434, "CPU", "auto", 1, 0)


def test_row_without_what_every_build_writes_is_named() -> None:
    broken = json.loads(CAPTURED)
    del broken[1]["samples_ts"]
    with pytest.raises(EngineError, match=r"bench\.json: row 2 lacks 'samples_ts'"):
        rows(json.dumps(broken), source="bench.json")


@pytest.mark.parametrize("text", ["", "| model | size |", "{}", "[1]", '[{"model_filename": "a"}]'])
def test_anything_else_is_one_line_with_a_hint(text: str) -> None:
    with pytest.raises(EngineError) as raised:
        rows(text)
    assert "\n" not in raised.value.message
    assert raised.value.hint


def test_strange_time_is_unknown() -> None:
    strange = json.loads(CAPTURED)
    strange[0]["test_time"] = "yesterday"
    assert rows(json.dumps(strange))[0].taken_at is None


def test_a_plans_command_gets_other_tests_and_keeps_its_placement() -> None:
    plan = (
        "llama-bench",
        "-m",
        "x.gguf",
        "--rpc",
        "a:1,b:2",
        "-dev",
        "RPC0/RPC1",
        "-ts",
        "10/21",
        "-p",
        "512",
        "-n",
        "128",
    )
    sizes = {"prompts": [64, 128], "outputs": [], "pairs": [(32, 8)], "depths": [0, 4096], "repetitions": 3}
    assert sized_argv(plan, **sizes) == (  # type: ignore[arg-type]
        "llama-bench", "-m", "x.gguf", "--rpc", "a:1,b:2", "-dev", "RPC0/RPC1", "-ts", "10/21",
        "-p", "64,128", "-n", "0", "-pg", "32,8", "-d", "0,4096", "-r", "3", "-o", "json",
    )  # fmt: skip
