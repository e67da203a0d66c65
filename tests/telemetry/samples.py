"""Samples worked out by hand."""

from __future__ import annotations

from collections.abc import Iterable

from evener.records.telemetry import CardSample, Sample


def gpu(at_s: float, *, host: str = "alpha", card: str = "GPU-1", name: str = "RTX 5090", **more: object) -> Sample:
    facts = CardSample(card=card, name=name, **more)  # type: ignore[arg-type]
    return Sample(at_s=at_s, host=host, cards=(facts,))


def warming(temperatures_c: Iterable[float], *, host: str = "alpha", slowed_from_c: float = 1000.0) -> list[Sample]:
    """A card, second by second; from `slowed_from_c` on, heat holds it back."""
    return [
        gpu(float(second), host=host, temperature_c=c, slowed_by=("heat",) if c >= slowed_from_c else ())
        for second, c in enumerate(temperatures_c)
    ]
