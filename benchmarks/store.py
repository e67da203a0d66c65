"""How long a full store takes to list, and a large run to report, against the limits and against reading everything.

    python benchmarks/store.py [--rows ROWS] [--runs RUNS] [--big ROWS]     (1 000 000 rows in 500 runs, one of 100 000)

In a private folder, made from the runs in tests/captures: half of the runs have a plan of a dozen candidates, every row
is as long as a real one, with the times of 64 tokens. Each command runs as its own process, three times; medians of
wall and processor time. The naive baselines, by processor time: a list that reads every row of every run (timed on ten
of them), and a report of the same run in schema 1, where each row holds the times of its tokens.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median
from subprocess import DEVNULL

from evener.bench.client import base_url
from evener.bench.load import Load
from evener.bench.probe import Server
from evener.bench.summarise import users_result
from evener.codec import to_data, to_line
from evener.edges.run_folder import RunFolder, list_runs, open_run, with_token_times
from evener.records.load import ClientCost, Request
from evener.records.run import SCHEMA, Run, Stage, Summary

CAPTURES = Path(__file__).resolve().parent.parent / "tests" / "captures" / "runs" / "v1"
PLANNED, BARE = CAPTURES / "20261101T123000Z-demo-7f3a", CAPTURES / "20261101T140000Z-users-90a1"
LIST_WITHIN_S, REPORT_WITHIN_S = 1.0, 10.0
FIRST = datetime(2026, 1, 1, tzinfo=UTC)
TOKENS, ROUNDS = 64, 3
URL = "http://127.0.0.1:8080"


def request(number: int, users: int) -> Request:
    """A row like a real one: every figure known, a token every 50 ms or so."""
    start = number // users * (TOKENS * 0.05 + 0.3)
    times = tuple((round(0.21 + i * 0.05 + (number * 7 + i * 13) % 17 / 1000, 6), 1.0) for i in range(TOKENS))
    end = times[-1][0]
    return Request(
        id=number, users=users, user=number % users, sent_s=round(start, 6), ttft_s=times[0][0], ttfa_s=times[0][0],
        last_token_s=end, end_s=end + 0.0003, prompt_tokens=128, cached_tokens=0, tokens=TOKENS, chunks=TOKENS,
        arrivals=TOKENS, first_chunk_tokens=1, finish_reason="length", server_prompt_ms=180.25,
        server_predicted_ms=3150.5, server_prompt_tokens=128, token_times=times,
    )  # fmt: skip


def finish(folder: RunFolder, rows: list[Request], users: int) -> Summary:
    """A summary with one level, as `bench users` writes it."""
    load = Load(users=(users,), prompts=len(rows), output_tokens=TOKENS)
    server = Server(url=base_url(URL), model="model.gguf", fields={}, slots=users, context=4096, quantisation="Q4_1")
    result = users_result(rows, load=load, server=server, client=ClientCost(cpu_s=1.0))
    folder.fact("layout", {"name": URL})
    folder.fact("measured", {"layout": URL, "users": to_data(result)})
    summary = Summary(ended_at=datetime.now(UTC), stages=(Stage(layout=URL, users=result),))
    folder.finish(summary)
    return summary


def run_of(number: int, plain: Run, planned: Run) -> Run:
    """Every other run with a plan, of a dozen candidates."""
    at = FIRST + timedelta(minutes=number)
    like = planned if number % 2 else plain
    plan = like.plan and replace(like.plan, candidates=tuple(like.plan.candidates) * 6)
    name = f"{at:%Y%m%dT%H%M%SZ}-users-{number:04x}"
    return replace(like, id=name, what="users", started_at=at, plan=plan, schema=SCHEMA)


def fill(base: Path, runs: int, rows: int) -> None:
    """The same rows in every folder: a list never looks into them."""
    plain, planned = open_run(BARE).run, open_run(PLANNED).run
    first = RunFolder.create(base, run_of(0, plain, planned))
    made = [request(number, 8) for number in range(rows // runs)]
    first.requests(made)
    finish(first, made, 8)
    for number in range(1, runs):
        folder = RunFolder.create(base, run_of(number, plain, planned))
        for name in ("events.jsonl", "requests.jsonl", "token_times.jsonl", "summary.json"):
            shutil.copyfile(first.path / name, folder.path / name)


def large(base: Path, rows: int) -> tuple[Path, Path]:
    """One run of so many rows, in our schema and in schema 1."""
    made = [request(number, 16) for number in range(rows)]
    run = replace(open_run(BARE).run, id="20260101T000000Z-users-000a", what="users", schema=SCHEMA)
    folder = RunFolder.create(base / "ours", run)
    for at in range(0, rows, 1000):
        folder.requests(made[at : at + 1000])
    finish(folder, made, 16)
    old = base / "old" / run.id
    shutil.copytree(folder.path, old)
    (old / "token_times.jsonl").unlink()
    (old / "requests.jsonl").write_bytes(b"".join(to_line(one) + b"\n" for one in made))
    for name in ("run.json", "summary.json"):
        (old / name).write_text(json.dumps(json.loads((old / name).read_text()) | {"schema": 1}))
    return folder.path, old


def timed(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


@dataclass(frozen=True)
class Took:
    """Medians, in seconds. On a machine that does other work, the processor's time says more."""

    wall_s: float
    cpu_s: float


