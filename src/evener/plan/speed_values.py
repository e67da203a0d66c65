"""Figures with intervals: adding, scaling and dividing them. Pure; bounds are added as if all erred the same way."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from evener.records.plan import Value

NOTHING = Value(value=0.0, low=0.0, high=0.0)


def value(likely: float, low: float, high: float) -> Value:
    return Value(value=likely, low=low, high=high)


def exact(amount: float) -> Value:
    return Value(value=amount, low=amount, high=amount)


def total(values: Iterable[Value]) -> Value:
    """The sum. What is assumed of one card is assumed of all, so errors do not cancel."""
    known = list(values)
    return value(sum(v.value for v in known), sum(v.low for v in known), sum(v.high for v in known))


def scaled(one: Value, factor: float) -> Value:
    """`one` times a factor that is not negative."""
    return value(one.value * factor, one.low * factor, one.high * factor)


def product(one: Value, other: Value) -> Value:
    return value(one.value * other.value, one.low * other.low, one.high * other.high)


def over(amount: float, rate: Value) -> Value:
    """What `amount` takes at a rate: seconds for bytes and bytes per second. The highest rate gives the low end."""
    return value(amount / rate.value, amount / rate.high, amount / rate.low)


def largest(*values: Value) -> Value:
    return combined(max, *values)


def combined(rule: Callable[..., float], *values: Value) -> Value:
    """A rule that grows with each of its arguments, applied end by end."""
    return value(rule(*(v.value for v in values)), rule(*(v.low for v in values)), rule(*(v.high for v in values)))
