"""A run of users that never wrote its summary: its levels, worked out again from the requests it kept."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from evener.bench.client import base_url
from evener.bench.load import Load
from evener.bench.probe import Server
from evener.bench.summarise import users_result
from evener.codec import from_data, to_data
from evener.edges.run_folder import RunData, with_token_times
from evener.errors import EvenerError
from evener.records.events import Fact
from evener.records.load import ClientCost

WHY = "the run ended before it could be summed up"


def with_levels(data: RunData) -> RunData:
    """The run with a "measured" fact of what its requests give; as it is where that cannot be told.

    What the client cost is not known then, and no report says it.
    """
    load = next((fact for fact in data.facts if fact.kind == "load"), None)
    if data.summary is not None or load is None or not data.requests:
        return data
    try:
        users = _users(with_token_times(data), load.data)
    except (EvenerError, KeyError):  # of another version, or torn
        return data
    name = next((fact.data["name"] for fact in data.facts if fact.kind == "layout"), users["url"])
    measured = Fact(
        sequence=data.facts[-1].sequence + 1,
        at=data.facts[-1].at,
        kind="measured",
        data={"layout": name, "users": users},
    )
    return replace(data, facts=(*data.facts, measured))


def _users(data: RunData, told: dict[str, Any]) -> dict[str, Any]:
    known = told["server"]
    server = Server(
        url=base_url(known["url"]),
        model=known.get("model"),
        fields={},
        slots=known.get("slots"),
        context=known.get("context"),
        quantisation=known.get("quantisation"),
    )
    load = from_data(Load, told["load"], source=f"{data.path}: its load")
    result = users_result(data.requests, load=load, server=server, client=ClientCost(cpu_s=0.0), partial=WHY)
    return dict(to_data(result))
