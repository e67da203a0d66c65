"""What a load test asks for: how many users, how long the prompts and answers, and the bytes of each request. Pure."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from evener.errors import ConfigurationError
from evener.records.load import Arrivals, Limits, Mode

DEFAULT_USERS = (1, 2, 4, 8, 12, 15)
FEWEST_PROMPTS = 6
OPEN_PROMPTS = 60  # of an open loop: enough for a p95
SLOWEST_READER = 50.0  # prompt tokens a second; whoever is slower is no server for anybody
MOST_SHARED_TOKENS = 20_000
# One token each in nearly every vocabulary, with a space before them.
_WORD_LIST = """
the of and to in is that it was for on are with as his they be at one have this from or had by hot but some what
there we can out other were all your when up use word how said an each she which do their time if will way about
many then them would write like so these her long make thing see him two has look more day could go come did my
sound no most number who over know water than call first people may down side been now find any new work part take
get place made live where after back little only round man year came show every good me give our under name very
through just form much great think say help low line before turn cause same mean differ move right boy old too does
tell set three want air well also play small end put home read hand port large spell add even land here must big
high such follow act why ask men change went light kind off need house picture try us again animal point mother
world near build self earth father head stand own page should country found answer school grow study still learn
plant cover food sun four let keep eye never last door between city tree cross since hard start might story saw far
sea draw left late run while press close night real life few stop
"""
WORDS = tuple(dict.fromkeys(_WORD_LIST.split()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """One recorded exchange, to be sent again. `turns` are the user's texts after the first, each sent when the former
    was answered; the real answers come between them.

    `at_s` is when it is due, counted from the first; `user` who sends it, where the recording says.
    """

    messages: tuple[dict[str, Any], ...]
    turns: tuple[str, ...] = ()
    max_tokens: int | None = None
    at_s: float | None = None
    user: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MixedLoad:
    """Users who decode, and one long prompt that arrives among them, `repeats` times."""

    users: int = 7
    prompt_tokens: int = 30_000
    repeats: int = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What is asked of a server: by a closed loop, in which each user sends its next request when the former has ended
    and `think_s` have passed, or by the clock, `rate_per_s` requests a second.

    `prompts` is the number of measured requests per level, at least one per user; None for three per user and at least
    six. `prompt_tokens` are each request's own, `shared_prefix_tokens` come before them and are the same for all.
    `extra` is laid over every request's body. `seed` makes prompts, thinking and arrivals; the same seed makes the
    same ones.
    """

    users: tuple[int, ...] = DEFAULT_USERS
    people: bool = False  # whether `users` counts people, who think and read
    prompts: int | None = None
    prompt_tokens: int = 128
    output_tokens: int = 64
    seed: int = 0
    timeout_s: float = 600.0  # for one request
    silence_s: float = 180.0  # of all streams: then the server hangs, unless it reads a long prompt (`silent_for_s`)
    model: str | None = None
    extra: dict[str, Any] = field(default_factory=dict)
    mode: Mode = "cold"
    shared_prefix_tokens: int = 0
    arrivals: Arrivals = "closed"
    rate_per_s: float | None = None
    most_in_flight: int = 64  # of an open loop; what is due beyond it waits, and is counted as late
    think_s: float = 0.0
    thinking: Literal["fixed", "exponential"] = "exponential"  # how the pauses are distributed
    turns: int = 1  # requests per conversation; each sends the real answers before it along
    replay: tuple[Replayed, ...] = ()
    profile: str | None = None
    limits: Limits | None = None
    target_share: float = 0.9  # of the requests within the limits, for a count to be comfortable
    mixed: MixedLoad | None = None  # after the levels; alone when there are none

    def __post_init__(self) -> None:
        for fault, hint in (*self._wrong_counts(), *self._wrong_arrivals(), *self._wrong_limits()):
            raise ConfigurationError(fault, hint=hint)

    @property
    def levels(self) -> tuple[int, ...]:
        """The user counts that are measured: an open loop has one level, its most in flight."""
        return self.users if self.arrivals == "closed" else (self.most_in_flight,)

    def _wrong_counts(self) -> Iterator[tuple[str, str | None]]:
        if (not self.users and self.mixed is None) or min(self.users, default=1) < 1:
            yield "user counts start at 1", "e.g. --concurrency 1,2,4"
        if len(set(self.users)) < len(self.users):
            yield "a user count is named twice", None
        if self.prompt_tokens < 1 or self.output_tokens < 1:
            yield "prompts and answers have at least one token", None
        if self.turns < 1:
            yield "a conversation has at least one turn", None
        if self.prompts is not None and self.prompts < 1:
            yield "at least one request is measured", None
        if self.mixed and min(self.mixed.users, self.mixed.prompt_tokens, self.mixed.repeats) < 1:
            yield "a mixed load has at least one user, one prompt token and one repeat", None

    def _wrong_arrivals(self) -> Iterator[tuple[str, str | None]]:
        by_rate = self.arrivals in ("constant", "poisson")
        if by_rate != (self.rate_per_s is not None) or (self.rate_per_s is not None and self.rate_per_s <= 0):
            yield "constant and Poisson arrivals have a rate, and nothing else has", "e.g. --request-rate 0.5"
        if self.arrivals != "closed" and (self.think_s or self.turns > 1 or self.people):
            yield "requests sent by the clock do not wait for anybody to think", None
        if self.most_in_flight < 1:
            yield "at least one request is in flight", None
        if not (0 <= self.think_s < float("inf")):
            yield "thinking takes no time, or some", "e.g. --think-time 30"
        if self.arrivals == "replay" and (not self.replay or any(one.at_s is None for one in self.replay)):
            yield "a replay by its own times needs at_s in every line", None
        if self.arrivals != "closed" and any(one.turns for one in self.replay):
            yield "conversations of several turns are replayed by users, not by the clock", None
        if self.timeout_s <= 0 or self.silence_s <= 0:
            yield "a deadline is longer than no time", None

    def _wrong_limits(self) -> Iterator[tuple[str, str | None]]:
        if self.shared_prefix_tokens < 0 or self.shared_prefix_tokens > MOST_SHARED_TOKENS:
            yield f"a shared prefix has 0 to {MOST_SHARED_TOKENS} tokens", None
        if self.shared_prefix_tokens and self.mode == "cold":
            yield "a shared prefix is for warm caches", "--mode warm"
        if not 0.5 <= self.target_share < 1:
            yield "the target is a share of the requests, at least a half and less than all", "e.g. 0.9"
        if self.limits and any(one is not None and one <= 0 for one in (self.limits.ttft_ms, self.limits.tpot_ms)):
            yield "a limit is more than nothing", "e.g. --goodput ttft:2000,tpot:100"

    @property
    def most_at_once(self) -> int:
        """The most parallel sequences that it asks for."""
        return max(*self.levels, self.mixed.users + 1 if self.mixed else 0, 0)

    @property
    def silent_for_s(self) -> float:
        """How long nothing may arrive on any stream: `silence_s`, and what the longest prompt takes a slow server."""
        longest = self.shared_prefix_tokens + self.turns * self.prompt_tokens + (self.turns - 1) * self.output_tokens
        return self.silence_s + longest / SLOWEST_READER

    def requests_at(self, users: int) -> int:
        """Measured requests at this level."""
        if self.arrivals == "replay":
            return min(self.prompts or len(self.replay), len(self.replay))
        if self.arrivals != "closed":
            return self.prompts or len(self.replay) or OPEN_PROMPTS
        return max(self.prompts, users) if self.prompts else max(3 * users, FEWEST_PROMPTS)

    def warm_up_tokens(self, user: int, users: int) -> int:
        """Answer length of the first request of the user-th of so many newcomers: staggered, so that they do not
        measure in lockstep, with each other or with somebody who begins an answer at the same moment.

        Users who start together prefill together, and the last of them waits for all the others: a burst that only
        a closed loop has.
        """
        return max(1, round(self.output_tokens * (2 * user + 1) / (2 * users)))


