"""Lines of a host's watcher to samples: rates between two moments, and who was not there before. Asks nobody."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from evener.dialects import host_watch, nvidia_smi
from evener.dialects.host_watch import Moment
from evener.records.card import Card
from evener.records.telemetry import CardSample, Joined, NicSample, Sample

Holders = dict[str, set[tuple[str, int]]]  # by source, (card, pid) of everybody seen so far
CPU = "cpu"
HEAT = "heat"
HOST, NVIDIA, BIG, KFD = "host", "nvidia-smi", "big", "kfd"  # who says something


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What is known of a host before it is watched: cards of a scan, which interface carries which link, the fields
    that its nvidia-smi answers to, and who held memory on its NVIDIA cards by then."""

    cards: tuple[Card, ...] = ()
    links: Mapping[str, str] = field(default_factory=dict)  # interface -> name of the link
    fields: Sequence[str] = ()
    held: frozenset[tuple[str, int]] = frozenset()  # (card, pid)


class Reading:
    """One host's lines, in their order; a line completes a sample or nothing. `machine` names it once it has said so.

    `is_complete` once each of its sources has said something: itself, and nvidia-smi where it has one. Processes in
    `ours` are never somebody else; the set may grow meanwhile. `holders` outlives a reading: whoever comes while a host
    is lost has come all the same.
    """

    def __init__(self, host: str, known: Known, *, ours: set[int], holders: Holders) -> None:
        self.machine: str | None = None
        self.host = host
        self.known = known
        self._ours = ours
        self._names = {name: card for card in known.cards for name in (card.id, card.uuid, _bus(card.bus_id)) if name}
        self._lines: list[str] = []
        self._last = Moment()
        self._holders = holders
        if known.fields:
            holders.setdefault(NVIDIA, set(known.held))
        self._buses: dict[str, str] = {}
        self._waits_for = {HOST, *([NVIDIA] if known.fields else [])}

    @property
    def is_complete(self) -> bool:
        return not self._waits_for

    def feed(self, at_s: float, line: str) -> Sample | None:
        """A sample, where `line` completes one. `at_s` is when it arrived."""
        if line == "tick":
            moment = host_watch.moment(self._lines)
            self._lines = []
            self._waits_for.discard(HOST)
            return self._of_host(at_s, moment)
        if not (self.known.fields and line.startswith("GPU-")):
            self._lines.append(line)
            return None
        if (card := nvidia_smi.watched(line, self.known.fields)) is not None:
            self._waits_for.discard(NVIDIA)
            return Sample(at_s=at_s, host=self.host, cards=(self._named(card),))
        if (app := nvidia_smi.watched_app(line)) is not None:
            joined = tuple(self._joined(at_s, NVIDIA, [(app.gpu_uuid, app.pid, app.name, app.bytes)]))
            return Sample(at_s=at_s, host=self.host, joined=joined) if joined else None
        return None

    def _of_host(self, at_s: float, now: Moment) -> Sample:
        self.machine = now.boot or self.machine
        self._buses |= now.kfd_bus
        before, self._last = self._last, now
        passed_s = _passed(before.clock_s, now.clock_s)
        others = [*now.radeons, *([now.metal] if now.metal else [])]
        return Sample(
            at_s=at_s,
            host=self.host,
            host_clock_s=now.clock_s,
            cards=(self._named(_processor(before, now, passed_s)), *map(self._named, others)),
            load_1m=now.load_1m,
            nics=tuple(self._nics(before, now, passed_s)),
            joined=tuple(self._strangers(at_s, now)),
            sampler_cpu_s=now.mine_s,
            lost="; ".join(f"{tool} has ended: its cards are not seen" for tool in now.gone) or None,
        )

    def _named(self, sample: CardSample) -> CardSample:
        """Under the id and name that a scan gave the card."""
        card = self._names.get(sample.card) or self._names.get(_bus(sample.card) or "")
        return sample if card is None else replace(sample, card=card.id, name=card.name)

    def _nics(self, before: Moment, now: Moment, passed_s: float | None) -> Iterator[NicSample]:
        for name, (rx, tx) in now.nics.items():
            earlier = before.nics.get(name)
            yield NicSample(
                name=name,
                rx_bytes=rx,
                tx_bytes=tx,
                rx_bytes_per_s=_rate(earlier[0], rx, passed_s) if earlier else None,
                tx_bytes_per_s=_rate(earlier[1], tx, passed_s) if earlier else None,
                link=self.known.links.get(name),
            )

    def _strangers(self, at_s: float, now: Moment) -> Iterator[Joined]:
        if now.big is not None:
            yield from self._joined(at_s, BIG, [(CPU, held.pid, held.name, held.bytes) for held in now.big])
        if now.kfd is not None:
            rows = [(self._bus_of(gpu), held.pid, held.name, held.bytes) for gpu, held in now.kfd]
            yield from self._joined(at_s, KFD, rows)

    def _joined(
        self, at_s: float, source: str, rows: Sequence[tuple[str, int, str | None, int | None]]
    ) -> Iterator[Joined]:
        """Those who were not there at this source's first look. nvidia-smi's first look was before the watching."""
        first = source not in self._holders
        seen = self._holders.setdefault(source, set())
        for card, pid, name, held in rows:
            if (card, pid) in seen:
                continue
            seen.add((card, pid))
            if not first and pid not in self._ours:
                known = self._names.get(card) or self._names.get(_bus(card) or "")
                yield Joined(
                    at_s=at_s, host=self.host, card=known.id if known else card, pid=pid, name=name, bytes=held
                )

    def _bus_of(self, gpu: str) -> str:
        return self._buses.get(gpu, gpu)


