"""Fifteen people at the door for ten minutes, on two real hosts, while workers, heads and the cable die.

python benchmarks/door_bed.py                          replicas and the cluster, five minutes each; needs root
python benchmarks/door_bed.py --minutes 1 --layout cluster

The hosts are network namespaces with an sshd each, the engine and the model are real (tests/cluster/bed.py). Every
half minute something is struck: a worker or a far head by SIGKILL, by SIGSTOP, the near head by SIGKILL, the cable for
ten seconds. Every request must be answered right or say so (a status, or an error in the stream), none may hang beyond
its deadline, and the door's process must be the same at the end. Printed: how requests ended, how long each strike kept
everybody without an answer, and the ratio of requests that were answered or told; exit 1 when that is not 1.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from tests.cluster.bed import Bed, bed, why_not  # noqa: E402 (the tests' bed is not installed)
from tests.cluster.conftest import ClusterRig, rig_on  # noqa: E402
from tests.cluster.crowd import Crowd  # noqa: E402
from tests.cluster.test_door import below, is_ready, pid_with, status  # noqa: E402
from tests.loopback.conftest import eventually  # noqa: E402

from evener.api import engines  # noqa: E402

EVERY_S, CUT_S, DEADLINE_S = 30.0, 10.0, 180.0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=5.0, help="of each layout")
    parser.add_argument("--people", type=int, default=15)
    parser.add_argument("--layout", choices=("replicas", "cluster"), action="append")
    asked = parser.parse_args()
    if (why := why_not()) is not None:
        raise SystemExit(why)
    engine, _ = asyncio.run(engines.find())
    layouts = asked.layout or ["replicas", "cluster"]
    with tempfile.TemporaryDirectory() as folder, bed(Path(folder), own_names=True) as made:
        whole = [_one(made, Path(folder), Path(engine), layout, asked.minutes * 60, asked.people) for layout in layouts]
    return 0 if all(whole) else 1


def _one(made: Bed, folder: Path, engine: Path, layout: str, seconds: float, people: int) -> bool:
    place = folder / layout
    place.mkdir()
    with _rig(made, place, engine) as rig:
        process = rig.start(
            "serve", "demo", "--rig", str(rig.path), "--layout", layout, "--users", "8", "--context", "1024",
            "--hung-after", "20",
        )  # fmt: skip
        eventually(lambda: is_ready(rig) or process.poll() is not None, within_s=120)
        crowd = Crowd(url=f"http://127.0.0.1:{rig.serve}", people=people, within_s=DEADLINE_S)
        gaps = asyncio.run(_struck(rig, crowd, process.pid, seconds))
        is_same = process.poll() is None
        restarts = [one["restarts"] for one in status(rig)["behind"]]
        rig.run("down", "door")
        endings = crowd.endings()
        told = sum(endings[how] for how in ("right", "said so"))
        _say(f"{layout}: {seconds / 60:g} min, {people} people, load average {os.getloadavg()[0]:.1f}")
        _say(f"  requests: {', '.join(f'{count} {how}' for how, count in endings.most_common())}; restarts {restarts}")
        for what, found in gaps.items():
            _say(
                f"  {what}: nobody answered for {median(found):.1f} s (median of {len(found)}, most {max(found):.1f} s)"
            )
        _say(f"  answered or told: {told / max(1, sum(endings.values())):.4f} of all (wanted 1); same door: {is_same}")
        return is_same and told == sum(endings.values())


async def _struck(rig: ClusterRig, crowd: Crowd, door: int, seconds: float) -> dict[str, list[float]]:
    """Strike every now and then; what was struck -> seconds until somebody who asked afterwards was answered."""
    gaps: dict[str, list[float]] = {}
    end_s = time.monotonic() + seconds
    async with crowd.asking():
        await crowd.until_right(since_s=time.monotonic(), within_s=DEADLINE_S)
        strikes = _strikes(rig, door)
        while time.monotonic() < end_s:
            what, strike = next(strikes)
            struck_s = time.monotonic()
            try:
                await asyncio.to_thread(strike)
            except StopIteration:  # it is being restarted just now
                await asyncio.sleep(5.0)
                continue
            gaps.setdefault(what, []).append(await crowd.until_right(since_s=struck_s + 0.2, within_s=DEADLINE_S))
            await asyncio.sleep(max(0.0, min(EVERY_S - (time.monotonic() - struck_s), end_s - time.monotonic())))
        await asyncio.to_thread(eventually, lambda: is_ready(rig), within_s=DEADLINE_S)
    return gaps


def _strikes(rig: ClusterRig, door: int) -> Iterator[tuple[str, Callable[[], None]]]:
    far = rig.bed["beta"]

    def far_engine(number: signal.Signals) -> Callable[[], None]:
        return lambda: os.kill(_far(far.pids()), number)

    def cut() -> None:
        far.cut()
        time.sleep(CUT_S)
        far.mend()

    while True:
        yield "far engine killed", far_engine(signal.SIGKILL)
        yield "near head killed", lambda: os.kill(pid_with(below(door), "llama-server"), signal.SIGKILL)
        yield "far engine stopped", far_engine(signal.SIGSTOP)
        yield f"cable cut for {CUT_S:g} s", cut


def _far(pids: list[int]) -> int:
    try:
        return pid_with(pids, "ggml-rpc-server")
    except StopIteration:
        return pid_with(pids, "llama-server")


@contextmanager
def _rig(made: Bed, place: Path, engine: Path) -> Iterator[ClusterRig]:
    yield from rig_on(made, place, engine)


def _say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    sys.exit(main())
