"""Levels as rows for other programs, and one of them as the block that other clients print."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace

from report_samples import level, users_result

from evener.records.load import Comfortable, Limits, UsersResult
from evener.report import level_rows, serving_block

ONE = level(1, each=61.0, interval=(60.0, 62.0), total=58.0)
FOUR = level(4, each=25.0, interval=None, total=None, n=10, errored={"kv_exhausted": 2})
RESULT = users_result(ONE, FOUR)


def test_a_row_has_one_plain_value_per_column_and_unknown_is_null() -> None:
    one, four = level_rows.level_rows(RESULT)
    assert (one["users"], one["completed"], one["failed"], one["total_tokens_per_s"]) == (1, 20, 0, 58.0)
    assert (one["user_tokens_per_s_p50"], one["user_tokens_per_s_p50_low"]) == (61.0, 60.0)
    assert (four["total_tokens_per_s"], four["user_tokens_per_s_p50_low"], four["failed"]) == (None, None, 2)
    assert four["by_class"] == "kv_exhausted=2"
    assert all(value is None or isinstance(value, str | int | float) for row in (one, four) for value in row.values())


def test_the_tails_have_intervals_where_n_allows_them() -> None:
    slow = replace(ONE.ttft_ms, p90=150.0, p90_interval=(140.0, 170.0))
    (row,) = level_rows.level_rows(users_result(replace(ONE, ttft_ms=slow)))
    assert (row["ttft_ms_p90"], row["ttft_ms_p90_low"], row["ttft_ms_p90_high"]) == (150.0, 140.0, 170.0)
    assert (row["ttft_ms_p95"], row["ttft_ms_p95_low"]) == (None, None)
    assert "150 (140-170)" in level_rows.written(users_result(replace(ONE, ttft_ms=slow)), "md")


def test_figures_have_six_digits() -> None:
    (row,) = level_rows.level_rows(users_result(replace(ONE, total_tokens_per_s=67.03399999999999)))
    assert row["total_tokens_per_s"] == 67.034


def test_csv_leaves_unknown_empty() -> None:
    rows = list(csv.DictReader(io.StringIO(level_rows.written(RESULT, "csv"))))
    assert [row["users"] for row in rows] == ["1", "4"]
    assert rows[1]["total_tokens_per_s"] == ""


def test_jsonl_is_one_level_per_line_and_json_is_a_list_of_the_same() -> None:
    lines = [json.loads(line) for line in level_rows.written(RESULT, "jsonl").splitlines()]
    assert lines == json.loads(level_rows.written(RESULT, "json"))
    assert [line["users"] for line in lines] == [1, 4]


def test_markdown_has_the_columns_that_are_read_and_none_of_which_nothing_is_known() -> None:
    head, rule, one, four, _, holds_for = level_rows.written(RESULT, "md").splitlines()
    assert head.startswith("| users | completed | failed | total_tokens_per_s |")
    assert "people" not in head
    assert set(rule) == set("|- :")
    assert one.startswith("| 1 | 20 | 0 | 58.0 | 61.0 (60.0-62.0) |")
    assert four.startswith("| 4 | 10 | 2 | - | 25.0 |")
    assert holds_for.startswith("smollm2 at http://127.0.0.1:8080, cold, prompts 128 and answers 32 tokens; n = comp")


def test_a_markdown_table_says_that_it_is_partial_or_not_to_be_used() -> None:
    wrong = replace(users_result(ONE, validity="no request completed"), partial="interrupted")
    said = level_rows.written(wrong, "md").splitlines()[-1]
    assert said.endswith("; not to be used: no request completed; partial: interrupted")


def test_a_result_without_levels_has_no_rows() -> None:
    nothing = users_result()
    assert level_rows.written(nothing, "csv") == ""
    assert level_rows.written(nothing, "jsonl") == ""
    assert "|" not in level_rows.written(nothing, "md")


def test_a_model_that_is_a_file_goes_by_the_files_name() -> None:
    path = replace(users_result(ONE), model="/home/mia/models/qwen3.gguf")
    assert level_rows.written(path, "md").splitlines()[-1].startswith("qwen3 at http")


def comfortable(result: UsersResult, holds_for: int | None) -> UsersResult:
    said = Comfortable(
        unit="users", limits=Limits(ttft_ms=200.0), target_share=0.9, holds_for=holds_for, unresolved_at=None,
        requests_needed=None, fails_at=None, sentence="",
    )  # fmt: skip
    return replace(result, comfortable=said, limits=said.limits)


def test_the_block_is_about_the_most_for_whom_it_is_comfortable_else_the_most() -> None:
    assert serving_block.shown_level(comfortable(RESULT, 1)) is ONE
    assert serving_block.shown_level(comfortable(RESULT, None)) is FOUR
    assert serving_block.shown_level(RESULT) is FOUR
    assert serving_block.shown_level(users_result(replace(ONE, requests=replace(ONE.requests, completed=0)))) is None


def test_the_block_has_the_shape_that_people_know_and_guesses_nothing() -> None:
    lines = serving_block.serving_block(comfortable(RESULT, None), replace(FOUR, requests_per_s=0.9)).splitlines()
    assert lines[:6] == [
        "============ Serving Benchmark Result ============",
        "Maximum request concurrency:            4",
        "Successful requests:                    10",
        "Failed requests:                        2",
        "  kv_exhausted:                         2",
        "Benchmark duration (s):                 12.00",
    ]
    assert "Request throughput (req/s):             0.90" in lines
    assert "Output token throughput (tok/s):        -" in lines
    assert "---------------Time to First Token----------------" in lines
    assert "Median TTFT (ms):                       120.00" in lines
    assert "P90 TTFT (ms):                          -" in lines
    assert lines[-1] == "=" * 50
    assert not any("TTFA" in line for line in lines)


def test_where_answers_come_later_than_tokens_the_block_says_when() -> None:
    late = replace(FOUR, ttfa_ms=replace(FOUR.ttft_ms, p50=900.0))
    assert "Median TTFA (ms):                       900.00" in serving_block.serving_block(RESULT, late).splitlines()
