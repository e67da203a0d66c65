"""rig.toml at the door: every fault at once, each with its key. What the machines really are is not known here."""

from __future__ import annotations

import os
import re
import socket
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evener.config.faults import rig_table
from evener.config.reading import text_of, toml_of
from evener.config.tables import EndpointTable, LocalTable, RigTable, SshTable, StatedTable, port_range
from evener.errors import ConfigurationError, RigFileError
from evener.records import rig as records

MIB, GIB = 1 << 20, 1 << 30


def find_rig(path: str | None, *, state: Path) -> Path | None:
    """Which rig file to use: `path`, $EVENER_RIG, ./rig.toml, `state`/rig.toml; None when there is none."""
    if chosen := path or os.environ.get("EVENER_RIG"):
        return or_shipped(Path(chosen).expanduser())
    return next((p for p in (Path("rig.toml"), state / "rig.toml") if p.is_file()), None)


def example(name: str) -> Path:
    """A file that comes with evener."""
    return Path(__file__).parent.parent / "examples" / name


def or_shipped(path: Path) -> Path:
    """`examples/NAME`, where no such file is here, is the one that comes with evener."""
    shipped = example(path.name)
    return shipped if path.parent == Path("examples") and not path.exists() and shipped.is_file() else path


def load_rig(path: Path) -> records.Rig:
    """Read a rig file. Raises RigFileError with every fault it has."""
    text = text_of(path, fault=RigFileError, hint="`evener scan --init` writes a first one")
    return parse_rig(text, path=str(path))


def parse_rig(text: str, *, path: str) -> records.Rig:
    """A rig from the text of its file; `path` is only for messages. Raises RigFileError with every fault."""
    table, faults = rig_table(toml_of(text, path=path, fault=RigFileError))
    if table is None or faults:
        raise RigFileError(path, tuple(faults), hint="`evener rig schema` lists every key")
    return _rig(table, path)


def this_machine() -> records.Rig:
    """The rig of somebody who has no rig file: this machine alone."""
    name = re.sub(r"[^A-Za-z0-9._-]", "-", socket.gethostname().split(".")[0]).strip("._-")
    return records.Rig(hosts=(records.Host(name=name or "here", connection="local"),))


def rig_schema() -> dict[str, Any]:
    """JSON Schema of rig.toml."""
    return RigTable.model_json_schema() | {"title": "rig.toml"}


def api_key(serve: records.Serve, *, environ: Mapping[str, str] = os.environ) -> str | None:
    """The key that protects the served model, None when none is asked for.

    Raises ConfigurationError when the variable is not set, or the file is missing, empty or readable by others.
    """
    if serve.api_key_env:
        if key := environ.get(serve.api_key_env):
            return key
        raise ConfigurationError(
            f"serve.api_key_env: ${serve.api_key_env} is not set", hint="export it, then try again"
        )
    if serve.api_key_file is None:
        return None
    path = Path(serve.api_key_file).expanduser()
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
        key = path.read_text(encoding="utf-8").strip()
    except OSError as error:
        raise ConfigurationError(f"serve.api_key_file: {path}: {error.strerror}") from None
    if mode & 0o077:
        raise ConfigurationError(
            f"serve.api_key_file: {path} has mode {mode:04o}: others can read the key", hint=f"chmod 600 {path}"
        )
    if not key:
        raise ConfigurationError(f"serve.api_key_file: {path} is empty")
    return key


def _rig(table: RigTable, path: str) -> records.Rig:
    on_links = {name: address for link in reversed(table.links) for name, address in link.addresses.items()}
    return records.Rig(
        hosts=tuple(_host(host, host.address or on_links.get(host.name)) for host in table.hosts),
        links=tuple(
            records.Link(
                **link.model_dump(exclude={"between", "addresses"}),
                between=(link.between[0], link.between[1]),
                addresses=tuple(link.addresses.items()),
            )
            for link in table.links
        ),
        serve=records.Serve(**table.serve.model_dump()),
        money=records.Money(**table.money.model_dump()) if table.money else None,
        path=path,
    )


def _host(table: LocalTable | SshTable | EndpointTable | StatedTable, address: str | None) -> records.Host:
    """A host record. One without an address of its own carries RPC over its first link that names one."""
    common: dict[str, Any] = {
        "name": table.name,
        "connection": table.connection,
        "address": address,
        "reserve_bytes": table.reserve_mib * MIB,
    }
    if isinstance(table, EndpointTable):
        return records.Host(**common, endpoints=tuple(table.endpoints))
    if isinstance(table, StatedTable):
        stated = (records.StatedCard(model=card.model, price=card.price) for card in table.cards)
        ram_bytes = None if table.ram_gib is None else int(table.ram_gib * GIB)
        return records.Host(**common, stated=tuple(stated), ram_bytes=ram_bytes, ram_gb_per_s=table.ram_gb_per_s)
    return records.Host(
        **common,
        ports=port_range(table.ports),
        residents=tuple(records.Resident(name=r.name, card=r.card, bytes=r.mib * MIB) for r in table.residents),
        ssh=table.ssh if isinstance(table, SshTable) else None,
        engine=table.engine,
        models=table.models,
        cards=records.CardRules(
            include=tuple(table.cards.include),
            exclude=tuple(table.cards.exclude),
            capacity_bytes=tuple((card, mib * MIB) for card, mib in table.cards.capacity_mib.items()),
        ),
    )
