"""What the door adds to every token, and what it costs, against the engine reached directly.

python benchmarks/door.py                          15 streams of 200 tokens, 20 ms apart; exit 1 on a miss
python benchmarks/door.py --rounds 9 --streams 15

The door is a process of its own; engine and client share another, so that each token's way is known from the moment
when the engine hands it to its socket to the moment when the client reads it. Rounds through the door and directly take
turns. What the door adds is the difference of the same percentile of that way, round by round, and its median over the
rounds. Its CPU is read from /proc.

Limits: at most 2 ms at the 95th percentile, and 5 % of a core.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from evener.bench.client import Line, base_url
from evener.records.serving import Behind
from evener.serve.door import Door
from evener.testing.fake_engine import FakeEngine, fake_engine

TTFT_S, ITL_S, TOKENS = 0.2, 0.02, 200
MOST_ADDED_MS, MOST_OF_A_CORE = 2.0, 0.05
SHARES = (0.5, 0.95, 0.99)
TICKS = os.sysconf("SC_CLK_TCK")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--streams", type=int, default=15)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--door-for", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    return asyncio.run(_door(asked.door_for) if asked.door_for else _measured(asked.streams, asked.rounds))


async def _door(engine: str) -> int:
    door = Door(url="http://door")
    here = Behind(
        name="a", model="fake", layout="alpha", hosts=("alpha",), state="ready", url=engine, slots=64, context=4096
    )
    door.place(here)
    async with door.open("127.0.0.1", 0) as port:
        _say(f"http://127.0.0.1:{port}")
        await asyncio.Event().wait()
    return 0


@contextmanager
def _started(command: list[str]) -> Iterator[tuple[int, str]]:
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield process.pid, process.stdout.readline().strip()
    finally:
        process.terminate()
        process.wait()


async def _measured(streams: int, rounds: int) -> int:
    load = os.getloadavg()[0]
    _say(f"{streams} streams of {TOKENS} tokens, {ITL_S * 1e3:g} ms apart; {rounds} rounds, load average {load:.1f}")
    async with fake_engine(FakeEngine(ttft_s=TTFT_S, itl_s=ITL_S)) as engine:
        with _started([sys.executable, __file__, "--door-for", engine.url]) as (pid, door):
            added: dict[float, list[float]] = {share: [] for share in SHARES}
            of_a_core: list[float] = []
            await _round(engine, door, streams)  # warm
            for number in range(rounds):
                ways: dict[str, list[float]] = {}
                for url in (engine.url, door) if number % 2 else (door, engine.url):
                    cpu, begun = _cpu_s(pid), time.monotonic()
                    ways[url] = await _round(engine, url, streams)
                    if url == door:
                        of_a_core.append((_cpu_s(pid) - cpu) / (time.monotonic() - begun))
                for share, values in added.items():
                    values.append(_percentile(ways[door], share) - _percentile(ways[engine.url], share))
                _say(f"round {number + 1}: {_told(added, -1)}; {of_a_core[-1]:.1%} of a core")
    medians = {share: [median(values)] for share, values in added.items()}
    p95, cpu = medians[0.95][0], median(of_a_core)
    _say(f"medians: {_told(medians, 0)}; {cpu:.1%} of a core at {streams / ITL_S:.0f} tokens/s")
    _say(f"ratio to the limits: p95 {p95 / MOST_ADDED_MS:.2f}, CPU {cpu / MOST_OF_A_CORE:.2f} (at most 1)")
    return 0 if p95 <= MOST_ADDED_MS and cpu <= MOST_OF_A_CORE else 1


def _told(added: dict[float, list[float]], at: int) -> str:
    return ", ".join(f"p{share * 100:g} {values[at]:+.2f} ms" for share, values in added.items())


async def _round(engine: FakeEngine, url: str, streams: int) -> list[float]:
    """The way of each token of each stream, in ms."""
    engine.seen.clear()
    found = await asyncio.gather(*(_stream(engine, url, n) for n in range(streams)))
    return [way for one in found for way in one]


async def _stream(engine: FakeEngine, url: str, number: int) -> list[float]:
    await asyncio.sleep(0.011 * number)
    name = f"stream {number}"
    asked = {"messages": [{"role": "user", "content": name}], "stream": True, "max_tokens": TOKENS}
    async with Line(base_url(url)) as line:
        said = await line.post("/v1/chat/completions", json.dumps(asked).encode(), within_s=60)
    arrived = [at_ns for at_ns, piece in said.pieces for _ in range(piece.count(b'"content": "'))]
    seen = next(one for one in engine.seen if one.body["messages"][0]["content"] == name)
    if len(arrived) != TOKENS or len(seen.token_ns) != TOKENS:
        raise SystemExit(f"{url}: {len(arrived)} of {TOKENS} tokens came: {said.detail}")
    return [(at_ns - sent_ns) / 1e6 for at_ns, sent_ns in zip(arrived, seen.token_ns, strict=True)]


def _say(text: str) -> None:
    print(text, flush=True)


def _percentile(values: list[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def _cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


if __name__ == "__main__":
    sys.exit(main())
