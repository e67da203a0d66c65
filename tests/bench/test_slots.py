"""What looks at a server's slots add up to."""

from __future__ import annotations

import pytest

from evener.bench.slots import queue
from evener.dialects.llama_metrics import SlotsSeen


def look(
    busy: int = 2, deferred: int | None = 0, total: float | None = None, decodes: float | None = None
) -> SlotsSeen:
    return SlotsSeen(busy=busy, deferred=deferred, busy_total=total, decodes=decodes)


def test_busy_slots_are_the_growth_of_the_servers_own_sums() -> None:
    # 700 slots in 200 decodes since the first look, whatever had been before it.
    seen = queue([look(total=1000.0, decodes=900.0), look(deferred=3, total=1700.0, decodes=1100.0)], "metrics")
    assert (seen.polls, seen.deferred_mean, seen.deferred_most, seen.busy_slots) == (2, 1.5, 3, 3.5)


@pytest.mark.parametrize(
    "looks",
    [[look(total=10.0, decodes=10.0)], [look(total=10.0, decodes=10.0), look(total=50.0, decodes=29.0)], [look()]],
)
def test_one_look_or_few_decodes_say_nothing_of_busy_slots(looks: list[SlotsSeen]) -> None:
    assert queue(looks, "metrics").busy_slots is None


def test_slots_alone_are_averaged_over_the_looks_and_do_not_say_who_waits() -> None:
    seen = queue([look(1, None), look(4, None)], "slots")
    assert (seen.busy_slots, seen.deferred_mean, seen.deferred_most) == (2.5, None, None)
