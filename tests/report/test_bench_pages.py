from __future__ import annotations

from dataclasses import replace

import pytest
from bench_samples import (
    BENCH,
    CONTEXT,
    DRIFT,
    PAIR,
    SPEED,
    TELEMETRY,
    URL,
    USERS,
    bench_run,
    hostile_bench,
    requests,
    samples,
    summary_of,
)
from report_samples import HOSTILE
from test_html import Page
from test_terminal import shown

from evener.records.run import Stage
from evener.report import html, terminal
from evener.report.parts import Story
from evener.report.story import tell


def story_of(name: str) -> Story:
    run, summary, sent, seen = BENCH[name]
    return tell(run, summary, (), sent, seen)


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    made = {name: html.page(story_of(name), run) for name, (run, *_) in BENCH.items()}
    hostile = tell(bench_run(HOSTILE), hostile_bench(), (), requests(), samples())
    return made | {"hostile": html.page(hostile, bench_run(HOSTILE))}


@pytest.mark.parametrize("name", [*BENCH, "hostile"])
def test_a_page_of_any_benchmark_is_well_formed_and_loads_nothing(pages: dict[str, str], name: str) -> None:
    found = Page(pages[name])
    assert not {"script", "iframe", "object", "embed", "link", "img"} & set(found.tags)
    assert len(found.ids) == len(set(found.ids))
    assert found.unnamed == []
    assert all(url.startswith("#") for url in found.urls)


def test_what_a_server_says_is_escaped_wherever_it_stands(pages: dict[str, str]) -> None:
    assert "<script" not in pages["hostile"]
    assert pages["hostile"].count("&lt;script&gt;alert(1)&lt;/script&gt;") > 20


def test_a_run_without_a_plan_has_no_empty_sections(pages: dict[str, str]) -> None:
    words = Page(pages["users"]).words
    assert not {"The rig and its layers", "Memory, card by card", "Loading", "The same by hand"} & set(words)


def test_a_crowd_is_told_by_whom_it_is_good_for_and_what_that_rests_on() -> None:
    story = story_of("users")
    assert story.title == "SmolLM2-135M-Instruct: users"
    assert story.headline == "Comfortable for 8 users at the limits of chat; not for 12"
    assert story.basis == (
        "with 8 users, 39 of 40 requests were within the limits (95 % 60 % to 90 %): "
        "first token within 2000 ms, at least 15.0 tok/s"
    )


def test_limits_of_the_profile_and_the_comfortable_count_are_drawn(pages: dict[str, str]) -> None:
    drawn = pages["users"]
    assert "limit 15.0 tok/s" in drawn
    assert "limit 2000 ms" in drawn
    assert drawn.count(">good for 8<") == 2
    assert "logarithmic" in drawn  # first tokens between 120 ms and 8 s
    assert "good for" not in pages["speed"]


def test_a_chart_in_words_says_every_value(pages: dict[str, str]) -> None:
    assert f"All users together, tok/s, by users. {URL}: 58.0 at 1, 80.0 at 2, 101 at 4" in pages["users"]


def test_failures_stand_by_class_with_percentiles_that_count_them(pages: dict[str, str]) -> None:
    words = Page(pages["users"]).words
    at = words.index("Requests that failed, by class")
    assert [w for w in words[at:] if w][1:] != []
    assert {"kv exhausted", "timeout", "never"} <= set(words[at:])
    assert "from 15 users on, requests died because the KV cache was full" in [
        c.text for c in story_of("users").cautions
    ]


def test_warm_figures_say_what_the_cache_was_worth_and_raise_no_alarm(pages: dict[str, str]) -> None:
    words = Page(pages["warm"]).words
    assert "What the server's cache was worth" in words
    assert "36 of 40" in words
    run, summary, _, _ = BENCH["warm"]
    hit = replace(requests()[0], cached_tokens=20_000)
    assert not [c for c in tell(run, summary, (), [hit]).cautions if "cache:" in c.text]
    cold = summary_of(Stage(layout=URL, users=USERS))
    assert [c for c in tell(run, cold, (), [hit]).cautions if "found part of the prompt in the cache" in c.text]


def test_a_long_prompt_among_others_is_told_arrival_by_arrival(pages: dict[str, str]) -> None:
    words = Page(pages["warm"]).words
    assert "A long prompt arrives while 7 others read" in words
    assert {"29998", "1900", "2100"} <= set(words)


