"""The parts of a campaign's report, as data: the JSON of `evener report --json` of a campaign."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from evener.records.campaign import Changed, Dropped, Measure, UnitState, VisitRole
from evener.records.context_limits import CeilingName
from evener.records.load import Limits
from evener.records.plan import Share, Value
from evener.records.verdicts import CanaryVerdict, DimensionVerdict, PenaltyVerdict, Preference, Verdicts
from evener.report.against_parts import SideFigure
from evener.report.evals_parts import Judged
from evener.report.parts import Caution, RunState

Basis = Literal["95 %", "range", "single"]
Word = Literal["cannot be ruled out", "behind in answers", "can be dropped", "dropped on the way", "not measured"]
PlaceState = Literal["measured", "in part", "failed", "does not fit", "not reached"]
PairedOutcome = Literal["faster", "slower", "cannot be separated", "unknown"]
PairedBy = Literal["signed ranks", "every block", "nothing"]
CampaignAnchor = str  # of the page


# ---- what a report is told from, beside the campaign itself


@dataclass(frozen=True, slots=True, kw_only=True)
class Hardware:
    """What the cards of one load cost. `price` is None where a card has none; `missing` names those."""

    price: float | None
    missing: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """What is known of money. A card's price is spread over `years` of so many hours of use, `load` of them at work."""

    currency: str
    kwh_price: float | None
    hardware: Mapping[str, Hardware]  # by visit
    years: float
    hours_per_year: float
    load: float

    @property
    def life_s(self) -> float:
        return self.years * self.hours_per_year * 3600 * self.load


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What is known beside the campaign: verdicts on answers, canaries by contestant, judges, money.

    `candidates` maps a candidate of the verdicts to its contestant.
    """

    verdicts: Verdicts | None = None
    candidates: Mapping[str, str] = field(default_factory=dict)
    canaries: Mapping[str, tuple[CanaryVerdict, ...]] = field(default_factory=dict)
    judged: Mapping[str, tuple[Judged, ...]] = field(default_factory=dict)  # by contestant
    prices: Prices | None = None
    notes: tuple[str, ...] = ()  # what could not be read


# ---- figures


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockFigure:
    """A figure as one block gave it."""

    block: int  # from 1 on
    unit: str  # the unit that gave it
    figure: SideFigure  # what it gave


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A figure over all blocks: the median of the blocks' values.

    `interval` reaches from the least to the greatest end of any block's, and `basis` says what those ends are; of
    single values it is their range. `n` adds up what stands behind them. `id` is its place among the page's rows.
    """

    id: CampaignAnchor
    name: str  # of the figure, in the report's language
    about: str  # of what: a user count, a test, a length
    unit: str
    value: float | None
    interval: tuple[float, float] | None
    n: int
    basis: Basis
    blocks: tuple[BlockFigure, ...]  # the figure of each


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelStory:
    """One user count of one profile, over all blocks."""

    profile: str  # by name; "users" without one
    users: int
    people: bool  # whether the count is of people, who think and read
    each: Reading  # decode rate of one of them
    total: Reading  # all of them together
    ttft: Reading  # median wait for the first token
    ttft_p90: Reading  # the wait that nine of ten do not exceed
    share_of_one: Reading  # each one's rate against that of one alone
    sent: int  # measured requests
    failed: int  # of these, without a usable answer
    by_class: dict[str, int]
    within: SideFigure  # share of requests within the limits


@dataclass(frozen=True, slots=True, kw_only=True)
class TestStory:
    """One test of `bench speed`, as llama-bench names it."""

    test: str
    prompt_tokens: int
    output_tokens: int
    depth: int  # tokens that were there before
    rate: Reading  # tokens per second, by the client's clock
    ttft: Reading  # the wait for the first token


@dataclass(frozen=True, slots=True, kw_only=True)
class ComfortStory:
    """For how many it is good, worked out from the requests of all blocks together."""

    id: CampaignAnchor  # of its row
    profile: str  # by name
    people: bool  # whether people are counted, who think and read
    limits: Limits  # what people accept
    target_share: float  # of requests that must be within the limits
    holds_for: int | None  # the largest count that is known to hold, with all smaller ones
    unresolved_at: int | None  # the next greater count, where n cannot decide
    requests_needed: int | None  # that would decide it
    fails_at: int | None  # the next greater count, where it does not hold
    share: SideFigure  # within the limits at the count that holds, else at the smallest
    sentence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CeilingStory:
    """One limit of the context, the least of all blocks."""

    name: CeilingName
    tokens: int | None
    at_least: bool  # nothing failed up to there
    binding: bool  # the lowest of those that are known
    why: str  # how it is known


@dataclass(frozen=True, slots=True, kw_only=True)
class LengthStory:
    """One prompt length, over all blocks."""

    tokens: int
    needles: Reading  # share of single facts that were found
    reasoning: Reading  # share of facts that were put together
    ttft: Reading  # the wait for the first token
    prefill: Reading  # prompt tokens per second
    decode: Reading  # answer tokens per second


