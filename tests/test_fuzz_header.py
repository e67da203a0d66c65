"""The short version of benchmarks/fuzz_header.py: damaged headers are read or refused, never worse."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).parents[1] / "benchmarks" / "fuzz_header.py"


@pytest.fixture(scope="module")
def fuzzer() -> ModuleType:
    spec = importlib.util.spec_from_file_location("fuzz_header", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_3000_mutated_headers_are_answered_or_refused(fuzzer: ModuleType) -> None:
    classes = fuzzer.fuzz(3000, 20261)
    assert classes.total() == 3000
    assert classes["read, a model"] > 50
    assert len(classes) > 15


def test_seeds_are_small_and_sound(fuzzer: ModuleType) -> None:
    seeds = fuzzer.seeds()
    assert all(len(seed) <= 4096 for seed in seeds)
    outcomes = [fuzzer.outcome(seed + bytes(fuzzer.DATA_BYTES)) for seed in seeds]
    assert outcomes == ["read, a model"] * 3 + ["read, no model"] * 2
