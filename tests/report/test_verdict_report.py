"""What `evener verdict` says, in every form. `EVENER_GOLDEN=1` writes the goldens anew."""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from eval_samples import HOSTILE, apart, judged_verdicts, said, verdicts
from rich.console import RenderableType
from test_html import Page
from test_terminal import shown

from evener.records.verdicts import CanaryVerdict, DimensionVerdict, Disagreement, Verdicts
from evener.report import html, verdict_rows, verdict_view, verdict_written

GOLDENS = Path(__file__).parent / "goldens"


def with_apart(*found: Disagreement) -> Verdicts:
    whole = verdicts()
    return replace(whole, dimensions=(replace(whole.dimensions[0], disagreements=found),))


@pytest.mark.parametrize("columns", [60, 100])
def test_the_view_of_a_verdict_looks_as_it_did(columns: int) -> None:
    text = shown(verdict_view.view(verdicts()), columns)
    golden = GOLDENS / f"verdict-{columns}.txt"
    if os.environ.get("EVENER_GOLDEN"):
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text(encoding="utf-8")
    assert max(map(len, text.splitlines())) <= columns


@pytest.mark.parametrize("columns", [60, 100])
def test_the_view_of_what_judges_said_looks_as_it_did(columns: int) -> None:
    text = shown(verdict_view.view(replace(judged_verdicts(), dimensions=())), columns)
    golden = GOLDENS / f"verdict-judged-{columns}.txt"
    if os.environ.get("EVENER_GOLDEN"):
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text(encoding="utf-8")
    assert max(map(len, text.splitlines())) <= columns


def test_every_face_says_who_judged_and_what_the_judge_is_worth() -> None:
    found = judged_verdicts()
    texts = (
        html.verdict_page(found),
        verdict_written.markdown(found).replace("\\", ""),
        " ".join(shown(verdict_view.view(found), 400).split()),
    )
    for text in texts:
        assert "judged by more than half of judge-1 at judge.example and judge-2 at judge.example" in text
        assert "passport of judge-1: known labels 9/12" in text
        assert "agrees with people 8/10 (49%-94%), kappa 0.50" in text
        assert "judges: judge-1: known labels right: 9 of 12" in text
        assert "6 answers unscored: no majority of judges" in text
        assert "alpha preferred: alpha against beta: 20 won, 4 lost, 6 ties (3 by order), p 0.002" in text
        assert "noise floor: 3.5 between a candidate and itself" in text


def test_a_sheet_tells_scores_of_code_from_those_of_judges() -> None:
    rows = list(csv.DictReader(io.StringIO(verdict_written.csv(judged_verdicts()))))
    by = {row["kind"]: row["judged_by"] for row in rows if row["judged_by"]}
    assert by["candidate"] == "judge-1 at judge.example; judge-2 at judge.example"
    assert by["penalty"] == by["preference"] == "judge-1 at judge.example"
    assert [row["score"] for row in rows if row["kind"] == "penalty"] == ["12.5", "41.5"]
    assert {row["policy"] for row in rows if row["kind"].startswith("penalty")} == {"excluded"}
    assert {row["judged_by"] for row in rows if row["dimension"] == "restraint"} == {""}


def test_no_name_of_a_judge_is_obeyed() -> None:
    found = judged_verdicts(HOSTILE)
    assert "script" not in Page(html.verdict_page(found)).tags
    assert "[red]x[/red]" in shown(verdict_view.view(found), 900)
    assert "<script>" not in verdict_written.markdown(found)


@pytest.mark.parametrize("table", [verdict_view.standings_table, verdict_view.pairs_table])
def test_no_letter_of_a_table_is_cut_off_at_any_width(table: Callable[[DimensionVerdict], RenderableType]) -> None:
    one = verdicts(second="qwen3-30b-a3b-instruct Q4_K_M").dimensions[0]
    ended = replace(one.endings[1], outcomes={"format_invalid": 7, "truncated": 4, "timeout": 3})
    one = replace(one, endings=(one.endings[0], ended, one.endings[2]))

    def letters(columns: int) -> list[str]:
        text = shown(table(one), columns).split("no room for")[0]
        return sorted(re.sub(r"0 to 100|won-lost| to |95 %|[^A-Za-z]", "", text))

    assert [columns for columns in range(60, 100) if letters(columns) != letters(200)] == []


