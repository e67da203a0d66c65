"""What samples add up to: extents, peaks, shares, bytes, gaps. Pure; judges nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

from evener.records.telemetry import CardSample, CardWatched, Extent, Gap, HostWatched, NicSample, NicWatched, Sample
from evener.telemetry.energy import Point, joules

At = tuple[float, CardSample]
GAP_AFTER = 3.5  # missing samples; one that is late is no gap


def hosts_watched(
    samples: Sequence[Sample],
    hosts: Iterable[str],
    *,
    from_s: float,
    to_s: float,
    every_s: float,
    unknown: Mapping[str, Sequence[str]],
    machines: Mapping[str, str],
) -> tuple[HostWatched, ...]:
    """One entry per host, in the order given, of the samples between `from_s` and `to_s`."""
    within = [sample for sample in samples if from_s <= sample.at_s <= to_s]
    return tuple(
        _host(
            host,
            [sample for sample in within if sample.host == host],
            from_s=from_s,
            to_s=to_s,
            every_s=every_s,
            unknown=unknown.get(host, ()),
            machine=machines.get(host),
            asked=any(sample.host == host for sample in samples),
        )
        for host in hosts
    )


def extent(values: Iterable[float | None]) -> Extent | None:
    """None where nobody said anything."""
    told = [value for value in values if value is not None]
    if not told:
        return None
    return Extent(least=min(told), mean=round(sum(told) / len(told), 3), most=max(told), n=len(told))


def card_watched(host: str, at: Sequence[At], *, every_s: float) -> CardWatched:
    """One card's samples with their times, of which there is at least one."""
    cards = [card for _, card in at]
    power: list[Point] = [(at_s, card.power_w) for at_s, card in at if card.power_w is not None]
    energy, covered_s = joules(power, longest_step_s=GAP_AFTER * every_s)
    return CardWatched(
        host=host,
        card=cards[-1].card,
        name=cards[-1].name,
        utilisation_percent=extent(card.utilisation_percent for card in cards),
        temperature_c=extent(card.temperature_c for card in cards),
        power_w=extent(card.power_w for card in cards),
        clock_mhz=extent(card.clock_mhz for card in cards),
        memory_peak_bytes=_most(card.memory_used_bytes for card in cards),
        memory_total_bytes=_most(card.memory_total_bytes for card in cards),
        power_limit_asked_w=_last(card.power_limit_asked_w for card in cards),
        power_limit_effective_w=_least(card.power_limit_effective_w for card in cards),
        slowed=slowed_shares(cards),
        energy_j=energy,
        covered_s=covered_s,
    )


def slowed_shares(cards: Iterable[CardSample]) -> dict[str, float] | None:
    """The share of samples in which each reason held the card back, the greatest first; None where none says."""
    told = [card.slowed_by for card in cards if card.slowed_by is not None]
    if not told:
        return None
    count = Counter(reason for reasons in told for reason in reasons)
    return {reason: round(n / len(told), 4) for reason, n in count.most_common()}


def gaps(samples: Sequence[Sample], *, from_s: float, to_s: float, every_s: float) -> tuple[Gap, ...]:
    """Times without a word from one host, whose samples these are: said to be lost, or longer silent than is usual."""
    found: list[Gap] = []
    last_s, why = from_s, ""
    for sample in samples:
        if sample.lost is not None and not sample.cards:
            why = why or sample.lost
            continue
        if why or sample.at_s - last_s > GAP_AFTER * every_s:
            found.append(Gap(from_s=last_s, to_s=sample.at_s, why=why or "no sample came"))
        last_s, why = sample.at_s, ""
    if why or to_s - last_s > GAP_AFTER * every_s:
        found.append(Gap(from_s=last_s, to_s=None, why=why or "no sample came"))
    return tuple(found)


def late_ms(samples: Iterable[Sample]) -> tuple[float, float] | None:
    """Mean and greatest delay of a host's lines beyond the quickest one, by its own clock; None below two lines."""
    offsets = [1e3 * (sample.at_s - sample.host_clock_s) for sample in samples if sample.host_clock_s is not None]
    if len(offsets) < 2:
        return None
    quickest = min(offsets)
    late = [offset - quickest for offset in offsets]
    return round(sum(late) / len(late), 1), round(max(late), 1)


