"""What `evener report` says of one evaluation, in every form. `EVENER_GOLDEN=1` writes the goldens anew."""

from __future__ import annotations

import csv
import io
import os
from dataclasses import replace
from pathlib import Path

import pytest
from eval_samples import (
    CUT,
    EVALS,
    FACTS,
    HOSTILE,
    JUDGED,
    PARTIAL_RESULT,
    RESULT,
    RUN,
    VOTE,
    WHOLE,
    hostile,
    standing,
    suite,
    summary,
)
from test_html import Page
from test_terminal import shown

from evener.records.measures import Measure
from evener.records.run import Summary
from evener.report import html, markdown, sheet, terminal
from evener.report.evals_parts import Evaluated
from evener.report.evals_rows import changed, signed, signed_interval, suite_rows
from evener.report.evals_view import scores_table
from evener.report.judges_rows import corrected_lines
from evener.report.measure_rows import measure_rows
from evener.report.parts import Story
from evener.report.story import tell

GOLDENS = Path(__file__).parent / "goldens"


def story(summary: Summary | None, found: Evaluated) -> Story:
    return tell(RUN, summary, FACTS, [], evaluation=found)


def cautions(found: Evaluated) -> list[tuple[bool, str]]:
    told = story(None, found)
    return [(caution.grave, caution.text) for caution in told.cautions]


def of(**more: object) -> Evaluated:
    return replace(WHOLE, result=replace(RESULT, **more))


@pytest.mark.parametrize("columns", [60, 100])
@pytest.mark.parametrize("name", EVALS)
def test_the_view_of_an_evaluation_looks_as_it_did(name: str, columns: int) -> None:
    before, _, after = shown(terminal.view(story(*EVALS[name])), columns).partition("\nConditions\n")
    text = before + after[after.index("\nWhat these figures") :]  # conditions are the same of every run
    golden = GOLDENS / f"{name}-{columns}.txt"
    if os.environ.get("EVENER_GOLDEN"):
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text(encoding="utf-8")


def test_the_headline_is_the_score_of_each_suite_with_its_company_below() -> None:
    told = story(*EVALS["eval"])
    assert told.headline == "restraint 62.5, coding 40.0 of 100 points"
    assert told.basis == "restraint: n=40 in 20 clusters, 95% 48-78; coding: n=40 in 20 clusters, 95% 25-55"


def test_two_percent_of_answers_cut_short_are_a_grave_caution_and_less_are_none() -> None:
    grave = (True, "restraint: 2.0 % of the answers were cut short at 256 tokens and are not scored: --max-tokens")
    assert grave in cautions(of(results=(suite("restraint", 0.5, 0.5, truncated=0.02),)))
    less = of(results=(suite("restraint", 0.5, 0.5, truncated=0.019),), notes=())
    assert cautions(replace(less, judged=())) == []


def test_what_speaks_against_a_judge_is_said_in_front() -> None:
    assert (False, "the judge judge-1: known labels right: 9 of 12") in cautions(WHOLE)


def test_an_answer_cut_short_is_said_once_although_the_run_said_it_too() -> None:
    assert sum("cut short" in text for _, text in cautions(WHOLE)) == 1


def test_thinking_that_was_asked_to_be_off_is_said_in_front() -> None:
    thought = suite("restraint", 0.5, 0.5, thought=0.1)
    said = "restraint: 10 % of the answers show thinking, which was asked to be off"
    assert (False, said) in cautions(of(results=(thought,)))
    assert said not in [text for _, text in cautions(of(results=(thought,), thinking_asked=True))]


def test_an_invalid_result_has_no_headline_of_scores_and_no_chart() -> None:
    found = of(validity="no question was answered")
    told = story(summary(RESULT), found)
    assert told.headline == "The result is invalid (no question was answered)"
    assert told.cautions[0].grave
    assert "chart forest" not in html.page(told, RUN)
    assert "invalid, not to be used" in shown(terminal.view(told), 100)


def test_a_partial_run_says_why_in_front() -> None:
    assert cautions(replace(WHOLE, result=PARTIAL_RESULT))[0] == (True, "This run is partial: interrupted")


def test_a_run_that_never_ended_shows_what_came_and_no_score() -> None:
    told = story(None, CUT)
    assert told.state == "unfinished"
    assert told.headline == "17 answers came before the run ended; nothing is scored yet"
    assert "17 answers kept (2 timeout): evener eval --resume goes on" in [c.text for c in told.cautions]
    assert 'id="scores"' not in html.page(told, RUN)


def test_the_table_of_scores_keeps_how_answers_ended_where_room_is_short() -> None:
    text = shown(scores_table(RESULT), 60)
    assert "no room for: clusters, if wrong" in text
    assert "truncated" in text
    assert max(map(len, text.splitlines())) <= 60


def test_a_gap_that_rounds_to_nothing_has_no_minus() -> None:
    assert (signed(-0.0001), signed(-0.032), signed(None)) == ("+0.0", "-3.2", "-")
    assert signed_interval((-0.004, 0.43)) == "+0 to +43"


def test_a_suite_without_a_score_is_not_taken_apart() -> None:
    canary = suite("canary", None, None, categories={"en": standing("x", None, 0), "zh": standing("x", None, 0)})
    assert [row.name for row in suite_rows(replace(RESULT, results=(canary,)))] == ["canary"]
    assert story(None, of(results=(canary,))).headline == "Nothing of it has a score"


