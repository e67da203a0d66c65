"""Load a layout only to see whether it holds: up, verified card by card, one answer, and down again."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from evener.errors import CannotRun, EvenerError
from evener.journeys.deploy import Life, World, deployed
from evener.journeys.measure import while_up
from evener.launch.bring_up import Up
from evener.records.context_limits import Reload
from evener.records.plan import Candidate
from evener.records.verification import CardCheck


async def load_once(
    candidate: Candidate,
    world: World,
    *,
    context: int,
    model_bytes: int,
    extra: Sequence[str],
    prove: Callable[[Up], Awaitable[object]],
) -> Reload:
    """Whether `candidate` holds: it loads, no card is over its plan or its offer, and `prove` gets an answer.

    What goes wrong in loading or answering is the finding; what is wrong before that is raised.
    """
    life = Life(candidate=candidate)
    try:
        async with deployed(life, world, model_bytes=model_bytes, extra=extra) as up:
            await while_up(up, prove(up))
            why = over(candidate, life.checks)
    except EvenerError as error:
        if not life.processes or not isinstance(error, CannotRun):
            raise
        return Reload(context=context, held=False, load_s=life.up.load_s if life.up else None, why=error.message)
    return Reload(context=context, held=why is None, load_s=life.up.load_s if life.up else None, why=why)


def over(candidate: Candidate, checks: Sequence[CardCheck]) -> str | None:
    """The first card that holds more than it offers, or is not what was planned; None when all are."""
    offers = {(device.host, device.card): device.offered_bytes for device in candidate.devices}
    for check in checks:
        offered = offers.get((check.host, check.card))
        if check.measured_bytes is not None and offered is not None and check.measured_bytes > offered:
            held, most = check.measured_bytes >> 20, offered >> 20
            return f"{check.host}/{check.card_name} holds {held} MiB and offers {most}"
        if check.verdict in ("over", "missing"):
            return f"{check.host}/{check.card_name}: {check.why or check.verdict}"
    return None
