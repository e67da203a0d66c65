"""What is wrong with a rig.toml, in its owner's words: faults of single keys translated, faults between keys found."""

from __future__ import annotations

import socket
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from pydantic import BaseModel, ValidationError

from evener.config.reading import Fault, key_of, near, plain_fault, repeated, sound, tables, text, texts
from evener.config.tables import (
    DEFAULT_PORTS,
    KINDS,
    SERVE_PORT,
    CardsTable,
    LinkTable,
    MoneyTable,
    ResidentTable,
    RigTable,
    ServeTable,
    StatedCardTable,
    check_address,
    check_endpoint,
    check_ports,
    port_range,
)

LOOPBACK = "127.0.0.1"
THE_HEAD_ITSELF = (
    "is the head itself: its memory would be counted, and used, twice. The head needs no endpoint; "
    "evener starts a worker there where one is needed"
)


def rig_table(data: dict[str, Any]) -> tuple[RigTable | None, list[Fault]]:
    """The checked tables of a parsed rig.toml, or None, and every fault. Tables with faults are not to be used."""
    try:
        table, faults = RigTable.model_validate(data), []
    except ValidationError as error:
        table, faults = None, [_fault(e) for e in error.errors()]
    return table, faults + _cross_faults(data)


# ---- faults of one key


def _fault(error: Any) -> Fault:
    loc = _untagged(error["loc"])
    kind = error["type"]
    if kind in ("union_tag_invalid", "union_tag_not_found"):
        return key_of((*loc, "connection")), _connection_fault(error["input"])
    if kind == "extra_forbidden":
        return key_of(loc), _unknown_key(error["loc"])
    return key_of(loc), plain_fault(error)


def _untagged(loc: Sequence[str | int]) -> tuple[str | int, ...]:
    """Pydantic puts the chosen connection into the path: hosts, 1, ssh, ports."""
    return (*loc[:2], *loc[3:]) if len(loc) > 2 and loc[0] == "hosts" else tuple(loc)


def _connection_fault(host: Any) -> str:
    given = host.get("connection") if isinstance(host, dict) else None
    kinds = ", ".join(KINDS)
    return f"is required: one of {kinds}" if given is None else f'"{given}" is none of {kinds}{near(str(given), KINDS)}'


def _unknown_key(loc: Sequence[str | int]) -> str:
    key = str(loc[-1])
    if len(loc) == 4 and loc[0] == "hosts":
        owners = [kind for kind, table in KINDS.items() if key in table.model_fields]
        if owners:
            return f'has no meaning where connection = "{loc[2]}"; it belongs to {" and ".join(owners)}'
    return "unknown key" + near(key, _keys_beside(loc))


def _keys_beside(loc: Sequence[str | int]) -> Collection[str]:
    """The keys that could have been meant where `loc` ends."""
    words = [part for part in loc[:-1] if isinstance(part, str)]
    known: dict[str, type[BaseModel]] = {"serve": ServeTable, "money": MoneyTable, "links": LinkTable, **KINDS}
    known |= {"residents": ResidentTable, "cards": StatedCardTable if "stated" in words else CardsTable}
    return (known[words[-1]] if words else RigTable).model_fields.keys()


# ---- faults between keys


@dataclass(frozen=True, slots=True, kw_only=True)
class _Host:
    """What can be read of one host's table, whatever else is wrong with it."""

    kind: str | None
    name: str | None
    address: str | None
    has_address: bool
    ports: tuple[int, int] | None
    include: int
    endpoints: tuple[str | None, ...]

    @property
    def has_workers(self) -> bool:
        return self.kind in ("local", "ssh")


def _cross_faults(data: dict[str, Any]) -> list[Fault]:
    hosts = [_host(raw) for raw in tables(data.get("hosts"))]
    links = tables(data.get("links"))
    serve = data["serve"] if isinstance(data.get("serve"), dict) else {}
    return [
        *repeated("hosts", [host.name for host in hosts]),
        *repeated("links", [text(link, "name") for link in links]),
        *_link_faults(links, [host.name for host in hosts if host.name]),
        *_tunnel_faults(links, hosts),
        *_head_faults(hosts),
        *_address_faults(hosts, links),
        *_port_faults(hosts, serve.get("port", SERVE_PORT)),
        *_endpoint_faults(hosts),
        *_ram_faults(tables(data.get("hosts"))),
        *_serve_faults(serve),
    ]


def _host(raw: Mapping[str, Any]) -> _Host:
    ports = sound(check_ports, raw.get("ports", DEFAULT_PORTS))
    cards = raw["cards"] if isinstance(raw.get("cards"), dict) else {}
    return _Host(
        kind=text(raw, "connection"),
        name=text(raw, "name"),
        address=sound(check_address, raw.get("address")),
        has_address="address" in raw,
        ports=port_range(ports) if ports else None,
        include=len(texts(cards.get("include"))),
        endpoints=tuple(sound(check_endpoint, endpoint) for endpoint in texts(raw.get("endpoints"))),
    )


