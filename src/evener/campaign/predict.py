"""How long a campaign takes, from the plan's predicted speeds. Pure. What nobody can predict is None, and stays so.

A prediction is for deciding what to leave out; once something was measured, the journal's own rates replace it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from evener import profiles
from evener.campaign.placement import Placement
from evener.records.campaign import AnswersAsked, Campaign, ContextAsked, Fetch, SpeedAsked, Unit, UsersAsked, Visit

AROUND_A_LOAD_S = 45.0  # assumed: looking at cards, verifying, stopping, proving that memory came back
FEWEST_REQUESTS = 6  # of a user count: three per user, and at least so many, as `evener bench users` has it
WARM_UP = 2  # requests per user before and beside those that are measured
QUESTIONS_PER_LENGTH = 14  # of `bench context`: two needles at five places, four chains
CONTEXT_ANSWER, CONTEXT_DECODED = 64, 3 * 33  # tokens of an answer; decoded once more per length
SHORTEST_LENGTH = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Suites:
    """What asking takes: tokens of all answers that do not think, how many answers, and tokens of a canary."""

    answers: int = 0
    answer_tokens: float = 0.0
    canary_tokens: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Total:
    """Minutes of what can be predicted; and whose time nobody knows."""

    minutes: float
    unknown: tuple[str, ...]

    @property
    def is_known(self) -> bool:
        return not self.unknown


class Speeds:
    """A placement's figures as rates, all of them known."""

    def __init__(self, decode: float, users: float, prefill: float, parallel: int) -> None:
        self._decode, self._users, self._parallel = decode, max(users, decode), parallel
        self.prefill = prefill

    @classmethod
    def of(cls, placed: Placement, parallel: int) -> Speeds | None:
        decode, users, prefill = placed.decode, placed.users_tokens_per_s, placed.prefill_tokens_per_s
        return None if not (decode and users and prefill) else cls(decode.value, users, prefill, parallel)

    def total(self, users: float) -> float:
        """Tokens per second of so many together: a straight line from one user to as many as there is room for."""
        if self._parallel == 1 or users <= 1:
            return self._decode
        share = (min(users, self._parallel) - 1) / (self._parallel - 1)
        return self._decode + share * (self._users - self._decode)


def load_minutes(placed: Placement) -> float | None:
    """Loading and everything around it, the model being on every host; waits for cards to cool are not in it."""
    return None if placed.load_s is None else (placed.load_s + AROUND_A_LOAD_S) / 60


def canary(speeds: Speeds, suites: Suites) -> float:
    """Its prompts are asked one by one."""
    return suites.canary_tokens / speeds.total(1) / 60


def speed(asked: SpeedAsked, speeds: Speeds) -> float:
    """Each test once to warm up, and so often as it is repeated; a depth is filled once per test."""
    prompts, outputs = [n for n in asked.prompts if n], [n for n in asked.outputs if n]
    once = sum(n / speeds.prefill for n in prompts) + sum(n / speeds.total(1) for n in outputs)
    tests = len(prompts) + len(outputs)
    filled = sum(asked.depths) * tests / speeds.prefill
    return (filled + len(asked.depths) * once * (asked.repetitions + 1)) / 60


def users(asked: UsersAsked, speeds: Speeds) -> float:
    """Level by level; people of a profile also read and think."""
    who = profiles.find(asked.profile) if asked.profile else None
    prompt, output, think_s = (
        (who.prompt_tokens, who.output_tokens, who.think_s) if who else (asked.prompt_tokens, asked.output_tokens, 0.0)
    )
    seconds = 0.0
    for count in asked.counts:
        requests = max(asked.prompts or max(3 * count, FEWEST_REQUESTS), count) + WARM_UP * count
        busy = requests * (output / speeds.total(count) + prompt / speeds.prefill)
        alone = think_s + output / speeds.total(1) + prompt / speeds.prefill
        seconds += max(busy, requests / count * alone)
    return seconds / 60


