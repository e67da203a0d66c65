"""Prompts of growing length against a server whose answers are known: scored, timed, refused, cut, cached."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest

from evener.bench.client import base_url
from evener.bench.context import Asked, ContextBench, stated
from evener.bench.probe import probe
from evener.errors import ConfigurationError
from evener.records.context_limits import ContextResult
from evener.records.load import Request
from evener.testing.fake_engine import FakeEngine, fake_engine

LENGTHS = (300, 600)


def knowing(text: str) -> str:
    """An answer that is always right: it looks the needle up, and follows the chain."""
    if code := re.search(r"access code of (\w+)\? Answer", text):
        found = re.search(rf"access code of {code[1]} is (\d+)", text)
        return f"It is {found[1]} ." if found else "?"
    if letter := re.search(r"letter of (\w+) go", text):
        taker = re.search(rf"{letter[1]} gave a letter to (\w+)\.", text)
        box = taker and re.search(rf"{taker[1]} put the letter into the (\w+) box", text)
        city = box and re.search(rf"The {box[1]} box was sent to (\w+)\.", text)
        return f"To {city[1]} ." if city else "?"
    return "so"


def forgetful(text: str) -> str:
    """Right only about what stands in the last 2000 characters."""
    return knowing(text[-2000:])


def engine(**more: object) -> FakeEngine:
    return FakeEngine(**({"ttft_s": 0.001, "itl_s": 0.001, "says": knowing, "caches": True} | more))  # type: ignore[arg-type]


async def measured(
    serving: FakeEngine,
    *,
    lengths: tuple[int, ...] | None = LENGTHS,
    requests: list[Request] | None = None,
    answers: list[dict[str, Any]] | None = None,
) -> ContextResult:
    asked = Asked(lengths=lengths, each_place=1, chains=2, answer_tokens=16, decode_tokens=4, seed=2, timeout_s=20)
    async with fake_engine(serving):
        server = await probe(base_url(serving.url), asked.load())
        async with server.line() as line:
            said = await stated(line, server)
        bench = ContextBench(
            server, asked, allocation="it", ceilings=said.ceilings(),
            keep=(requests if requests is not None else []).append,
            on_answer=(answers if answers is not None else []).append, report=lambda _: None,
        )  # fmt: skip
        return await bench.run()


async def test_every_prompt_is_exactly_as_long_as_asked_and_every_right_answer_counts() -> None:
    requests: list[Request] = []
    answers: list[dict[str, Any]] = []
    result = await measured(engine(), requests=requests, answers=answers)
    assert [(r.tokens, r.prompt_tokens) for r in result.lengths] == [(300, (300, 300)), (600, (600, 600))]
    assert [(r.needles.right, r.needles.n, r.reasoning.right, r.reasoning.n) for r in result.lengths] == [
        (5, 5, 2, 2)
    ] * 2
    assert [place.depth for place in result.lengths[0].depths] == [0.0, 0.25, 0.5, 0.75, 1.0]
    assert {place.scored.n for place in result.lengths[0].depths} == {1}
    assert ("cache" in result.validity, result.partial) == (False, None)
    assert all(answer["right"] for answer in answers)
    assert len(answers) == 14
    assert len(requests) == 2 * (7 + 3)


async def test_questions_are_cold_and_the_decode_rate_comes_from_a_prompt_given_back() -> None:
    requests: list[Request] = []
    result = await measured(engine(), lengths=(300,), requests=requests)
    assert [r.cached_tokens for r in requests] == [0] * 7 + [299 - 7] * 3
    (row,) = result.lengths
    assert (row.ttft_ms.n, row.prefill_tokens_per_s.n, row.decode_tokens_per_s.n) == (7, 7, 3)
    assert {r.tokens for r in requests[7:]} == {5}


async def test_a_model_that_forgets_the_beginning_shows_at_which_places() -> None:
    result = await measured(engine(says=forgetful), lengths=(300, 1500))
    short, long = result.lengths
    assert short.needles.right > long.needles.right
    assert long.depths[0].scored.right == 0
    assert long.depths[-1].scored.right == 1


async def test_what_the_server_states_are_the_first_two_ceilings() -> None:
    result = await measured(engine(context=2048), lengths=(300,))
    trained, configured, quality = result.ceilings
    assert (trained.tokens, configured.tokens, configured.why) == (None, 2048, "by /props, for one sequence")
    assert (quality.tokens, quality.at_least) == (300, True)
    assert result.binding == "configured"


async def test_a_prompt_that_is_cut_without_a_word_is_noticed() -> None:
    result = await measured(engine(truncates_at=400))
    assert [row.truncated for row in result.lengths] == [False, True]
    assert "silent truncation: from 600 tokens on the server worked on fewer than it was sent" in result.notes


async def test_without_a_tokenizer_words_are_counted_and_cutting_is_noticed_too() -> None:
    result = await measured(engine(llama=False, truncates_at=400))
    assert [row.truncated for row in result.lengths] == [False, True]
    whole = await measured(engine(llama=False))
    assert [row.truncated for row in whole.lengths] == [False, False]
    assert [row.needles.right for row in whole.lengths] == [5, 5]
    assert whole.ceilings[1].at_least


async def test_a_length_that_is_refused_ends_the_ladder_after_one_question() -> None:
    serving = engine(llama=False, refuses_beyond=700)
    result = await measured(serving, lengths=(300, 1500, 3000))
    assert [row.tokens for row in result.lengths] == [300, 1500]
    assert result.lengths[1].by_class == {"context_exceeded": 1}
    assert result.lengths[1].needles.n == 0
    assert (result.ceilings[1].tokens, result.binding) == (300, "configured")


async def test_an_answer_that_stays_in_its_reasoning_is_in_no_score() -> None:
    result = await measured(engine(scenario="reasoning-only"), lengths=(300,))
    (row,) = result.lengths
    assert (row.needles.n, row.needles.interval, row.reasoning.n) == (0, None, 0)
    assert row.note == "never answered, reasoning only: 7 of 7, in no score"
    assert any("--answer-tokens" in note for note in result.notes)


async def test_failed_questions_are_counted_by_class_and_in_no_score() -> None:
    result = await measured(engine(scenario=lambda n: "error-middle" if n == 2 else "plain"), lengths=(300,))
    assert result.lengths[0].by_class == {"server_error_in_stream": 1}
    assert result.lengths[0].needles.n == 4


async def test_questions_that_came_from_a_cache_make_the_figures_invalid() -> None:
    result = await measured(engine(scenario="cached"), lengths=(300,))
    assert "prompts came from a cache in 7 requests" in result.validity


async def test_what_was_answered_before_an_interruption_is_there() -> None:
    serving = engine(ttft_s=0.05)
    asked = Asked(lengths=(300,), each_place=2, chains=0, answer_tokens=8, decode_tokens=4, seed=2)
    third = asyncio.Event()
    answers: list[dict[str, Any]] = []

    def on_answer(answer: dict[str, Any]) -> None:
        answers.append(answer)
        if len(answers) == 3:
            third.set()

    async with fake_engine(serving):
        server = await probe(base_url(serving.url), asked.load())
        bench = ContextBench(
            server, asked, allocation="it", ceilings=(), keep=lambda _: None, on_answer=on_answer, report=lambda _: None
        )
        work = asyncio.ensure_future(bench.run())
        await asyncio.wait_for(third.wait(), 20)
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)
    result = bench.result("interrupted")
    assert (result.partial, result.lengths[0].needles.n) == ("interrupted", 3)


async def test_a_length_without_room_for_the_question_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="lengths start at 256 tokens"):
        Asked(lengths=(100,))
    with pytest.raises(ConfigurationError, match="more than the 512 of one sequence"):
        await measured(engine(context=512), lengths=(510,))
