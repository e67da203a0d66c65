"""Where a judge is asked: a URL or a deployment of ours, what it serves, and whether anything leaves the house."""

from __future__ import annotations

import ipaddress
import json
import os
from dataclasses import dataclass, field
from typing import Any

from evener.api import measure
from evener.bench.client import BaseUrl
from evener.edges.http import AioHttp
from evener.errors import ConfigurationError, HostError
from evener.evals.judging.talking import Api

ANSWERS_WITHIN_S = 10.0  # what a server at home says of itself


@dataclass(frozen=True, slots=True, kw_only=True)
class Door:
    """Where the judge answers, under which name, and how many questions it takes at once."""

    url: BaseUrl
    key: str | None = field(default=None, repr=False)
    model: str
    names: tuple[str, ...]  # the model's, as it was called and as the server calls what it serves
    at_home: bool  # a deployment of ours, this machine, or a private network
    parallel: int


async def door(by: str, *, model: str | None, api: Api, api_key_env: str | None, parallel: int) -> Door:
    """Raises ConfigurationError for a judge that has no name or no key, HostError where nobody at home answers for it.

    Elsewhere nothing is asked: nobody has agreed yet.
    """
    named = measure.target(by, api_key_env=api_key_env)
    key = named.api_key if named.ours else _key(api_key_env)
    at_home = named.ours is not None or is_at_home(named.url.host)
    served, slots = await _served(named.url, key) if api == "openai" and at_home else ((), None)
    called = model or next(iter(served), None)
    if called is None:
        raise ConfigurationError(f"which model of {named.name} is the judge?", hint="--model NAME, as its API calls it")
    return Door(
        url=named.url,
        key=key,
        model=called,
        names=tuple(dict.fromkeys((called, *served))),
        at_home=at_home,
        parallel=min(parallel, slots or parallel),
    )


async def _served(url: BaseUrl, key: str | None) -> tuple[tuple[str, ...], int | None]:
    """What a server at home says that it serves, and how many it serves at once, where it says so.

    A llama.cpp server answers to any name, so that only this tells whether a judge is a candidate under another one.
    Raises HostError when nobody listens.
    """
    headers = {"Authorization": f"Bearer {key}"} if key else None
    models = await AioHttp().get(f"{url}/v1/models", within_s=ANSWERS_WITHIN_S, headers=headers)
    if models is None:
        raise HostError(f"no judge answers at {url}", hint="load one after the candidates: evener up MODEL --detach")
    props = await AioHttp().get(f"{url}/props", within_s=ANSWERS_WITHIN_S, headers=headers)
    listed, slots = _field(models.body, "data"), _field(props.body, "total_slots") if props else None
    known = [one["id"] for one in listed if isinstance(one, dict) and "id" in one] if isinstance(listed, list) else []
    return tuple(map(str, known)), slots if isinstance(slots, int) and slots > 0 else None


def _field(body: bytes, name: str) -> Any:
    """None where the document is none, or has no such field."""
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return document.get(name) if isinstance(document, dict) else None


def _key(variable: str | None) -> str | None:
    """From the environment only."""
    if variable is None:
        return None
    key = os.environ.get(variable, "").strip()
    if not key:
        raise ConfigurationError(f"${variable} is not set", hint=f"export {variable}=...")
    if not (key.isascii() and key.isprintable() and " " not in key):
        raise ConfigurationError(f"${variable} holds no key that fits into an HTTP header")
    return key


def is_at_home(host: str) -> bool:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host == "localhost"
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        address = address.ipv4_mapped  # [::ffff:8.8.8.8] counts as private, and is not
    return address.is_loopback or address.is_private
