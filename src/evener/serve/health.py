"""When a deployment counts as dead although everything of it still answers. Pure.

A hung worker leaves the head's health, metrics and slots at 200 for ever; what gives it away is that nothing moves.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

BACK_OFF_S = (1.0, 2.0, 5.0, 10.0, 30.0, 60.0)
STEADY_S = 600.0  # alive for so long: what was before is forgotten
FEW = 3  # deaths in a row before a layout without the dead host is taken


@dataclass(frozen=True, slots=True, kw_only=True)
class Pulse:
    """What the engine counts, at one moment. Any change of `counters` is movement; None: it did not answer."""

    at_s: float
    busy: bool  # whether anybody waits for it
    counters: tuple[float, ...] | None


@dataclass(kw_only=True)
class Heart:
    """Pulses of one deployment, and since when nothing has moved while it was busy.

    One that says nothing is not taken for idle: clients give up sooner than a hung engine is dead, and come again.
    """

    hung_after_s: float
    _last: tuple[float, ...] | None = None
    _still_since_s: float | None = None

    def still_for_s(self, pulse: Pulse) -> float:
        """How long it has been busy without moving, or said nothing at all, with this pulse."""
        moved = pulse.counters is not None and pulse.counters != self._last
        if moved:
            self._last = pulse.counters
        if moved or (pulse.counters is not None and not pulse.busy):
            self._still_since_s = None
            return 0.0
        if self._still_since_s is None:
            self._still_since_s = pulse.at_s
        return pulse.at_s - self._still_since_s

    def is_hung(self, pulse: Pulse) -> bool:
        return self.still_for_s(pulse) >= self.hung_after_s


def counters(slots: Any, metrics: dict[str, float]) -> tuple[float, ...]:
    """What grows while llama-server works: of `/slots` the prompt tokens read and tokens made, of `/metrics` totals.

    `slots` is the parsed answer, whatever it is.
    """
    totals = [value for name, value in sorted(metrics.items()) if name.endswith("_total")]
    for slot in _tables(slots):
        following = slot.get("next_token")
        made = following[0] if isinstance(following, list) and following else following
        totals.append(_number(slot.get("id_task")))
        totals.append(_number(slot.get("n_prompt_tokens_processed")))
        totals.append(_number(made.get("n_decoded")) if isinstance(made, dict) else 0.0)
    return tuple(totals)


def works(slots: Any, metrics: dict[str, float]) -> bool:
    """Whether the engine itself says that it has something to do; True where it does not say."""
    doing = [slot["is_processing"] for slot in _tables(slots) if isinstance(slot.get("is_processing"), bool)]
    waiting = [metrics[name] for name in ("requests_processing", "requests_deferred") if name in metrics]
    return any(doing) or any(waiting) or not (doing or waiting)


def _tables(slots: Any) -> list[dict[str, Any]]:
    return [slot for slot in slots if isinstance(slot, dict)] if isinstance(slots, list) else []


def _number(value: Any) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Death:
    """One end that nobody asked for."""

    at_s: float
    lived_s: float
    why: str
    host: str | None  # where it began, as far as that is known


@dataclass(kw_only=True)
class Deaths:
    """The deaths of one deployment that were not followed by a long life."""

    recent: list[Death] = field(default_factory=list)

    def add(self, death: Death) -> None:
        if death.lived_s >= STEADY_S:
            self.recent.clear()
        self.recent.append(death)

    @property
    def pause_s(self) -> float:
        """How long to wait before the next try."""
        return BACK_OFF_S[min(len(self.recent), len(BACK_OFF_S)) - 1] if self.recent else 0.0

    @property
    def hopeless_host(self) -> str | None:
        """The host at which it died again and again, None when there is none."""
        last = [death.host for death in self.recent[-FEW:]]
        return last[0] if len(last) == FEW and last[0] is not None and len(set(last)) == 1 else None
