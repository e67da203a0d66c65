"""How quick and how light the local page is, as ratios to its limits: below 1 is within.

`python benchmarks/ui.py`: the explorer's answers over a real socket for 8 cards and 80 layers (95th percentile against
150 ms), twenty watchers of one growing run (share of a core against 10 %), and the first page (bytes against 300 kB,
seconds against 1 s). Needs no card. Prints the load of the machine beside them: on a busy one the times say little.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import statistics
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

import aiohttp

RIG = """
[[hosts]]
name = "alpha"
connection = "stated"
cards = [{ model = "RTX 5090" }, { model = "RTX 5090" }, { model = "RTX 3090" }, { model = "RTX 3090" }]

[[hosts]]
name = "beta"
connection = "stated"
cards = [{ model = "RTX 5080" }, { model = "RTX 4090" }, { model = "RTX 4090" }, { model = "RTX 3090" }]

[[links]]
name = "cable"
between = ["alpha", "beta"]
gbit_per_s = 9.4
"""
MODEL = "llama-3.3-70b"  # 80 layers
ANSWERS = 60
ANSWER_MS = 150
WATCHERS = 20
WATCHED_S = 20
CORE = 0.10
FIRST_BYTES = 300_000
FIRST_S = 1.0
LINKED = re.compile(r'(?:href|src)="(/(?:style\.css|static/)[^"]*)"')


async def main() -> None:
    with tempfile.TemporaryDirectory(prefix="evener-ui") as folder:
        state = Path(folder)
        rig = state / "rig.toml"
        rig.write_text(RIG)
        environment = {**os.environ, "EVENER_STATE": str(state)}
        command = [sys.executable, "-m", "evener", "ui", "--rig", str(rig), "--port", "0", "--no-open"]
        server = await asyncio.create_subprocess_exec(*command, env=environment, stdout=asyncio.subprocess.PIPE)
        assert server.stdout is not None
        url = (await server.stdout.readline()).split()[0].decode().rstrip("/")
        try:
            async with aiohttp.ClientSession(url, timeout=aiohttp.ClientTimeout(total=60)) as session:
                print(f"load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
                await first_page(session)
                await answers(session, server.pid)
                await watchers(session, server.pid, state)
                print(f"load of the machine: {os.getloadavg()[0]:.1f} afterwards")
        finally:
            server.terminate()
            await server.wait()


async def first_page(session: aiohttp.ClientSession) -> None:
    """The page and everything it loads, one after the other, nothing kept from before."""
    begun, size = time.perf_counter(), 0
    async with session.get("/") as answer:
        text = await answer.text()
        size += len(text.encode())
    for path in (*LINKED.findall(text), "/rig/now"):
        async with session.get(path) as answer:
            size += len(await answer.read())
    took = time.perf_counter() - begun
    told("first page, bytes", size / 1e3, FIRST_BYTES / 1e3, "kB")
    told("first page, time", took, FIRST_S, "s")


async def answers(session: aiohttp.ClientSession, pid: int) -> None:
    """Different questions, as a slider asks them."""
    times = []
    await asked(session, 0)  # reads the headers
    busy = cpu_s(pid)
    for n in range(1, ANSWERS + 1):
        times.append(await asked(session, n))
    busy = cpu_s(pid) - busy
    told(f"explorer, 95th percentile of {ANSWERS}", statistics.quantiles(times, n=20)[-1], ANSWER_MS, "ms")
    told("explorer, median", statistics.median(times), ANSWER_MS, "ms")
    told("explorer, processor time of one", 1e3 * busy / ANSWERS, ANSWER_MS, "ms")


async def asked(session: aiohttp.ClientSession, n: int) -> float:
    question = {"model": MODEL, "quant": "Q4_K_M", "users": str(1 + n % 12), "context": str(4096 + 256 * n)}
    begun = time.perf_counter()
    async with session.get("/plan/answer", params=question) as answer:
        text = await answer.text()
    assert answer.status == 200, text
    assert "80 layers" in text, text
    return 1e3 * (time.perf_counter() - begun)


async def watchers(session: aiohttp.ClientSession, pid: int, state: Path) -> None:
    """Twenty watch a run that grows by a hundred requests a second."""
    run = state / "runs" / "20260101T000000Z-users-abcd"
    run.mkdir(parents=True)
    started = datetime(2026, 1, 1, tzinfo=UTC).isoformat()
    about = {"id": run.name, "what": "users", "version": "0.1.0", "started_at": started, "conditions": {}}
    (run / "run.json").write_text(json.dumps({"schema": 1, **about}))
    watching = [asyncio.create_task(watch(session, run.name)) for _ in range(WATCHERS)]
    await asyncio.sleep(3)
    busy, ends = cpu_s(pid), time.monotonic() + WATCHED_S
    with (run / "requests.jsonl").open("a") as file:
        while time.monotonic() < ends:
            file.write(json.dumps({"user": 1, "status": "completed"}) + "\n")
            file.flush()
            await asyncio.sleep(0.01)
    busy = cpu_s(pid) - busy
    (run / "summary.json").write_text("{}")
    grown = await asyncio.gather(*watching)
    assert min(grown) >= WATCHED_S / 2, grown
    told(f"{WATCHERS} watchers of one run, of a core", 100 * busy / WATCHED_S, 100 * CORE, "%")


async def watch(session: aiohttp.ClientSession, name: str) -> int:
    """How often it was told that the run has grown."""
    found = 0
    async with session.get(f"/live/{name}/events") as answer:
        assert answer.status == 200, await answer.text()
        async for line in answer.content:
            found += line == b"event: grown\n"
    return found


def cpu_s(pid: int) -> float:
    """Processor time that a process has had."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def told(what: str, value: float, limit: float, unit: str) -> None:
    print(f"{value / limit:5.2f}  {what}: {value:.3g} {unit} of {limit:.3g} {unit}")


if __name__ == "__main__":
    asyncio.run(main())