def test_speed_rows_stand_in_three_views_with_the_sentence_that_explains_them(pages: dict[str, str]) -> None:
    words = Page(pages["speed"]).words
    at = words.index("pp512")
    assert [w for w in words[at:] if w][:9] == [
        "pp512", "491.20 ± 3.10", "n=5", "497.90 ± 2.80", "n=5", "503.40 ± 2.20", "n=5", "1042 ± 6", "n=5",
    ]  # fmt: skip
    assert any(word.startswith("The client is 1.3 % below the server") for word in words)
    assert "failed: 4 timeout" in words
    assert "2 requests left out: the cache had not held what was meant" in words
    assert story_of("speed").headline == "pp512: 491.20 ± 3.10 tok/s, tg128: 56.21 ± 0.31 tok/s"


def test_invalid_speed_rows_are_struck_out_and_their_headline_says_why(pages: dict[str, str]) -> None:
    bad = summary_of(Stage(layout=URL, speed=replace(SPEED, validity="the client was saturated")))
    story = tell(bench_run("speed"), bad, (), ())
    assert story.headline == "The result is invalid (the client was saturated)"
    assert '<table class="invalid">' in html.page(story, bench_run("speed"))
    assert "invalid, not to be used: the client was saturated" in " ".join(shown(terminal.view(story), 80).split())


def test_the_ceiling_that_binds_is_marked_and_an_unknown_one_is_unknown(pages: dict[str, str]) -> None:
    text = pages["context"]
    assert text.count('<tr class="binding">') == 1
    words = [word for word in Page(text).words if word]
    assert words[words.index("quality") + 1] == "this one binds"
    assert words[words.index("memory") + 1] == "unknown"
    assert story_of("context").headline == CONTEXT.sentence


def test_answers_are_shaded_by_their_share_and_written_as_counts(pages: dict[str, str]) -> None:
    assert pages["context"].count("--share: 100%") == 10
    assert '<td class="n" style="--share: 25%">1/4</td>' in pages["context"]


def test_a_pair_shows_its_verdict_its_dots_and_what_differs(pages: dict[str, str]) -> None:
    story = story_of("pair")
    assert story.headline == PAIR.sentence
    assert [c.text for c in story.cautions] == [
        "A and B differ in: layers per device and device order",
        "nobody knows whether A and B differ in: drivers",
    ]
    assert pages["pair"].count('<svg class="chart middle"') == 2
    assert "B against A in 8 pairs: -42 %, -42 %" in pages["pair"]
    assert "together -42 %, 95 % -44 % to -40 %" in pages["pair"]


def test_an_invalid_pair_has_no_verdict() -> None:
    run = bench_run("pair")
    story = tell(run, summary_of(pair=replace(PAIR, validity="the client was saturated")), (), ())
    assert story.headline == "The result is invalid (the client was saturated)"
    assert story.cautions[0].grave
    page = html.page(story, run)
    assert '<svg class="chart middle"' not in page
    assert '<table class="invalid">' in page


def test_what_cards_did_stands_under_the_speed(pages: dict[str, str]) -> None:
    text = pages["users"]
    assert text.count('<svg class="chart wide"') == 2
    for told in ("temperature of alpha / RTX 5090 between", "power of alpha / RTX 5090", "network of alpha / enp4s0"):
        assert told in text
    words = Page(text).words
    assert DRIFT.sentence in " ".join(words)
    assert f"sustained load: {DRIFT.sentence.removesuffix('.')}" in story_of("users").findings
    assert any("3990 J per 1000 tokens" in word and "alpha / RTX 5060 Ti" in word for word in words)
    assert TELEMETRY.hosts[0].unknown[0] in " ".join(words)


def test_an_unfinished_run_shows_how_far_it_came(pages: dict[str, str]) -> None:
    words = Page(pages["unfinished"]).words
    assert "Read before use" in words
    assert '<svg class="chart wide"' in pages["unfinished"]


@pytest.mark.parametrize("name", BENCH)
def test_any_report_fits_sixty_columns_with_no_figure_cut(name: str) -> None:
    text = shown(terminal.view(story_of(name)), 60)
    assert max(map(len, text.splitlines())) <= 60
    assert "…" not in text


def test_strangers_text_cannot_steer_a_terminal() -> None:
    evil = replace(
        SPEED, rows=(replace(SPEED.rows[0], test="a\x1b[2Jb", note="\x1b]0;c"),), gaps="\x1b[31m", model="\x1b"
    )
    text = shown(terminal.view(tell(bench_run("speed"), summary_of(Stage(layout="\x1b[H", speed=evil)), (), ())), 80)
    assert "\x1b" not in text
