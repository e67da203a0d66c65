"""`evener bench speed` as a user calls it, against a fake engine; and its rows in llama-bench's forms."""

from __future__ import annotations

import asyncio
import csv
import io
import json
import os
import re
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from evener.cli import bench_speed_view as view
from evener.edges.run_folder import list_runs, open_run
from evener.errors import ConfigurationError
from evener.records.load import ClientCost
from evener.records.speed_rows import Repeated, SpeedResult, SpeedRow
from evener.testing.fake_engine import FakeEngine, fake_engine

BLIND = ("--no-self-test", "--no-telemetry")
SMALL = ("-p", "32", "-n", "4", "-r", "2", *BLIND)


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("EVENER_RUNS", str(tmp_path))
    monkeypatch.setenv("EVENER_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.delenv("EVENER_API_KEY", raising=False)
    return tmp_path


async def started(*arguments: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "evener", "bench", "speed", *arguments),
        env=os.environ,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )


async def evener(*arguments: str) -> tuple[int | None, str, str]:
    process = await started(*arguments)
    async with asyncio.timeout(60):
        out, err = await process.communicate()
    return process.returncode, out.decode(), err.decode()


async def test_a_row_per_test_is_shown_and_kept(runs: Path) -> None:
    async with fake_engine(FakeEngine(caches=True, itl_s=0.02)) as engine:
        code, out, err = await evener(engine.url, *SMALL, "-d", "0,64")
    assert code in (0, 4), err  # 4: this machine was too busy to measure
    tests = re.findall(r"^((?:pp|tg)\d+(?: @ d\d+)?) ", out, re.MULTILINE)
    assert tests == ["pp32", "tg4", "pp32 @ d64", "tg4 @ d64"]
    assert "server t/s" in out
    assert "first token comes with the prompt" in out
    (path,) = [run for run in list_runs(runs)]
    data = open_run(path)
    assert data.run.what == "speed"
    assert data.summary is not None
    kept = data.summary.stages[0].speed
    assert kept is not None
    assert [row.client.n for row in kept.rows] == [2] * 4
    assert len(data.requests) == 3 * 4 + 1
    assert [fact.data["speed"]["test"] for fact in data.facts if fact.kind == "row"] == [row.test for row in kept.rows]
    assert data.run.conditions.users == 1
    assert data.run.conditions.thinking_observed == "off"


async def test_hosts_are_watched_and_the_client_is_checked(runs: Path) -> None:
    async with fake_engine(FakeEngine(itl_s=0.02)) as engine:
        code, out, err = await evener(engine.url, "-p", "32", "-n", "40", "-r", "1", "--ambient", "24", "--json")
    assert code in (0, 4), err
    told = json.loads(out)
    assert told["client"]["added_ttft_ms"] > 0
    assert told["telemetry"]["ambient_c"] == 24.0
    data = open_run(list_runs(runs)[0])
    assert data.summary is not None
    seen = data.summary.stages[0].telemetry
    assert seen is not None
    assert [host.samples >= 1 for host in seen.hosts] == [True]
    last = max(r.sent_s + (r.end_s or 0) for r in data.requests)
    assert last <= seen.to_s < last + 2, "seconds of the run, as those of requests"
    assert data.run.conditions.ambient_c == 24.0
    assert (data.path / "telemetry.jsonl").read_text().count("\n") >= 1


async def test_json_has_the_documented_keys_and_nothing_is_kept_when_told_so(runs: Path) -> None:
    async with fake_engine(FakeEngine()) as engine:
        code, out, err = await evener(engine.url, *SMALL, "--json", "--no-save", "--seed", "5")
    assert code in (0, 4), err
    assert list_runs(runs) == []
    told: dict[str, Any] = json.loads(out)
    assert {
        "url",
        "model",
        "rows",
        "rtt_ms",
        "gaps",
        "client",
        "conditions",
        "telemetry",
        "validity",
        "partial",
        "run",
    } <= told.keys()
    assert (told["run"], told["conditions"]["sampling"]["seed"], told["repetitions"]) == (None, 5, 2)
    row = told["rows"][0]
    assert {"test", "prompt_tokens", "output_tokens", "depth", "client", "server", "llama_bench"} <= row.keys()
    assert {"n", "mean", "sd", "unit", "values"} == row["client"].keys()


