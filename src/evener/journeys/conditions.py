"""Everything that could change a number, gathered from what is known of a deployment. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from evener import __version__
from evener.records.card import Card, EngineSeen, HostSeen, Scan
from evener.records.conditions import Conditions
from evener.records.plan import Candidate, Workload
from evener.records.rig import Rig
from evener.records.weights import Weights


def conditions_of(
    rig: Rig, scan: Scan, weights: Weights, workload: Workload, candidate: Candidate, *, sha256: str | None = None
) -> Conditions:
    """Conditions of a run of `candidate`. `scan` is from before the start: it says who else held memory."""
    hosts = [h for h in scan.hosts if h.name in candidate.hosts]
    return Conditions(
        model_sha256=sha256,
        model_bytes=weights.file_bytes,
        quantisation=weights.quantisation,
        context=workload.context,
        users=workload.users,
        kv_type_k=workload.kv_type_k,
        kv_type_v=workload.kv_type_v,
        engine_builds={h.name: _build(h.engine) for h in hosts if h.engine},
        device_order=tuple(f"{d.host}/{d.card_name}" for d in candidate.devices),
        layers_per_device=tuple(d.layers for d in candidate.devices),
        layout=candidate.name,
        link=_link(rig, candidate),
        drivers={name: card.driver for name, card in _cards(hosts) if card.driver},
        power_limits_w={
            name: card.power_limit_effective_w for name, card in _cards(hosts) if card.power_limit_effective_w
        },
        held_before={name: held for name, card in _cards(hosts) if (held := _held(card))},
        evener=__version__,
    )


def _build(engine: EngineSeen) -> str:
    return f"b{engine.build} ({engine.commit}) protocol {engine.protocol}"


def _cards(hosts: list[HostSeen]) -> Iterator[tuple[str, Card]]:
    for host in hosts:
        for card in host.cards:
            yield f"{host.name}/{card.name}", card


def _held(card: Card) -> int:
    """What others hold on a card, as far as it is known."""
    return sum(h.bytes or 0 for h in card.holders or ())


def _link(rig: Rig, candidate: Candidate) -> str | None:
    """The stated link of the candidate's hosts; what it really carries is for a measurement to say."""
    if len(candidate.hosts) < 2:
        return "none"
    stated = [link for link in rig.links if set(link.between) <= set(candidate.hosts)]
    return ", ".join(f"{link.name} (stated)" for link in stated) or None
