"""Hold predictions against a test bed, after `scan --measure` and `scan --links`: within 20 %? Needs root, 4 minutes.

python benchmarks/speed_bed.py          4.7 Gbit/s and 100 Mbit/s; exit 1 when a prediction is off by more

Every split runs on the same workers with the same model: each prediction is what `plan` says of that split. Measured is
the median of five, in one load each; on a busy machine their range says what the comparison is worth.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from statistics import median

from on_bed import OnBed, Split, load_average, main, on_bed, predicted  # isort: skip
from tests.cluster.bed import FAST, SLOW

WITHIN = 0.20
REPETITIONS = 5
SPLITS: tuple[Split, ...] = (
    (("beta", 8), ("alpha", 23)),
    (("beta", 15), ("alpha", 16)),
    (("gamma", 6), ("beta", 8), ("alpha", 17)),
)


async def bench() -> int:
    print(load_average())
    misses = 0
    keep = Path(tempfile.gettempdir()) / "evener-bed-models"
    for name, rate in (("4.7 Gbit/s", FAST), ("100 Mbit/s", SLOW)):
        async with on_bed(rate=rate, keep=keep) as made:
            made = await made.measured()
            _show(made, name)
            misses += await _compared(made)
    verdict = f"all within {WITHIN:.0%}" if not misses else f"{misses} of {4 * len(SPLITS)} beyond {WITHIN:.0%}"
    print(f"\n{verdict}; {load_average()}")
    return 1 if misses else 0


def _show(made: OnBed, name: str) -> None:
    print(f"\n== {name}")
    for card in made.scan.speeds:
        rate, flop = card.speed.weights_bytes_per_s, card.speed.flop_per_s
        assert rate is not None, "F32 is large enough"
        assert flop is not None, "a prompt was run"
        print(
            f"{card.host:6} reads {rate.value / 1e9:6.2f} GB/s ({rate.low / 1e9:.2f}-{rate.high / 1e9:.2f}), "
            f"multiplies {flop.value / 1e9:6.1f} Gop/s ({flop.low / 1e9:.1f}-{flop.high / 1e9:.1f})"
        )
    for link in made.scan.links:
        rates = (link.out_gbit_per_s, link.payload and link.payload.set_mib_per_s, link.payload and link.payload.rtt_us)
        print(f"{link.name}: raw, RPC MiB/s, RPC us: {[one and round(one.p50, 3) for one in rates]}")


async def _compared(made: OnBed) -> int:
    """How many predictions are off."""
    misses = 0
    question = await made.question()
    async with made.workers():
        for split in SPLITS:
            expected = predicted(question, split)
            runs = await made.run(made.argv(split), repetitions=REPETITIONS)
            words = ", ".join(f"{name} {count}" for name, count in split)
            for what, value, seen in (
                ("decode", expected.decode_tokens_per_s, [run.decode for run in runs]),
                ("prompt", expected.prefill_tokens_per_s, [run.prompt for run in runs]),
            ):
                assert value is not None, "every card was measured"
                error = value.value / median(seen) - 1
                misses += abs(error) > WITHIN
                print(
                    f"{words:32} {what}  predicted {value.value:7.1f} ({value.low:.1f}-{value.high:.1f})  "
                    f"measured {median(seen):7.1f} (n={len(seen)}, {min(seen):.1f}-{max(seen):.1f})  {error:+.0%}"
                    f"{'' if abs(error) <= WITHIN else '  MISSED'}"
                )
    return misses


if __name__ == "__main__":
    sys.exit(main(bench()))
