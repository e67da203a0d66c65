"""What was measured or pasted about a rig and this machine, kept in the state folder: a JSON file for each.

Whether it still holds (same addresses, same host) is for the reader to judge; each record says when it was taken.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import TypeVar

from evener.codec import from_json, to_json
from evener.errors import HostError, RunUnreadable
from evener.records.card import Pasted
from evener.records.client import ClientCheck, ClientMachine
from evener.records.link import LinkMeasured
from evener.records.speed import CardMeasured
from evener.state import state_folder

T = TypeVar("T", LinkMeasured, Pasted, CardMeasured, ClientCheck)


def folder() -> Path:
    return state_folder() / "measured"


def save_link(link: LinkMeasured) -> Path:
    """Replace what was known of the link between its two hosts."""
    return _save(_link_path(link.name, link.between), link)


def links(wanted: Iterable[tuple[str, tuple[str, str]]]) -> tuple[LinkMeasured, ...]:
    """What is known of each (name, hosts); one that was never measured is left out."""
    found = (_load(LinkMeasured, _link_path(name, hosts)) for name, hosts in wanted)
    return tuple(link for link in found if link is not None)


def save_pasted(pasted: Pasted) -> Path:
    return _save(_pasted_path(pasted.host), pasted)


def pasted(hosts: Iterable[str]) -> dict[str, Pasted]:
    """What was pasted of each of `hosts`."""
    found = {host: _load(Pasted, _pasted_path(host)) for host in hosts}
    return {host: one for host, one in found.items() if one is not None}


def save_card(card: CardMeasured) -> Path:
    """Replace what was known of the card."""
    return _save(_card_path(card.host, card.card), card)


def cards(wanted: Iterable[tuple[str, str]]) -> tuple[CardMeasured, ...]:
    """What is known of each (host, card id); one that was never measured is left out."""
    found = (_load(CardMeasured, _card_path(host, card)) for host, card in wanted)
    return tuple(card for card in found if card is not None)


def save_client(check: ClientCheck) -> Path:
    """Replace what was known of the load client at this number of users."""
    return _save(_client_path(check.users, check.machine), check)


def client(users: int, machine: ClientMachine) -> ClientCheck | None:
    """What the load client adds at this number of users; None when nobody measured it on such a machine."""
    check = _load(ClientCheck, _client_path(users, machine))
    return check if check is not None and check.machine == machine else None


def _card_path(host: str, card: str) -> Path:
    return folder() / "cards" / f"{host}~{re.sub(r'[^A-Za-z0-9._-]', '_', card)}.json"


def _link_path(name: str, hosts: tuple[str, str]) -> Path:
    return folder() / "links" / f"{'~'.join((*sorted(hosts), name))}.json"


def _client_path(users: int, machine: ClientMachine) -> Path:
    return folder() / "client" / f"{machine.machine}~{users}.json"


def _pasted_path(host: str) -> Path:
    return folder() / "pasted" / f"{host}.json"


def _save(path: Path, record: LinkMeasured | Pasted | CardMeasured | ClientCheck) -> Path:
    fresh = path.with_suffix(f".{os.getpid()}.new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        fresh.write_text(to_json(record, indent=1), encoding="utf-8")
        fresh.replace(path)
    except OSError as error:
        raise HostError(f"{path}: cannot be written: {error.strerror}") from None
    return path


def _load(kind: type[T], path: Path) -> T | None:
    """None for what is not there, and for what another version wrote."""
    try:
        return from_json(kind, path.read_bytes(), source=str(path))
    except (OSError, RunUnreadable):
        return None
