"""Watch hosts while something runs: one process on each, on a leash. Knows no rig file, and never stops a measurement.

A host that is lost is said to be, and tried again; what came before is kept. Samples are stamped as they arrive.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace

from evener.dialects import host_watch, net_path, nvidia_smi
from evener.errors import HostError
from evener.ports import Child, Shell
from evener.records.card import Card
from evener.records.telemetry import CardSample, Sample
from evener.telemetry.reading import Holders, Known, Reading
from evener.together import background, to_the_end, together

Keep = Callable[[Sample], None]
ASK_WITHIN_S = 10.0
READY_WITHIN_S = 15.0
SILENT_AFTER = 5  # missing samples; a host under load may be late
AGAIN_AFTER_S = (1.0, 2.0, 5.0, 10.0)  # the last one again and again
MAC_MARK = "system_profiler"
now_ns = time.perf_counter_ns  # the clock of the load client


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """One end of a link: its name, this host's address on it (None where nobody says), and that of the other end."""

    link: str
    own: str | None
    other: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """A host to watch. Without a `shell` nobody can, and `why` says why not.

    `ways` are its links: the interface towards the other end carries it. `cards` are what a scan knows of its cards,
    for their ids and names. `ours` are pids that are nobody else's.
    """

    host: str
    shell: Shell | None
    why: str | None = None
    ways: tuple[Way, ...] = ()
    cards: tuple[Card, ...] = ()
    ours: frozenset[int] = frozenset()


class Seen:
    """What has been seen so far. `started_ns` is the zero of its time, on the clock `now_ns`.

    `unknown` says by host what it cannot tell, `machines` which two names are one machine, `lost` who is lost now,
    `unkept` why samples do not reach `keep` any more: a full disk ends no measurement.
    """

    def __init__(self, hosts: Sequence[Watched], *, every_s: float, started_ns: int, keep: Keep) -> None:
        self.hosts = tuple(hosts)
        self.every_s = every_s
        self.started_ns = started_ns
        self.samples: list[Sample] = []
        self.unknown: dict[str, list[str]] = {watched.host: [] for watched in hosts}
        self.machines: dict[str, str] = {}
        self.lost: dict[str, str] = {}
        self.unkept: str | None = None
        self._keep = keep
        self._cards: dict[tuple[str, str], CardSample] = {}  # the last sample of each
        self._ours = {watched.host: set(watched.ours) for watched in hosts}

    def now_s(self) -> float:
        return round((now_ns() - self.started_ns) / 1e9, 3)

    def begin(self, started_ns: int) -> None:
        """Let time zero be `started_ns`, e.g. that of the first request; what came before it has times below zero."""
        earlier_s = (started_ns - self.started_ns) / 1e9
        self.started_ns = started_ns
        self.samples[:] = [_earlier(sample, earlier_s) for sample in self.samples]

    def add(self, sample: Sample) -> None:
        self.samples.append(sample)
        self._cards |= {(sample.host, card.card): card for card in sample.cards}
        if self.unkept is None:
            try:
                self._keep(sample)
            except HostError as error:
                self.unkept = f"from {sample.at_s:.0f} s on: {error.message}"

    def ours(self, host: str) -> set[int]:
        """Pids there that are not to be called somebody else. May be added to, e.g. when a server starts again."""
        return self._ours[host]

    def temperatures(self) -> dict[tuple[str, str], float]:
        """The last temperature of each (host, card) that says one, °C."""
        return {key: card.temperature_c for key, card in self._cards.items() if card.temperature_c is not None}

    def last(self) -> dict[tuple[str, str], CardSample]:
        """What each (host, card) said last."""
        return dict(self._cards)

    def names(self) -> dict[tuple[str, str], str]:
        """The name of each (host, card) that has been seen."""
        return {key: card.name for key, card in self._cards.items()}


@asynccontextmanager
async def watching(
    hosts: Iterable[Watched],
    *,
    every_s: float = 1.0,
    keep: Keep = lambda _sample: None,
    started_ns: int | None = None,
    ready_within_s: float = READY_WITHIN_S,
) -> AsyncIterator[Seen]:
    """Watch `hosts` as long as the block lasts; each sample goes to `keep` as it arrives, and into what is yielded.

    The block begins when each host has said something, or after `ready_within_s`. `started_ns`: when time zero is, on
    `time.perf_counter_ns`; now, where none is given. Nothing is raised for a host: `lost` and `unknown` say it.
    """
    seen = Seen(list(hosts), every_s=every_s, started_ns=now_ns() if started_ns is None else started_ns, keep=keep)
    watchers, heard = [], []
    for watched in seen.hosts:
        if watched.shell is None:
            seen.unknown[watched.host].append(watched.why or "nobody can ask this host")
            continue
        heard.append(asyncio.Event())
        watchers.append(_watch(watched, watched.shell, seen, heard[-1]))
    async with background(together(watchers)):
        with suppress(TimeoutError):
            async with asyncio.timeout(ready_within_s):
                await asyncio.gather(*(event.wait() for event in heard))
        yield seen


async def _watch(watched: Watched, shell: Shell, seen: Seen, heard: asyncio.Event) -> None:
    """Until cancelled: ask the host what it can tell, then listen, again whenever it was lost."""
    holders: Holders = {}
    tries = 0
    while True:
        begun = len(seen.samples)
        try:
            known = await ask(watched, shell, seen.unknown[watched.host])
            reading = Reading(watched.host, known, ours=seen.ours(watched.host), holders=holders)
            why = await _listen(shell, reading, seen, heard)
        except HostError as error:
            why = error.message.removeprefix(f"{watched.host}: ")
        except Exception as error:  # noqa: BLE001 - a measurement must not end because who watches it does
            why = f"watching it failed: {error!r}"
        if any(sample.host == watched.host and not sample.lost for sample in seen.samples[begun:]):
            tries = 0
        _lose(seen, watched.host, why)
        heard.set()  # nobody waits for a host that is not there
        await asyncio.sleep(AGAIN_AFTER_S[min(tries, len(AGAIN_AFTER_S) - 1)])
        tries += 1