def context(asked: ContextAsked, speeds: Speeds, tokens: int) -> float:
    """Every question is a new prompt; longer ones are slower than this takes them to be."""
    lengths = asked.lengths or tuple(_ladder(tokens - CONTEXT_ANSWER))
    decoded = QUESTIONS_PER_LENGTH * CONTEXT_ANSWER + CONTEXT_DECODED
    each = (QUESTIONS_PER_LENGTH * n / speeds.prefill + decoded / speeds.total(1) for n in lengths if n < tokens)
    return sum(each) / 60


def _ladder(top: int) -> Iterator[int]:
    """As `evener bench context` doubles up to what is left beside an answer."""
    length = SHORTEST_LENGTH if top >= 2 * SHORTEST_LENGTH else 256
    while length <= 0.75 * top:
        yield length
        length *= 2
    yield top


def answers(asked: AnswersAsked, speeds: Speeds, suites: Suites, *, thinking: bool | None, parallel: int) -> float:
    """As many questions at once as there is room for. Answers that think are counted as long as they may be."""
    tokens = suites.answers * asked.most_tokens if thinking else suites.answer_tokens
    return tokens / speeds.total(parallel) / 60


def total(visits: Iterable[Visit]) -> Total:
    """All loads and units."""
    minutes, unknown = 0.0, []
    for visit in visits:
        parts = [unit.minutes for unit in visit.units]
        if visit.candidate is not None:
            parts.append(visit.load_minutes)
        minutes += sum(part for part in parts if part is not None)
        if any(part is None for part in parts):
            unknown.append(visit.id)
    return Total(minutes=minutes, unknown=tuple(unknown))


def hours(minutes: float) -> str:
    """ "45 min", "8 h", "3 h 20 min" """
    whole = round(minutes)
    if whole < 60:
        return f"{whole} min"
    return f"{whole // 60} h" + (f" {whole % 60} min" if whole % 60 else "")


def disk_bytes(fetches: Sequence[Fetch]) -> int | None:
    """To fetch and to write; None where nobody knows of one of them."""
    sizes = [one.bytes for one in fetches if one.how != "here"]
    return None if any(size is None for size in sizes) else sum(size or 0 for size in sizes)


def assumptions(campaign: Campaign, visits: Sequence[Visit], fetches: Sequence[Fetch]) -> Iterator[str]:
    """What the minutes rest on, and what they leave out."""
    yield "minutes are predictions from the plan's speeds; once something is measured, its own rates replace them"
    left_out = ["fetching"] if any(one.how == "fetch" for one in fetches) else []
    left_out += ["quantising"] if any(one.how == "quantise" for one in fetches) else []
    left_out += ["waiting for cards to cool"] if campaign.cool else []
    left_out += ["judges"] if campaign.answers and campaign.answers.judges else []
    if left_out:
        yield f"not counted: {', '.join(left_out)}"
    if campaign.answers and any(one.thinking for one in campaign.contestants):
        yield f"answers that think are counted as long as they may be, {campaign.answers.most_tokens} tokens each"
    unknown = [visit for visit in visits if visit.id in total(visits).unknown]
    if unknown:
        whose = ", ".join(dict.fromkeys(visit.contestant for visit in unknown))
        yield f"nobody can say beforehand how long these take: {whose}"
    if any(visit.candidate for visit in unknown):
        yield "evener scan --measure measures cards whose speed is not known"


def of_unit(
    unit: Unit, campaign: Campaign, placed: Placement, suites: Suites, *, thinking: bool | None, tokens: int
) -> float | None:
    """Minutes of one unit; None where the plan predicts no speed."""
    speeds = Speeds.of(placed, campaign.parallel)
    if speeds is None:
        return None
    match unit.measure:
        case "canary":
            return canary(speeds, suites)
        case "speed":
            return speed(campaign.speed, speeds) if campaign.speed else None
        case "users":
            return users(next(one for one in campaign.users if one.name == unit.name), speeds)
        case "context":
            return context(campaign.context, speeds, tokens) if campaign.context else None
        case "answers":
            if campaign.answers is None:
                return None
            return answers(campaign.answers, speeds, suites, thinking=thinking, parallel=campaign.parallel)
