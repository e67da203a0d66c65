from __future__ import annotations

import csv
import io
import re
from dataclasses import replace

import pytest
from bench_samples import BENCH, SPEED, USERS, bench_run, hostile_bench, requests, samples, summary_of
from report_samples import DEMO, FACTS, HOSTILE, hostile_run, hostile_summary, run

from evener.cli import bench_speed_view
from evener.records.run import Stage
from evener.report import level_rows, markdown, sheet
from evener.report.parts import Story
from evener.report.plain_tables import csv_text, escaped, markdown_table
from evener.report.story import tell


def story_of(name: str) -> Story:
    of, summary, sent, seen = BENCH[name]
    return tell(of, summary, (), sent, seen)


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1"])
def test_text_cannot_become_a_formula(text: str) -> None:
    cell = rows_of(csv_text(["name"], [[text]]))[0]["name"]
    assert cell.startswith(("'", "\N{REPLACEMENT CHARACTER}"))


def test_numbers_of_a_sheet_stay_numbers_and_unknown_stays_empty() -> None:
    assert csv_text(["a", "b", "c", "d"], [[-1.5, None, 0, 58.199999999999996]]) == "a,b,c,d\n-1.5,,0,58.2\n"


def test_a_cell_with_commas_quotes_and_lines_stays_one_cell() -> None:
    assert rows_of(csv_text(["a"], [['x,"y"\nz']]))[0]["a"] == 'x,"y"\nz'


def test_markdown_shows_any_name_as_it_is() -> None:
    assert escaped("a|b") == r"a\|b"
    assert escaped("<img src=x>") == r"\<img src=x\>"
    assert escaped("![x](y) `z` **w**\n# v") == r"\!\[x\](y) \`z\` \*\*w\*\* \# v"
    assert escaped("\x1b[2J") == "\N{REPLACEMENT CHARACTER}" + r"\[2J"


def test_a_markdown_table_has_as_many_cells_in_each_line() -> None:
    text = markdown_table(("name", "#n"), [("a", "1"), (escaped("b|c"), "2")])
    assert text == "| name | n |\n| --- | ---: |\n| a | 1 |\n| b\\|c | 2 |\n"


@pytest.mark.parametrize("name", BENCH)
def test_every_table_of_every_report_is_whole(name: str) -> None:
    text = markdown.document(story_of(name))
    for block in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in block.splitlines()}) == 1
    assert "<" not in text.replace(r"\<", "")


def test_markdown_says_what_the_report_says() -> None:
    text = markdown.document(story_of("users"))
    assert text.startswith("### SmolLM2-135M-Instruct: users\n\n**Comfortable for 8 users")
    assert "- **from 15 users on, requests died because the KV cache was full**" in text
    assert "| 8 | 121 | 17.0 (16.5-17.5) | 28 % | 510 (459-561) | 900 |" in text
    assert "p90 never" in text
    assert "| pp512 | 491.20 ± 3.10 | 497.90 ± 2.80 | 503.40 ± 2.20 | 1042 ± 6 | 5 | - |" in markdown.document(
        story_of("speed")
    )
    assert "| **quality**, binds | 2048 |" in markdown.document(story_of("context"))
    assert "| each, tok/s | 1 | 60.1 | 34.8 | -42 % | -44 % to -40 % | 8 | B is slower |" in markdown.document(
        story_of("pair")
    )


def test_a_run_of_layouts_has_its_cards_and_its_command_lines() -> None:
    text = markdown.document(tell(run(), DEMO, FACTS, ()))
    assert "| alpha / AMD Ryzen 7 7700 | RPC0 | 16 of 31 | 120 MiB | 112 MiB | 0 MiB | as planned |" in text
    assert "~~~sh\n# worker on alpha\n" in text
    assert "sesame" not in text


def test_strangers_names_are_escaped_in_markdown_wherever_they_stand() -> None:
    for of, summary in ((hostile_run(), hostile_summary()), (bench_run(HOSTILE), hostile_bench())):
        text = markdown.document(tell(of, summary, (), requests(), samples()))
        outside = re.sub(r"^(~{3,})sh\n.*?^\1\n", "", text, flags=re.DOTALL | re.MULTILINE)
        assert "<script" not in outside.replace(r"\<", "")
        assert r"\<script\>" in outside


def test_a_sheet_has_a_line_per_user_count() -> None:
    rows = rows_of(sheet.sheet(story_of("users")))
    assert [row["users"] for row in rows] == ["1", "2", "4", "8", "12", "15"]
    assert rows[-1]["by_class"] == "kv_exhausted=3 timeout=1"
    assert (rows[3]["user_tokens_per_s_p50"], rows[3]["user_tokens_per_s_p50_low"]) == ("17", "16.49")
    assert rows[0]["goodput"] == ""


def test_sheets_of_other_kinds_have_their_own_lines() -> None:
    assert [row["test"] for row in rows_of(sheet.sheet(story_of("speed")))] == ["pp512", "tg128", "pp512 @ d4096"]
    context = rows_of(sheet.sheet(story_of("context")))
    assert [row["ceiling"] for row in context[:4]] == ["trained", "configured", "memory", "quality"]
    assert (context[2]["tokens"], context[6]["needles_right"]) == ("", "9")
    assert [row["change"] for row in rows_of(sheet.sheet(story_of("pair")))] == ["-0.42", "0.008"]


def test_no_cell_of_a_hostile_sheet_begins_a_formula() -> None:
    evil = replace(USERS, model="=cmd", label="=cmd", url="=cmd")
    story = tell(bench_run("users"), summary_of(Stage(layout="=cmd|' /C calc'!A0", users=evil)), (), ())
    assert {row["layout"] for row in rows_of(sheet.sheet(story))} == {"'=cmd|' /C calc'!A0"}
    assert {row["model"] for row in rows_of(level_rows.written(evil, "csv"))} == {"'=cmd"}
    speed = bench_speed_view.written(replace(SPEED, model="=cmd"), "csv")
    assert {row["model"] for row in rows_of(speed)} == {"'=cmd"}