def test_the_set_that_holds_the_best_is_the_first_sentence_of_the_page() -> None:
    page = Page(html.verdict_page(verdicts()))
    text = " ".join(word for word in page.words if word)
    sentence = "gamma can be dropped; which of alpha and beta is the best cannot be told."
    assert text.index(sentence) < text.index("Read before use") < text.index("Pairs")


def test_what_was_not_the_same_for_all_is_said_in_front_and_with_its_values_below() -> None:
    text = " ".join(Page(html.verdict_page(verdicts())).words)
    assert "The candidates were not asked alike, or nobody knows: sampling" in text
    assert "temperature: 0.7" in text


def test_answers_cut_short_make_a_grave_caution_of_the_candidate() -> None:
    told = [(c.grave, c.text) for c in verdict_rows.cautions(verdicts())]
    assert (True, "restraint: beta: 10 % of the answers were cut short") in told
    assert (True, "gamma: incomplete: interrupted") in told


def test_a_word_that_hangs_on_the_policy_is_named_in_front() -> None:
    whole = verdicts()
    first, *others = whole.dimensions[0].pairs
    flips = replace(whole.dimensions[0], pairs=(replace(first, flips_with_policy=True), *others))
    text = "restraint: the word on alpha and beta hangs on what becomes of answers that are no evidence"
    assert text in [c.text for c in verdict_rows.cautions(replace(whole, dimensions=(flips,)))]


def test_a_canary_that_differs_stands_before_every_ranking() -> None:
    canary = CanaryVerdict(
        first="alpha",
        second="beta",
        word="differs",
        n=8,
        missing=0,
        parted=("c1",),
        itself=0,
        itself_n=8,
        sentence="1 of 8 differs.",
    )
    told = [(c.grave, c.text) for c in verdict_rows.cautions(replace(verdicts(), canaries=(canary,)))]
    text = "canary: alpha and beta do not answer alike: look at it before anything is ranked. 1 of 8 differs."
    assert (True, text) in told
    assert 'id="canary"' in html.verdict_page(replace(verdicts(), canaries=(canary,)))


def test_what_the_size_could_prove_what_is_fragile_and_the_noise_are_said() -> None:
    for text in (html.verdict_page(verdicts()), verdict_written.markdown(verdicts())):
        assert "a gap of 26 points is found 4 times in 5" in text
        assert "2 of 80 scores would bring beta level with alpha: q3, q7" in text
        assert "noise floor: 2.5 points between a candidate and itself" in text


def test_a_chart_has_a_line_per_candidate_a_bracket_per_group_and_says_the_same_in_words() -> None:
    page = html.verdict_page(verdicts())
    assert page.count('class="chart forest"') == 1
    assert (
        "alpha 90.0 (75-100), n=40; beta 85.0 (70-100), n=40, 4 truncated; gamma 20.0 (5-35), n=40, ruled out, " in page
    )
    assert "Not told apart: alpha and beta" in page


def test_answers_stand_side_by_side_and_nobody_is_named_before_one_unfolds_it() -> None:
    page = html.verdict_page(with_apart(apart("q3", said("beta", "It is 5.", 0.0), said("alpha", "4", 1.0))))
    shown_, folded = page.split('<details class="apart">')[1].split('<details class="whose">')
    assert "It is 5." in shown_
    assert "The list holds 40 numbers." in shown_
    assert "alpha" not in shown_
    assert "beta" not in shown_
    assert "One is beta, 0.0 points (ok), two is alpha, 100.0 points (ok)." in folded


def test_a_long_answer_is_folded_and_says_how_long_it_is() -> None:
    page = html.verdict_page(with_apart(apart("q9", said("alpha", "x " * 400, 1.0), said("gamma", "no", 0.0))))
    assert "(answer, 800 characters)" in page


def test_tabs_and_line_ends_of_an_answer_are_kept_as_blanks() -> None:
    page = html.verdict_page(with_apart(apart("q9", said("a", "if x:\r\n\treturn 1", 1.0), said("b", "", 0.0))))
    assert "if x:\n    return 1" in page
    assert '<p class="nothing">nothing</p>' in page


