"""Files that llama-bench b11434 wrote on a CPU: one model, three tests with one thread and with two, three times."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evener.dialects.llama_bench_files import settings
from evener.errors import ConfigurationError

CAPTURES = Path(__file__).parents[1] / "captures" / "llama"
FORMS = ("json", "jsonl", "csv", "sql")


def text(name: str) -> str:
    return (CAPTURES / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("form", FORMS)
def test_each_form_gives_its_settings_apart_with_what_the_file_says_of_them(form: str) -> None:
    one, two = settings(text(f"bench_two_settings.{form}"), file=f"theirs.{form}")
    assert [row.test for row in one.rows] == [row.test for row in two.rows] == ["pp16", "tg4", "pp8+tg2"]
    assert (one.model, one.build, one.backends, one.file) == (
        "llama 256M Q4_1", "11434 (b0a2feb)", "CPU", f"theirs.{form}",
    )  # fmt: skip
    assert one.model_bytes == 96_576_768
    assert (one.stated["n_threads"], two.stated["n_threads"]) == ("1", "2")
    assert one.stated["cpu_info"] == "AMD EPYC"
    assert one.stated["repack"] == "1"
    assert one.stated["model_filename"] == "SmolLM2-135M-Instruct.Q4_1.gguf"
    assert "gpu_info" not in one.stated  # it is empty: nothing is said
    assert one.taken_at is not None


@pytest.mark.parametrize(
    ("form", "mean", "sd", "n"),
    [
        ("json", 66.90305, 1.049089, 3),
        ("jsonl", 85.547094, 2.135185, 3),
        ("csv", 55.377421, 2.154040, None),
        ("sql", 55.217361, 2.588926, None),
    ],
)
def test_a_row_is_what_llama_bench_states_and_repetitions_are_known_where_they_stand(
    form: str, mean: float, sd: float, n: int | None
) -> None:
    row = settings(text(f"bench_two_settings.{form}"), file="f")[0].rows[0]
    assert (row.mean, row.sd, row.n) == (mean, sd, n)


def test_one_repetition_has_no_deviation_and_a_depth_is_part_of_the_name() -> None:
    (found,) = settings(text("bench_one_repetition.jsonl"), file="f")
    assert [(row.test, row.n, row.sd) for row in found.rows] == [("pp16 @ d8", 1, None)]


def test_a_test_that_comes_twice_is_kept_as_another_setting() -> None:
    lines = text("bench_one_repetition.jsonl")
    assert [len(one.rows) for one in settings(lines + lines, file="f")] == [1, 1]


def test_an_apostrophe_in_a_name_ends_no_value_of_sql_and_nothing_of_it_is_run(tmp_path: Path) -> None:
    made = text("bench_two_settings.sql").replace("AMD EPYC", "AMD's EPYC")
    found = settings(f"ATTACH DATABASE '{tmp_path}/gone.db' AS gone;\n{made}", file="f")
    assert found[0].stated["cpu_info"] == "AMD's EPYC"
    assert found[0].rows[0].mean == 55.217361
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("form", FORMS)
def test_lines_of_windows_and_a_byte_order_mark_change_nothing(form: str) -> None:
    plain = text(f"bench_two_settings.{form}")
    assert settings("\ufeff" + plain.replace("\n", "\r\n"), file="f") == settings(plain, file="f")


def test_a_size_that_is_none_is_unknown() -> None:
    for strange in ("9" * 5000, "-1", "1.5", "big", ""):
        made = text("bench_two_settings.sql").replace("96576768", strange)
        assert settings(made, file="f")[0].model_bytes is None


def test_a_path_of_windows_is_cut_to_its_name() -> None:
    rows = json.loads(text("bench_two_settings.json"))[:1]
    rows[0]["model_filename"] = r"C:\Users\me\models\a.gguf"
    assert settings(json.dumps(rows), file="f")[0].stated["model_filename"] == "a.gguf"


@pytest.mark.parametrize(
    ("broken", "told"),
    [
        ("", "llama-bench wrote no row"),
        ("[]", "llama-bench wrote no row"),
        ("[1]", "no list of rows"),
        ('[{"a": 1', "no JSON"),
        ('{"n_prompt": 1}', "row 1 lacks avg_ts"),
        ('[{"n_prompt": 1, "n_gen": 0, "avg_ts": NaN, "stddev_ts": 0}]', "row 1 says avg_ts nan"),
        ('[{"n_prompt": 1, "n_gen": 0, "avg_ts": -1, "stddev_ts": 0}]', "row 1 says avg_ts -1"),
        ('[{"n_prompt": 0, "n_gen": 0, "avg_ts": 1, "stddev_ts": 0}]', "tests neither a prompt nor an answer"),
        ('[{"n_prompt": "x", "n_gen": 0, "avg_ts": 1, "stddev_ts": 0}]', "row 1 invalid literal"),
        ('[{"n_prompt": 1e999, "n_gen": 0, "avg_ts": 1, "stddev_ts": 0}]', "row 1 cannot convert float infinity"),
        ("a,b\n1,2\n", "row 1 lacks avg_ts"),
        ("# A page\n\nof prose", "row 1 lacks avg_ts"),
        ("INSERT INTO llama_bench VALUES (1);", "llama-bench wrote no row"),
        ("[" * 100_000, "no JSON"),
    ],
)
def test_what_llama_bench_did_not_write_is_refused_in_a_line_with_the_file_and_the_row(broken: str, told: str) -> None:
    with pytest.raises(ConfigurationError, match=r"theirs\.txt: ") as caught:
        settings(broken, file="theirs.txt")
    assert told in caught.value.message
    assert "\n" not in caught.value.message
