"""The tables of rig.toml as pydantic models, one per TOML table. They know single keys, not how keys go together."""

from __future__ import annotations

import ipaddress
import re
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

DEFAULT_PORTS = "50052-50059"
SERVE_PORT = 8080
HOST_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?")


# ---- fields


def check_name(text: str) -> str:
    if not HOST_NAME.fullmatch(text):
        raise ValueError(f'"{text}" must begin and end with a letter or digit; between them also . _ and -')
    return text


def check_address(text: str) -> str:
    """An IPv4 address or a name: what the engine's RPC can bind and reach."""
    if text in ("0.0.0.0", "::", "*", ""):
        raise ValueError(
            f'"{text}" would offer the worker on every network, and RPC has no authentication: '
            "name the one address that carries RPC"
        )
    if ":" in text:
        host, _, port = text.rpartition(":")
        if port.isdigit() and ":" not in host:
            raise ValueError(f'"{text}" has a port; write the address alone and the ports under "ports"')
        raise ValueError(f'"{text}" is an IPv6 address, which the engine\'s RPC cannot reach: name an IPv4 address')
    if re.fullmatch(r"[0-9.]+", text):
        try:
            ipaddress.IPv4Address(text)
        except ValueError:
            raise ValueError(f'"{text}" is not an IPv4 address') from None
    elif not HOST_NAME.fullmatch(text):
        raise ValueError(f'"{text}" is neither an IPv4 address nor a host name')
    return text


def check_endpoint(text: str) -> str:
    host, _, port = text.rpartition(":")
    if not host or not port.isdigit() or not 1 <= int(port) <= 65535:
        raise ValueError(f'"{text}" must be "address:port", such as "10.0.0.3:50052"')
    check_address(host)
    return text


def check_ports(text: str) -> str:
    found = re.fullmatch(r"(\d{1,5})(?:-(\d{1,5}))?", text)
    if not found:
        raise ValueError(f'"{text}" must be a range such as "50052-50059"')
    low, high = port_range(text)
    if low > high:
        raise ValueError(f'"{text}" runs backwards')
    if low < 1024 or high > 65535:
        raise ValueError(f'"{text}" must lie between 1024 and 65535')
    return text


def port_range(text: str) -> tuple[int, int]:
    low, _, high = text.partition("-")
    return int(low), int(high or low)


Name = Annotated[str, AfterValidator(check_name)]
Address = Annotated[str, AfterValidator(check_address)]
Endpoint = Annotated[str, AfterValidator(check_endpoint)]
Ports = Annotated[str, AfterValidator(check_ports)]
Mib = Annotated[int, Field(gt=0)]
Text = Annotated[str, Field(min_length=1)]


# ---- tables


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


class ServeTable(_Table):
    """Where the team reaches the model."""

    host: Text = Field("127.0.0.1", description="Address on which llama-server listens; loopback unless stated.")
    port: int = Field(SERVE_PORT, ge=1, le=65535, description="TCP port of llama-server.")
    api_key_env: Text | None = Field(None, description="Name of the environment variable that holds the API key.")
    api_key_file: Text | None = Field(None, description="File that holds the API key; its mode must be 0600.")


class ResidentTable(_Table):
    """A program known to hold memory on a card, and allowed to."""

    name: Text = Field(description="Part of its command line, whatever its case.")
    card: Text = Field(description='Part of the card\'s name, or its UUID or PCI bus id; "cpu" for main memory.')
    mib: Mib = Field(description="Memory it may hold, in MiB.")


class CardsTable(_Table):
    """Which of a host's cards take part. A name matches as a part of the card's name, whatever its case."""

    include: list[Text] = Field([], description="Only these GPUs: names, UUIDs or PCI bus ids. Empty: all.")
    exclude: list[Text] = Field([], description='Not these cards: names, UUIDs, PCI bus ids, or "cpu".')
    capacity_mib: dict[Text, Mib] = Field({}, description="Treat a card as if it had only so much memory, in MiB.")


