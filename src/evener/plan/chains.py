"""Which seats a server may use together: each host's, and the whole rig's. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from evener.plan.placing import Chain
from evener.plan.question import Question
from evener.plan.routes import route
from evener.plan.seats import seats_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Chains:
    """`hosts` are those where llama-server can be started; `cluster` is None where nothing can be joined.

    `card` names the one card that they are cut down to.
    """

    hosts: tuple[Chain, ...]
    cluster: Chain | None
    card: str | None = None


def chains_of(question: Question) -> Chains:
    """The seats of each host, and of all together: the head's cards last, so that logits do not cross the link
    unless the search knows better."""
    rig, scan = question.rig, question.scan
    every = {host.name: seats_of(host, scan, question.measured) for host in rig.hosts}
    seats = {name: mine for name, mine in every.items() if mine}
    hosts = tuple(Chain(seats=tuple(mine), head=name, links={}) for name, mine in seats.items() if not mine[0].endpoint)
    head = next(iter(seats), None)
    if len(seats) < 2 or head is None or seats[head][0].endpoint:
        return Chains(hosts=hosts, cluster=None)
    ordered = [*list(seats)[1:], head]
    by_name = {host.name: host for host in rig.hosts}
    cluster = Chain(
        seats=tuple(seat for name in ordered for seat in seats[name]),
        head=head,
        links={name: route(by_name[head], by_name[name], rig, scan).speed for name in seats},
    )
    return Chains(hosts=hosts, cluster=cluster)
