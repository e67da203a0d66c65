"""`evener bench users` as a user calls it, against a fake engine."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from evener.edges.run_folder import list_runs, open_run
from evener.testing.fake_engine import FakeEngine, fake_engine

SMALL = ("--isl", "20", "--osl", "4")


@dataclass
class Ended:
    code: int | None
    out: str
    err: str


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("EVENER_RUNS", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.delenv("EVENER_API_KEY", raising=False)
    return tmp_path


async def started(*arguments: str, command: str = "users", **variables: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "evener", "bench", command, *arguments),
        env=os.environ | variables,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )


async def evener(*arguments: str, command: str = "users", **variables: str) -> Ended:
    process = await started(*arguments, command=command, **variables)
    async with asyncio.timeout(60):
        out, err = await process.communicate()
    return Ended(process.returncode, out.decode(), err.decode())


async def test_a_table_has_a_row_per_user_count_and_the_run_is_kept(runs: Path) -> None:
    async with fake_engine(FakeEngine()) as engine:
        ended = await evener(engine.url, "-c", "1,2", *SMALL)
    assert ended.code == 0, ended.err
    rows = [line.split() for line in ended.out.splitlines()]
    assert [row[:2] for row in rows if row and row[0] in ("1", "2") and "/" in row[1]] == [["1", "6/0"], ["2", "6/0"]]
    (path,) = list_runs(runs)
    assert ended.out.splitlines()[-1] == f"run: {path}"
    data = open_run(path)
    assert data.summary is not None
    assert data.summary.partial is None
    assert sum(not request.warm_up for request in data.requests) == 6 + 6
    assert data.run.conditions.thinking_observed == "off"


async def test_json_has_the_documented_keys(runs: Path) -> None:
    async with fake_engine(FakeEngine()) as engine:
        ended = await evener(engine.url, "-c", "1", *SMALL, "--json", "--no-save", "--seed", "5")
    assert ended.code == 0, ended.err
    assert list_runs(runs) == []
    told: dict[str, Any] = json.loads(ended.out)
    assert {"url", "model", "levels", "client", "conditions", "validity", "partial", "notes", "run"} <= told.keys()
    assert (told["validity"], told["run"], told["conditions"]["sampling"]["seed"]) == ("valid", None, 5)
    level = told["levels"][0]
    assert {"users", "people", "requests", "ttft_ms", "tpot_ms", "itl_ms", "per_user_tokens_per_s"} <= level.keys()
    assert {"total_tokens_per_s", "goodput", "degradation", "duration_s", "note"} <= level.keys()
    assert level["requests"] == {"completed": 6, "errored": 0, "invalid": 0, "by_class": {}}
    assert {"mean", "p50", "p90", "n", "interval", "unit"} <= level["ttft_ms"].keys()
    assert (level["ttft_ms"]["n"], level["ttft_ms"]["p90"]) == (6, None)
    assert {"added_ttft_ms", "cpu_s", "saturated"} <= told["client"].keys()


async def test_failures_stand_in_the_table_and_are_named(runs: Path) -> None:
    engine = FakeEngine(scenario=lambda number: "error-middle" if number == 3 else "plain")
    async with fake_engine(engine):
        ended = await evener(engine.url, "-c", "1", *SMALL)
    assert ended.code == 0
    assert "5/1" in ended.out
    assert "1 user: failed: 1 server_error_in_stream" in ended.out


async def test_figures_from_a_cache_exit_4_after_they_were_shown(runs: Path) -> None:
    async with fake_engine(FakeEngine(scenario="cached")) as engine:
        ended = await evener(engine.url, "-c", "1", *SMALL)
    assert ended.code == 4
    assert "6/0" in ended.out
    assert "error: these figures must not be used: prompts came from a cache in 6 requests" in ended.err


async def test_ctrl_c_keeps_what_was_measured_and_exits_4(runs: Path) -> None:
    async with fake_engine(FakeEngine(itl_s=0.02)) as engine:
        process = await started(engine.url, "-c", "1,2", "--num-prompts", "200", *SMALL)
        async with asyncio.timeout(60):
            while len(engine.seen) < 8:
                await asyncio.sleep(0.02)
            process.send_signal(signal.SIGINT)
            out, err = await process.communicate()
    assert process.returncode == 4, err.decode()
    assert b"error: interrupted" in err
    assert b"cut short" in out
    data = open_run(list_runs(runs)[0])
    assert data.summary is not None
    assert data.summary.partial == "interrupted"
    assert len(data.requests) >= 5
    assert data.summary.stages[0].users is not None
    assert data.summary.stages[0].users.levels[0].requests.completed == sum(
        not request.warm_up for request in data.requests
    )


async def test_the_key_comes_from_the_environment_and_is_written_nowhere(runs: Path) -> None:
    async with fake_engine(FakeEngine(api_key="k1-very-secret")) as engine:
        named = await evener(engine.url, "-c", "1", *SMALL, "--api-key-env", "MY_KEY", MY_KEY="k1-very-secret")
        usual = await evener(engine.url, "-c", "1", *SMALL, EVENER_API_KEY="k1-very-secret")
        none = await evener(engine.url, "-c", "1", *SMALL)
    assert (named.code, usual.code, none.code) == (0, 0, 2)
    assert "error: " in none.err
    assert "--api-key-env NAME" in none.err
    written = "".join(p.read_text() for p in runs.rglob("*") if p.is_file())
    assert "very-secret" not in written + named.out + named.err


async def test_extra_fields_are_laid_over_each_request(runs: Path) -> None:
    async with fake_engine(FakeEngine()) as engine:
        ended = await evener(engine.url, "-c", "1", *SMALL, "--extra-body", '{"top_k": 3}')
    assert ended.code == 0, ended.err
    assert {seen.body.get("top_k") for seen in engine.seen} == {3}


@pytest.mark.parametrize(
    ("arguments", "code", "error"),
    [
        (("127.0.0.1:1",), 3, "error: nothing answers at http://127.0.0.1:1: connection refused"),
        (("127.0.0.1:1", "-c", "1,x"), 2, "error: '1,x' are no user counts"),
        (("127.0.0.1:1", "-c", "0"), 2, "error: user counts start at 1"),
        (("127.0.0.1:1", "--extra-body", "{"), 2, "error: --extra-body:"),
        (("127.0.0.1:1", "--extra-body", "[]"), 2, "error: --extra-body is no JSON object"),
        (("127.0.0.1:1", "--extra-body", '{"stream": false}'), 2, "error: --extra-body decides 'stream'"),
        (("127.0.0.1:1", "--api-key-env", "NOT_SET_ANYWHERE"), 2, "error: $NOT_SET_ANYWHERE is not set"),
        (("gopher://x",), 2, "error: gopher://x: not an http or https URL"),
    ],
)
async def test_what_cannot_be_measured_is_one_line_and_an_exit_code(
    runs: Path, arguments: tuple[str, ...], code: int, error: str
) -> None:
    ended = await evener(*arguments)
    assert ended.code == code
    assert error in ended.err
    assert "Traceback" not in ended.err
    assert list_runs(runs) == []
