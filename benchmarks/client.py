"""What load clients report against what the server did, and what they cost: evener, a bare reference, and PyPI peers.

python benchmarks/client.py                       evener and the reference at 1, 16, 64 streams; exit 1 on a miss
python benchmarks/client.py --peers --rounds 1    the peers that install without torch, interleaved with them
python benchmarks/client.py --streams 64 --save FILE    rows as JSON lines

Every round runs all clients, one after the other, on the same streams against one server with known token times
(mock_server.py: TTFT 200 ms, 20 ms between tokens, 64 tokens). Evener runs by its own command line.
Truth, CPU (of the whole process tree), peak RSS and the first request are taken from outside of every client.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean, median
from typing import Any

import mock_server
import peers
from peers import Asked, Reported, p99

HERE = Path(__file__).parent
REQUESTS = {1: 8, 16: 128, 64: 512}
TOKENS, PROMPT_TOKENS = 64, 100
TICKS, PAGE = os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGE_SIZE")
LIMIT_S = 300.0
Request = dict[str, Any]  # of the mock: t0_ns, write_ns, whole


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    name: str
    command: Callable[[Asked], list[str]]
    read: Callable[[Path, Sequence[Request]], tuple[Reported, list[Request]]]  # the report, and whose times it tells


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    code: int
    spawned_ns: int
    cpu_s: float
    rss_mb: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    client: str
    streams: int
    round: int
    requests: int
    true_ttft_ms: float
    ttft_error_ms: float | None
    ttft_p99_error_ms: float | None
    itl_error_percent: float | None
    load_tokens_per_s: float
    cpu_s: float
    rss_mb: float
    first_request_s: float
    first_measured_s: float


def evener() -> list[str]:
    return [str(Path(sys.executable).with_name("evener"))]


def evener_command(asked: Asked) -> list[str]:
    return [
        *(*evener(), "bench", "users", asked.url, "-c", str(asked.streams)),
        *(
            "--num-prompts",
            str(asked.requests),
            "--isl",
            str(asked.prompt_tokens),
            "--osl",
            str(asked.tokens),
            "--json",
        ),
    ]


def of_evener(folder: Path, truth: Sequence[Request]) -> tuple[Reported, list[Request]]:
    """Its report, and p99 from its run folder: it prints none below 459 requests. The k-th request sent is the k-th
    received, but for the probe, which came before all of them."""
    level = json.loads((folder / "out").read_text())["levels"][0]
    (kept,) = (folder / "runs").glob("*/requests.jsonl")
    sent = sorted((json.loads(line) for line in kept.read_text().splitlines()), key=lambda r: r["sent_s"])
    pairs = list(zip(sent, sorted(truth, key=lambda r: r["t0_ns"])[-len(sent) :], strict=True))
    ttft = [told["ttft_s"] * 1e3 for told, _ in pairs if not told["warm_up"]]
    report = Reported(ttft_ms=level["ttft_ms"]["mean"], ttft_p99_ms=p99(ttft), itl_ms=level["tpot_ms"]["mean"])
    return report, [seen for told, seen in pairs if not told["warm_up"]]


def ref_command(asked: Asked) -> list[str]:
    script = str(HERE / "ref_client.py")
    return [sys.executable, script, asked.url, str(asked.streams), str(asked.requests), str(asked.tokens)]


def of_ref(folder: Path, truth: Sequence[Request]) -> tuple[Reported, list[Request]]:
    told = json.loads((folder / "out").read_text())
    report = Reported(ttft_ms=fmean(told["ttft_ms"]), ttft_p99_ms=p99(told["ttft_ms"]), itl_ms=told["itl_ms"])
    return report, list(truth)


def peer_client(peer: peers.Peer) -> Client:
    arguments, read = peer.arguments, peer.read
    assert arguments is not None
    assert read is not None
    return Client(
        name=peer.name,
        command=lambda asked: [str(peer.program), *arguments(asked)],
        read=lambda folder, truth: (read(folder), [r for r in truth if r["whole"]]),
    )


EVENER = Client(name="evener", command=evener_command, read=of_evener)
REFERENCE = Client(name="reference", command=ref_command, read=of_ref)


@contextmanager
def mock() -> Iterator[str]:
    server = subprocess.Popen([sys.executable, str(HERE / "mock_server.py")], stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    try:
        yield server.stdout.readline().strip()
    finally:
        server.terminate()
        server.wait()


@contextmanager
def self_tested(levels: Sequence[int]) -> Iterator[None]:
    """Evener's check of its own client is made once per machine and kept: not what a run costs."""
    with tempfile.TemporaryDirectory(prefix="client-state-") as state:
        os.environ["EVENER_STATE"] = state
        command = [*evener(), "bench", "self-test", "-c", ",".join(map(str, levels))]
        print(subprocess.run(command, capture_output=True, text=True, check=False).stdout, flush=True)
        yield


