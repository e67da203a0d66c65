"""What would be different: other people, contexts, caches, cables and cards. Pure: rig and scan in, rig and scan out.

Knows the options of `evener plan` by their names, so that a sweep can vary any of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from itertools import combinations, product

from evener import profiles
from evener.errors import ConfigurationError, NameUnknown
from evener.plan import people
from evener.plan.links import PRESETS, preset
from evener.plan.stated import joined_by, several, stated_host, with_catalogue_cards
from evener.records.card import Card, Scan
from evener.records.plan import Objective, Workload
from evener.records.rig import Host, Link, Rig, StatedCard
from evener.records.whatif import Seats

USERS, CONTEXT = 4, 4096  # unless somebody says otherwise
DRAFTS = 3  # of a draft model at a time: --spec-draft-n-max of llama-server
MOST_POINTS = 500
INSTEAD = "one-box"  # name of the host that replaces everything


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """A rig and what is there."""

    rig: Rig
    scan: Scan


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The options of one plan. None and empty: as it is."""

    users: int | None = None
    people: int | None = None
    profile: str | None = None
    context: int | None = None
    kv: str = "f16"
    unified: bool = False
    drafts: int = 0
    mmproj: str | None = None
    draft: str | None = None
    aim: Objective | None = None
    quant: str | None = None
    layout: str = "auto"
    link: str | None = None
    without: tuple[str, ...] = ()
    add: tuple[str, ...] = ()
    instead: str | None = None

    def workload(self) -> tuple[Workload, Seats | None]:
        """What the plan is for; and, where people were named, how many of them are answered at one moment.

        Raises ConfigurationError for people and users together, NameUnknown for a profile that is none.
        """
        if self.people is not None and self.users is not None:
            raise ConfigurationError(
                "--people and --users: which of the two?", hint="users are parallel sequences; --people computes them"
            )
        key, _, value = self.kv.partition("/")
        asked = Workload(
            users=self.users or USERS,
            context=self.context or CONTEXT,
            unified=self.unified,
            kv_type_k=key,
            kv_type_v=value or key,
            drafts=self.drafts or (DRAFTS if self.draft else 0),
            objective=self.aim,
        )
        if self.people is None and self.profile is None:
            return asked, None
        profile = profiles.find(self.profile or "chat")
        if self.people is None:
            return people.lengths(profile, asked, context=self.context), None
        seats = people.seats(profile, self.people)
        return people.lengths(profile, replace(asked, users=seats.users), context=self.context), seats

    def changed(self, world: World) -> World:
        """The world as asked, stated hosts as the catalogue has them. Raises ConfigurationError, NameUnknown."""
        world = replace(world, scan=with_catalogue_cards(world.rig, world.scan))
        for name in self.without:
            world = without(world, name)
        for text in self.add:
            world = added(world, text)
        if self.instead is not None:
            world = instead(world, self.instead)
        if self.link is not None:
            world = linked(world, self.link)
        return world


# ---- changes of the rig


def without(world: World, name: str) -> World:
    """The world without a host, or without every card that `name` means: a part of its name, or "host/device".

    Raises NameUnknown when it means nothing, ConfigurationError when nothing would be left.
    """
    hosts = tuple(host for host in world.rig.hosts if host.name != name)
    if len(hosts) < len(world.rig.hosts):
        return _only(world, hosts, what=f"--without {name}")
    of, _, wanted = name.rpartition("/")
    gone = {
        (seen.name, card.id)
        for seen in world.scan.hosts
        for card in seen.cards
        if of in ("", seen.name) and _means(wanted, card)
    }
    if not gone:
        known = [*(host.name for host in world.rig.hosts), *_card_names(world.scan)]
        raise NameUnknown(f"--without {name}: no such host or card", hint=f"one of {', '.join(known)}")
    seen = tuple(
        replace(s, cards=tuple(_gone(c) if (s.name, c.id) in gone else c for c in s.cards)) for s in world.scan.hosts
    )
    return replace(world, scan=replace(world.scan, hosts=seen))


def added(world: World, text: str) -> World:
    """The world with more cards: "beta: RTX 5090", "gamma: 2x RTX 3090, RTX 5080". An unknown host is a new one.

    Raises ConfigurationError.
    """
    name, colon, cards = (part.strip() for part in text.partition(":"))
    if not (name and colon and cards):
        raise ConfigurationError(f"--add {text}: not HOST: CARD", hint='e.g. --add "beta: RTX 5090"')
    names = several(cards, what=f"--add {text}")
    host, seen = world.rig.host(name), world.scan.host(name)
    if host is None or seen is None:
        return _with_host(world, Host(name=name, connection="stated", stated=_stated(names)))
    if host.connection == "endpoint":
        raise ConfigurationError(f"--add {text}: {name} is somebody else's worker, which offers what it offers")
    more = joined_by(seen, names, reserve_bytes=host.reserve_bytes)
    hosts = tuple(more if other.name == name else other for other in world.scan.hosts)
    return replace(world, scan=replace(world.scan, hosts=hosts))


def instead(world: World, text: str) -> World:
    """One stated host with these cards, and nothing else. Raises ConfigurationError."""
    host = Host(name=INSTEAD, connection="stated", stated=_stated(several(text, what=f"--instead {text}")))
    scan = replace(world.scan, hosts=(stated_host(host),), devices=(), links=())
    return World(rig=replace(world.rig, hosts=(host,), links=()), scan=scan)


