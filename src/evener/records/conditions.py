"""Everything that could change a number. Recorded with each run, compared before two runs are."""

from __future__ import annotations

from dataclasses import dataclass, field, fields


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """None is "not known", and two unknowns are not equal: see `differing`."""

    model_sha256: str | None = None
    model_bytes: int | None = None
    quantisation: str | None = None
    context: int | None = None
    users: int | None = None
    kv_type_k: str | None = None
    kv_type_v: str | None = None
    engine_builds: dict[str, str] = field(default_factory=dict)  # host -> "b11434 (b0a2feb) protocol 7.0.0"
    device_order: tuple[str, ...] = ()  # "alpha/RTX 5090" in --device order
    layers_per_device: tuple[int, ...] = ()
    layout: str | None = None
    beside: tuple[str, ...] = ()  # the model: its projector, what drafts for it and how many tokens at a time
    thinking_asked: str | None = None
    thinking_observed: str | None = None
    sampling: dict[str, float | int | str] = field(default_factory=dict)
    link: str | None = None
    drivers: dict[str, str] = field(default_factory=dict)  # "host/card" -> driver
    power_limits_w: dict[str, float] = field(default_factory=dict)
    held_before: dict[str, int] = field(default_factory=dict)  # "host/card" -> bytes of others
    ambient_c: float | None = None  # of the room, as the user states it
    temperatures_c: dict[str, tuple[float, float]] = field(default_factory=dict)  # "host/card" -> least, most seen
    slowed_by: dict[str, tuple[str, ...]] = field(default_factory=dict)  # "host/card" -> what held it back
    client: str | None = None
    evener: str | None = None


def differing(a: Conditions, b: Conditions) -> tuple[str, ...]:
    """Names of the conditions that differ, unknown ones included: nobody knows that they are equal."""
    return tuple(f.name for f in fields(Conditions) if _differs(getattr(a, f.name), getattr(b, f.name)))


def _differs(a: object, b: object) -> bool:
    return a is None or b is None or a != b
