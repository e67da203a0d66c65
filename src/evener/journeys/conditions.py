"""Everything that could change a number, gathered from what is known of a deployment. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from evener import __version__
from evener.records.card import Card, EngineSeen, HostSeen, Scan
from evener.records.conditions import Conditions
from evener.records.link import LinkMeasured
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
        beside=tuple(_beside(weights, workload)) or ("nothing",),
        link=_link(rig, scan, candidate),
        drivers={name: card.driver for name, card in _cards(hosts) if card.driver},
        power_limits_w={
            name: card.power_limit_effective_w for name, card in _cards(hosts) if card.power_limit_effective_w
        },
        held_before={name: held for name, card in _cards(hosts) if (held := _held(card))},
        evener=__version__,
    )


def _beside(weights: Weights, workload: Workload) -> Iterator[str]:
    if weights.projector:
        yield f"projector {weights.projector.name}"
    if workload.drafts:
        yield f"{workload.drafts} drafts of {weights.draft.name if weights.draft else 'its own MTP blocks'}"


def _build(engine: EngineSeen) -> str:
    return f"b{engine.build} ({engine.commit}) protocol {engine.protocol}"


def _cards(hosts: list[HostSeen]) -> Iterator[tuple[str, Card]]:
    for host in hosts:
        for card in host.cards:
            yield f"{host.name}/{card.name}", card


def _held(card: Card) -> int:
    """What others hold on a card, as far as it is known."""
    return sum(h.bytes or 0 for h in card.holders or ())


def _link(rig: Rig, scan: Scan, candidate: Candidate) -> str | None:
    """The links between the candidate's hosts: what the last measurement said they carry, else only their names."""
    if len(candidate.hosts) < 2:
        return "none"
    measured = {link.name: link for link in scan.links}
    between = [link for link in rig.links if set(link.between) <= set(candidate.hosts)]
    return ", ".join(carries(link.name, measured.get(link.name)) for link in between) or None


def carries(name: str, measured: LinkMeasured | None) -> str:
    """ "wire: 4.63 Gbit/s out, 4.60 back, 210 us (measured 2026-11-30)" """
    if measured is None or measured.is_empty:
        return f"{name} (stated)"
    parts = []
    if measured.out_gbit_per_s:
        parts.append(f"{measured.out_gbit_per_s.p50:.2f} Gbit/s out")
    if measured.back_gbit_per_s:
        parts.append(f"{measured.back_gbit_per_s.p50:.2f} back")
    if measured.rtt_us:
        parts.append(f"{measured.rtt_us.p50:.0f} us")
    told = ", ".join(parts) or "RPC alone"
    return f"{name}: {told} (measured {measured.taken_at:%Y-%m-%d})"
