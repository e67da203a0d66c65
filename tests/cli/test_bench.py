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

from evener.cli import main
from evener.edges.run_folder import list_runs, open_run
from evener.testing.fake_engine import FakeEngine, fake_engine

SMALL = ("--isl", "20", "--osl", "4")
PLAIN = (*SMALL, "--no-self-test", "--no-telemetry")


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


def refused(*arguments: str, monkeypatch: pytest.MonkeyPatch) -> object:
    """The exit code of a bench command within this process; an error that is no line of ours is raised."""
    monkeypatch.setattr(sys, "argv", ["evener", "bench", *arguments])
    with pytest.raises(SystemExit) as ended:
        main.run()
    return ended.value.code


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


def assert_done(ended: Ended) -> None:
    """It came to its end. A machine that is busy with other things may make the figures invalid, as it should."""
    busy = ended.code == 4 and "must not be used: this client was saturated" in ended.err
    assert ended.code == 0 or busy, ended.err


async def test_a_table_has_a_row_per_user_count_and_the_run_is_kept(runs: Path) -> None:
    async with fake_engine(FakeEngine()) as engine:
        ended = await evener(engine.url, "-c", "1,2", *PLAIN)
    assert_done(ended)
    table = ended.out[: ended.out.index("n=12 answers")].splitlines()
    rows = [line.split() for line in table if line[:1] in ("1", "2") and line.endswith("0")]
    assert [(row[0], *row[-2:]) for row in rows] == [("1", "6", "0"), ("2", "6", "0")]
    (path,) = list_runs(runs)
    assert ended.out.splitlines()[-2:] == [f"run: {path}", f"page: {path / 'report.html'}"]
    assert (path / "report.html").read_text().startswith("<!doctype html>")
    data = open_run(path)
    assert data.summary is not None
    assert data.summary.partial is None
    assert sum(not request.warm_up for request in data.requests) == 12
    assert data.run.conditions.thinking_observed == "off"
    block = ended.out[ended.out.index("= Serving Benchmark Result =") :]
    assert [line.split()[-1] for line in block.splitlines()[1:4]] == ["2", "6", "0"]  # users, completed, failed


async def test_json_has_the_documented_keys(runs: Path) -> None:
    async with fake_engine(FakeEngine()) as engine:
        ended = await evener(engine.url, "-c", "1", *PLAIN, "--json", "--no-save", "--seed", "5")
    assert_done(ended)
    assert list_runs(runs) == []
    told: dict[str, Any] = json.loads(ended.out)
    assert {"url", "model", "levels", "client", "conditions", "validity", "partial", "notes", "run"} <= told.keys()
    assert {"comfortable", "mixed", "kv_exhausted_from", "telemetry", "drift"} <= told.keys()
    assert (told["run"], told["conditions"]["sampling"]["seed"]) == (None, 5)
    assert told["validity"] == "valid" or told["client"]["saturated"]
    level = told["levels"][0]
    assert {"users", "people", "requests", "ttft_ms", "tpot_ms", "itl_ms", "per_user_tokens_per_s"} <= level.keys()
    assert {"total_tokens_per_s", "goodput", "degradation", "duration_s", "note"} <= level.keys()
    assert level["requests"] == {"completed": 6, "errored": 0, "invalid": 0, "by_class": {}}
    assert {"mean", "p50", "p90", "n", "interval", "unit"} <= level["ttft_ms"].keys()
    assert (level["ttft_ms"]["n"], level["ttft_ms"]["p90"]) == (6, None)
    assert {"added_ttft_ms", "cpu_s", "saturated"} <= told["client"].keys()


async def test_hosts_are_watched_on_the_same_axis_as_requests(runs: Path) -> None:
    async with fake_engine(FakeEngine(itl_s=0.05)) as engine:
        ended = await evener(engine.url, "-c", "1", "--isl", "20", "--osl", "8", "--no-self-test", "--ambient", "24")
    assert_done(ended)
    data = open_run(list_runs(runs)[0])
    assert data.summary is not None
    told = data.summary.stages[0].telemetry
    assert told is not None
    assert (told.ambient_c, data.run.conditions.ambient_c) == (24.0, 24.0)
    assert [host.samples >= 2 for host in told.hosts] == [True]
    last = max(r.sent_s + (r.end_s or 0) for r in data.requests)
    assert told.from_s < 0.5
    assert last <= told.to_s < last + 2