def _host(
    host: str,
    samples: Sequence[Sample],
    *,
    from_s: float,
    to_s: float,
    every_s: float,
    unknown: Sequence[str],
    machine: str | None,
    asked: bool,
) -> HostWatched:
    cards = tuple(card_watched(host, at, every_s=every_s) for at in _by_card(samples).values())
    return HostWatched(
        host=host,
        samples=sum(1 for sample in samples if sample.cards),
        cards=cards,
        load_1m=extent(sample.load_1m for sample in samples),
        nics=tuple(_nic(at) for at in _by_nic(samples).values()),
        gaps=gaps(samples, from_s=from_s, to_s=to_s, every_s=every_s) if asked else (),
        unknown=(*unknown, *_unknown(cards), *_tools_lost(samples)),
        machine=machine,
        late_ms=late_ms(samples),
        sampler_cpu_percent=_sampler_percent(samples),
    )


def _by_card(samples: Iterable[Sample]) -> dict[str, list[At]]:
    found: dict[str, list[At]] = {}
    for sample in samples:
        for card in sample.cards:
            found.setdefault(card.card, []).append((sample.at_s, card))
    return found


def _by_nic(samples: Iterable[Sample]) -> dict[str, list[NicSample]]:
    found: dict[str, list[NicSample]] = {}
    for sample in samples:
        for nic in sample.nics:
            found.setdefault(nic.name, []).append(nic)
    return found


def _nic(at: Sequence[NicSample]) -> NicWatched:
    return NicWatched(
        name=at[0].name,
        rx_bytes=_counted([nic.rx_bytes for nic in at]),
        tx_bytes=_counted([nic.tx_bytes for nic in at]),
        rx_most_bytes_per_s=_most_rate(nic.rx_bytes_per_s for nic in at),
        tx_most_bytes_per_s=_most_rate(nic.tx_bytes_per_s for nic in at),
        link=at[-1].link,
    )


def _counted(counts: Sequence[int]) -> int:
    """What was added between samples; a counter that began again adds nothing."""
    return sum(max(0, now - before) for before, now in pairwise(counts))


def _unknown(cards: Sequence[CardWatched]) -> Iterator[str]:
    """What matters most, and is not told."""
    said: dict[str, Callable[[CardWatched], object]] = {
        "utilisation": lambda card: card.utilisation_percent,
        "temperature": lambda card: card.temperature_c,
        "power": lambda card: card.power_w,
        "throttling": lambda card: card.slowed,
    }
    for card in cards:
        if missing := [what for what, told in said.items() if told(card) is None]:
            yield f"{card.name} does not say: {', '.join(missing)}"


def _tools_lost(samples: Iterable[Sample]) -> Iterator[str]:
    for sample in samples:
        if sample.lost is not None and sample.cards:
            yield f"from {sample.at_s:.0f} s: {sample.lost}"


def _sampler_percent(samples: Sequence[Sample]) -> float | None:
    """Between the first and the last line of the last watcher that said it: its own count begins with it."""
    told = [(s.host_clock_s, s.sampler_cpu_s) for s in samples if s.host_clock_s and s.sampler_cpu_s is not None]
    starts = [i for i in range(1, len(told)) if told[i][1] < told[i - 1][1]]
    told = told[starts[-1] :] if starts else told
    if len(told) < 2 or told[-1][0] <= told[0][0]:
        return None
    return round(100 * (told[-1][1] - told[0][1]) / (told[-1][0] - told[0][0]), 2)


def _most(values: Iterable[int | None]) -> int | None:
    return max((value for value in values if value is not None), default=None)


def _most_rate(values: Iterable[float | None]) -> float | None:
    return max((value for value in values if value is not None), default=None)


def _least(values: Iterable[float | None]) -> float | None:
    """A limit that fell for a while is the one that was in effect when it mattered."""
    return min((value for value in values if value is not None), default=None)


def _last(values: Iterable[float | None]) -> float | None:
    told = [value for value in values if value is not None]
    return told[-1] if told else None
