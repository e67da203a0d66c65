"""What a post is made of when names are hostile, and of each kind of run."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from bench_samples import BENCH, bench_run, hostile_bench
from eval_samples import FACTS as EVAL_FACTS
from eval_samples import HOSTILE
from eval_samples import RUN as EVAL_RUN
from eval_samples import WHOLE as EVALUATED
from markdown_it import MarkdownIt
from report_samples import DEMO, FACTS, run

from evener.records.run import Run, Summary
from evener.report import post
from evener.report.post import Told
from evener.report.story import tell


def told(of: Run, summary: Summary | None) -> Told:
    return Told(story=tell(of, summary, (), ()), run=of, facts=())


def test_names_of_strangers_are_text_and_stay_inside_their_block() -> None:
    hostile = replace(
        bench_run("users"), conditions=replace(run().conditions, link=HOSTILE, sampling={"seed": HOSTILE})
    )
    text = post.one(told(hostile, hostile_bench()))
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    inline = [child for token in tokens for child in token.children or ()]
    assert not [token.type for token in (*tokens, *inline) if "html" in token.type]
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert [line for line in text.splitlines() if line.startswith("    evener bench")]


def test_folders_of_whoever_measured_are_cut_from_commands_and_conditions() -> None:
    of = replace(
        run(), conditions=replace(run().conditions, beside=("/home/me/models/mmproj.gguf", "D:/secret/d.gguf"))
    )
    text = post.one(Told(story=tell(of, DEMO, FACTS, ()), run=of, facts=FACTS))
    assert "mmproj.gguf, d.gguf" in text
    assert "/home/me" not in text
    assert "secret" not in text
    assert "127.0.0.1:50052" in text  # an endpoint is no folder


@pytest.mark.parametrize("kind", ["users", "warm", "speed", "context", "pair", "unfinished"])
def test_each_kind_has_its_tables_and_says_what_its_numbers_are(kind: str) -> None:
    of, summary, requests, samples = BENCH[kind]
    text = post.one(Told(story=tell(of, summary, (), requests, samples), run=of, facts=()))
    assert re.search(r"^\| .* \|$", text, re.M)
    assert {
        "users": "distribution-free 95 % interval", "warm": "distribution-free 95 % interval",
        "speed": "means ± standard deviation", "context": "means ± standard deviation",
        "pair": "measured in turns", "unfinished": "unfinished",
    }[kind] in text  # fmt: skip
    assert ("nobody watched the hosts" in text) == (kind in ("warm", "speed", "context"))
    assert ("Whether the answers are right" in text) == (kind != "context")


def test_an_evaluation_says_that_it_is_about_answers_alone() -> None:
    story = tell(EVAL_RUN, None, EVAL_FACTS, (), evaluation=EVALUATED)
    text = post.one(Told(story=story, run=EVAL_RUN, facts=EVAL_FACTS))
    assert "Speed: this is about answers alone." in text
    assert "95 % intervals by clusters" in text
    assert "    evener eval restraint coding --url URL" in text
