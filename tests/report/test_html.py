from __future__ import annotations

from dataclasses import replace
from html.parser import HTMLParser

import pytest
from report_samples import (
    CLUSTER_STAGE,
    DEMO,
    FACTS,
    FAILED,
    HOSTILE,
    PARTIAL,
    UNKNOWN,
    hostile_run,
    hostile_summary,
    request,
    run,
    summary,
)

from evener.records.run import Run, Summary
from evener.report import html
from evener.report.story import tell

VOID = {"meta", "br", "hr", "img", "input", "link"}


class Page(HTMLParser):
    """What a browser would find, and whether every tag is closed where it was opened."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.urls: list[str] = []
        self.captions: list[str] = []
        self.unnamed: list[str] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()
        assert not self.open, f"never closed: {self.open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.tags.append(tag)
        self.ids += [v for k, v in attrs if k == "id" and v]
        self.urls += [
            v or "" for k, v in attrs if k in {"src", "href", "xlink:href", "action", "data", "srcset", "poster"}
        ]
        if tag == "svg" and not (found.get("aria-hidden") == "true" or found.get("aria-labelledby")):
            self.unnamed.append(str(found))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data.strip())
        if self.open and self.open[-1] == "caption":
            self.captions += [data.strip()] if data.strip() else []


def page(run_: Run, summary_: Summary | None) -> str:
    return html.page(tell(run_, summary_, FACTS, [request(1)]), run_)


RUNS = {
    "demo": (run(), DEMO),
    "partial": (run(), PARTIAL),
    "failed": (run(), FAILED),
    "unknown": (run(), UNKNOWN),
    "unfinished": (run(), None),
    "without a plan": (run(plan=None, rig=None, scan=None), summary(CLUSTER_STAGE)),
    "nothing": (run(plan=None, rig=None, scan=None), summary()),
    "hostile": (hostile_run(), hostile_summary()),
}


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    return {name: page(*given) for name, given in RUNS.items()}


@pytest.mark.parametrize("name", RUNS)
def test_a_page_is_well_formed_runs_nothing_and_loads_nothing(pages: dict[str, str], name: str) -> None:
    text = pages[name]
    found = Page(text)
    assert not {"script", "iframe", "object", "embed", "link", "img"} & set(found.tags)
    assert all(url.startswith(("#", "data:")) for url in found.urls)
    assert "@import" not in text
    assert "://" not in text
    assert "default-src 'none'" in text


@pytest.mark.parametrize("name", RUNS)
def test_no_id_is_used_twice_and_every_picture_has_words(pages: dict[str, str], name: str) -> None:
    found = Page(pages[name])
    assert len(found.ids) == len(set(found.ids))
    assert found.unnamed == []


def test_all_tables_and_charts_are_there(pages: dict[str, str]) -> None:
    found = Page(pages["demo"])
    assert found.captions == [
        "alpha alone",
        "alpha + beta",
        "Verification after load",
        "Given back after stop",
        "From the start of the first process to ready; one load each",
        "Everything recorded that could change a number",
        "Recorded events",
    ]
    assert pages["demo"].count('<svg class="chart"') == 4
    assert pages["demo"].count('<svg class="rig"') == 2


def test_the_page_says_what_the_story_says(pages: dict[str, str]) -> None:
    words = Page(pages["demo"]).words
    story = tell(run(), DEMO, FACTS, ())
    for sentence in (f"{story.headline}.", f"{story.basis}.", *story.findings, *story.limits):
        assert sentence in words
    for command in story.layouts[1].commands:
        assert command.text in words


def test_names_are_escaped_wherever_they_stand(pages: dict[str, str]) -> None:
    text = pages["hostile"]
    assert "<script" not in text
    assert text.count("&lt;script&gt;alert(1)&lt;/script&gt;") > 20
    assert HOSTILE in "".join(Page(text).words)


def test_control_characters_do_not_reach_the_page() -> None:
    given = run()
    assert given.plan is not None
    plan = replace(given.plan, model=replace(given.plan.model, name="a\x00\x1b[2J\u202eb"))
    text = page(replace(given, plan=plan), DEMO)
    assert not {"\x00", "\x1b", "\u202e"} & set(text)


def test_the_same_story_gives_the_same_bytes(pages: dict[str, str]) -> None:
    assert page(*RUNS["demo"]) == pages["demo"]


def test_what_is_unknown_is_said_and_never_drawn_as_nothing(pages: dict[str, str]) -> None:
    words = Page(pages["unknown"]).words
    assert words.count("unknown") >= 6  # measured and left, on two cards, beside the conditions
    assert "0 MiB" not in words
    assert "0.0" not in words


def test_an_invalid_result_is_struck_out_and_not_drawn(pages: dict[str, str]) -> None:
    assert '<table class="invalid">' in pages["failed"]
    assert '<svg class="chart"' not in pages["failed"]


def test_warnings_stand_before_the_figures(pages: dict[str, str]) -> None:
    words = Page(pages["failed"]).words
    assert words.index("Read before use") < words.index("Speed for users")
    assert "Read before use" not in Page(page(run(scan=None), DEMO)).words


def test_the_longest_bar_is_the_largest_of_all_cards() -> None:
    layouts = tell(run(), DEMO, FACTS, ()).layouts
    assert html.memory_scale(layouts) == 251 << 20  # alpha alone: the ceiling, 235 MiB planned + 16
    assert html.memory_scale(()) == 0
