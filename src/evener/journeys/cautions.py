"""What to know before a load: who holds memory on the planned cards, and whose settings interfere. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import shorten

from evener.records.card import Card, Holder, Scan
from evener.records.plan import Candidate

ENGINES = ("llama-server", "ggml-rpc-server", "ollama", "vllm", "llama-cli")
LEAST_BYTES = 64 << 20  # a desktop's windows are not worth a line each
SYSTEM_CONFIG = "/etc/llama.cpp/config.ini"


def cautions(candidate: Candidate, scan: Scan) -> Iterator[str]:
    """One line each: memory that others hold on a planned card; of a CPU card only what other engines hold."""
    for device in candidate.devices:
        host = scan.host(device.host)
        card = host.card(device.card) if host else None
        for holder in card.holders or () if card else ():
            if card and matters(holder, card):
                yield f"{device.host}/{device.card_name}: {held(holder)}"


def matters(holder: Holder, card: Card) -> bool:
    """Whether it takes from a model what nobody has declared."""
    if holder.resident is not None or (holder.bytes or 0) < LEAST_BYTES:
        return False
    return card.kind != "cpu" or any(name in (holder.command or "") for name in ENGINES)


def held(holder: Holder) -> str:
    """How much, by what, whose, since when."""
    size = "an unknown amount" if holder.bytes is None else f"{holder.bytes >> 20} MiB"
    if holder.kind == "unattributed":
        return f"{size} held by nobody the driver names"
    age = "" if holder.age_s is None else f", for {holder.age_s / 60:.0f} min"
    user = "" if holder.user is None else f" of {holder.user}"
    return f"{size} held by {_program(holder)}{user} (pid {holder.pid}{age})"


def _program(holder: Holder) -> str:
    """Enough of its command line to know it again."""
    return shorten(holder.command or "an unknown program", width=100, placeholder=" ...")