def ask(url: str, path: str) -> Any:
    with urllib.request.urlopen(url + path, timeout=30) as answer:
        return json.load(answer)


def session(sid: int) -> dict[int, tuple[float, int]]:
    """(CPU seconds, resident bytes) of each process of a session."""
    found: dict[int, tuple[float, int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text()
            except OSError:
                continue
            fields = stat[stat.rfind(")") + 2 :].split()
            if int(fields[3]) == sid:
                found[int(entry.name)] = ((int(fields[11]) + int(fields[12])) / TICKS, int(fields[21]) * PAGE)
    return found


def run(command: Sequence[str], folder: Path) -> Cost:
    """To the end, in a session of its own, watched every 100 ms. What a client leaves at home goes with the folder."""
    env = os.environ | {"EVENER_RUNS": str(folder / "runs"), "HOME": str(folder)}
    spawned_ns, begun = time.perf_counter_ns(), time.perf_counter()
    with (folder / "out").open("w") as out, (folder / "err").open("w") as err:
        process = subprocess.Popen(command, stdout=out, stderr=err, env=env, cwd=folder, start_new_session=True)
    seen: dict[int, float] = {}
    peak = 0
    while True:
        now = session(process.pid)
        seen |= {pid: cpu_s for pid, (cpu_s, _) in now.items()}
        peak = max(peak, sum(resident for _, resident in now.values()))
        pid, status, used = os.wait4(process.pid, os.WNOHANG)
        if pid:
            break
        if time.perf_counter() - begun > LIMIT_S:
            process.terminate()
        time.sleep(0.1)
    process.returncode = os.waitstatus_to_exitcode(status)
    cpu_s = max(used.ru_utime + used.ru_stime, sum(seen.values()))
    return Cost(code=process.returncode, spawned_ns=spawned_ns, cpu_s=cpu_s, rss_mb=peak / 1e6)


def measure(client: Client, url: str, streams: int, round_: int, tokenizer: Path) -> Row | str:
    """One row, or why there is none."""
    requests = REQUESTS.get(streams, 8 * streams)
    with tempfile.TemporaryDirectory(prefix="client-") as name:
        folder = Path(name)
        ask(url, "/__reset")
        asked = Asked(
            url=url, streams=streams, requests=requests, tokens=TOKENS, prompt_tokens=PROMPT_TOKENS, folder=folder,
            tokenizer=tokenizer,
        )  # fmt: skip
        cost = run(client.command(asked), folder)
        truth = sorted(ask(url, "/__truth")["requests"], key=lambda r: r["t0_ns"])
        if cost.code:
            said = ((folder / "err").read_text().strip() or (folder / "out").read_text().strip()).splitlines()
            return f"exit code {cost.code}: {said[-1] if said else ''}"
        report, told = client.read(folder, truth)
    told = told[-requests:]
    return Row(
        client=client.name,
        streams=streams,
        round=round_,
        requests=len(told),
        true_ttft_ms=fmean(map(true_ttft_ms, told)),
        ttft_error_ms=less(report.ttft_ms, fmean(map(true_ttft_ms, told))),
        ttft_p99_error_ms=less(report.ttft_p99_ms, p99([true_ttft_ms(r) for r in told])),
        itl_error_percent=None if report.itl_ms is None else 100 * (report.itl_ms / fmean(map(true_itl_ms, told)) - 1),
        load_tokens_per_s=load(told, truth),
        cpu_s=cost.cpu_s,
        rss_mb=cost.rss_mb,
        first_request_s=(truth[0]["t0_ns"] - cost.spawned_ns) / 1e9,
        first_measured_s=(told[0]["t0_ns"] - cost.spawned_ns) / 1e9,
    )


def true_ttft_ms(request: Request) -> float:
    return float(request["write_ns"][0] - request["t0_ns"]) / 1e6


def true_itl_ms(request: Request) -> float:
    times = request["write_ns"]
    return float(times[-1] - times[0]) / 1e6 / (len(times) - 1)


def load(told: Sequence[Request], truth: Sequence[Request]) -> float:
    """Tokens per second the server wrote from the first measured request to the last token of one."""
    begin, end = min(r["t0_ns"] for r in told), max(r["write_ns"][-1] for r in told)
    return sum(begin <= at <= end for r in truth for at in r["write_ns"]) / (end - begin) * 1e9


def less(value: float | None, truth: float) -> float | None:
    return None if value is None else value - truth


def show(rows: Sequence[Row]) -> None:
    print(
        f"{'client':<15}{'streams':>8}{'runs':>5}{'TTFT err ms':>18}{'p99 err ms':>18}{'ITL err %':>11}"
        f"{'load tok/s':>14}{'CPU s':>12}{'RSS MB':>8}{'first s':>9}"
    )
    for streams in sorted({row.streams for row in rows}):
        for name in dict.fromkeys(row.client for row in rows):
            mine = [row for row in rows if (row.client, row.streams) == (name, streams)]
            if mine:
                print(
                    f"{name:<15}{streams:>8}{len(mine):>5}{span(r.ttft_error_ms for r in mine):>18}"
                    f"{span(r.ttft_p99_error_ms for r in mine):>18}"
                    f"{span((r.itl_error_percent for r in mine), '.2f'):>11}"
                    f"{span((r.load_tokens_per_s for r in mine), '.0f'):>14}{span((r.cpu_s for r in mine), '.2f'):>12}"
                    f"{max(r.rss_mb for r in mine):>8.0f}{max(r.first_request_s for r in mine):>9.2f}"
                )


def span(values: Any, form: str = "+.1f") -> str:
    known = [value for value in values if value is not None]
    if not known:
        return "-"
    low, high = f"{min(known):{form}}", f"{max(known):{form}}"
    return low if low == high else f"{low}..{high}"


def misses(rows: Sequence[Row], streams: int) -> list[str]:
    """Where evener falls short of the reference in the same run, by medians over the rounds."""
    mine, ref = ([r for r in rows if r.streams == streams and r.client == name] for name in ("evener", "reference"))
    if not mine or not ref:
        return [f"{streams} streams: not measured"]

    def of(rows: Sequence[Row], pick: Callable[[Row], float | None]) -> float:
        return median(abs(value) for value in map(pick, rows) if value is not None)

    checks = (
        ("TTFT mean error ms", of(mine, lambda r: r.ttft_error_ms), of(ref, lambda r: r.ttft_error_ms) + 1),
        ("TTFT p99 error ms", of(mine, lambda r: r.ttft_p99_error_ms), 1.25 * of(ref, lambda r: r.ttft_p99_error_ms)),
        ("ITL error %", of(mine, lambda r: r.itl_error_percent), 0.5),
        ("load, share missing", 1 - of(mine, lambda r: r.load_tokens_per_s) / of(ref, lambda r: r.load_tokens_per_s),
         0.02),
        ("CPU s", of(mine, lambda r: r.cpu_s), 2 * of(ref, lambda r: r.cpu_s)),
        ("RSS MB", max(r.rss_mb for r in mine), 100.0),
        ("first request s", max(r.first_request_s for r in mine), 1.0),
    )  # fmt: skip
    return [f"{streams} streams: {name} {got:.3g}, at most {most:.3g}" for name, got, most in checks if got > most]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--streams", default="1,16,64")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--peers", action="store_true")
    parser.add_argument("--save", type=Path)
    asked = parser.parse_args()
    clients, tokenizer = [EVENER, REFERENCE], Path()
    for peer in peers.PEERS if asked.peers else ():
        if why := peers.install(peer):
            print(f"left out: {peer.name} {peer.version}: {why}")
            continue
        tokenizer = peers.tokenizer(peer, mock_server.TEXT)
        clients.append(peer_client(peer))
    rows: list[Row] = []
    levels = [int(part) for part in asked.streams.split(",")]
    with mock() as url, self_tested(levels):
        for round_ in range(asked.rounds):
            for streams in levels:
                for client in clients[round_ % 2 :] + clients[: round_ % 2]:
                    row = measure(client, url, streams, round_, tokenizer)
                    if isinstance(row, str):
                        print(f"no row: {client.name} at {streams} streams: {row}", flush=True)
                        continue
                    rows.append(row)
                    if asked.save:
                        with asked.save.open("a") as file:
                            file.write(json.dumps(asdict(row)) + "\n")
    show(rows)
    missed = misses(rows, max(levels))
    print(*(missed or ["every target is met"]), sep="\n")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
