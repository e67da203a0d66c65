"""`evener bench context` as a user calls it, against a fake engine that knows every answer."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evener.cli import bench_context_view as view
from evener.edges.run_folder import list_runs, open_run
from evener.errors import ConfigurationError
from evener.records.context_limits import Ceiling
from evener.testing.fake_engine import FakeEngine, fake_engine
from tests.bench.test_context import knowing

ASKED = ("--lengths", "300,512", "--needles", "1", "--reasoning", "1", "--answer-tokens", "16", "--seed", "3")
BLIND = ("--no-self-test", "--no-telemetry")
SMALL = (*ASKED, *BLIND)


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("EVENER_RUNS", str(tmp_path))
    monkeypatch.setenv("EVENER_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.delenv("EVENER_API_KEY", raising=False)
    return tmp_path


async def evener(*arguments: str) -> tuple[int | None, str, str]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "evener", "bench", "context", *arguments),
        env=os.environ,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(60):
        out, err = await process.communicate()
    return process.returncode, out.decode(), err.decode()


def engine(**more: Any) -> FakeEngine:
    return FakeEngine(ttft_s=0.001, itl_s=0.001, says=knowing, context=2048, **more)


async def test_the_ceilings_the_sentence_and_a_row_per_length_are_shown_and_kept(runs: Path) -> None:
    async with fake_engine(engine()) as serving:
        code, out, err = await evener(serving.url, *SMALL)
    assert code in (0, 4), err  # 4: this machine was too busy to measure
    lines = out.splitlines()
    assert lines[1].split()[:2] == ["trained", "unknown"]
    assert lines[2].split()[:3] == ["configured", "2048", "binds"]
    assert "Under the allocation of this server (4 slots) what the server gives to one sequence binds" in out
    assert "5/5 48-100%" in out
    (path,) = list_runs(runs)
    data = open_run(path)
    assert data.summary is not None
    kept = data.summary.stages[0].context
    assert kept is not None
    assert (kept.binding, [row.tokens for row in kept.lengths]) == ("configured", [300, 512])
    answers = [fact.data for fact in data.facts if fact.kind == "answer"]
    assert len(answers) == 12
    assert {"tokens", "kind", "place", "asked", "answer", "said", "right"} == answers[0].keys()


async def test_hosts_are_watched_meanwhile(runs: Path) -> None:
    async with fake_engine(replace(engine(), ttft_s=0.15)) as serving:
        code, out, err = await evener(serving.url, *ASKED, "--no-self-test", "--json", "--no-save", "--ambient", "24")
    assert code in (0, 4), err
    told = json.loads(out)
    assert (told["telemetry"]["ambient_c"], told["conditions"]["ambient_c"]) == (24.0, 24.0)
    assert [host["samples"] >= 1 for host in told["telemetry"]["hosts"]] == [True]


async def test_json_has_the_documented_keys(runs: Path) -> None:
    async with fake_engine(engine()) as serving:
        code, out, err = await evener(serving.url, *SMALL, "--json", "--no-save")
    assert code in (0, 4), err
    assert list_runs(runs) == []
    told = json.loads(out)
    assert {"allocation", "ceilings", "binding", "sentence", "lengths", "reloads", "conditions", "run"} <= told.keys()
    assert [one["name"] for one in told["ceilings"]] == ["trained", "configured", "memory", "quality"]
    row = told["lengths"][0]
    assert {"tokens", "prompt_tokens", "needles", "depths", "reasoning", "ttft_ms", "truncated", "note"} <= row.keys()
    assert row["needles"] == {"n": 5, "right": 5, "interval": row["needles"]["interval"]}


async def test_runs_go_where_they_are_asked_to_and_a_url_may_be_an_option(runs: Path, tmp_path: Path) -> None:
    async with fake_engine(engine()) as serving:
        elsewhere = ("--base-url", serving.url, "--out", str(tmp_path / "elsewhere"))
        code, _, err = await evener(*elsewhere, "--lengths", "300", "--needles", "1", "--reasoning", "0", *BLIND)
    assert code in (0, 4), err
    assert list_runs(runs) == []
    assert len(list_runs(tmp_path / "elsewhere")) == 1


async def test_nothing_of_somebody_elses_is_loaded_again(runs: Path) -> None:
    async with fake_engine(engine()) as serving:
        code, _, err = await evener(serving.url, *SMALL, "--reload", "--yes")
    assert code == 2
    assert "only a deployment of ours can be" in err


def test_lengths_are_read_in_tokens_and_in_units_of_1024() -> None:
    assert view.lengths("1k,4096, 16K") == (1024, 4096, 16384)
    for wrong in ("", "1m", "a", "1k,,2k"):
        with pytest.raises(ConfigurationError, match="not a list of lengths"):
            view.lengths(wrong)


def test_a_ceiling_that_nothing_reached_is_shown_as_at_least_and_an_unknown_one_as_unknown() -> None:
    assert view.tokens(Ceiling(name="quality", tokens=2048, why="", at_least=True)) == "≥ 2048"
    assert view.tokens(Ceiling(name="memory", tokens=None, why="")) == "unknown"
    assert view.tokens(Ceiling(name="trained", tokens=8192, why="")) == "8192"
