"""Figures in sentences. Pure."""

from __future__ import annotations

from evener.records.plan import Value


def gib(count: int) -> str:
    """Bytes for a sentence."""
    return f"{count / (1 << 30):.1f} GiB" if count >= 1 << 30 else f"{count / (1 << 20):.0f} MiB"


def layers(count: int) -> str:
    return f"{count} layer{'' if count == 1 else 's'}"


def rate(value: Value) -> str:
    """Tokens per second with the interval: "31 (25 to 38) tok/s"."""
    return f"{_short(value.value)} ({_short(value.low)} to {_short(value.high)}) tok/s"


def _short(number: float) -> str:
    return f"{number:.0f}" if number >= 20 else f"{number:.1f}"
