from __future__ import annotations

import re

from evener.report.forest import Line, forest

A = Line(name="a", mean=0.5, interval=(0.4, 0.6), n=30)


def test_no_line_is_no_chart() -> None:
    assert forest([], name="f") == ""


def test_the_same_scores_give_the_same_bytes() -> None:
    assert forest([A], name="f") == forest([A], name="f")


def test_a_name_with_dollars_is_text_and_no_formula() -> None:
    assert ">$x^{2$ &lt;i&gt;<" in forest([Line(name="$x^{2$ <i>", mean=0.5, interval=None, n=1)], name="f")


def test_a_group_of_one_has_no_bracket() -> None:
    b = Line(name="b", mean=0.3, interval=(0.2, 0.4), n=30)
    alone = forest([A, b], name="f", groups=[["a"], ["b"]])
    assert alone == forest([A, b], name="f")
    assert "var(--series-2)" not in alone
    assert "var(--series-2)" in forest([A, b], name="f", groups=[["a", "b"]])


def test_a_score_without_an_interval_is_hollow_and_says_its_n() -> None:
    drawn = forest([Line(name="a", mean=0.5, interval=None, n=1)], name="f")
    assert "50.0, n=1" in drawn
    assert "fill: var(--paper)" in drawn


def test_small_gaps_are_not_stretched_over_the_whole_width() -> None:
    drawn = forest(
        [Line(name="a", mean=0.501, interval=None, n=1), Line(name="b", mean=0.5, interval=None, n=1)], name="f"
    )
    ticks = [float(tick) for tick in re.findall(r">(\d+(?:\.\d+)?)</text>", drawn)]
    assert max(ticks) - min(ticks) >= 15
