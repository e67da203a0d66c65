"""Make a text exactly as long as asked, by the server's own tokenizer and chat template; by words where it has none."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from evener.bench.client import Line
from evener.bench.needles import Item
from evener.bench.probe import ANSWER_WITHIN_S, Server
from evener.errors import ConfigurationError, HostError

TOKENS_PER_WORD = 1.3  # until the server has counted something
SENTENCE_TOKENS = 14.0
TRIES = 12
LEAST_TOKENS = 256  # the facts, the question and the template of a small one fit in


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitted:
    """A prompt. `tokens` is what the server's tokenizer says of it with the template, None where nobody counted."""

    messages: list[dict[str, Any]]
    words: int
    tokens: int | None


class Fitting:
    """Fits texts for one server. What is learned of its tokenizer is kept."""

    def __init__(self, line: Line, server: Server, *, seed: int, extra: dict[str, Any]) -> None:
        self._line = line
        self._server = server
        self._seed = seed
        self._template = {k: v for k, v in extra.items() if k == "chat_template_kwargs"}
        self._per_sentence = SENTENCE_TOKENS
        self._per_word = TOKENS_PER_WORD

    async def fit(self, item: Item, tokens: int) -> Fitted:
        """The prompt of `item` with exactly that many tokens, or as near as words come to it.

        Raises ConfigurationError when its facts alone are longer.
        """
        if not self._server.llama or self._server.template_tokens is None:
            return self._by_words(item, tokens)
        sentences = max(0, int((tokens - LEAST_TOKENS / 2) / self._per_sentence))
        for _ in range(TRIES):
            missing = tokens - await self._count(self._messages(item, sentences))
            if 0 <= missing < 2 * self._per_sentence:
                return await self._padded(item, sentences, tokens, missing)
            if missing < 0 and not sentences:
                break
            step = missing / self._per_sentence
            sentences = max(0, sentences + (int(step) if step > 0 else int(step) - 1))
        raise ConfigurationError(
            f"{tokens} tokens are too few for a question here", hint=f"prompts of {LEAST_TOKENS} tokens and more"
        )

    def learn(self, fitted: Fitted, prompt_tokens: int | None) -> None:
        """What the server counted in a prompt of so many words."""
        if fitted.tokens is None and prompt_tokens:
            self._per_word = max(0.5, prompt_tokens / fitted.words)

    async def _padded(self, item: Item, sentences: int, tokens: int, missing: int) -> Fitted:
        """Words of one token each make up the rest."""
        words = self._server.words
        counted = tokens - missing
        for _ in range(TRIES):
            padding = [words[n % len(words)] for n in range(missing)]
            messages = self._messages(item, sentences, padding)
            counted = await self._count(messages)
            if counted == tokens or missing == 0:
                break
            missing = max(0, missing + tokens - counted)
        return Fitted(messages=messages, words=_words(messages), tokens=counted)

    def _by_words(self, item: Item, tokens: int) -> Fitted:
        bare = _words(self._messages(item, 0))
        sample = _words(self._messages(item, 100)) - bare
        sentences = max(0, round((tokens / self._per_word - bare) / (sample / 100)))
        messages = self._messages(item, sentences)
        return Fitted(messages=messages, words=_words(messages), tokens=None)

    def _messages(self, item: Item, sentences: int, padding: list[str] | None = None) -> list[dict[str, Any]]:
        words = self._server.words
        first = words[(self._seed + item.number) % len(words)].capitalize()  # no cache has this beginning
        title = f"{first} {self._seed}.{item.number}"
        return [{"role": "user", "content": item.text(sentences, padding or (), title=title)}]

    async def _count(self, messages: list[dict[str, Any]]) -> int:
        rendered = await self._ask("/apply-template", {"messages": messages} | self._template)
        text = {"content": rendered["prompt"], "add_special": True, "parse_special": True}
        return len((await self._ask("/tokenize", text))["tokens"])

    async def _ask(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        answer = await self._line.post(path, json.dumps(body).encode(), within_s=ANSWER_WITHIN_S)
        if answer.status != 200:
            raise HostError(f"{self._server.url}{path} does not count tokens: {answer.detail or answer.status}")
        found: dict[str, Any] = json.loads(answer.body)
        return found


def _words(messages: list[dict[str, Any]]) -> int:
    return sum(len(str(message["content"]).split()) for message in messages)
