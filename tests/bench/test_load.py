from __future__ import annotations

import json
from typing import Any

import pytest

from evener.bench.load import (
    WORDS,
    Load,
    MixedLoad,
    Replayed,
    optional_fields,
    prompt_text,
    request_body,
    without_refused,
)
from evener.errors import ConfigurationError
from evener.records.load import Limits

FIELDS = optional_fields(Load())
MESSAGES = [{"role": "user", "content": "a b"}]


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"users": ()}, "user counts start at 1"),
        ({"users": (0,)}, "user counts start at 1"),
        ({"users": (2, 2)}, "named twice"),
        ({"prompt_tokens": 0}, "at least one token"),
        ({"output_tokens": 0}, "at least one token"),
        ({"prompts": 0}, "at least one request"),
        ({"turns": 0}, "at least one turn"),
        ({"mixed": MixedLoad(users=0)}, "a mixed load has at least one user"),
        ({"arrivals": "poisson"}, "Poisson arrivals have a rate"),
        ({"rate_per_s": 2.0}, "Poisson arrivals have a rate"),
        ({"arrivals": "constant", "rate_per_s": 0.0}, "Poisson arrivals have a rate"),
        ({"arrivals": "constant", "rate_per_s": 1.0, "think_s": 3.0}, "do not wait for anybody"),
        ({"arrivals": "replay", "replay": (Replayed(messages=()),)}, "needs at_s"),
        ({"arrivals": "replay", "replay": (Replayed(messages=(), at_s=0.0, turns=("a",)),)}, "not by the clock"),
        ({"most_in_flight": 0}, "at least one request is in flight"),
        ({"think_s": -1.0}, "thinking takes no time"),
        ({"timeout_s": 0.0}, "a deadline"),
        ({"shared_prefix_tokens": 20_001, "mode": "warm"}, "0 to 20000"),
        ({"shared_prefix_tokens": 10}, "for warm caches"),
        ({"target_share": 1.0}, "less than all"),
        ({"limits": Limits(ttft_ms=0.0)}, "more than nothing"),
    ],
)
def test_a_load_that_cannot_be_is_refused(asked: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigurationError, match=told):
        Load(**asked)


def test_each_user_has_three_requests_and_a_level_has_six() -> None:
    assert [Load().requests_at(users) for users in (1, 2, 4)] == [6, 6, 12]


def test_each_user_has_one_request_at_least() -> None:
    assert [Load(prompts=5).requests_at(users) for users in (1, 15)] == [5, 15]


def test_an_open_loop_has_one_level_which_is_its_most_in_flight() -> None:
    load = Load(arrivals="poisson", rate_per_s=2.0, most_in_flight=32)
    assert (load.levels, load.requests_at(32)) == ((32,), 60)
    assert load.most_at_once == 32


def test_a_long_prompt_may_be_read_in_silence() -> None:
    assert Load(prompt_tokens=100).silent_for_s == 182.0
    # 1000 shared; three questions of 500 and the two answers of 100 between them: 2700 tokens at 50 a second.
    long = Load(mode="warm", shared_prefix_tokens=1000, prompt_tokens=500, output_tokens=100, turns=3)
    assert long.silent_for_s == 180.0 + 54.0


def test_a_mixed_load_alone_has_no_level_and_one_sequence_more_than_users() -> None:
    load = Load(mixed=MixedLoad(users=7), users=())
    assert (load.levels, load.most_at_once) == ((), 8)
    assert Load(users=(2, 12), mixed=MixedLoad(users=7)).most_at_once == 12


def test_warm_ups_end_one_after_the_other() -> None:
    load = Load(output_tokens=64)
    assert [load.warm_up_tokens(user, 4) for user in range(4)] == [8, 24, 40, 56]
    assert load.warm_up_tokens(0, 1) == 32  # between two who begin together, half an answer apart
    assert Load(output_tokens=1).warm_up_tokens(0, 4) == 1


def test_a_prompt_has_as_many_words_as_asked() -> None:
    assert [len(prompt_text(WORDS, count, seed=1, number=0).split()) for count in (1, 2, 128)] == [1, 2, 128]


def test_no_two_prompts_of_a_run_begin_alike() -> None:
    firsts = [prompt_text(WORDS, 8, seed=3, number=number).split()[0] for number in range(len(WORDS))]
    assert len(set(firsts)) == len(WORDS)


def test_the_same_seed_makes_the_same_prompts_and_another_seed_others() -> None:
    assert prompt_text(WORDS, 9, seed=1, number=2) == prompt_text(WORDS, 9, seed=1, number=2)
    assert prompt_text(WORDS, 9, seed=1, number=2) != prompt_text(WORDS, 9, seed=2, number=2)


def test_a_request_asks_for_a_fixed_length_and_no_cache() -> None:
    body = json.loads(request_body(FIELDS, model="m", messages=MESSAGES, tokens=7, extra={"top_k": 1}))
    assert body == {
        "model": "m",
        "messages": [{"role": "user", "content": "a b"}],
        "stream": True,
        "stream_options": {"include_usage": True},
        "max_tokens": 7,
        "max_completion_tokens": 7,
        "temperature": 0,
        "seed": 0,
        "cache_prompt": False,
        "ignore_eos": True,
        "timings_per_token": False,
        "top_k": 1,
    }


@pytest.mark.parametrize(
    ("answer", "dropped"),
    [
        (
            '{"error":{"message":"Unsupported parameter: use max_completion_tokens","param":"max_tokens"}}',
            {"max_tokens"},
        ),
        ('{"error":{"message":"\'max_tokens\' is too old. Use \'max_completion_tokens\'."}}', {"max_tokens"}),
        ('{"detail":[{"loc":["body","cache_prompt"],"msg":"Extra inputs are not permitted"}]}', {"cache_prompt"}),
        ('{"error":{"message":"unknown field seed"}}', {"seed"}),
        ('{"error":{"message":"bad request"}}', {"cache_prompt", "ignore_eos", "timings_per_token"}),
    ],
)
def test_a_refused_field_is_given_up(answer: str, dropped: set[str]) -> None:
    left = without_refused(FIELDS, answer.encode())
    assert left is not None
    assert set(FIELDS) - set(left) == dropped


def test_one_name_of_the_limit_is_never_given_up() -> None:
    one = {"max_tokens": 0}
    assert without_refused(one, b'{"error":{"param":"max_tokens"}}') is None


def test_a_refusal_that_names_nothing_ends_when_nothing_is_left_to_give_up() -> None:
    assert without_refused({"max_tokens": 0, "seed": 1}, b"no") is None
