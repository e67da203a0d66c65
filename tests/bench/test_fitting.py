"""Texts as long as asked, also where a tokenizer makes more of the words together than of each alone."""

from __future__ import annotations

import json

import pytest

from evener.bench.client import base_url
from evener.bench.fitting import Fitting
from evener.bench.needles import needle
from evener.bench.probe import Server
from evener.dialects.http1 import Exchange
from evener.errors import ConfigurationError, HostError

ITEM = needle(1, 0.5, seed=3)


class Tokenizer:
    """A line to a server with a token a word, and one more where "xx" follows a sentence; its template adds three."""

    def __init__(self, status: int = 200) -> None:
        self.status = status
        self.asked = 0

    async def post(self, path: str, body: bytes, *, within_s: float) -> Exchange:
        self.asked += 1
        sent = json.loads(body)
        if path == "/apply-template":
            told = {"prompt": f"<user> {sent['messages'][0]['content']} <end> <assistant>"}
        else:
            told = {"tokens": [0] * (len(sent["content"].split()) + (". xx" in sent["content"]))}
        answer = json.dumps(told).encode()
        return Exchange(ending="complete", sent_ns=0, end_ns=1, headers={}, pieces=[(1, answer)], status=self.status)


def fitting(line: Tokenizer, **more: object) -> Fitting:
    facts: dict[str, object] = {"llama": True, "template_tokens": 3, "words": ("xx", "the")}
    server = Server(url=base_url("127.0.0.1:1"), fields={}, **(facts | more))  # type: ignore[arg-type]
    return Fitting(line, server, seed=1, extra={})  # type: ignore[arg-type]


def counted(messages: list[dict[str, str]]) -> int:
    text = messages[0]["content"]
    return len(text.split()) + (". xx" in text) + 3


@pytest.mark.parametrize("tokens", [256, 257, 258, 259, 260, 1000, 5000])
async def test_a_prompt_has_exactly_the_length_asked(tokens: int) -> None:
    fitted = await fitting(Tokenizer()).fit(ITEM, tokens)
    assert fitted.tokens == counted(fitted.messages) == tokens


async def test_a_long_text_is_counted_a_few_times_only() -> None:
    line = Tokenizer()
    await fitting(line).fit(ITEM, 20_000)
    assert line.asked <= 2 * 8


async def test_facts_that_are_longer_than_the_length_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="40 tokens are too few for a question here"):
        await fitting(Tokenizer()).fit(ITEM, 40)


async def test_a_server_that_stops_counting_is_an_error_in_one_line() -> None:
    with pytest.raises(HostError, match="/apply-template does not count tokens: 503"):
        await fitting(Tokenizer(status=503)).fit(ITEM, 300)


async def test_without_a_tokenizer_the_servers_own_counts_are_learned() -> None:
    fits = fitting(Tokenizer(), llama=False)
    first = await fits.fit(ITEM, 1000)
    assert first.tokens is None
    assert first.words == pytest.approx(1000 / 1.3, rel=0.05)
    fits.learn(first, 2 * first.words)
    second = await fits.fit(ITEM, 1000)
    assert second.words == pytest.approx(500, rel=0.05)
