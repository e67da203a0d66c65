"""What happened when: tokens by time, the user counts they belong to, and what the cards and cables did. Pure.

One axis: seconds since the start of the run, as requests and samples count them.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, groupby
from math import ceil

from evener.records.load import Request, TokenTimes
from evener.records.telemetry import CardSample, Sample
from evener.report.parts import Curve, LevelSpan, Panel, Timeline

_MOST_BINS = 180
_BINS_S = (0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 15.0, 30.0, 60.0, 120.0, 300.0)
_MOST_NICS = 4
_WORTH_DRAWING = 100_000  # bytes a second: below that an interface only chats
_MEGA = 1e6

# Panel name, its unit, and what of a card it shows.
_OF_CARDS: tuple[tuple[str, str, Callable[[CardSample], float | None]], ...] = (
    ("utilisation", "%", lambda card: card.utilisation_percent),
    ("temperature", "°C", lambda card: card.temperature_c),
    ("power", "W", lambda card: card.power_w),
)


def timeline(
    requests: Sequence[Request], samples: Sequence[Sample] = (), times: Iterable[TokenTimes] | None = None
) -> Timeline | None:
    """None where no token has a time, or times do not lie on one axis: each layout of a run has a start of its own.

    `times` are those of the requests, one after the other, where the requests do not hold them.
    """
    if len({r.layout for r in requests}) > 1:
        return None
    at_s, tokens = _arrivals(requests, times)
    if not at_s:
        return None
    from_s = min(r.sent_s for r in requests)
    to_s = max(chain(at_s, (r.sent_s + r.end_s for r in requests if r.end_s is not None)))
    bin_s = _bin(to_s - from_s)
    watched = [s for s in samples if from_s - bin_s <= s.at_s <= to_s + bin_s]
    speed = Panel(name="speed", unit="tok/s", curves=(_tokens(at_s, tokens, from_s, to_s, bin_s),))
    panels = [speed, *_card_panels(watched, from_s, bin_s), *_nic_panels(watched, from_s, bin_s)]
    return Timeline(from_s=from_s, to_s=to_s, bin_s=bin_s, spans=spans(requests), panels=tuple(panels))


def _arrivals(
    requests: Sequence[Request], times: Iterable[TokenTimes] | None
) -> tuple[Sequence[float], Sequence[float]]:
    """When tokens came, in seconds of the run, and how many. In arrays: there may be millions."""
    at_s, tokens = array("d"), array("d")
    if times is None:
        at_s.extend(r.sent_s + at for r in requests for at, _ in r.token_times)
        tokens.extend(came for r in requests for _, came in r.token_times)
        return at_s, tokens
    for request, one in zip(requests, times, strict=False):
        at_s.extend(map(request.sent_s.__add__, one.at_s))
        tokens.extend(one.tokens)
    return at_s, tokens


def _bin(duration_s: float) -> float:
    """The shortest round time that keeps the curve readable."""
    return next((s for s in _BINS_S if duration_s / s <= _MOST_BINS), _BINS_S[-1])


def spans(requests: Sequence[Request]) -> tuple[LevelSpan, ...]:
    """From the first measured request of a user count to the end of its last, in the order of sending."""
    measured = sorted((r for r in requests if not r.warm_up), key=lambda r: r.sent_s)
    found = []
    for (layout, users), group in groupby(measured, key=lambda r: (r.layout, r.users)):
        rows = list(group)
        ends = [r.sent_s + r.end_s for r in rows if r.end_s is not None]
        to_s = max([*ends, rows[-1].sent_s])
        found.append(LevelSpan(layout=layout, users=users, from_s=rows[0].sent_s, to_s=to_s))
    return tuple(found)


def _tokens(at_s: Sequence[float], tokens: Sequence[float], from_s: float, to_s: float, bin_s: float) -> Curve:
    """Tokens of all streams together, credited when they came; a time without any is zero, not unknown.

    The last bin takes in what would be less than half a bin after it.
    """
    import numpy as np  # here: a tenth of a second, which a run without times need not wait for

    bins = max(1, round((to_s - from_s) / bin_s))
    places = np.minimum((np.asarray(at_s) - from_s) / bin_s, bins - 1).astype(int)
    totals = np.bincount(places, weights=tokens, minlength=bins).tolist()
    last_s = to_s - from_s - (bins - 1) * bin_s
    widths = [bin_s] * (bins - 1) + [last_s or bin_s]
    points = tuple(
        (from_s + (i + 0.5) * bin_s, total / w) for i, (total, w) in enumerate(zip(totals, widths, strict=True))
    )
    return Curve(label="all users together", style=0, points=points)


def _card_panels(samples: Sequence[Sample], from_s: float, bin_s: float) -> Iterator[Panel]:
    seen = {(s.host, c.card): f"{s.host} / {c.name}" for s in samples for c in s.cards}
    style = {key: index for index, key in enumerate(sorted(seen))}
    for name, unit, of in _OF_CARDS:
        curves = []
        for key in style:
            values = ((s.at_s, of(c)) for s in samples for c in s.cards if (s.host, c.card) == key)
            if points := _binned(values, from_s, bin_s):
                curves.append(Curve(label=seen[key], style=style[key], points=points))
        if curves:
            yield Panel(name=name, unit=unit, curves=tuple(curves))


def _nic_panels(samples: Sequence[Sample], from_s: float, bin_s: float) -> Iterator[Panel]:
    """What a cable carried, both ways together; of interfaces that are no link of the rig only busy ones."""
    rates: dict[tuple[str, str], list[tuple[float, float | None]]] = defaultdict(list)
    links: dict[tuple[str, str], str | None] = {}
    for s in samples:
        for nic in s.nics:
            known = None not in (nic.rx_bytes_per_s, nic.tx_bytes_per_s)
            both = (nic.rx_bytes_per_s or 0.0) + (nic.tx_bytes_per_s or 0.0)
            rates[s.host, nic.name].append((s.at_s, both / _MEGA if known else None))
            links[s.host, nic.name] = nic.link
    busiest = sorted(rates, key=lambda key: (links[key] is None, -_most(rates[key])))
    shown = [key for key in busiest if links[key] or _most(rates[key]) * _MEGA >= _WORTH_DRAWING][:_MOST_NICS]
    curves = [
        Curve(label=_nic_label(*key, links), style=index, points=points)
        for index, key in enumerate(shown)
        if (points := _binned(rates[key], from_s, bin_s))
    ]
    if curves:
        yield Panel(name="network", unit="MB/s", curves=tuple(curves))


def _nic_label(host: str, nic: str, links: Mapping[tuple[str, str], str | None]) -> str:
    link = links[host, nic]
    return f"{host} / {nic}" + (f" (link {link})" if link else "")


def _most(rates: Iterable[tuple[float, float | None]]) -> float:
    return max((rate for _, rate in rates if rate is not None), default=0.0)


def _binned(
    values: Iterable[tuple[float, float | None]], from_s: float, bin_s: float
) -> tuple[tuple[float, float | None], ...]:
    """The mean of each bin; None, which breaks the line, where a bin between others has no value. () without any."""
    found: dict[int, list[float]] = defaultdict(list)
    for at, value in values:
        if value is not None:
            found[max(0, int((at - from_s) / bin_s))].append(value)
    if not found:
        return ()
    # Samples come once a second or slower: a shorter bin without one is no gap.
    missing_allowed = max(1, ceil(2.5 / bin_s))
    points: list[tuple[float, float | None]] = []
    before: int | None = None
    for index in sorted(found):
        if before is not None and index - before > missing_allowed:
            points.append((from_s + (before + 1) * bin_s, None))
        points.append((from_s + (index + 0.5) * bin_s, sum(found[index]) / len(found[index])))
        before = index
    return tuple(points)