def _processor(before: Moment, now: Moment, passed_s: float | None) -> CardSample:
    """The CPU as a card: its memory is the host's, its load and power are those since the moment before."""
    total, available = now.memory.total_bytes, now.memory.available_bytes
    throttled = _grown(before.throttled, now.throttled)
    return CardSample(
        card=CPU,
        name="CPU",
        utilisation_percent=_busy_percent(before, now),
        memory_used_bytes=None if total is None or available is None else total - available,
        memory_total_bytes=total,
        power_w=_package_w(before, now, passed_s),
        temperature_c=now.temperature_c,
        slowed_by=None if throttled is None else (HEAT,) if throttled else (),
    )


def _busy_percent(before: Moment, now: Moment) -> float | None:
    busy, every = _grown(before.busy_ticks, now.busy_ticks), _grown(before.all_ticks, now.all_ticks)
    return None if busy is None or not every else round(min(100.0, 100 * busy / every), 1)


def _package_w(before: Moment, now: Moment, passed_s: float | None) -> float | None:
    """Power of all packages; None in a second in which a counter began again."""
    grown = [_grown(before.rapl_uj.get(at), uj) for at, uj in now.rapl_uj.items()]
    if not grown or not passed_s or any(uj is None for uj in grown):
        return None
    return round(sum(uj for uj in grown if uj is not None) / 1e6 / passed_s, 2)


def _grown(before: int | None, now: int | None) -> int | None:
    """None where one of both is unknown, or a counter began again."""
    return None if before is None or now is None or now < before else now - before


def _passed(before_s: float | None, now_s: float | None) -> float | None:
    return None if before_s is None or now_s is None or now_s <= before_s else now_s - before_s


def _rate(before: int, now: int, passed_s: float | None) -> float | None:
    grown = _grown(before, now)
    return None if grown is None or not passed_s else round(grown / passed_s, 1)


def _bus(bus_id: str | None) -> str | None:
    """One spelling: drivers write the domain with four digits or eight, and in either case."""
    return None if not bus_id or ":" not in bus_id else bus_id.lower()[-12:]
