"""How many campaigns hold that are struck once, at a random moment, and gone on with by one command. Needs root.

    python benchmarks/chaos.py [--rounds N] [--seed N] [--first ROUND] [--calm] [--keep FOLDER]     (20 rounds, seed 1)

Two hosts on the tests' bed: alpha, and beta in a network namespace with an sshd of its own; the real engine, SmolLM2.
Each round begins a campaign of seven units in two loads, and kills, stops or cuts one part of it:
`tests/cluster/chaos.py` says which parts, and what has to hold then. The same seed draws the same strikes. `--calm`
begins with a campaign that nobody strikes, and says how long it takes. `--keep` is for the folders of rounds that do
not hold.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.on_bed import load_average
from tests.cluster import chaos
from tests.cluster.bed import Bed, bed, why_not
from tests.cluster.conftest import ClusterRig, rig_on
from tests.cluster.small_campaign import WITHIN_S, Campaign

from evener.api import engines, models

DRAWS = 3  # a campaign that had ended before it was struck says nothing


def main() -> int:
    wanted = _wanted()
    if why := why_not():
        raise SystemExit(f"no test bed: {why}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    engine = asyncio.run(engines.find()).folder
    model = Path(asyncio.run(models.locate("demo")))
    held = 0
    with tempfile.TemporaryDirectory(prefix="evener-chaos-") as scratch, \
            bed(Path(scratch) / "bed", hide=[model.parent]) as hosts:  # fmt: skip
        print(f"seed {wanted.seed}, {load_average()}", flush=True)
        if wanted.calm:
            print(f"nobody struck: {_undisturbed(hosts, Path(scratch), engine):.0f} s", flush=True)
        for number in range(wanted.first, wanted.first + wanted.rounds):
            folder = Path(scratch) / f"round{number}"
            one = _struck(hosts, folder, engine, seed=wanted.seed, number=number)
            print(f"round {number}: {one}", flush=True)
            held += one.at is not None and not one.misses
            if one.misses and wanted.keep:
                shutil.copytree(folder, wanted.keep / f"seed{wanted.seed}-round{number}", ignore_dangling_symlinks=True)
    print(f"{held} of {wanted.rounds} rounds hold: {held / max(1, wanted.rounds):.2f}; {load_average()}")
    return 0 if held == wanted.rounds else 1


def _wanted() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--calm", action="store_true")
    parser.add_argument("--keep", type=Path)
    return parser.parse_args()


@contextmanager
def _rig(hosts: Bed, folder: Path, engine: Path) -> Iterator[ClusterRig]:
    """A rig of one round. What the round left on beta is in its misses, and ends with it."""
    folder.mkdir(parents=True)
    with contextmanager(rig_on)(hosts, folder, engine) as rig:
        try:
            yield rig
        finally:
            for pid in (*hosts["beta"].pids(), *rig.ours()):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)


def _undisturbed(hosts: Bed, scratch: Path, engine: Path) -> float:
    with _rig(hosts, scratch / "calm", engine) as rig:
        begun = time.monotonic()
        done = rig.run("compare", str(Campaign(rig).file), within_s=WITHIN_S)
        took = time.monotonic() - begun
    if done.returncode:
        raise SystemExit(f"a campaign that nobody struck: exit code {done.returncode}\n{done.stderr}")
    return took


def _struck(hosts: Bed, folder: Path, engine: Path, *, seed: int, number: int) -> chaos.Round:
    for attempt in range(DRAWS):
        with _rig(hosts, folder / str(attempt), engine) as rig:
            one = chaos.play(rig, chaos.drawn(seed, number, attempt))
        if one.at is not None or one.misses:
            break
    return one


if __name__ == "__main__":
    sys.exit(main())
