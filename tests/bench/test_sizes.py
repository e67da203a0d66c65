"""Tests are named as llama-bench names them, and a request asks for exactly what the test means."""

from __future__ import annotations

import json

import pytest

from evener.bench.sizes import Sizes, SpeedTest, body, token_prompt
from evener.errors import ConfigurationError


def test_tests_are_named_and_ordered_as_llama_bench_does() -> None:
    sizes = Sizes(prompts=(512,), outputs=(128,), pairs=((64, 16),), depths=(0, 4096))
    assert [test.name for test in sizes.tests()] == [
        "pp512", "tg128", "pp64+tg16", "pp512 @ d4096", "tg128 @ d4096", "pp64+tg16 @ d4096",
    ]  # fmt: skip


def test_a_size_of_0_is_left_out_and_one_named_twice_is_measured_once() -> None:
    assert [test.name for test in Sizes(prompts=(0,), outputs=(8, 8)).tests()] == ["tg8"]


def test_an_answer_of_n_steps_is_n_plus_1_tokens_since_the_first_comes_with_the_prompt() -> None:
    assert SpeedTest(output=128).answer_tokens == 129
    assert SpeedTest(prompt=512, output=128, depth=4096).context == 4096 + 512 + 129
    assert SpeedTest(output=128, depth=4096).context == 4096 + 1 + 129


@pytest.mark.parametrize(
    "asked",
    [{"prompts": (0,), "outputs": (0,)}, {"prompts": (-1,)}, {"depths": ()}, {"repetitions": 0}, {"pairs": ((1, -1),)}],
)
def test_what_cannot_be_measured_is_refused(asked: dict[str, object]) -> None:
    with pytest.raises(ConfigurationError):
        Sizes(**asked)  # type: ignore[arg-type]


def test_no_two_prompts_of_a_run_begin_alike_and_a_seed_makes_them_again() -> None:
    ids = list(range(100, 140))
    prompts = [token_prompt(ids, 8, seed=3, number=n) for n in range(40)]
    assert len({prompt[0] for prompt in prompts}) == 40
    assert {len(prompt) for prompt in prompts} == {8}
    assert token_prompt(ids, 8, seed=3, number=5) == prompts[5]


def test_a_body_limits_by_both_names_and_extra_fields_win() -> None:
    fields = {"max_tokens": 0, "max_completion_tokens": 0, "cache_prompt": False}
    sent = json.loads(body(fields, model="m", asked={"prompt": [1, 2]}, tokens=3, extra={"cache_prompt": True}))
    assert sent == {
        "model": "m", "prompt": [1, 2], "stream": True, "max_tokens": 3, "max_completion_tokens": 3,
        "cache_prompt": True,
    }  # fmt: skip