def test_nothing_that_a_model_wrote_is_obeyed() -> None:
    evil = apart(HOSTILE, said(HOSTILE, HOSTILE, 1.0), said("b", f"=1+1 {HOSTILE}", 0.0))
    evil = replace(evil, prompt=HOSTILE, context=HOSTILE, references=(HOSTILE,), category=HOSTILE, rubric=HOSTILE)
    whole = replace(verdicts(second=HOSTILE), notes=(HOSTILE,))
    whole = replace(whole, dimensions=(replace(whole.dimensions[0], disagreements=(evil,), dimension=HOSTILE),))
    page = html.verdict_page(whole)
    assert "script" not in Page(page).tags
    text = shown(verdict_view.view(whole), 600)
    assert "[red]x[/red]" in text
    for written in (page, text, verdict_written.markdown(whole), verdict_written.csv(whole)):
        assert "\x1b" not in written
        assert "\u202e" not in written
    assert "<" not in verdict_written.markdown(whole).replace("\\<", "")


def test_a_candidate_cannot_become_a_formula_of_a_spreadsheet() -> None:
    rows = list(csv.DictReader(io.StringIO(verdict_written.csv(verdicts(second="=cmd()")))))
    assert [row["first"] for row in rows if row["kind"] == "candidate"] == ["alpha", "'=cmd()", "gamma"]


def test_a_sheet_has_a_line_per_candidate_pair_and_measure() -> None:
    rows = list(csv.DictReader(io.StringIO(verdict_written.csv(verdicts()))))
    assert [row["kind"] for row in rows] == ["candidate"] * 3 + ["pair"] * 3 + ["measure"] * 4
    assert [row["may_be_best"] for row in rows[:3]] == ["yes", "yes", "no"]
    assert (rows[1]["left_out"], rows[1]["counted_wrong"], rows[1]["truncated"]) == ("0.85", "0.765", "0.1")
    assert (rows[3]["gap"], rows[3]["verdict"], rows[3]["needed"]) == ("0.05", "cannot be separated", "640")


def test_markdown_keeps_who_said_what_below_all_answers() -> None:
    text = verdict_written.markdown(verdicts())
    section = text[text.index("Where alpha and beta lie farthest apart") :]
    assert section.index("one: It is 5.") < section.index("Whose they are:") < section.index("q3: One is beta")


def test_a_page_of_a_verdict_is_whole_and_loads_nothing() -> None:
    page = Page(html.verdict_page(verdicts()))
    assert len(page.ids) == len(set(page.ids))
    assert not page.unnamed
    assert all(url.startswith("#") for url in page.urls)
    assert "script" not in page.tags


def test_further_measures_of_candidates_stand_side_by_side_in_every_face() -> None:
    found = verdicts()
    line = "F: alpha 0.91 (0.80 to 1.00, n=40), beta 0.86 (0.74 to 0.98, n=40), gamma 0.20"
    assert line in shown(verdict_view.view(found), 300)
    assert line in verdict_written.markdown(found)
    page = html.verdict_page(found)
    assert '<th scope="row">F</th><td>0.91 (0.80 to 1.00, n=40)</td><td>0.86 (0.74 to 0.98, n=40)</td>' in page
    assert "abstain recall" not in page
    rows = [row for row in csv.DictReader(io.StringIO(verdict_written.csv(found))) if row["kind"] == "measure"]
    assert [(row["first"], row["measure"], row["score"], row["n"]) for row in rows][:2] == [
        ("alpha", "F", "0.91", "40"),
        ("beta", "F", "0.86", "40"),
    ]


def test_all_conditions_are_on_the_page_and_in_markdown() -> None:
    page, text = html.verdict_page(verdicts()), verdict_written.markdown(verdicts())
    assert "<caption>The same for all</caption>" in page
    assert '<tr><th scope="row">context</th><td>4096</td></tr>' in page
    assert "- quantisation: Q8\\_0" in text


def test_how_answers_ended_stands_in_the_chart_and_beside_the_scores() -> None:
    page = html.verdict_page(verdicts())
    assert ">4 truncated</text>" in page
    assert ">5.0 % show thinking</text>" in page
    assert "5.0 % show thinking" in shown(verdict_view.view(verdicts()), 120)