def prompt_text(words: Sequence[str], count: int, *, seed: int, number: int) -> str:
    """`count` words that no other request of the run shares a beginning with: a cache has nothing to offer.

    The first word is another one for each `number` until the words run out; the rest is drawn by seed and number.
    """
    draw = random.Random(f"{seed}/{number}")
    return " ".join([words[(seed + number) % len(words)], *draw.choices(words, k=count - 1)])


def optional_fields(load: Load) -> dict[str, Any]:
    """Fields that make lengths and figures comparable, which some servers do not know.

    Both names of the limit, since each is refused somewhere. `cache_prompt`, `ignore_eos` and `timings_per_token` are
    llama-server's.
    """
    return {
        "stream_options": {"include_usage": True},
        "max_tokens": 0,
        "max_completion_tokens": 0,
        "temperature": 0,
        "seed": load.seed % (1 << 31),
        "cache_prompt": load.mode == "warm",
        "ignore_eos": not load.replay,  # recorded answers end where they end
        "timings_per_token": False,
    }


LIMITS = ("max_tokens", "max_completion_tokens")
ENGINE_FIELDS = ("cache_prompt", "ignore_eos", "timings_per_token")


def request_body(
    fields: dict[str, Any],
    *,
    model: str | None,
    messages: Sequence[dict[str, Any]],
    tokens: int,
    extra: dict[str, Any],
) -> bytes:
    """One streaming chat request. `fields` are those of `optional_fields` that the server accepts."""
    body: dict[str, Any] = {"model": model} if model is not None else {}
    body |= {"messages": list(messages), "stream": True}
    body |= {name: tokens if name in LIMITS else value for name, value in fields.items()}
    return json.dumps(body | extra).encode()


def without_refused(fields: dict[str, Any], answer: bytes) -> dict[str, Any] | None:
    """The fields that are left when the server names one it does not want; None when there is nothing to give up.

    Reads OpenAI's `error.param`, pydantic's `detail[].loc`, else the first field the text names. An answer that names
    none costs the engine's own fields, once. One name of the limit always stays.
    """
    refused = _refused(fields, answer)
    if refused is None:
        rest = {name: value for name, value in fields.items() if name not in ENGINE_FIELDS}
        return rest if len(rest) < len(fields) else None
    if refused in LIMITS and sum(name in fields for name in LIMITS) == 1:
        return None
    return {name: value for name, value in fields.items() if name != refused}


def _refused(fields: dict[str, Any], answer: bytes) -> str | None:
    text = answer.decode(errors="replace")
    for name in _named(text):
        if name in fields:
            return name
    found = [(text.find(f), f) for f in fields if _is_word(text, f)]
    return min(found)[1] if found else None


def _named(text: str) -> list[str]:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return []
    error = data.get("error") if isinstance(data, dict) else None
    names = [error.get("param")] if isinstance(error, dict) else []
    detail = data.get("detail") if isinstance(data, dict) else None
    for item in detail if isinstance(detail, list) else []:
        names += item.get("loc", []) if isinstance(item, dict) else []
    return [str(name) for name in names if name]


def _is_word(text: str, name: str) -> bool:
    at = text.find(name)
    before, after = text[at - 1 : at], text[at + len(name) : at + len(name) + 1]
    return at >= 0 and not (before.isalnum() or before == "_" or after.isalnum() or after == "_")
