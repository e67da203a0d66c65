"""What a rig did while something ran: samples once a second from every host, and what they add up to.

All times are seconds on the measuring machine's monotonic clock since the start of the run, like those of `Request`:
they lie on one axis with tokens. A sample is stamped when it arrives. None is "the host does not say", never zero.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class CardSample:
    """One card at one moment; `card` is its id in a scan ("cpu" for the processor and main memory).

    `utilisation_percent` is the share of time in which the card did anything, as its driver defines that.
    `slowed_by` names what held its clocks back, () when nothing did, None where the driver hides it.
    """

    card: str
    name: str
    utilisation_percent: float | None = None
    memory_used_bytes: int | None = None  # by everybody
    memory_total_bytes: int | None = None  # that the card has
    power_w: float | None = None  # drawn
    power_limit_asked_w: float | None = None
    power_limit_effective_w: float | None = None
    temperature_c: float | None = None
    clock_mhz: float | None = None  # of its processors
    memory_clock_mhz: float | None = None  # of its memory
    slowed_by: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NicSample:
    """One network interface. Bytes count from the host's start; rates are since the sample before.

    `link` is the rig's link that it carries, None for any other interface.
    """

    name: str
    rx_bytes: int  # received
    tx_bytes: int  # sent
    rx_bytes_per_s: float | None = None  # received
    tx_bytes_per_s: float | None = None  # sent
    link: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Joined:
    """Somebody who holds memory on a card and did not when watching began. `bytes` None: the driver does not say."""

    at_s: float  # when it was seen first
    host: str
    card: str
    pid: int
    name: str | None = None
    bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """A line of `telemetry.jsonl`: what one source on one host said at one moment.

    A GPU driver speaks at its own moments: then `cards` holds its card and the rest is empty. The host's own line has
    the CPU among its `cards`, and load and interfaces. `host_clock_s` is its uptime then, by its own clock.
    `sampler_cpu_s` is the processor time that sampling has cost that host so far. `lost` says that, and why, nothing
    is known of the host (or of the `cards` named by it) from now on, until its next sample.
    """

    at_s: float  # since the start of the run
    host: str
    host_clock_s: float | None = None
    cards: tuple[CardSample, ...] = ()
    load_1m: float | None = None  # the host's, over a minute
    nics: tuple[NicSample, ...] = ()  # its interfaces
    joined: tuple[Joined, ...] = ()  # holders of memory who were not there before
    sampler_cpu_s: float | None = None
    lost: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Extent:
    """What some samples of one figure came to."""

    least: float  # the least of them
    mean: float
    most: float  # the greatest of them
    n: int  # samples


@dataclass(frozen=True, slots=True, kw_only=True)
class CardWatched:
    """One card over a whole run.

    `slowed` holds the share of samples, 0 to 1, in which each reason held the card back, None where its driver
    hides them. `energy_j` is the trapezoid over its power, over the `covered_s` seconds that samples cover without a
    gap.
    """

    host: str
    card: str
    name: str
    utilisation_percent: Extent | None = None  # as its driver defines it
    temperature_c: Extent | None = None
    power_w: Extent | None = None  # drawn
    clock_mhz: Extent | None = None  # of its processors
    memory_peak_bytes: int | None = None  # the most that was used, by everybody
    memory_total_bytes: int | None = None  # that the card has
    power_limit_asked_w: float | None = None  # the last
    power_limit_effective_w: float | None = None  # the least
    slowed: dict[str, float] | None = None
    energy_j: float | None = None
    covered_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class NicWatched:
    """One interface over a whole run: bytes, and the greatest rate between two samples."""

    name: str
    rx_bytes: int  # received
    tx_bytes: int  # sent
    rx_most_bytes_per_s: float | None = None  # the greatest
    tx_most_bytes_per_s: float | None = None  # the greatest
    link: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """No sample came from a host in this time. `to_s` None: none came any more."""

    from_s: float  # of the last sample
    to_s: float | None
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HostWatched:
    """One host over a whole run. `unknown` says in words what it could not tell, and why.

    `machine` is the same for two names of one machine. `late_ms` is how unevenly its samples arrived here: the mean
    and the greatest delay beyond the quickest one, drift of the two clocks included; that much a stamp may be late.
    `sampler_cpu_percent` is what sampling cost it, in percent of one processor, without the ssh connection.
    """

    host: str
    samples: int  # how many came
    cards: tuple[CardWatched, ...] = ()
    load_1m: Extent | None = None  # over a minute, as the host says
    nics: tuple[NicWatched, ...] = ()  # its interfaces
    gaps: tuple[Gap, ...] = ()  # when nothing came
    unknown: tuple[str, ...] = ()
    machine: str | None = None
    late_ms: tuple[float, float] | None = None
    sampler_cpu_percent: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Energy:
    """Energy of the cards that report power, and what it comes to.

    `joules` is None, and `why` says so, where samples cover less than 95 % of the time of a card that reports power.
    `without` names the cards and hosts whose power nobody knows: a whole machine draws more than its cards.
    `tokens` are those made in this time; `cost_per_1000_tokens` is in `currency`, None without a price.
    """

    joules: float | None
    cards: tuple[str, ...]
    without: tuple[str, ...]
    tokens: float | None = None
    joules_per_1000_tokens: float | None = None  # of all these cards together
    cost_per_1000_tokens: float | None = None
    currency: str | None = None
    why: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Telemetry:
    """A whole run, watched: from `from_s` to `to_s`, a sample every `every_s` seconds.

    `notes` are what a reader must know to use it: who was lost, who joined.
    """

    from_s: float
    to_s: float
    every_s: float
    hosts: tuple[HostWatched, ...]
    joined: tuple[Joined, ...] = ()  # holders of memory who were not there when watching began
    energy: Energy | None = None  # None where no card says what it draws
    ambient_c: float | None = None  # of the room, as the user states it
    notes: tuple[str, ...] = ()


DriftVerdict = Literal["fell", "rose", "no drift", "unresolved"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """Sustained load: the speed over time, and whether its last third differs from its first.

    `curve` holds (middle of a window in seconds, tokens per second). `change_percent` is last against first, and
    `interval_percent` its 95 % interval: exact, by all permutations of `blocks` blocks of `block_s` seconds in each
    third, which are longer than the speed remembers itself. `verdict` "unresolved": the run is too short for its own
    fluctuations, and `why` says how. `sentence` says it all in one line, with what the cards did at the same time.
    """

    curve: tuple[tuple[float, float], ...]
    window_s: float  # of the curve
    verdict: DriftVerdict
    sentence: str
    first_tokens_per_s: float | None = None  # of the first third
    last_tokens_per_s: float | None = None  # of the last third
    change_percent: float | None = None
    interval_percent: tuple[float, float] | None = None
    p_value: float | None = None  # two-sided
    blocks: int = 0
    block_s: float | None = None
    why: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Cooled:
    """A wait for the cards' temperatures to come back. `still_warm` names cards that had not at the deadline."""

    waited_s: float  # in all
    tolerance_c: float  # how much warmer than before is cool enough
    still_warm: tuple[str, ...] = ()
    unknown: tuple[str, ...] = field(default=())  # cards and hosts whose temperature nobody can tell