class StatedCardTable(_Table):
    """A card that need not exist."""

    model: Text = Field(description='The card\'s model, such as "RTX 5060 Ti 16GB".')
    price: float | None = Field(None, ge=0, description="What it costs, in the currency of [money].")


class AnyHostTable(_Table):
    name: Name = Field(description="The host's name in every table, plan and report; unique.")
    address: Address | None = Field(None, description="IPv4 address or name that carries RPC.")
    reserve_mib: int = Field(0, ge=0, description="Memory to keep free on each card, in MiB, e.g. for a desktop.")


class MachineTable(AnyHostTable):
    ports: Ports = Field(DEFAULT_PORTS, description="TCP ports for this host's workers, first and last.")
    residents: list[ResidentTable] = Field([], description="Programs known to hold memory here, and allowed to.")
    engine: Text | None = Field(None, description="Folder of the llama.cpp binaries; found by itself unless stated.")
    models: Text | None = Field(None, description="Folder of this host's copies of the models.")
    cards: CardsTable = Field(default_factory=CardsTable, description="Which cards take part.")


class LocalTable(MachineTable):
    """The machine evener runs on."""

    connection: Literal["local"]


class SshTable(MachineTable):
    """A machine reached by ssh."""

    connection: Literal["ssh"]
    ssh: Text = Field(description="Anything `ssh` accepts as a destination; ~/.ssh/config is honoured.")


class EndpointTable(AnyHostTable):
    """A machine on which somebody else started ggml-rpc-server: no holders, no verification."""

    connection: Literal["endpoint"]
    endpoints: list[Endpoint] = Field(min_length=1, description='Running workers, each "address:port".')


class StatedTable(AnyHostTable):
    """A machine that need not exist, for planning before buying."""

    connection: Literal["stated"]
    cards: list[StatedCardTable] = Field(min_length=1, description="Its cards.")
    ram_gib: float | None = Field(
        None, gt=0, description="Its main memory in GiB, for layouts with a part of the model there; else unknown."
    )
    ram_gb_per_s: float | None = Field(
        None, gt=0, description="What that memory carries in GB/s: 8 x channels x MT/s / 1000. Else assumed, widely."
    )


HostTable = Annotated[
    LocalTable | SshTable | EndpointTable | StatedTable,
    Field(discriminator="connection"),
]


class LinkTable(_Table):
    """A cable between two hosts, as stated; a measurement replaces it."""

    name: Name = Field(description="The link's name; unique.")
    between: list[str] = Field(min_length=2, max_length=2, description="The two hosts it joins.")
    gbit_per_s: float | None = Field(None, gt=0, description="Throughput in Gbit/s.")
    rtt_us: float | None = Field(None, gt=0, description="Round-trip time in microseconds.")
    preset: Text | None = Field(None, description="A kind of link whose figures are assumed until measured.")
    tunnel: bool = Field(False, description="Carry RPC through an ssh tunnel.")
    addresses: dict[str, Address] = Field({}, description="Address of each host on this link, by host name.")


class MoneyTable(_Table):
    """What things cost, so that plans and reports can speak of it."""

    currency: Text = Field("EUR", description="Currency of every price.")
    kwh_price: float | None = Field(None, ge=0, description="Price of one kWh.")


class RigTable(_Table):
    """rig.toml: hosts and the links between them. The first host is the head: llama-server runs there."""

    serve: ServeTable = Field(default_factory=ServeTable, description="Where llama-server listens, and its key.")
    hosts: list[HostTable] = Field(min_length=1, description="The machines, the head first.")
    links: list[LinkTable] = Field([], description="The cables between them.")
    money: MoneyTable | None = Field(None, description="What things cost.")


KINDS: dict[str, type[AnyHostTable]] = {
    "local": LocalTable,
    "ssh": SshTable,
    "endpoint": EndpointTable,
    "stated": StatedTable,
}
