"""What `bench speed` asks for: tests named as llama-bench names them, and the requests that are one. Pure."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from evener.bench.load import LIMITS, Load
from evener.errors import ConfigurationError


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeedTest:
    """A prompt of `prompt` tokens, or `output` tokens one by one, or both, when `depth` tokens are in the cache."""

    prompt: int = 0
    output: int = 0
    depth: int = 0

    @property
    def name(self) -> str:
        """As llama-bench prints it: "pp512", "tg128 @ d4096", "pp512+tg128"."""
        parts = [f"pp{self.prompt}"] if self.prompt else []
        parts += [f"tg{self.output}"] if self.output else []
        return "+".join(parts) + (f" @ d{self.depth}" if self.depth else "")

    @property
    def answer_tokens(self) -> int:
        """What to ask for: the first token of an answer comes with the prompt, and is no step of its own."""
        return self.output + 1

    @property
    def context(self) -> int:
        """The context that it needs."""
        return self.depth + max(1, self.prompt) + self.answer_tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """Lists as llama-bench takes them: every prompt, output and pair of both at every depth. 0 is left out.

    `extra` is laid over every request's body; `seed` makes the prompts.
    """

    prompts: tuple[int, ...] = (512,)
    outputs: tuple[int, ...] = (128,)
    pairs: tuple[tuple[int, int], ...] = ()
    depths: tuple[int, ...] = (0,)
    repetitions: int = 5
    seed: int = 0
    timeout_s: float = 600.0
    model: str | None = None
    extra: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        numbers = (*self.prompts, *self.outputs, *self.depths, *(n for pair in self.pairs for n in pair))
        if min(numbers, default=0) < 0 or not self.depths:
            raise ConfigurationError("sizes are 0 or more tokens", hint="e.g. -p 512 -n 128 -d 0,4096")
        if self.repetitions < 1:
            raise ConfigurationError("-r starts at 1", hint="5 gives a spread")
        if not self.tests():
            raise ConfigurationError("nothing to measure: -p 0 and -n 0", hint="e.g. -p 512 -n 128")

    def tests(self) -> tuple[SpeedTest, ...]:
        """By depth; at each the prompts, then the outputs, then both."""
        return tuple(test for depth in dict.fromkeys(self.depths) for test in self._at(depth))

    def _at(self, depth: int) -> Iterator[SpeedTest]:
        yield from (SpeedTest(prompt=n, depth=depth) for n in dict.fromkeys(self.prompts) if n)
        yield from (SpeedTest(output=n, depth=depth) for n in dict.fromkeys(self.outputs) if n)
        yield from (SpeedTest(prompt=p, output=n, depth=depth) for p, n in dict.fromkeys(self.pairs) if p and n)

    def load(self, prompt_tokens: int = 32) -> Load:
        """The same for a request through the chat, and for the probe."""
        return Load(
            users=(1,),
            prompt_tokens=prompt_tokens,
            seed=self.seed,
            timeout_s=self.timeout_s,
            model=self.model,
            extra=self.extra,
        )


def token_prompt(ids: Sequence[int], count: int, *, seed: int, number: int) -> list[int]:
    """`count` tokens that no other request of the run begins with."""
    draw = random.Random(f"{seed}/{number}")
    return [ids[(seed + number) % len(ids)], *draw.choices(ids, k=count - 1)]


def body(
    fields: dict[str, Any], *, model: str | None, asked: dict[str, Any], tokens: int, extra: dict[str, Any]
) -> bytes:
    """One streaming request. `asked` is `messages` for the chat, or a `prompt` of tokens: then nothing is tokenised on
    the way, and there is no template. `fields` are the optional ones that the server accepts."""
    whole: dict[str, Any] = {"model": model} if model is not None else {}
    whole |= asked | {"stream": True}
    whole |= {name: tokens if name in LIMITS else value for name, value in fields.items()}
    return json.dumps(whole | extra).encode()
