from __future__ import annotations

import pytest

from evener.report import words

GIB = 1 << 30


@pytest.mark.parametrize(
    ("bytes_", "said"),
    [
        (None, "-"),
        (0, "0 MiB"),
        (20 << 10, "20.0 KiB"),
        (-(9 << 20), "-9 MiB"),
        (165 << 20, "165 MiB"),
        (33 * GIB, "33.0 GiB"),
    ],
)
def test_bytes_are_said_with_their_unit_and_unknown_is_a_dash(bytes_: int | None, said: str) -> None:
    assert words.size(bytes_) == said


@pytest.mark.parametrize(
    ("value", "said"),
    [(None, "-"), (0.854, "0.85"), (9.999, "10.0"), (34.21, "34.2"), (99.96, "100"), (2750.4, "2750")],
)
def test_a_figure_has_about_three_digits(value: float | None, said: str) -> None:
    assert words.number(value) == said


def test_a_small_share_keeps_a_decimal() -> None:
    assert words.percent(0.4426) == "44 %"
    assert words.percent(0.0312) == "3.1 %"


def test_a_figure_without_an_interval_says_that_n_is_too_small() -> None:
    assert words.company(20, (60.0, 61.84)) == "n=20, 95% 60.0-61.8"
    assert words.company(3, None) == "n=3, too few for an interval"


def test_a_long_name_keeps_both_ends() -> None:
    assert words.shorten("NVIDIA GeForce RTX 5060 Ti", 16) == "NVIDIA GeF…60 Ti"
    assert words.shorten("RTX 5090", 16) == "RTX 5090"


def test_a_name_cannot_steer_a_terminal() -> None:
    assert words.plain("a\x1b[31mb\u202ec\nd") == "a\N{REPLACEMENT CHARACTER}[31mb\N{REPLACEMENT CHARACTER}c\nd"


def test_a_model_is_called_by_its_file_and_not_by_its_path() -> None:
    assert words.model_file("/models/Qwen3-8B-Q4_K_M.gguf") == "Qwen3-8B-Q4_K_M"
    assert words.model_file(r"C:\models\Qwen3-8B.gguf") == "Qwen3-8B"
    assert words.model_file("Qwen3-8B.gguf") == "Qwen3-8B"
    assert words.model_file("org/model") == "org/model"
    assert words.model_file("/") == "/"


def test_nothing_is_no_share_with_a_decimal() -> None:
    assert [words.percent(share) for share in (0.0, 0.031, 0.44, 1.0)] == ["0 %", "3.1 %", "44 %", "100 %"]
    assert words.signed_percent(0.2) == "+20 %"
    assert words.signed_percent(-0.031) == "-3.1 %"


def test_tokens_are_counted_in_thousands_only_where_nothing_is_lost() -> None:
    assert [words.kilo(n) for n in (512, 4096, 8192, 10_000, 32_768, None)] == [
        "512", "4096", "8k", "10000", "32k", "-",
    ]  # fmt: skip
