"""Memory of each card of a load: planned, loaded, freed; the worst of all blocks. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from evener.records.campaign import CampaignData, Visit
from evener.records.plan import Candidate
from evener.records.verification import CardCheck, FreedCheck
from evener.report.campaign.parts import CardStory
from evener.report.rows import left_bytes

# From harmless to grave.
_LOADED = ("as planned", "unknown", "under", "over", "missing")
_FREED = ("freed", "freed, drifted", "unknown", "held")


def cards(data: CampaignData, visits: Sequence[Visit], candidate: Candidate | None) -> tuple[CardStory, ...]:
    """In the order in which the engine uses them."""
    ends = [data.state.visit_ends[v.id] for v in visits if v.id in data.state.visit_ends]
    checks = [check for end in ends for check in end.checks]
    freed = [check for end in ends for check in end.freed]
    if checks:
        keys = dict.fromkeys((c.host, c.card, c.device) for c in checks)
        return tuple(_checked([c for c in checks if (c.host, c.card, c.device) == key], freed) for key in keys)
    return tuple(_planned(candidate)) if candidate else ()


def _checked(mine: Sequence[CardCheck], freed: Sequence[FreedCheck]) -> CardStory:
    after = [one for one in freed if (one.host, one.card) == (mine[0].host, mine[0].card)]
    return CardStory(
        host=mine[0].host,
        card_name=mine[0].card_name,
        device=mine[0].device,
        layers=mine[0].layers_planned,
        planned_bytes=max(c.planned_bytes for c in mine),
        loaded_bytes=max((c.measured_bytes for c in mine if c.measured_bytes is not None), default=None),
        left_bytes=max((left for one in after if (left := left_bytes(one)) is not None), default=None),
        verdict=max((c.verdict for c in mine), key=_LOADED.index),
        freed=max((one.verdict for one in after), key=_FREED.index, default=None),
    )


def _planned(candidate: Candidate) -> Iterator[CardStory]:
    for device in sorted(candidate.devices, key=lambda d: d.position):
        yield CardStory(
            host=device.host,
            card_name=device.card_name,
            device=device.device,
            layers=device.layers,
            planned_bytes=device.total_bytes,
            loaded_bytes=None,
            left_bytes=None,
            verdict=None,
            freed=None,
        )
