"""The command in a post is one that evener reads, and what it reads is the load that was asked for."""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import Any

import pytest
import typer.main
from bench_samples import BENCH, URL, USERS, bench_run, summary_of
from eval_samples import ASKED, FACTS
from eval_samples import RUN as EVAL_RUN
from eval_samples import WHOLE as EVALUATED

from evener.bench.load import Load, MixedLoad
from evener.cli.bench_load import read_load
from evener.cli.main import app
from evener.codec import to_data
from evener.records.events import Fact
from evener.records.load import Limits, LongArrival, Mixed
from evener.records.run import Stage
from evener.report.repeat import command
from evener.report.story import tell

CHAT = Limits(ttft_ms=2000.0, tpot_ms=66.0)
LOADS = {
    "users": Load(users=(1, 4, 8), prompts=24, prompt_tokens=512, output_tokens=128, seed=7),
    "people": Load(
        users=(4, 8), people=True, prompt_tokens=2000, output_tokens=300, seed=7, mode="warm", shared_prefix_tokens=500,
        think_s=45.0, profile="chat", limits=CHAT,
    ),
    "people who do not think": Load(
        users=(4,), people=True, prompt_tokens=200, output_tokens=30, seed=7, profile="chat", limits=CHAT,
    ),
    "warm without a shared beginning": Load(
        users=(4,), prompt_tokens=200, output_tokens=30, seed=7, mode="warm", profile="chat", limits=CHAT, turns=3,
    ),
    "by the clock": Load(arrivals="poisson", rate_per_s=0.5, most_in_flight=9, prompts=60, seed=7),
    "a long prompt alone": Load(users=(), mixed=MixedLoad(users=7, prompt_tokens=9000), seed=7),
}  # fmt: skip


def options(words: list[str]) -> dict[str, Any]:
    """What the command line of evener makes of the words after `evener`."""
    group: Any = typer.main.get_command(app)
    while words[0] in getattr(group, "commands", {}):
        group, words = group.commands[words[0]], words[1:]
    return dict(group.make_context(group.name, words).params)


def repeated(load: Load) -> str:
    """The command of a run with this load, as its first fact and its result have it."""
    arrival = LongArrival(ttft_ms=None, worst_stall_ms=None, usual_gap_ms=None, prompt_tokens=None)
    mixed = load.mixed and Mixed(
        users=load.mixed.users, prompt_tokens_asked=load.mixed.prompt_tokens, arrivals=(arrival,),
        worst_stall_ms=USERS.levels[0].ttft_ms, usual_gap_ms=USERS.levels[0].ttft_ms, ttft_ms=USERS.levels[0].ttft_ms,
    )  # fmt: skip
    result = replace(
        USERS, prompt_tokens_asked=load.prompt_tokens, output_tokens_asked=load.output_tokens, mode=load.mode,
        arrivals=load.arrivals, profile=load.profile, people=load.people, turns=load.turns, think_s=load.think_s,
        shared_prefix_tokens=load.shared_prefix_tokens, limits=load.limits, comfortable=None, mixed=mixed,
    )  # fmt: skip
    known = bench_run("users")
    known = replace(known, conditions=replace(known.conditions, sampling={"seed": load.seed}))
    asked = Fact(sequence=1, at=known.started_at, kind="load", data={"load": to_data(load)})
    story = tell(known, summary_of(Stage(layout=URL, users=result)), (), ())
    return command(story, known, [asked]) or ""


@pytest.mark.parametrize("load", [pytest.param(load, id=name) for name, load in LOADS.items()])
def test_the_command_asks_for_the_load_that_was_measured(load: Load) -> None:
    words = shlex.split(repeated(load))
    assert words[:4] == ["evener", "bench", "users", "URL"]
    given = options(words[1:])
    read = read_load(
        concurrency=given["concurrency"], people=given["people"], profile=given["profile"], isl=given["isl"],
        osl=given["osl"], prompts=given["num_prompts"], rate=given["request_rate"], arrivals=given["arrivals"],
        most_in_flight=given["max_concurrency"], turns=given["turns"], think=given["think"], replay=given["replay"],
        mode=given["mode"], shared_prefix=given["shared_prefix"],
        mixed=given["mixed_len"] if given["mixed"] else None, limits=given["goodput"] or [], seed=given["seed"],
        timeout=given["timeout"], model=None, extra={},
    )  # fmt: skip
    assert read == load


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        ("speed", "evener bench speed URL -p 512 -n 128 -d 0,4096 -r 5"),
        ("context", "evener bench context URL --lengths 512,2048,4096,8192 --needles 4 --reasoning 6"),
        ("pair", "evener bench pair URL URL --pairs 8 --margin 3 --num-prompts 6 -c 1"),
    ],
)
def test_other_kinds_have_commands_that_evener_reads(kind: str, told: str) -> None:
    of, summary, requests, samples = BENCH[kind]
    found = command(tell(of, summary, (), requests, samples), of, ())
    assert found == told
    assert options(shlex.split(found)[1:])


def test_an_evaluation_names_its_suites_by_their_last_name() -> None:
    asked = replace(ASKED, suites=("restraint", "/home/me/mine.jsonl"), arms=("single", "vote"), k=7, thinking=None)
    story = tell(EVAL_RUN, None, FACTS, (), evaluation=replace(EVALUATED, asked=asked))
    found = command(story, EVAL_RUN, FACTS)
    assert found == (
        "evener eval restraint mine.jsonl --url URL --epochs 1 --temperature 0 --max-tokens 1024 --seed 1 "
        "--thinking model --vote 7"
    )
    assert options(shlex.split(found)[1:])["vote"] == 7


def test_a_run_that_no_one_command_repeats_has_none() -> None:
    of = replace(bench_run("users"), what="up")
    assert command(tell(of, None, (), ()), of, ()) is None
