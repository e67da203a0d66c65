"""Wait until cards are as cool as they were: a repeat that starts warmer is another experiment. Cools nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from evener.ports import Report
from evener.records.events import Progress
from evener.records.telemetry import Cooled
from evener.telemetry.watch import Seen

Temperatures = Mapping[tuple[str, str], float]  # by (host, card), °C
TOLERANCE_C = 3.0
WITHIN_S = 600.0
WHAT = "cards cool down"


async def cooled(
    seen: Seen,
    first: Temperatures,
    *,
    tolerance_c: float = TOLERANCE_C,
    within_s: float = WITHIN_S,
    report: Report = lambda _progress: None,
) -> Cooled:
    """Wait until no card is more than `tolerance_c` above its value in `first`, or `within_s` has passed.

    `first` is `seen.temperatures()` before the first load. Done at once where nobody tells a temperature, and for a
    card whose host is lost: `unknown` names both.
    """
    begun = seen.now_s()
    while True:
        now = {key: c for key, c in seen.temperatures().items() if key in first and key[0] not in seen.lost}
        warm = {key: c for key, c in now.items() if c > first[key] + tolerance_c}
        waited = seen.now_s() - begun
        if not warm or waited >= within_s:
            return Cooled(
                waited_s=round(waited, 1),
                tolerance_c=tolerance_c,
                still_warm=tuple(_said(seen, key, c, first[key]) for key, c in warm.items()),
                unknown=_unknown(seen, first, now),
            )
        key = max(warm, key=lambda k: warm[k] - first[k])
        report(Progress(what=WHAT, done=waited, of=within_s, detail=_said(seen, key, warm[key], first[key])))
        await asyncio.sleep(min(seen.every_s, max(0.05, within_s - waited)))


def _said(seen: Seen, key: tuple[str, str], now_c: float, first_c: float) -> str:
    return f"{key[0]}/{seen.names().get(key, key[1])} {now_c:.0f} °C, was {first_c:.0f} °C"


def _unknown(seen: Seen, first: Temperatures, now: Temperatures) -> tuple[str, ...]:
    cards = [f"{host}/{name}" for (host, card), name in seen.names().items() if (host, card) not in now]
    silent = [watched.host for watched in seen.hosts if not any(host == watched.host for host, _ in seen.names())]
    return (*cards, *silent)
