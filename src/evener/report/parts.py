"""The parts of a report, as data: the JSON of `evener report --json`. Numbers stay numbers; the faces write them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from evener.records.context_limits import ContextResult
from evener.records.load import Arrivals, Comfortable, Level, Limits, Mixed, Mode
from evener.records.pair import PairResult
from evener.records.speed_rows import SpeedResult
from evener.records.telemetry import Cooled, Drift, Telemetry
from evener.records.verification import CardCheck, CardVerdict, FreedCheck, FreedVerdict
from evener.report.evals_parts import Evaluated

Outcome = Literal["slower", "faster", "cannot be separated", "unknown"]
RunState = Literal["complete", "partial", "unfinished"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Speed:
    """Decode tokens per second of one user: the median over `n` requests and its 95 % interval.

    `value` is None where nothing valid was measured; `why` then says so.
    """

    layout: str
    users: int
    value: float | None
    interval: tuple[float, float] | None
    n: int
    why: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two layouts at one user count. `change` is other / base - 1, `interval` its bounds with each median at the far
    end of its own 95 % interval; both None unless the two can be separated or at least computed."""

    base: str
    other: str
    users: int
    outcome: Outcome
    change: float | None
    interval: tuple[float, float] | None
    sentence: str
    basis: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Caution:
    """Something a reader must know before using a figure. `grave`: the answer is no, or the figure must not be used."""

    grave: bool
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CardRow:
    """One planned device of a layout: what was promised, seen, and given back. Bytes.

    `first_layer` counts from 0 over all devices in --device order. `total_bytes` is the card's size.
    `left_bytes` is what the card held after the stop beyond what it held before the start (negative: less).
    `verdict` and `freed` are None where nobody checked.
    """

    host: str
    card: str
    card_name: str
    device: str
    first_layer: int
    layers: int
    planned_bytes: int
    reported_bytes: int | None
    measured_bytes: int | None
    floor_bytes: int | None
    ceiling_bytes: int | None
    left_bytes: int | None
    total_bytes: int | None
    verdict: CardVerdict | None
    freed: FreedVerdict | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandLine:
    """One process of a layout, ready to paste. `role` is "worker", "tunnel" or "server"; this order starts them."""

    role: str
    host: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Crowd:
    """How the users of a layout were made, and for how many of them it is good."""

    mode: Mode  # whether the cache was meant to help
    arrivals: Arrivals  # who decides when the next request is sent
    profile: str | None  # what the people do, by name
    people: bool  # whether user counts count people, who think and read
    turns: int  # requests per conversation
    think_s: float  # between an answer and the same user's next request, on average
    shared_prefix_tokens: int  # at the beginning of every prompt, the same for all
    limits: Limits | None  # that people accept
    comfortable: Comfortable | None  # None without limits
    mixed: Mixed | None  # a long prompt that arrived while others decoded
    kv_exhausted_from: int | None  # the fewest users whose requests were ended because the KV pool ran full


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """One measured layout, from load to freed memory. `name` is the candidate's; `label` says it in words.

    `levels` holds the users curve, one entry per user count; `measured`: there is one. `speed` has the rows of
    `bench speed`, `context` the ceilings of `bench context`, `telemetry` what the hosts did meanwhile, `drift` whether
    a sustained load held, `cooled` the waits before repeats. `invalid` is why the figures must not be used.
    `kind` and `hosts` are empty where the plan does not know the layout. `one_machine`: several of its hosts turned
    out to be the same machine.
    """

    name: str
    label: str
    kind: str
    hosts: tuple[str, ...]
    one_machine: bool
    load_s: float | None
    cards: tuple[CardRow, ...]
    checks: tuple[CardCheck, ...]
    freed: tuple[FreedCheck, ...]
    levels: tuple[Level, ...]
    measured: bool
    invalid: str | None
    prompt_tokens: int | None
    output_tokens: int | None
    commands: tuple[CommandLine, ...]
    crowd: Crowd | None = None  # how its users were made
    speed: SpeedResult | None = None
    context: ContextResult | None = None
    telemetry: Telemetry | None = None
    drift: Drift | None = None
    cooled: tuple[Cooled, ...] = ()

    @property
    def layers(self) -> int:
        return sum(card.layers for card in self.cards)


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelSpan:
    """When one user count was measured, in seconds since the start of the run."""

    layout: str | None  # its name
    users: int
    from_s: float  # the first measured request was sent
    to_s: float  # the last one ended


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """One line over time; the same `style` in two panels is the same card. A value of None breaks the line."""

    label: str  # what it is of
    style: int
    points: tuple[tuple[float, float | None], ...]  # (seconds since the start of the run, value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """Curves that share a unit: speed, utilisation, temperature, power, network."""

    name: str
    unit: str
    curves: tuple[Curve, ...]  # one per card, interface, or one for all users


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """What happened when. Values are means over `bin_s` seconds; times count from the start of the run."""

    from_s: float  # the first request was sent
    to_s: float  # the last token or the last end
    bin_s: float
    spans: tuple[LevelSpan, ...]  # the user counts, in the order measured
    panels: tuple[Panel, ...]  # speed first


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """A recorded fact, in one line."""

    at: datetime
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """Everything a report says. `speeds` and `comparisons` are about `headline_users` parallel users.

    `findings` are further sentences, `conditions` are (name, value or None), `limits` say what the figures do not.
    `pair` is the result of `bench pair`; `timeline` is None where no token has a time.
    """

    id: str
    what: str
    title: str
    state: RunState
    started_at: datetime
    ended_at: datetime | None
    headline: str
    basis: str
    headline_users: int | None
    speeds: tuple[Speed, ...]
    comparisons: tuple[Comparison, ...]
    findings: tuple[str, ...]
    cautions: tuple[Caution, ...]
    layouts: tuple[Layout, ...]
    conditions: tuple[tuple[str, str | None], ...]
    limits: tuple[str, ...]
    moments: tuple[Moment, ...]
    pair: PairResult | None = None
    timeline: Timeline | None = None
    evaluation: Evaluated | None = None  # of `eval`; then there are no layouts


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRow:
    """One line of `evener runs`. `model` and `layouts` are what was planned and measured; `bytes` is the folder's size.

    A run may hold others, as a campaign does: `inside` counts them, and their bytes are among its own; `within` is the
    run that holds this one. `fault` says in one line why a folder could not be read: what it was is not known then.
    """

    id: str
    path: str
    bytes: int | None
    what: str | None = None
    started_at: datetime | None = None
    model: str | None = None
    layouts: tuple[str, ...] = ()
    state: RunState | None = None
    fault: str | None = None
    tags: tuple[str, ...] = ()  # as `evener runs tag` gave them
    inside: int = 0
    within: str | None = None