def test_an_arm_is_shown_with_its_price_and_its_harm() -> None:
    line = "restraint (vote): 3 of 15 wrong answers healed, 2 of 25 right ones spoiled (8.0 %), 6000 tokens, 300 s"
    assert VOTE.tokens == 6000
    assert line in " ".join(shown(terminal.view(story(*EVALS["eval"])), 200).split("\n"))
    assert "| **restraint (vote)** |" in markdown.document(story(*EVALS["eval"]))
    assert '<td class="n">3 of 15</td><td class="n">2 of 25</td>' in html.page(story(*EVALS["eval"]), RUN)


def test_a_run_that_kept_no_wholes_says_how_many_were_spoiled() -> None:
    old = replace(VOTE, were_wrong=None, were_right=None)
    assert changed(old) == "3 wrong answers healed, 2 right ones spoiled"
    assert changed(replace(VOTE, harmed=0, were_right=0)) == "3 of 15 wrong answers healed, 0 of 0 right ones spoiled"


def test_judges_and_people_are_in_every_form_for_readers() -> None:
    told = story(*EVALS["eval"])
    for text in (shown(terminal.view(told), 300), markdown.document(told).replace("\\", ""), html.page(told, RUN)):
        assert "penalty 41.5 (20-63) per 1000 source units" in text
        assert "known labels right: 9 of 12" in text
        assert "the same as code or judge in 80 % of 15, kappa 0.55, AC1 0.63, alpha 0.57" in text
        assert "82.0 (61-97) of 100 instead of 90.0; 20 of 30 labelled at random by 2 people, who say 80.0" in text
        assert "people labelled 3 at random, 20 are needed" in text
        assert "22/24 (73%-99%) without a critical or major error; 6 unscored without a majority: tr-01, tr-09" in text
        assert "2 judges and 2 people on 30 translations: Krippendorff's alpha 0.41 (0.20 to 0.62)" in text.replace(
            "&#39;", "'"
        )


def test_where_nobody_has_looked_at_random_it_is_one_line() -> None:
    bare = [replace(one, labelled=0, unsure=0, mean=None, why="none") for one in JUDGED.corrected]
    assert corrected_lines(bare) == [
        "not corrected by people: nobody has labelled any of it in the random pool (evener review)"
    ]


def test_a_sheet_has_a_line_per_suite_arm_and_category_and_measure() -> None:
    every = list(csv.DictReader(io.StringIO(sheet.sheet(story(*EVALS["eval"])))))
    rows = [row for row in every if not row["measure"]]
    assert [(row["suite"], row["arm"], row["category"]) for row in rows] == [
        ("restraint", "single", ""),
        ("restraint", "single", "answerable"),
        ("restraint", "single", "false premise"),
        ("restraint", "vote", ""),
        ("coding", "single", ""),
    ]
    assert (rows[0]["score"], rows[0]["counted_wrong"]) == ("0.625", "0.575")
    assert rows[3]["harmed"] == "2"
    measured = {row["measure"]: row for row in every if row["measure"]}
    assert {measured["F"][name] for name in ("value", "low", "high", "n", "unit")} == {
        "0.6",
        "0.44",
        "0.76",
        "40",
        "index",
    }
    assert measured["over_refusal"]["value"] == ""
    assert measured["BLEU zh-en"]["how"] == "nrefs:2|tok:13a"


def test_every_face_shows_measures_with_interval_n_and_what_they_are() -> None:
    told = story(*EVALS["eval"])
    page = html.page(told, RUN)
    assert '<td>F</td><td class="n">0.60</td><td class="n">0.44 to 0.76</td><td class="n">40</td>' in page
    assert "| restraint | net | 0.25 | -0.05 to 0.55 | 40 |" in markdown.document(told)
    for text in (page, markdown.document(told).replace("\\", ""), shown(terminal.view(told), 300)):
        assert "nrefs:2|tok:13a" in text
        assert "declined, of what cannot be answered" in text
        assert "over refusal" not in text  # nobody could have declined


def test_measures_of_an_invalid_result_are_not_to_be_used_either() -> None:
    page = html.page(story(None, of(validity="no question was answered")), RUN)
    assert page.count('<table class="invalid">') == 2


def test_a_measure_of_an_earlier_evener_has_neither_interval_nor_n() -> None:
    old = suite("restraint", 0.5, 0.5, measures={"F": Measure(value=0.6)})
    (row,) = measure_rows([old])
    assert row.cells[:5] == ("restraint", "F", "0.60", "-", "-")


def test_nothing_that_a_stranger_named_is_obeyed() -> None:
    told = tell(RUN, summary(RESULT), FACTS, [], evaluation=hostile())
    page = html.page(told, RUN)
    assert "script" not in Page(page).tags
    text = shown(terminal.view(told), 500)
    assert "[red]x[/red]" in text
    for written in (page, text, markdown.document(told), sheet.sheet(told)):
        assert "\x1b" not in written
        assert "\u202e" not in written
    assert "<script" not in markdown.document(told).replace("\\<", "")


def test_a_name_cannot_become_a_formula_of_a_spreadsheet() -> None:
    evil = replace(hostile(), candidate=f"=cmd {HOSTILE}")
    rows = list(csv.DictReader(io.StringIO(sheet.sheet(tell(RUN, None, FACTS, [], evaluation=evil)))))
    assert all(row["candidate"].startswith("'=cmd") for row in rows)


def test_a_page_is_whole_and_loads_nothing() -> None:
    page = Page(html.page(story(*EVALS["eval"]), RUN))
    assert len(page.ids) == len(set(page.ids))
    assert not page.unnamed
    assert all(url.startswith("#") for url in page.urls)
