"""Options that several commands share, and how their words are read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from evener.records.plan import Workload

RigFile = Annotated[
    str | None, typer.Option("--rig", help="The rig file; default: $EVENER_RIG, ./rig.toml, or this machine alone.")
]
Json = Annotated[bool, typer.Option("--json", help="JSON on standard output, with stable keys.")]
Layout = Annotated[str, typer.Option(help="auto, a host's name, cluster, or any layout that `plan` lists.")]
Users = Annotated[int, typer.Option(min=1, max=256, help="Parallel sequences: people who are answered at one moment.")]
Context = Annotated[int, typer.Option(min=256, help="Tokens per user.")]
Kv = Annotated[str, typer.Option(help="Cache type: f16, q8_0, ...; q8_0/q4_0 for K and V apart.")]
Unified = Annotated[bool, typer.Option("--unified", help="One pool of context for all users.")]


def read_workload(*, users: int, context: int, kv: str, unified: bool) -> Workload:
    from evener.records.plan import Workload

    key, _, value = kv.partition("/")
    return Workload(context=context, users=users, unified=unified, kv_type_k=key, kv_type_v=value or key)