async def test_failures_stand_in_the_table_and_are_named(runs: Path) -> None:
    engine = FakeEngine(scenario=lambda number: "error-middle" if number == 3 else "plain")
    async with fake_engine(engine):
        ended = await evener(engine.url, "-c", "1", *PLAIN)
    assert_done(ended)
    assert "1 user: failed: 1 server_error_in_stream" in ended.out
    assert "Failed requests:                        1\n  server_error_in_stream:               1" in ended.out


async def test_figures_from_a_cache_exit_4_after_they_were_shown(runs: Path) -> None:
    async with fake_engine(FakeEngine(scenario="cached")) as engine:
        ended = await evener(engine.url, "-c", "1", *PLAIN)
    assert ended.code == 4
    assert "Successful requests:                    6" in ended.out
    assert "error: these figures must not be used: " in ended.err
    assert "prompts came from a cache in 6 requests" in ended.err


async def test_ctrl_c_keeps_what_was_measured_and_exits_4(runs: Path) -> None:
    async with fake_engine(FakeEngine(itl_s=0.02)) as engine:
        process = await started(engine.url, "-c", "1,2", "--num-prompts", "200", *PLAIN)
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
    measured = sum(not request.warm_up for request in data.requests)
    assert data.summary.stages[0].users.levels[0].requests.completed == measured
    assert f"--resume {list_runs(runs)[0].name} goes on" in " ".join(err.decode().split())
    assert (list_runs(runs)[0] / "report.html").exists()


async def test_the_key_comes_from_the_environment_and_is_written_nowhere(runs: Path) -> None:
    async with fake_engine(FakeEngine(api_key="k1-very-secret")) as engine:
        named = await evener(engine.url, "-c", "1", *PLAIN, "--api-key-env", "MY_KEY", MY_KEY="k1-very-secret")
        usual = await evener(engine.url, "-c", "1", *PLAIN, EVENER_API_KEY="k1-very-secret")
        none = await evener(engine.url, "-c", "1", *PLAIN)
    assert_done(named)
    assert_done(usual)
    assert none.code == 2
    assert "error: " in none.err
    assert "--api-key-env NAME" in none.err
    written = "".join(p.read_text() for p in runs.rglob("*") if p.is_file())
    assert "very-secret" not in written + named.out + named.err


async def test_extra_fields_are_laid_over_each_request(runs: Path) -> None:
    async with fake_engine(FakeEngine()) as engine:
        ended = await evener(engine.url, "-c", "1", *PLAIN, "--extra-body", '{"top_k": 3}')
    assert_done(ended)
    assert {seen.body.get("top_k") for seen in engine.seen} == {3}


