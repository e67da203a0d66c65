"""Which seats a server may use together: each host's, and all of the rig with llama-server on one of its hosts. Pure.

The engine runs where llama-server does: its host's cards cost no link, all others are behind workers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from evener.plan.figures import CLUSTER, ON_ANOTHER, PER_CARD
from evener.plan.placing import Chain
from evener.plan.question import Question
from evener.plan.routes import route
from evener.plan.seats import Seat, seats_of

MOST_WORKERS = 8  # of a chain with one per card: the search through the orders of fifteen takes seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Chains:
    """`hosts` are those where llama-server can be started. `clusters` are by their names, that with the first host as
    head before the others; empty where nothing can be joined.

    `card` names the one card that they are cut down to.
    """

    hosts: tuple[Chain, ...]
    clusters: Mapping[str, Chain] = field(default_factory=dict)
    card: str | None = None

    @property
    def cluster(self) -> Chain | None:
        return next(iter(self.clusters.values()), None)


def chains_of(question: Question) -> Chains:
    """The seats of each host, and of all together."""
    every = {host.name: seats_of(host, question.scan, question.measured) for host in question.rig.hosts}
    seats = {name: mine for name, mine in every.items() if mine}
    hosts = tuple(Chain(seats=tuple(mine), head=name, links={}) for name, mine in seats.items() if not mine[0].endpoint)
    return Chains(hosts=hosts, clusters=dict(_clusters(question, seats)))


def _clusters(question: Question, seats: Mapping[str, list[Seat]]) -> Iterator[tuple[str, Chain]]:
    first = next(iter(seats), None)
    if len(seats) < 2 or first is None or seats[first][0].endpoint:
        return
    for head in _heads(seats):
        name = CLUSTER if head == first else f"{ON_ANOTHER}{head}"
        whole = _cluster(question, seats, head)
        yield name, whole
        if question.workload.aim == "prompt" and (split := _per_card(question, whole)) is not None:
            yield f"{name}{PER_CARD}", split


def _heads(seats: Mapping[str, list[Seat]]) -> Iterator[str]:
    """The first host, and others that may run llama-server and have cards to bring near it.

    Of those that are this very machine under several names the first.
    """
    first, local = next(iter(seats)), [name for name, mine in seats.items() if mine[0].host.connection == "local"]
    on_gpus = any(mine[0].card.kind != "cpu" for mine in seats.values())
    for name, mine in seats.items():
        brings = mine[0].card.kind != "cpu" or not on_gpus or name == first
        if brings and not mine[0].endpoint and name not in local[1:]:
            yield name


def _cluster(question: Question, seats: Mapping[str, list[Seat]], head: str) -> Chain:
    """All seats, the head's last, so that logits do not cross the link unless the search knows better."""
    rig, scan = question.rig, question.scan
    by_name = {host.name: host for host in rig.hosts}
    return Chain(
        seats=tuple(seat for name in (*(n for n in seats if n != head), head) for seat in seats[name]),
        head=head,
        links={name: route(by_name[head], by_name[name], rig, scan).speed for name in seats},
    )


def _per_card(question: Question, chain: Chain) -> Chain | None:
    """The chain with a worker for each card of every host that has several; None where no host has, or too many.

    Only prompts gain: workers do different micro-batches at one time and cards of one worker do not, but between two
    workers of a host every activation goes through the head (engine-facts F.5). A tunnel leads to one worker.
    """
    head = question.rig.host(chain.head)
    several = {
        host.name
        for host in question.rig.hosts
        if head is not None
        and host.name != chain.head
        and sum(seat.host.name == host.name and not seat.endpoint for seat in chain.seats) > 1
        and route(head, host, question.rig, question.scan).ssh is None
    }
    if not several:
        return None
    split = replace(chain, seats=tuple(replace(s, own_worker=s.host.name in several) for s in chain.seats))
    return split if len({seat.worker for seat in split.seats}) <= MOST_WORKERS else None
