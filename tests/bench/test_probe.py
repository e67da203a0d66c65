from __future__ import annotations

from typing import Any

import pytest

from evener.bench.client import base_url
from evener.bench.load import WORDS, Load
from evener.bench.probe import Server, one_token_words, probe
from evener.errors import CannotRun, ConfigurationError, EvenerError, HostError, NameUnknown
from evener.testing.fake_engine import TEMPLATE_TOKENS, FakeEngine, fake_engine

LOAD = Load(prompt_tokens=40)


async def probed(engine: FakeEngine, load: Load = LOAD, *, api_key: str | None = None) -> Server:
    async with fake_engine(engine):
        return await probe(base_url(engine.url), load, api_key=api_key)


async def test_llama_server_tells_its_slots_its_context_and_its_tokens() -> None:
    server = await probed(FakeEngine(slots=3, context=512))
    assert (server.llama, server.model, server.slots, server.context) == (True, "fake", 3, 512)
    assert (server.template_tokens, server.thinking, server.notes) == (TEMPLATE_TOKENS, "off", ())


async def test_another_server_is_measured_by_its_own_count_of_the_probe() -> None:
    server = await probed(FakeEngine(llama=False))
    assert (server.llama, server.template_tokens, server.notes) == (False, TEMPLATE_TOKENS, ())


async def test_where_nobody_counts_the_prompt_length_is_said_to_be_approximate() -> None:
    server = await probed(FakeEngine(llama=False, scenario="no-usage"))
    assert server.template_tokens is None
    assert server.notes == ("prompt lengths are approximate: the server counts no prompt tokens",)


async def test_a_server_that_refuses_unknown_fields_gets_what_it_knows() -> None:
    engine = FakeEngine(llama=False, refuses=("cache_prompt", "ignore_eos", "timings_per_token", "max_tokens"))
    server = await probed(engine)
    assert set(server.fields) == {"stream_options", "max_completion_tokens", "temperature", "seed"}
    assert "refused by the server and not sent: cache_prompt" in server.notes
    assert "max_tokens" not in engine.seen[-1].body


async def test_a_limit_that_was_not_honoured_is_noted() -> None:
    assert "the limit of 8 tokens was ignored: 20 came" in (await probed(FakeEngine(ignores_limit=20))).notes


async def test_an_answer_that_stops_by_itself_is_noted() -> None:
    assert any("stops at the end of the text" in note for note in (await probed(FakeEngine(scenario="short"))).notes)


async def test_thinking_is_observed() -> None:
    assert (await probed(FakeEngine(scenario="reasoning"))).thinking == "on"


async def test_a_template_longer_than_the_prompt_is_noted() -> None:
    server = await probed(FakeEngine(), Load(prompt_tokens=5))
    assert server.notes == (
        f"the chat template alone takes {TEMPLATE_TOKENS} tokens: prompts are longer than the 5 asked",
    )


@pytest.mark.parametrize(
    ("engine", "load", "kind", "words"),
    [
        (FakeEngine(api_key="k"), LOAD, ConfigurationError, "refuses the API key (HTTP 401)"),
        (FakeEngine(), Load(model="other"), NameUnknown, "has no model 'other'"),
        (FakeEngine(scenario="loading"), LOAD, HostError, "still loads its model"),
        (FakeEngine(scenario="failing"), LOAD, CannotRun, "HTTP 500: Compute error."),
        (FakeEngine(scenario="unstreamed"), LOAD, CannotRun, "answered without streaming"),
        (FakeEngine(scenario="error-first"), LOAD, CannotRun, "server_error_in_stream"),
        (FakeEngine(scenario="empty"), LOAD, CannotRun, "no_token"),
    ],
)
async def test_a_server_that_cannot_be_measured_is_one_line(
    engine: FakeEngine, load: Load, kind: type[EvenerError], words: str
) -> None:
    with pytest.raises(kind) as caught:
        await probed(engine, load)
    assert words in caught.value.message
    assert "\n" not in caught.value.message


async def test_a_model_that_is_not_there_comes_with_those_that_are() -> None:
    with pytest.raises(NameUnknown) as caught:
        await probed(FakeEngine(), Load(model="other"))
    assert caught.value.hint == "it serves fake"


async def test_nobody_listening_is_one_line(unused_tcp_port: int) -> None:
    with pytest.raises(HostError, match=r"nothing answers at .*: connection refused"):
        await probe(base_url(f"127.0.0.1:{unused_tcp_port}"), LOAD)


async def test_a_web_server_is_not_an_openai_server() -> None:
    async with fake_engine(FakeEngine(llama=False)) as engine:
        with pytest.raises(HostError, match="no OpenAI-compatible server"):
            await probe(base_url(f"{engine.url}/somewhere"), LOAD)


@pytest.mark.parametrize("tokens", [[], ["a"], [{"piece": 3}], [{"piece": f" {word}"} for word in WORDS[:15]]])
def test_too_few_one_token_words_are_no_vocabulary(tokens: list[Any]) -> None:
    assert one_token_words(tokens) is None


def test_only_words_that_are_one_token_are_used() -> None:
    tokens = [{"piece": f" {word}"} for word in WORDS[:20]] + [{"piece": " th"}, {"piece": "ough"}]
    assert one_token_words(tokens) == WORDS[:20]


async def test_the_key_is_not_in_what_is_printed() -> None:
    assert "k1" not in repr(await probed(FakeEngine(api_key="k1"), api_key="k1"))