async def ask(watched: Watched, shell: Shell, unknown: list[str]) -> Known:
    """What to know of a host before watching it; what it will not tell goes into `unknown`. Raises HostError."""
    fields, fault = await _nvidia_fields(shell)
    held = await _nvidia_held(shell) if fields else frozenset()
    unknown[:] = [fault] if fault else []
    links = await _links(watched, shell, unknown)
    return Known(cards=watched.cards, links=links, fields=fields, held=held)


async def _links(watched: Watched, shell: Shell, unknown: list[str]) -> dict[str, str]:
    """Links by the interface that carries them. A host without `ip` (a Mac) does not tell."""
    if not watched.ways or await shell.which("ip") is None:
        return {}
    found: dict[str, str] = {}
    for way in watched.ways:
        route = net_path.route((await shell.run(net_path.route_query(way.other), within_s=ASK_WITHIN_S)).stdout)
        if route.interface is None or _leaves_elsewhere(way, route):
            unknown.append(f"link {way.link}: no interface here leads to {way.other} from {way.own or 'any address'}")
        else:
            name = route.interface
            found[name] = f"{found[name]}, {way.link}" if name in found else way.link
    return found


def _leaves_elsewhere(way: Way, route: net_path.Route) -> bool:
    """Packets would leave from another address than the link's: by another cable. Names, and loopback, do not tell."""
    told = way.own is not None and way.own.replace(".", "").isdigit() and route.interface != net_path.LOOPBACK
    return told and route.source is not None and route.source != way.own


async def _nvidia_fields(shell: Shell) -> tuple[tuple[str, ...], str | None]:
    """The fields that this driver answers to, none without it, and why it says nothing."""
    if await shell.which(nvidia_smi.PROGRAM) is None:
        return (), None
    fields: tuple[str, ...] = nvidia_smi.WATCH_FIELDS
    while True:
        done = await shell.run(nvidia_smi.watch_query(fields), within_s=ASK_WITHIN_S)
        refused = nvidia_smi.refused_field(done.stdout + done.stderr)
        if refused is None or refused not in fields:
            break
        fields = nvidia_smi.without(fields, refused)
    if done.code == 0:
        return fields, None
    said = next((line.strip() for line in (done.stdout + done.stderr).splitlines() if line.strip()), "no answer")
    return (), f"nvidia-smi: {said}"


async def _nvidia_held(shell: Shell) -> frozenset[tuple[str, int]]:
    done = await shell.run(nvidia_smi.app_query(), within_s=ASK_WITHIN_S)
    return frozenset((app.gpu_uuid, app.pid) for app in nvidia_smi.parse_apps(done.stdout))


async def _listen(shell: Shell, reading: Reading, seen: Seen, heard: asyncio.Event) -> str:
    """Read what the host says until it says no more, and return why. Raises HostError when it cannot be started."""
    child = await shell.start(await _argv(shell, reading.known, seen.every_s), env={})
    try:
        await _read(child, reading, seen, heard)
        return _ended(await child.wait())
    finally:
        await to_the_end(child.stop())


async def _read(child: Child, reading: Reading, seen: Seen, heard: asyncio.Event) -> None:
    lines = aiter(child.lines())
    silent_s = max(SILENT_AFTER * seen.every_s, float(SILENT_AFTER))
    coming = asyncio.ensure_future(anext(lines, None))
    try:
        while True:
            await asyncio.wait([coming], timeout=silent_s)
            if not coming.done():
                _lose(seen, reading.host, f"silent for {silent_s:g} s")
                await asyncio.wait([coming])
            line = coming.result()
            if line is None:
                return
            coming = asyncio.ensure_future(anext(lines, None))
            if (sample := reading.feed(seen.now_s(), line)) is not None:
                _hear(seen, sample, reading.machine)
                if reading.is_complete:
                    heard.set()
    finally:
        coming.cancel()
        await asyncio.gather(coming, return_exceptions=True)


def _earlier(sample: Sample, by_s: float) -> Sample:
    joined = tuple(replace(one, at_s=round(one.at_s - by_s, 3)) for one in sample.joined)
    return replace(sample, at_s=round(sample.at_s - by_s, 3), joined=joined)


def _hear(seen: Seen, sample: Sample, machine: str | None) -> None:
    seen.lost.pop(sample.host, None)
    if machine:
        seen.machines[sample.host] = machine
    seen.add(sample)


def _lose(seen: Seen, host: str, why: str) -> None:
    """Said once, until the host is back."""
    if host not in seen.lost:
        seen.add(Sample(at_s=seen.now_s(), host=host, lost=why))
    seen.lost[host] = why


def _ended(code: int) -> str:
    return f"its watcher was ended by signal {-code}" if code < 0 else f"its watcher has ended with {code}"


async def _argv(shell: Shell, known: Known, every_s: float) -> list[str]:
    if await shell.which(MAC_MARK):
        return ["sh", "-c", host_watch.MAC, "watch", f"{every_s:g}"]
    carry, fields = " ".join(known.links), ",".join(known.fields)
    return ["sh", "-c", host_watch.LINUX, "watch", f"{every_s:g}", carry, fields, f"{every_s * 1000:.0f}"]