@pytest.mark.parametrize(
    ("arguments", "code", "error"),
    [
        (("127.0.0.1:1",), 3, "error: nothing answers at http://127.0.0.1:1: connection refused"),
        (("127.0.0.1:1", "-c", "1,x"), 2, "error: '1,x' are no user counts"),
        (("127.0.0.1:1", "127.0.0.1:2"), 2, "error: several servers are named: 127.0.0.1:1, 127.0.0.1:2"),
        (("127.0.0.1:1", "--base-url", "127.0.0.1:2"), 2, "error: several servers are named"),
        (
            ("127.0.0.1:1", "--api-key", "k"),
            2,
            "error: --api-key: a key on the command line stays in the shell's history",
        ),
        (("127.0.0.1:1", "--duration", "30m"), 2, "error: --duration is for one user count"),
        (("127.0.0.1:1", "--duration", "soon", "-c", "1"), 2, "error: --duration soon: no length of time"),
        (("127.0.0.1:1", "--resume", "nowhere"), 2, "error: no run 'nowhere'"),
        (("127.0.0.1:1", "-c", "0"), 2, "error: user counts start at 1"),
        (("127.0.0.1:1", "--extra-body", "{"), 2, "error: --extra-body:"),
        (("127.0.0.1:1", "--extra-body", "[]"), 2, "error: --extra-body is no JSON object"),
        (("127.0.0.1:1", "--extra-body", '{"stream": false}'), 2, "error: --extra-body decides 'stream'"),
        (("127.0.0.1:1", "--api-key-env", "NOT_SET_ANYWHERE"), 2, "error: $NOT_SET_ANYWHERE is not set"),
        (("gopher://x",), 2, "error: gopher://x: not an http or https URL"),
    ],
)
def test_what_cannot_be_measured_is_one_line_and_an_exit_code(
    runs: Path,
    arguments: tuple[str, ...],
    code: int,
    error: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert refused("users", *arguments, monkeypatch=monkeypatch) == code
    assert error in capsys.readouterr().err
    assert list_runs(runs) == []


async def test_the_limits_may_be_written_as_other_clients_want_them(runs: Path) -> None:
    async with fake_engine(FakeEngine()) as engine:
        ended = await evener(engine.url, "-c", "1", *PLAIN, "--goodput", "ttft:2000", "tpot:100", "--json", "--no-save")
    assert_done(ended)
    told = json.loads(ended.out)
    assert told["limits"] == {"ttft_ms": 2000.0, "tpot_ms": 100.0}
    assert told["levels"][0]["within_limits"]["of"] == 6
    assert told["comfortable"]["sentence"]


async def test_rows_for_other_programs(runs: Path) -> None:
    async with fake_engine(FakeEngine()) as engine:
        lines = await evener(engine.url, "-c", "1,2", *PLAIN, "-o", "jsonl", "--no-save")
        table = await evener(engine.url, "-c", "1", *PLAIN, "-o", "md", "--no-save")
    assert_done(lines)
    rows = [json.loads(line) for line in lines.out.splitlines()]
    assert [(row["users"], row["completed"], row["failed"]) for row in rows] == [(1, 6, 0), (2, 6, 0)]
    assert table.out.splitlines()[0].startswith("| users | completed | failed | total_tokens_per_s |")


async def test_requests_by_the_clock_and_from_a_recording(runs: Path, tmp_path: Path) -> None:
    recorded = tmp_path / "mine.jsonl"
    recorded.write_text('{"prompt": "one two three", "max_tokens": 3}\n{"prompt": "four five", "max_tokens": 3}\n')
    async with fake_engine(FakeEngine()) as engine:
        clock = await evener(engine.url, *PLAIN, "--request-rate", "50", "--num-prompts", "8", "--json", "--no-save")
        again = await evener(engine.url, *PLAIN[2:], "-c", "1", "--replay", str(recorded), "--json", "--no-save")
    assert_done(clock)
    told = json.loads(clock.out)
    assert (told["arrivals"], told["levels"][0]["open_loop"]["rate_asked_per_s"]) == ("poisson", 50)
    assert_done(again)
    said = {seen.body["messages"][0]["content"] for seen in engine.seen}
    assert {"one two three", "four five"} <= said


async def test_a_duration_ends_a_level_by_time_and_asks_whether_it_kept_its_speed(runs: Path) -> None:
    async with fake_engine(FakeEngine()) as engine:
        ended = await evener(engine.url, "-c", "2", *SMALL, "--no-self-test", "--duration", "3s", "--json")
    assert_done(ended)
    told = json.loads(ended.out)
    (level,) = told["levels"]
    assert 2 < level["duration_s"] < 3.5
    assert level["requests"]["completed"] > 50
    assert level["total_tokens_per_s"] > 100
    assert (told["partial"], told["drift"]["verdict"]) == (None, "unresolved")  # three seconds say nothing


async def test_a_run_that_was_cut_short_goes_on_in_its_folder(runs: Path) -> None:
    engine = FakeEngine(itl_s=0.02)
    async with fake_engine(engine):
        process = await started(engine.url, "-c", "1,2", "--num-prompts", "10", *PLAIN)
        async with asyncio.timeout(60):
            while not any(_users_of(path) == {1, 2} for path in list_runs(runs)):
                await asyncio.sleep(0.02)
            process.send_signal(signal.SIGINT)
            await process.communicate()
        (path,) = list_runs(runs)
        begun = (path / "run.json").read_bytes()
        changed = await evener("--resume", "last", "--isl", "30")
        went_on = await evener("--resume", "last", "--no-self-test", "--no-telemetry", "--json")
        over = await evener("--resume", path.name)
    assert (changed.code, over.code) == (2, 2)
    assert "error: --resume goes on with the load of the run, and --isl would change it" in changed.err
    assert f"error: {path.name} is complete: nothing is left to measure" in over.err
    assert_done(went_on)
    assert list_runs(runs) == [path]
    assert (path / "run.json").read_bytes() == begun
    levels = json.loads(went_on.out)["levels"]
    assert [(one["users"], one["part"], one["requests"]["completed"]) for one in levels] == [(1, 0, 10), (2, 1, 10)]
    assert levels[0]["total_tokens_per_s"] > 5  # of the first part, by the times that were kept
    data = open_run(path)
    assert [fact.sequence for fact in data.facts] == list(range(1, len(data.facts) + 1))
    assert data.summary is not None
    assert data.summary.partial is None


def _users_of(path: Path) -> set[int]:
    lines = (path / "requests.jsonl").read_text().splitlines() if (path / "requests.jsonl").exists() else []
    return {r["users"] for r in map(json.loads, filter(lambda line: line.endswith("}"), lines)) if not r["warm_up"]}


async def test_another_server_is_refused_unless_it_is_forced(runs: Path) -> None:
    async with fake_engine(FakeEngine(itl_s=0.02)) as engine:
        process = await started(engine.url, "-c", "1", "--num-prompts", "100", *PLAIN)
        async with asyncio.timeout(60):
            while len(engine.seen) < 6:
                await asyncio.sleep(0.02)
            process.send_signal(signal.SIGINT)
            await process.communicate()
    quick = FakeEngine(port=engine.port, slots=8, itl_s=0.0001, ttft_s=0.001)
    async with fake_engine(quick):
        refused = await evener("--resume", "last", "--no-self-test", "--no-telemetry")
        forced = await evener("--resume", "last", "--no-self-test", "--no-telemetry", "--force", "--json")
    assert refused.code == 2
    assert "was measured on something else: slots was 4, is 8" in " ".join(refused.err.split())
    assert_done(forced)
    data = open_run(list_runs(runs)[0])
    resumed = next(fact for fact in data.facts if fact.kind == "resumed")
    assert resumed.data["differing"] == ["slots was 4, is 8"]


async def test_a_server_that_dies_leaves_a_partial_run_with_a_report(runs: Path) -> None:
    engine = FakeEngine(itl_s=0.02)
    async with fake_engine(engine):
        process = await started(engine.url, "-c", "1", "--num-prompts", "100", *PLAIN)
        async with asyncio.timeout(60):
            while len(engine.seen) < 6:
                await asyncio.sleep(0.02)
    out, err = await process.communicate()
    assert process.returncode == 4, err.decode()
    assert b"error: incomplete: the server went away: connection refused" in err
    (path,) = list_runs(runs)
    data = open_run(path)
    assert data.summary is not None
    assert data.summary.partial == "the server went away: connection refused"
    assert (path / "report.html").exists()
    assert b"Serving Benchmark Result" in out


async def test_a_full_disk_ends_the_load_and_shows_what_was_measured(runs: Path) -> None:
    async with fake_engine(FakeEngine()) as engine:
        argv = (
            sys.executable,
            "-m",
            "evener",
            "bench",
            "users",
            engine.url,
            "-c",
            "1",
            "--num-prompts",
            "5000",
            *PLAIN,
        )
        process = await asyncio.create_subprocess_exec(
            "sh", "-c", 'ulimit -f 24; exec "$@"', "sh", *argv,
            env=os.environ, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        async with asyncio.timeout(60):
            out, err = await process.communicate()
    assert process.returncode == 4, err.decode()
    assert b"error: incomplete: cannot write " in err
    assert b"File too large" in err
    assert b"Serving Benchmark Result" in out
    data = open_run(list_runs(runs)[0])  # readable: no torn line
    assert len(data.requests) > 5