async def test_a_server_that_is_not_ours_is_never_stopped(runs: Path) -> None:
    async with fake_engine(FakeEngine()) as engine:
        code, _, err = await evener(engine.url, *SMALL, "--with-llama-bench", "--yes")
        assert not engine.seen
    assert code == 2
    assert "--with-llama-bench stops the server and starts it again: only a deployment of ours can be" in err
    assert list_runs(runs) == []


async def test_ctrl_c_leaves_a_partial_run_with_what_was_measured(runs: Path) -> None:
    async with fake_engine(FakeEngine()) as engine:
        process = await started(engine.url, "-p", "32", "-n", "4000", "-r", "2", *BLIND)
        async with asyncio.timeout(60):
            while len(engine.seen) < 1 + 3 + 1:  # the probe, three prompts, and an answer of eight seconds
                await asyncio.sleep(0.05)
            process.send_signal(signal.SIGINT)
            out, err = await process.communicate()
    assert process.returncode == 4
    assert b"Traceback" not in err
    assert b"pp32" in out
    summary = open_run(list_runs(runs)[0]).summary
    assert summary is not None
    assert summary.partial == "interrupted"
    assert summary.stages[0].speed is not None
    assert [row.test for row in summary.stages[0].speed.rows] == ["pp32"]


def figure(mean: float, sd: float | None) -> Repeated:
    return Repeated(n=5, mean=mean, sd=sd, unit="tok/s", values=(mean,) * 5)


RESULT = SpeedResult(
    url="http://127.0.0.1:8080",
    model="some|model",
    repetitions=5,
    rows=(
        SpeedRow(
            test="pp512 @ d4096", prompt_tokens=512, output_tokens=0, depth=4096, client=figure(132.187, 0.5512),
            server=figure(140.0, 1.0), llama_bench=None,
        ),
    ),
    rtt_ms=0.1,
    gaps="because",
    client=ClientCost(cpu_s=0.1),
)  # fmt: skip


def test_a_figure_is_written_as_llama_bench_writes_it() -> None:
    assert view.spread(figure(132.187, 0.5512)) == "132.19 ± 0.55"
    assert view.spread(figure(7.0, None)) == "7.00"
    assert view.spread(None) == "-"


def test_markdown_is_a_table_that_can_be_pasted() -> None:
    assert view.written(RESULT, "md") == (
        "| model | test | t/s (client) | t/s (server) | t/s (llama-bench) | n |\n"
        "| --- | ---: | ---: | ---: | ---: | ---: |\n"
        "| some\\|model | pp512 @ d4096 | 132.19 ± 0.55 | 140.00 ± 1.00 | - | 5 |\n"
    )


def test_json_and_jsonl_have_llama_benchs_own_names() -> None:
    (row,) = json.loads(view.written(RESULT, "json"))
    assert json.loads(view.written(RESULT, "jsonl")) == row
    assert (row["n_prompt"], row["n_gen"], row["n_depth"], row["avg_ts"]) == (512, 0, 4096, 132.187)
    assert (row["stddev_ts"], row["server_avg_ts"], row["llama_bench_avg_ts"]) == (0.5512, 140.0, None)
    assert len(row["samples_ts"]) == 5


def test_csv_has_a_header_and_empty_cells_for_what_is_not_known() -> None:
    (row,) = csv.DictReader(io.StringIO(view.written(RESULT, "csv")))
    assert (row["model"], row["test"], row["avg_ts"], row["llama_bench_avg_ts"]) == (
        "some|model", "pp512 @ d4096", "132.187", "",
    )  # fmt: skip


def test_sizes_and_pairs_are_read_or_refused() -> None:
    assert view.sizes("512,2048", option="-p") == (512, 2048)
    assert view.pair("512,128") == (512, 128)
    for wrong in ("512", "a,b", "1,2,3", ""):
        with pytest.raises(ConfigurationError):
            view.pair(wrong)