def _link_faults(links: Sequence[Mapping[str, Any]], names: Sequence[str]) -> Iterator[Fault]:
    for i, link in enumerate(links):
        ends = [end for end in texts(link.get("between")) if end is not None]
        for end in ends:
            if end not in names:
                yield f"links[{i}].between", f'no host is called "{end}"{near(end, names)}'
        if len(ends) == 2 and ends[0] == ends[1]:
            yield f"links[{i}].between", f'joins "{ends[0]}" with itself'
        addresses = link["addresses"] if isinstance(link.get("addresses"), dict) else {}
        for name in addresses:
            if name not in ends:
                yield f"links[{i}].addresses.{name}", f"is not one of the two hosts it joins{near(name, ends)}"


def _tunnel_faults(links: Sequence[Mapping[str, Any]], hosts: Sequence[_Host]) -> Iterator[Fault]:
    """A tunnel is ssh from the head to the other end."""
    kinds = {host.name: host.kind for host in hosts}
    for i, link in enumerate(links):
        ends = texts(link.get("between"))
        if link.get("tunnel") is True and hosts and all(end in kinds for end in ends):
            others = [end for end in ends if end != hosts[0].name]
            if hosts[0].kind != "local" or len(others) != 1 or kinds[others[0]] != "ssh":
                yield f"links[{i}].tunnel", "a tunnel leads from the first host, a local one, to an ssh host"


def _head_faults(hosts: Sequence[_Host]) -> Iterator[Fault]:
    if hosts and hosts[0].kind == "endpoint":
        yield "hosts[0].connection", "the first host is the head, where llama-server runs: it cannot be an endpoint"


def _address_faults(hosts: Sequence[_Host], links: Sequence[Mapping[str, Any]]) -> Iterator[Fault]:
    """Each worker binds to one address. Only the head can do without: it reaches itself on loopback."""
    on_links = {name for link in links if isinstance(link.get("addresses"), dict) for name in link["addresses"]}
    for i, host in enumerate(hosts):
        if i > 0 and host.has_workers and not host.has_address and host.name not in on_links:
            yield f"hosts[{i}].address", "is required: the head reaches this host's worker there"


def _port_faults(hosts: Sequence[_Host], serve_port: Any) -> Iterator[Fault]:
    machines = [(i, host, host.ports) for i, host in enumerate(hosts) if host.has_workers and host.ports]
    for i, host, (low, high) in machines:
        if high - low + 1 < host.include:
            yield f"hosts[{i}].ports", f"{low}-{high} has fewer ports than cards.include has cards ({host.include})"
        if i == 0 and isinstance(serve_port, int) and low <= serve_port <= high:
            yield "serve.port", f"{serve_port} lies in hosts[0].ports ({low}-{high})"
    for (i, one, (low, high)), (j, other, (first, last)) in combinations(machines, 2):
        if _same_address(one, other) and low <= last and first <= high:
            yield f"hosts[{j}].ports", f"{first}-{last} overlaps hosts[{i}].ports ({low}-{high}) on the same address"


def _same_address(one: _Host, other: _Host) -> bool:
    """A host without an address serves on its own loopback, which two local hosts share and others do not."""
    if one.has_address and other.has_address:
        return one.address is not None and other.address is not None and _plain(one.address) == _plain(other.address)
    bare = {_plain(host.address) if host.address else LOOPBACK for host in (one, other)}
    return one.kind == other.kind == "local" and bare == {LOOPBACK}


def _endpoint_faults(hosts: Sequence[_Host]) -> Iterator[Fault]:
    """The engine connects twice to one worker under two spellings and waits for ever: a worker serves one client."""
    seen: dict[str, str] = {}
    for i, host in enumerate(hosts):
        for n, endpoint in enumerate(host.endpoints):
            if endpoint is None or host.kind != "endpoint":
                continue
            address, _, port = endpoint.rpartition(":")
            key, plain = f"hosts[{i}].endpoints[{n}]", f"{_plain(address)}:{port}"
            if plain in seen:
                yield key, f'"{endpoint}" is {seen[plain]} already, and a worker serves one client'
            elif _is_the_head(address, hosts[0]):
                yield key, f'"{endpoint}" {THE_HEAD_ITSELF}'
            seen.setdefault(plain, key)


def _is_the_head(address: str, head: _Host) -> bool:
    ours = {_plain(head.address)} if head.address else set()
    if head.kind == "local":
        full = socket.gethostname().lower()
        ours |= {full, full.split(".")[0]}
    return _plain(address) in ours or _plain(address).startswith("127.")


def _ram_faults(hosts: Sequence[Mapping[str, Any]]) -> Iterator[Fault]:
    for i, host in enumerate(hosts):
        if "ram_gb_per_s" in host and "ram_gib" not in host and text(host, "connection") == "stated":
            yield f"hosts[{i}].ram_gb_per_s", "says nothing without ram_gib: how much RAM is there?"


def _serve_faults(serve: Mapping[str, Any]) -> Iterator[Fault]:
    if serve.get("api_key_env") and serve.get("api_key_file"):
        yield "serve.api_key_file", "api_key_env is given as well: which of the two?"


def _plain(address: str) -> str:
    """One spelling for one address, as far as it shows without asking anybody."""
    return LOOPBACK if address.lower() == "localhost" else address.lower()
