"""What a preflight found: one line each, with how bad it is and what to do."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

Level = Literal["stops", "costs", "note", "fine"]  # the worst first


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that was looked at, in one place.

    "stops": a load fails. "costs": it works, slower or with less memory than it could. "note": worth knowing.
    """

    check: str  # which check found it, e.g. "firewall"
    level: Level  # how bad it is
    where: str  # a host, a host's card, a link, or the rig
    what: str  # what was found
    why: str | None = None  # why it matters, where that is not plain
    remedy: str | None = None  # what to do, None where nothing need be done


@dataclass(frozen=True, slots=True, kw_only=True)
class Examined:
    """The answer of `evener doctor`."""

    taken_at: datetime  # when it began to look
    took_s: float  # how long it looked
    model: str | None  # the model that was asked about
    findings: tuple[Finding, ...]  # the worst first, then in the order of the rig
    ok: bool  # nothing stops a load
