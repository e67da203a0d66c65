"""When users think and when requests are due. Pure: the same seed gives the same times."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import repeat

from evener.bench.load import Load

LEAD_SHARE = 10  # of an open loop's requests one in ten has to end before anything is measured,
LEAST_LEAD = 3  # and so many at least


def thinking_s(load: Load, user: int) -> Iterator[float]:
    """How long this user thinks before each of its requests; endless. The first pause is any part of a usual one, so
    that people do not begin together."""
    draw = random.Random(f"{load.seed}/thinks/{user}")
    if not load.think_s:
        yield from repeat(0.0)
    yield draw.uniform(0.0, load.think_s)
    while True:
        yield load.think_s if load.thinking == "fixed" else draw.expovariate(1 / load.think_s)


def due_s(load: Load) -> Iterator[float]:
    """When requests are due, in seconds from the first: by rate without end, or at the times of the recording."""
    if load.arrivals == "replay":
        first = min(one.at_s or 0.0 for one in load.replay)
        yield from sorted((one.at_s or 0.0) - first for one in load.replay)
        return
    rate = load.rate_per_s
    assert rate is not None
    draw, at_s = random.Random(f"{load.seed}/arrives"), 0.0
    while True:
        yield at_s
        at_s += 1 / rate if load.arrivals == "constant" else draw.expovariate(rate)


def lead(load: Load, asked: int) -> int:
    """How many requests of an open loop warm it up. None of a replay by its own times: it is measured whole."""
    return 0 if load.arrivals == "replay" else max(LEAST_LEAD, asked // LEAD_SHARE)