def command(base: Path, *words: str) -> Took:
    """One evener, its start included."""
    environment = os.environ | {"EVENER_RUNS": str(base), "COLUMNS": "120"}
    argv = [sys.executable, "-m", "evener", *words]

    def once() -> Took:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        wall_s = timed(lambda: subprocess.run(argv, env=environment, check=True, stdout=DEVNULL, stderr=DEVNULL))
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return Took(wall_s, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)

    found = [once() for _ in range(ROUNDS)]
    return Took(median(one.wall_s for one in found), median(one.cpu_s for one in found))


def naive_list(base: Path) -> float:
    """Processor time of reading every row of every run, from ten of them."""
    paths = list_runs(base)
    some = paths[:: max(1, len(paths) // 10)][:10]
    began = time.process_time()
    for path in some:
        with_token_times(open_run(path))
    return (time.process_time() - began) / len(some) * len(paths)


def lines(options: argparse.Namespace, folder: Path) -> Iterator[tuple[str, Took, float, float]]:
    """(what, what it took, the limit, processor time of the naive way)."""
    store = folder / "runs"
    fill(store, options.runs, options.rows)
    naive = naive_list(store)
    yield "evener runs", command(store, "runs"), LIST_WITHIN_S, naive
    yield "evener runs --json", command(store, "runs", "--json"), LIST_WITHIN_S, naive
    shutil.rmtree(store)
    ours, old = large(folder, options.big)
    for name, words in (
        ("evener report", ("report",)),
        ("evener report -o json", ("report", "-o", "json")),
    ):
        took = command(ours.parent, *words, ours.name)
        yield name, took, REPORT_WITHIN_S, command(old.parent, *words, old.name).cpu_s


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=500)
    parser.add_argument("--big", type=int, default=100_000)
    options = parser.parse_args()
    missed = 0
    with tempfile.TemporaryDirectory(prefix="store-") as name:
        print(f"{options.runs} runs with {options.rows} rows; one run of {options.big} rows of {TOKENS} tokens")
        print("command                   wall s   CPU s   limit s   wall/limit   CPU/limit   naive/ours   load")
        for what, took, limit_s, naive_s in lines(options, Path(name)):
            missed += took.wall_s > limit_s
            print(
                f"{what:24}{took.wall_s:8.2f}{took.cpu_s:8.2f}{limit_s:10.0f}{took.wall_s / limit_s:13.2f}"
                f"{took.cpu_s / limit_s:12.2f}{naive_s / took.cpu_s:13.1f}{os.getloadavg()[0]:7.1f}"
            )
    return 1 if missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