def linked(world: World, name: str) -> World:
    """The world with this one of its links between its two hosts, or with links of that kind between all hosts.

    A link of the rig goes before a kind of the same name. Raises NameUnknown.
    """
    rig = world.rig
    if chosen := next((link for link in rig.links if link.name == name), None):
        ends = set(chosen.between)
        links = tuple(link for link in rig.links if link is chosen or set(link.between) != ends)
    elif preset(name) is not None:
        links = tuple(_of_kind(name, pair, len(rig.hosts)) for pair in combinations([h.name for h in rig.hosts], 2))
    else:
        known = [*(link.name for link in rig.links), *PRESETS]
        near = get_close_matches(name, known, n=1)
        raise NameUnknown(
            f"--link {name}: no such link or kind of link" + (f'; did you mean "{near[0]}"?' if near else ""),
            hint=f"one of {', '.join(dict.fromkeys(known))}",
        )
    kept = {link.name for link in links}
    measured = tuple(link for link in world.scan.links if link.name in kept)
    return World(rig=replace(rig, links=links), scan=replace(world.scan, links=measured))


def _of_kind(name: str, between: tuple[str, str], hosts: int) -> Link:
    called = name if hosts == 2 else f"{name} {between[0]}-{between[1]}"
    return Link(name=called, between=between, preset=name)


def _only(world: World, hosts: tuple[Host, ...], *, what: str) -> World:
    if not hosts or hosts[0].connection == "endpoint":
        raise ConfigurationError(f"{what}: no host would be left that llama-server can run on")
    names = {host.name for host in hosts}
    links = tuple(link for link in world.rig.links if names.issuperset(link.between))
    seen = tuple(host for host in world.scan.hosts if host.name in names)
    devices = tuple(device for device in world.scan.devices if device.host in names)
    return World(
        rig=replace(world.rig, hosts=hosts, links=links), scan=replace(world.scan, hosts=seen, devices=devices)
    )


def _with_host(world: World, host: Host) -> World:
    return World(
        rig=replace(world.rig, hosts=(*world.rig.hosts, host)),
        scan=replace(world.scan, hosts=(*world.scan.hosts, stated_host(host))),
    )


def _stated(names: Sequence[str]) -> tuple[StatedCard, ...]:
    return tuple(StatedCard(model=name) for name in names)


def _gone(card: Card) -> Card:
    return replace(card, excluded=True, offered_bytes=0)


def _means(wanted: str, card: Card) -> bool:
    return wanted in (card.id, card.device) or wanted.lower() in card.name.lower()


def _card_names(scan: Scan) -> Iterator[str]:
    for host in scan.hosts:
        yield from (f"{host.name}/{card.device or card.name}" for card in host.cards)


# ---- varying


NUMBERS = ("users", "people", "context")
LISTS = ("without", "add")
SWEPT = (*NUMBERS, "profile", "kv", "quant", "layout", "link", *LISTS, "instead")


def axis(text: str) -> tuple[str, tuple[str, ...]]:
    """ "context=4096,8192" as ("context", ("4096", "8192")); ";" separates values that contain commas.

    Raises ConfigurationError.
    """
    key, equals, values = (part.strip() for part in text.partition("="))
    if not equals or key not in SWEPT:
        raise ConfigurationError(f"--sweep {text}: not OPTION=VALUE,VALUE", hint=f"options: {', '.join(SWEPT)}")
    found = tuple(value.strip() for value in values.split(";" if ";" in values else ",") if value.strip())
    if not found:
        raise ConfigurationError(f"--sweep {text}: no values", hint="e.g. --sweep context=4096,8192,32768")
    return key, found


def varied(asked: Asked, changes: Mapping[str, str]) -> Asked:
    """The options with these in place of their own; "as it is" leaves an option as it is.

    Raises ConfigurationError for what is no number.
    """
    new: dict[str, object] = {}
    for key, text in changes.items():
        if text.lower() == AS_IT_IS:
            continue
        new[key] = _number(key, text) if key in NUMBERS else (text,) if key in LISTS else text
    for key, other in (("users", "people"), ("people", "users")):
        if key in changes:
            new.setdefault(other, None)
    return replace(asked, **new)  # type: ignore[arg-type]


AS_IT_IS = "as it is"


def combinations_of(axes: Mapping[str, Sequence[str]]) -> list[dict[str, str]]:
    """Every combination, the last axis fastest. Raises ConfigurationError when there are too many."""
    every = [dict(zip(axes, values, strict=True)) for values in product(*axes.values())]
    if len(every) > MOST_POINTS:
        raise ConfigurationError(f"{len(every)} points are more than anybody reads", hint=f"at most {MOST_POINTS}")
    return every


def _number(key: str, text: str) -> int:
    scale = 1024 if text[-1:].lower() == "k" else 1
    digits = text[:-1] if scale > 1 else text
    least = 256 if key == "context" else 1
    if not digits.isdecimal() or int(digits) * scale < least:
        raise ConfigurationError(f"--sweep {key}={text}: not a whole number from {least}", hint="e.g. 8192, or 8k")
    return int(digits) * scale