@dataclass(frozen=True, slots=True, kw_only=True)
class CardStory:
    """One card of a load: planned, loaded, and left after the stop; the worst of all blocks. Bytes."""

    host: str
    card_name: str
    device: str
    layers: int
    planned_bytes: int
    loaded_bytes: int | None  # as the driver says
    left_bytes: int | None  # beyond what it held before the start
    verdict: str | None  # after the load
    freed: str | None  # after the stop


@dataclass(frozen=True, slots=True, kw_only=True)
class CostStory:
    """What a layout's tokens and seats cost. None where something is not known; `why` says what.

    Energy is that of the cards that report it, while users were measured; hardware is the price of the cards.
    """

    currency: str  # of [money] in rig.toml
    joules_per_token: float | None  # of the cards that say what they draw
    kwh_per_million: float | None  # of tokens
    energy_per_million: float | None  # of tokens, at the price of a kWh
    hardware: float | None  # the price of all its cards
    hardware_per_million: float | None  # at the rate and with the life that `assumptions` name
    seats: int | None  # for which it is comfortable
    per_seat: float | None  # of that price
    tokens_per_s: float | None  # all users together: the rate that hardware is spread over
    energy_cards: tuple[str, ...]  # whose power was counted
    why: tuple[str, ...]


# ---- places and contestants


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceStory:
    """One contestant in one layout, over one cable, with one context: what repeats of a load share.

    `state` says how far it came. `hosts` is empty for a server that runs already, and where it was never planned.
    """

    id: CampaignAnchor
    contestant: str  # by its name in the file
    label: str  # the layout, in the report's language
    layout: str | None  # as campaign.toml says
    candidate: str | None  # the plan's name of it
    role: VisitRole
    kind: str  # of candidate
    hosts: tuple[str, ...]
    cable: str | None  # of the rig, where several were asked for
    context: int
    visits: tuple[str, ...]  # the loads that it was measured in
    blocks: tuple[int, ...]  # that were measured
    state: PlaceState
    why: str | None  # it was not measured
    one_user: Reading | None  # decode rate of a single user
    levels: tuple[LevelStory, ...] = ()
    tests: tuple[TestStory, ...] = ()  # of `bench speed`
    comfort: tuple[ComfortStory, ...] = ()  # where limits were stated
    ceilings: tuple[CeilingStory, ...] = ()  # of the context
    lengths: tuple[LengthStory, ...] = ()  # of prompts
    cards: tuple[CardStory, ...] = ()
    load: Reading | None = None  # seconds
    predicted: Value | None = None  # decode rate of one user
    per_token_ms: tuple[Share, ...] = ()  # predicted
    watched: tuple[str, ...] = ()  # what held cards back while users were measured
    cost: CostStory | None = None  # None where neither energy nor a price is known
    sent: int = 0  # measured requests of users
    failed: int = 0  # of these, without a usable answer
    by_class: dict[str, int] = field(default_factory=dict)
    kv_exhausted_from: int | None = None  # the fewest users whose requests died because the KV cache was full
    one_machine: tuple[str, ...] = ()  # of its hosts, those that turned out to be the same machine

    @property
    def is_ranked(self) -> bool:
        """A repetition for the noise floor is no layout of its own."""
        return self.role != "A again"

    @property
    def is_single(self) -> bool:
        return len(self.hosts) == 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreStory:
    """A contestant in one dimension. `best`: it may be the best one at 95 %."""

    dimension: str
    mean: float | None
    interval: tuple[float, float] | None
    n: int
    clusters: int
    best: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ContestantStory:
    """One contestant: what is to become of it, where it runs best, and what that rests on."""

    name: str
    what: str  # the model and its quantisation, or the server
    word: Word  # what is to become of it
    reasons: tuple[str, ...]
    place: CampaignAnchor | None  # the layout in which it is fastest
    scores: tuple[ScoreStory, ...]  # suite by suite
    failed_share: SideFigure  # of its measured requests


# ---- comparisons


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedFigure:
    """One figure of two places in the same blocks. `change` is other / base - 1.

    `by` says what the interval and the outcome rest on: signed ranks of the blocks (from 6 on), or the two figures'
    own intervals, which must be apart in every block. `noise` is what the same load differs from itself.
    """

    name: str
    about: str  # of what: a user count of a profile; empty for one user
    unit: str
    base: float | None
    other: float | None
    blocks: int  # that both were measured in
    change: float | None
    interval: tuple[float, float] | None
    outcome: PairedOutcome
    by: PairedBy
    noise: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SecondMachine:
    """One model on one machine, and on more: what the further machines brought or cost."""

    contestant: str  # by its name in the file
    base: CampaignAnchor  # its best place on one machine
    other: CampaignAnchor
    figures: tuple[PairedFigure, ...]  # that both have
    sentence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseFigure:
    """How far a figure differs from itself: each change seen, and the greatest."""

    name: str
    again: tuple[float, ...]  # the first contestant against itself, in the same block
    blocks: tuple[float, ...]  # every load against itself in another block
    floor: float | None  # the greatest of the first; of the second, where there is no first


