"""`evener bench pair` as a user calls it, against fake engines."""

from __future__ import annotations

import asyncio
import json
import signal
from pathlib import Path

import pytest

from evener.edges.run_folder import list_runs, open_run
from evener.testing.fake_engine import FakeEngine, fake_engine
from tests.cli.test_bench import evener, refused, runs, started

__all__ = ["runs"]

SMALL = ("--isl", "20", "--osl", "4")


async def test_a_slower_server_is_found_and_both_raw_runs_are_kept(runs: Path) -> None:
    async with fake_engine(FakeEngine()) as a, fake_engine(FakeEngine(itl_s=0.02)) as b:
        ended = await evener(a.url, b.url, *SMALL, "--json", "--seed", "3", "--pairs", "6", command="pair")
    assert ended.code == 0, ended.err
    told = json.loads(ended.out)
    assert (told["outcome"], told["validity"], told["partial"]) == ("B is slower", "valid", None)
    assert told["sentence"].startswith(f"{b.url} (B) is ")
    first = told["differences"][0]
    assert (first["metric"], first["users"], len(first["pairs"])) == ("per_user_tokens_per_s", 1, 6)
    assert -0.97 < first["interval"][0] <= first["change"] <= first["interval"][1] < -0.8  # 2 ms against 20 ms a token
    data = open_run(Path(told["run"]))
    assert data.summary is not None
    assert data.summary.pair is not None
    assert data.summary.pair.sentence == told["sentence"]
    assert {request.layout for request in data.requests} == {"A", "B"}
    kinds = [fact.kind for fact in data.facts]
    visits = kinds.count("visited")  # twelve, and two for each pair that a busy machine has spoilt
    assert set(kinds) == {"visited", "paired"}
    assert visits >= 12
    assert sum(request.layout == "A" and not request.warm_up for request in data.requests) == 6 * visits / 2


async def test_both_are_asked_the_same_in_turns(runs: Path) -> None:
    async with fake_engine(FakeEngine()) as a, fake_engine(FakeEngine()) as b:
        ended = await evener(a.url, b.url, *SMALL, "--pairs", "2", "--no-save", command="pair")
    assert ended.code == 0, ended.err
    asked = [[seen.body["messages"] for seen in engine.seen if seen.body["max_tokens"] == 4] for engine in (a, b)]
    assert asked[0] == asked[1]
    assert "cannot be separated" in ended.out
    assert "an interval needs 6 pairs" in " ".join(ended.out.split())
    sides = "".join(line.split()[2] for line in ended.err.splitlines() if line.startswith("pair "))
    assert sides[:4] in ("ABBA", "BAAB")  # a pair that a busy machine has spoilt is measured again behind them
    assert list_runs(runs) == []


async def test_ctrl_c_keeps_the_pairs_so_far(runs: Path) -> None:
    async with fake_engine(FakeEngine()) as a, fake_engine(FakeEngine()) as b:
        process = await started(a.url, b.url, *SMALL, "--pairs", "200", command="pair")
        async with asyncio.timeout(60):
            while len(a.seen) < 20:
                await asyncio.sleep(0.02)
            process.send_signal(signal.SIGINT)
            out, err = await process.communicate()
    assert process.returncode == 4
    assert b"error: incomplete: interrupted" in err
    assert b"partial: interrupted" in out
    data = open_run(list_runs(runs)[0])
    assert data.summary is not None
    assert data.summary.partial == "interrupted"
    assert data.summary.pair is not None
    assert len(data.summary.pair.differences[0].pairs) >= 1


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("127.0.0.1:1",), "error: 1 server is named, a pair has two"),
        (("a", "b", "c"), "error: 3 servers are named, a pair has two"),
        (("demo", "--layout", "a", "--layout", "b", "--layout", "c"), "error: --layout: 3 are named, a pair has two"),
        (("demo", "--layout", "alpha", "--no-save"), "error: --no-save: what is brought up on a rig is always kept"),
        (("127.0.0.1:1", "127.0.0.1:2", "--api-key", "k"), "error: --api-key: a key on the command line stays in"),
    ],
)
def test_a_pair_that_is_none_is_one_line(
    runs: Path,
    arguments: tuple[str, ...],
    error: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert refused("pair", *arguments, monkeypatch=monkeypatch) == 2
    assert error in capsys.readouterr().err
