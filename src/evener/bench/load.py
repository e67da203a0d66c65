"""What a load test asks for: how many users, how long the prompts and answers, and the bytes of each request. Pure."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from evener.errors import ConfigurationError

DEFAULT_USERS = (1, 2, 4)
FEWEST_PROMPTS = 6
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
class Load:
    """A closed loop: each user sends its next request when the former has ended.

    `prompts` is the number of measured requests per level, None for three per user and at least six. `extra` is laid
    over every request's body. `seed` makes the prompts; the same seed makes the same ones.
    """

    users: tuple[int, ...] = DEFAULT_USERS
    prompts: int | None = None
    prompt_tokens: int = 128
    output_tokens: int = 64
    seed: int = 0
    timeout_s: float = 600.0
    model: str | None = None
    extra: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.users or min(self.users) < 1:
            raise ConfigurationError("user counts start at 1", hint="e.g. --concurrency 1,2,4")
        if len(set(self.users)) < len(self.users):
            raise ConfigurationError("a user count is named twice")
        if self.prompt_tokens < 1 or self.output_tokens < 1:
            raise ConfigurationError("prompts and answers have at least one token")
        if self.prompts is not None and self.prompts < max(self.users):
            raise ConfigurationError(
                f"--num-prompts {self.prompts} is fewer than {max(self.users)} users",
                hint=f"--num-prompts {3 * max(self.users)} gives each of them three",
            )

    def requests_at(self, users: int) -> int:
        """Measured requests at this level."""
        return self.prompts or max(3 * users, FEWEST_PROMPTS)

    def warm_up_tokens(self, user: int, users: int) -> int:
        """Answer length of a user's warm-up request: staggered, so that users do not measure in lockstep.

        Users who start together prefill together, and the last of them waits for all the others: a burst that only
        a closed loop has.
        """
        return max(1, round(self.output_tokens * (user + 1) / users))


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
        "cache_prompt": False,
        "ignore_eos": True,
        "timings_per_token": False,
    }


LIMITS = ("max_tokens", "max_completion_tokens")
ENGINE_FIELDS = ("cache_prompt", "ignore_eos", "timings_per_token")


def request_body(fields: dict[str, Any], *, model: str | None, text: str, tokens: int, extra: dict[str, Any]) -> bytes:
    """One streaming chat request. `fields` are those of `optional_fields` that the server accepts."""
    body: dict[str, Any] = {"model": model} if model is not None else {}
    body |= {"messages": [{"role": "user", "content": text}], "stream": True}
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
