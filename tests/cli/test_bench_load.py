"""Options of `bench users` to a load."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from evener.bench.load import Load
from evener.cli import bench_options
from evener.cli.bench_load import read_load
from evener.cli.bench_users import split
from evener.errors import ConfigurationError
from evener.records.load import Limits


def read(**given: Any) -> Load:
    nothing: dict[str, Any] = {
        "concurrency": None, "people": None, "profile": None, "isl": None, "osl": None, "prompts": None, "rate": None,
        "arrivals": None, "most_in_flight": 64, "turns": 1, "think": None, "replay": None, "mode": "cold",
        "shared_prefix": None, "mixed": None, "limits": [], "seed": 1, "timeout": 600.0, "model": None, "extra": {},
    }  # fmt: skip
    return read_load(**{**nothing, **given})


def test_without_options_it_is_the_usual_user_counts_and_short_lengths() -> None:
    load = read()
    assert (load.users, load.prompt_tokens, load.output_tokens, load.arrivals) == (
        (1, 2, 4, 8, 12, 15),
        128,
        64,
        "closed",
    )
    assert (load.people, load.limits, load.mode) == (False, None, "cold")


def test_people_have_the_lengths_pauses_and_limits_of_their_profile() -> None:
    load = read(people="4,8", profile="chat")
    assert (load.users, load.people, load.profile) == ((4, 8), True, "chat")
    assert (load.prompt_tokens, load.output_tokens, load.think_s) == (2000, 350, 45.0)
    assert load.limits == Limits(ttft_ms=2000.0, tpot_ms=66.0)


def test_parallel_sequences_with_a_profile_do_not_think() -> None:
    load = read(concurrency="2", profile="chat")
    assert (load.users, load.people, load.think_s, load.limits) == (
        (2,),
        False,
        0.0,
        Limits(ttft_ms=2000.0, tpot_ms=66.0),
    )


def test_what_is_said_goes_before_the_profile() -> None:
    load = read(people="4", profile="chat", isl=300, osl=20, think=5.0, limits=["tpot:200"])
    assert (load.prompt_tokens, load.output_tokens, load.think_s) == (300, 20, 5.0)
    assert load.limits == Limits(ttft_ms=None, tpot_ms=200.0)


def test_a_profile_shares_its_prefix_when_caches_are_warm_and_prompts_stay_as_long() -> None:
    warm = read(concurrency="2", profile="coding", mode="warm")
    assert (warm.shared_prefix_tokens, warm.prompt_tokens) == (2000, 6000)
    assert read(concurrency="2", profile="coding").shared_prefix_tokens == 0


def test_a_rate_is_random_arrivals_unless_somebody_says_otherwise() -> None:
    assert (read(rate=0.5).arrivals, read(rate=0.5, arrivals="constant").arrivals) == ("poisson", "constant")


def test_a_mixed_load_alone_has_no_levels() -> None:
    alone, beside = read(mixed=30_000), read(mixed=30_000, concurrency="1")
    assert alone.mixed is not None
    assert (alone.users, alone.mixed.users, alone.mixed.prompt_tokens) == ((), 7, 30_000)
    assert beside.users == (1,)


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        ({"people": "4"}, "--people: what do they do?"),
        ({"people": "4", "profile": "chat", "concurrency": "2"}, "--people and --concurrency: which of the two?"),
        ({"rate": 1.0, "concurrency": "2"}, "--request-rate sends by the clock"),
        ({"arrivals": "constant"}, "--arrivals: how many a second?"),
        ({"arrivals": "replay"}, "--arrivals replay: of which recording?"),
        ({"replay": Path("x"), "isl": 5}, "--replay has prompts of its own"),
        ({"replay": Path("/nowhere/x.jsonl")}, "--replay /nowhere/x.jsonl: No such file or directory"),
        ({"profile": "poetry"}, "--profile poetry: no such profile"),
        ({"shared_prefix": 100}, "a shared prefix is for warm caches"),
        ({"concurrency": "1,x"}, "'1,x' are no user counts"),
        ({"limits": ["ttft"]}, "--goodput ttft: no limit that is known here"),
        ({"limits": ["e2el:5"]}, "--goodput e2el:5: no limit that is known here"),
        ({"limits": ["ttft:1 ttft:2"]}, "--goodput names ttft twice"),
    ],
)
def test_a_contradiction_is_one_line(given: dict[str, Any], fault: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        read(**given)
    assert raised.value.message.startswith(fault)


@pytest.mark.parametrize("said", [["ttft:2000", "tpot:100"], ["ttft:2000 tpot:100"], ["ttft:2000,tpot:100"]])
def test_limits_may_be_several_words_or_one(said: list[str]) -> None:
    assert bench_options.limits(said) == Limits(ttft_ms=2000.0, tpot_ms=100.0)


def test_the_second_limit_is_no_server() -> None:
    assert split(["tpot:100", "http://x"], None, ["ttft:2000"]) == ("http://x", ["ttft:2000", "tpot:100"])
    assert split(["tpot:100"], None, []) == ("tpot:100", [])


@pytest.mark.parametrize(("text", "seconds"), [("90", 90), ("90s", 90), ("30m", 1800), ("1.5h", 5400)])
def test_lengths_of_time(text: str, seconds: float) -> None:
    assert bench_options.seconds(text, option="--duration") == seconds
