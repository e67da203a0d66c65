"""How often the interval of a judge corrected by people holds the truth, from few labels on.

    python benchmarks/correction.py [draws]

Answers are right with a probability; the judge passes right ones and fails wrong ones with two others; people, who are
right, label some at random. In the last row four answers stand or fall together.
"""

from __future__ import annotations

import random
import sys

from evener.stats.agreement import corrected

LABELS = (10, 15, 20, 30, 40, 60)
JUDGES = (  # (of the answers right, of these passed, of the wrong ones failed)
    (0.7, 0.95, 0.95),
    (0.7, 0.90, 0.60),
    (0.9, 0.99, 0.90),
    (0.5, 0.80, 0.80),
    (0.95, 1.00, 0.30),
)
TOGETHER, ALIKE = 4, 0.6  # answers of a cluster, and how often one is what its cluster is


def held(answers: int, labels: int, judge: tuple[float, float, float], *, size: int, draws: int) -> tuple[float, float]:
    """(share of intervals that hold the truth, their mean width)."""
    draw, truth = random.Random(f"{answers}/{labels}/{judge}/{size}"), judge[0]
    hits, width = 0, 0.0
    for _ in range(draws):
        people, said, clusters = _answers(draw, answers, judge, size)
        looked = set(draw.sample(range(answers), labels))
        found = corrected(said, [one if n in looked else None for n, one in enumerate(people)], clusters)
        assert found is not None
        low, high = found.interval
        hits += low <= truth <= high
        width += high - low
    return hits / draws, width / draws


def _answers(
    draw: random.Random, answers: int, judge: tuple[float, float, float], size: int
) -> tuple[list[float], list[float], list[int]]:
    right, passed, failed = judge
    people, said = [], []
    whole, mood = 0.0, 0.0
    for n in range(answers):
        if n % size == 0:
            whole, mood = draw.random(), draw.random()
        alike = size > 1 and draw.random() < ALIKE
        truth = (whole if alike else draw.random()) < right
        luck = mood if alike else draw.random()
        people.append(float(truth))
        said.append(float(luck < passed if truth else luck >= failed))
    return people, said, [n // size for n in range(answers)]


def main(draws: int) -> int:
    heads = [f"{right:g}/{passed:g}/{failed:g}" for right, passed, failed in JUDGES]
    print("answers", "labels", *heads, f"{TOGETHER} together", sep=" | ")
    for answers in (60, 200):
        for labels in LABELS:
            cells = [held(answers, labels, judge, size=1, draws=draws) for judge in JUDGES]
            cells.append(held(answers, labels, JUDGES[1], size=TOGETHER, draws=draws))
            told = (f"{100 * share:.1f} ({100 * width:.0f})" for share, width in cells)
            print(answers, labels, *told, sep=" | ")
    return 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 2000))
