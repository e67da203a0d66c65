"""A repeat waits for temperatures to come back."""

from __future__ import annotations

import asyncio

from evener.records.events import Progress
from evener.telemetry.cooling import cooled
from evener.telemetry.watch import Seen, Watched, now_ns
from evener.testing.fake_shell import FakeShell
from tests.telemetry.samples import gpu

KEY = ("alpha", "GPU-1")


def seen(*temperatures_c: float | None) -> Seen:
    made = Seen(
        [Watched(host="alpha", shell=FakeShell(host="alpha"))], every_s=0.02, started_ns=now_ns(), keep=lambda _s: None
    )
    for c in temperatures_c:
        made.add(gpu(0.0, temperature_c=c))
    return made


async def test_a_card_that_is_as_cool_as_before_is_waited_for_no_time() -> None:
    done = await cooled(seen(52.0), {KEY: 50.0}, tolerance_c=3.0, within_s=5.0)
    assert (done.waited_s, done.still_warm, done.unknown) == (0.0, (), ())


async def test_a_warm_card_is_waited_for() -> None:
    watched, said = seen(80.0), list[Progress]()
    wait = asyncio.ensure_future(cooled(watched, {KEY: 50.0}, tolerance_c=3.0, within_s=5.0, report=said.append))
    await asyncio.sleep(0.1)
    assert not wait.done()
    watched.add(gpu(0.1, temperature_c=53.0))
    done = await wait
    assert done.waited_s > 0
    assert done.still_warm == ()
    assert said[0].detail == "alpha/RTX 5090 80 °C, was 50 °C"


async def test_a_card_that_stays_warm_is_waited_for_until_the_deadline_and_said() -> None:
    done = await cooled(seen(80.0), {KEY: 50.0}, tolerance_c=3.0, within_s=0.1)
    assert done.still_warm == ("alpha/RTX 5090 80 °C, was 50 °C",)


async def test_where_nobody_can_tell_nobody_waits() -> None:
    watched = seen(None)
    done = await cooled(watched, watched.temperatures(), within_s=5.0)
    assert (done.waited_s, done.unknown) == (0.0, ("alpha/RTX 5090",))


async def test_a_host_that_never_said_anything_is_named() -> None:
    assert (await cooled(seen(), {}, within_s=5.0)).unknown == ("alpha",)


async def test_a_warm_card_of_a_lost_host_is_not_waited_for() -> None:
    watched = seen(80.0)
    watched.lost["alpha"] = "ssh broke"
    done = await cooled(watched, {KEY: 50.0}, within_s=5.0)
    assert (done.waited_s, done.still_warm, done.unknown) == (0.0, (), ("alpha/RTX 5090",))
