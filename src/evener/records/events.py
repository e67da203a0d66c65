"""What happens, as it happens: durable facts, and progress that is only ever shown."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A durable event: numbered, flushed and synced before the next step begins. `data` is JSON-ready."""

    sequence: int
    at: datetime
    kind: str
    data: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """An ephemeral event. `done` and `of` share one unit; `of` is None where nobody knows the end."""

    what: str
    done: float = 0.0
    of: float | None = None
    detail: str | None = None
