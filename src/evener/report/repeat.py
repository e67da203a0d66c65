"""The command that measures the same thing again, as far as a run recorded what it asked for. Pure.

Servers are called URL, and files by their last name: a reader has others.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any

from evener.records.evaluation import EvalAsked
from evener.records.events import Fact
from evener.records.load import Limits
from evener.records.run import Run
from evener.report.parts import Layout, Story


def command(story: Story, run: Run, facts: Sequence[Fact]) -> str | None:
    """`evener bench users URL --concurrency 1,2,4 ...`; None for a run that no one command repeats."""
    words = list(_words(story, run, {fact.kind: fact.data for fact in reversed(facts)}))
    return shlex.join(["evener", *words]) if words else None


def _words(story: Story, run: Run, facts: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    seed = run.conditions.sampling.get("seed")
    seeded = ("--seed", str(seed)) if seed is not None else ()
    layout = story.layouts[0] if story.layouts else None
    if story.what == "demo":
        yield "demo"
    elif story.evaluation and story.evaluation.asked:
        yield from _eval(story.evaluation.asked)
    elif story.pair:
        yield from ("bench", "pair", "URL", "URL", "--pairs", str(story.pair.pairs_asked))
        yield from ("--margin", f"{story.pair.margin * 100:g}", "--num-prompts", str(story.pair.requests_each))
        yield from ("-c", _listed(dict.fromkeys(found.users for found in story.pair.differences)))
        visited = facts.get("visited", {}).get("users", {})
        yield from _lengths(visited.get("prompt_tokens_asked"), visited.get("output_tokens_asked"))
        yield from seeded
    elif layout and layout.speed:
        yield from (*_speed(layout), *seeded)
    elif layout and layout.context:
        yield from (*_context(layout), *seeded)
    elif layout and layout.crowd and story.what == "users":
        yield from (*_users(layout, facts.get("load", {}).get("load", {})), *seeded)


def _users(layout: Layout, load: Mapping[str, Any]) -> Iterator[str]:
    """What was asked stands in the run's own fact; of an older run its levels tell."""
    crowd = layout.crowd
    assert crowd is not None
    yield from ("bench", "users", "URL")
    users = load.get("users", [level.users for level in layout.levels])
    if crowd.arrivals != "closed":
        yield from ("--arrivals", crowd.arrivals)
        yield from ("--request-rate", f"{load['rate_per_s']:g}") if load.get("rate_per_s") else ()
        yield from ("--max-concurrency", str(load["most_in_flight"])) if "most_in_flight" in load else ()
    elif users:
        yield from ("--people" if crowd.people else "--concurrency", _listed(users))
    yield from _lengths(layout.prompt_tokens, layout.output_tokens)
    yield from ("--num-prompts", str(load["prompts"])) if load.get("prompts") else ()
    yield from ("--profile", crowd.profile) if crowd.profile else ()
    if crowd.mode == "warm":
        yield from ("--mode", "warm", "--shared-prefix", str(crowd.shared_prefix_tokens))
    yield from ("--turns", str(crowd.turns)) if crowd.turns > 1 else ()
    yield from ("--think", f"{crowd.think_s:g}") if crowd.think_s or crowd.people else ()
    yield from ("--goodput", _limits(crowd.limits)) if crowd.limits else ()
    yield from ("--mixed", "--mixed-len", str(crowd.mixed.prompt_tokens_asked)) if crowd.mixed else ()
    yield from ("--replay", "FILE.jsonl") if load.get("replay") else ()


def _limits(asked: Limits) -> str:
    named = (("ttft", asked.ttft_ms), ("tpot", asked.tpot_ms))
    return " ".join(f"{name}:{value:g}" for name, value in named if value is not None)


def _lengths(prompt: int | None, output: int | None) -> Iterator[str]:
    yield from ("--isl", str(prompt)) if prompt is not None else ()
    yield from ("--osl", str(output)) if output is not None else ()


def _speed(layout: Layout) -> Iterator[str]:
    assert layout.speed is not None
    tests = layout.speed.rows
    yield from ("bench", "speed", "URL")
    yield from ("-p", _listed(dict.fromkeys(x.prompt_tokens for x in tests if not x.output_tokens)) or "0")
    yield from ("-n", _listed(dict.fromkeys(x.output_tokens for x in tests if not x.prompt_tokens)) or "0")
    for pair in dict.fromkeys((x.prompt_tokens, x.output_tokens) for x in tests if x.prompt_tokens and x.output_tokens):
        yield from ("-pg", _listed(pair))
    yield from ("-d", _listed(dict.fromkeys(x.depth for x in tests)), "-r", str(layout.speed.repetitions))


def _context(layout: Layout) -> Iterator[str]:
    assert layout.context is not None
    lengths = layout.context.lengths
    yield from ("bench", "context", "URL", "--lengths", _listed(x.tokens for x in lengths))
    if lengths and lengths[0].depths:
        yield from ("--needles", str(max(1, lengths[0].depths[0].scored.n)))
        yield from ("--reasoning", str(lengths[0].reasoning.n))


def _eval(asked: EvalAsked) -> Iterator[str]:
    yield from ("eval", *(PurePath(suite).name for suite in asked.suites), "--url", "URL")
    yield from ("--quick",) if asked.quick else ()
    for category in asked.categories:
        yield from ("--category", category)
    yield from ("--most", str(asked.most)) if asked.most else ()
    yield from ("--epochs", str(asked.epochs), "--temperature", f"{asked.temperature:g}")
    yield from ("--max-tokens", str(asked.most_tokens), "--seed", str(asked.seed))
    yield from ("--thinking", {True: "on", False: "off", None: "model"}[asked.thinking])
    yield from ("--vote", str(asked.k)) if "vote" in asked.arms else ()
    yield from ("--reflect",) if "reflection" in asked.arms else ()


def _listed(numbers: Any) -> str:
    return ",".join(str(number) for number in numbers)