@dataclass(frozen=True, slots=True, kw_only=True)
class DimensionStory:
    """One suite: the verdict, and its sentences in the report's language."""

    verdict: DimensionVerdict
    sentence: str
    remarks: tuple[str, ...]  # what the size could prove, what hangs on few scores, the noise, who judged


@dataclass(frozen=True, slots=True, kw_only=True)
class PenaltyStory:
    """What one judge's lists of errors in translations prove; the sentence is in the report's language."""

    verdict: PenaltyVerdict
    sentence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CanaryStory:
    """Whether one contestant computes the same in two layouts."""

    contestant: str  # by its name in the file
    verdict: CanaryVerdict
    sentence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedStory:
    """What one judge said of a contestant's answers."""

    contestant: str  # by its name in the file
    judged: Judged


@dataclass(frozen=True, slots=True, kw_only=True)
class ParetoPoint:
    """A contestant at its best place. `dominated_by` are those that are known to be both faster and better."""

    contestant: str  # by its name in the file
    place: CampaignAnchor  # where it is fastest
    rate: float  # tokens per second of one user
    rate_interval: tuple[float, float] | None  # over all blocks
    score: float  # a share
    score_interval: tuple[float, float] | None  # at 95 %, by clusters
    n: int
    front: bool  # no other mean is both faster and better
    dominated_by: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ParetoStory:
    """Quality against speed, in one dimension."""

    dimension: str
    points: tuple[ParetoPoint, ...]  # of every contestant that has both


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """What did not end as it should, with the evidence. `unit` is None for a whole load."""

    kind: Literal["does not fit", "failed", "skipped", "partial", "invalid", "cut"]
    contestant: str  # by its name in the file
    label: str  # of its layout
    block: int  # from 1 on
    unit: str | None
    why: str | None
    evidence: tuple[str, ...]  # the last lines of what was said there
    folder: str | None  # of its run, seen from the campaign's


@dataclass(frozen=True, slots=True, kw_only=True)
class ConditionValue:
    """One value of a condition, and where it held; None is "not known"."""

    value: str | None
    held: tuple[str, ...]  # contestants and layouts, with the block where a layout had several; empty where all had it


@dataclass(frozen=True, slots=True, kw_only=True)
class ConditionStory:
    """A condition over all loads. `asked`: that it differs was asked for, or follows from the layout."""

    name: str
    values: tuple[ConditionValue, ...]  # each, with where it held
    asked: bool

    @property
    def known(self) -> tuple[ConditionValue, ...]:
        return tuple(one for one in self.values if one.value is not None)

    @property
    def differs(self) -> bool:
        return len(self.known) > 1


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitRow:
    """One unit, as it ended: the way from a figure to its rows. `files` lie in `folder`, seen from the campaign's."""

    unit: str
    place: CampaignAnchor  # the figures that it gave
    contestant: str  # by its name in the file
    label: str  # of its layout
    block: int  # from 1 on
    measure: Measure  # what was measured
    name: str
    state: UnitState | Literal["not reached"]
    why: str | None
    seconds: float | None
    folder: str | None
    files: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignStory:
    """Everything the report of a campaign says. Sentences are in `language`; what runs and servers said is as it was.

    The first page is `headline`, `cautions`, `contestants`, `second_machine` and `flips`.
    """

    id: str
    name: str
    language: str
    state: RunState
    started_at: datetime
    ended_at: datetime | None
    spent_s: float  # loading and measuring, pauses between sessions left out
    headline: tuple[str, ...]
    basis: tuple[str, ...]
    cautions: tuple[Caution, ...]
    contestants: tuple[ContestantStory, ...]
    places: tuple[PlaceStory, ...]  # in the order of the file; repetitions last
    second_machine: tuple[SecondMachine, ...]
    speeds: tuple[PairedFigure, ...]  # every contestant's best place against the fastest, in the order of contestants
    noise: tuple[NoiseFigure, ...]  # what figures differ from themselves
    dimensions: tuple[DimensionStory, ...]
    penalties: tuple[PenaltyStory, ...]  # by judges of translations
    preferences: tuple[Preference, ...]  # of judges, pair by pair
    canaries: tuple[CanaryStory, ...]  # whether layouts compute the same
    judges: tuple[JudgedStory, ...]  # what each said of each contestant
    pareto: tuple[ParetoStory, ...]  # quality against speed, suite by suite
    flips: tuple[str, ...]  # what would change the first page
    troubles: tuple[Trouble, ...]  # what did not fit, failed, or must not be used
    dropped: tuple[Dropped, ...]  # who was measured no further
    changed: tuple[Changed, ...]  # conditions, on the way
    conditions: tuple[ConditionStory, ...]
    rows: tuple[UnitRow, ...]  # every unit, in the order of the schedule
    limits: tuple[str, ...]  # what the figures do not say
    method: tuple[str, ...]  # how it was measured, for whoever wants to do it again
    assumptions: tuple[str, ...]  # behind the money

    def place(self, id_: str | None) -> PlaceStory | None:
        return next((place for place in self.places if place.id == id_), None)
