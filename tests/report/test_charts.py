from __future__ import annotations

import re
from xml.etree import ElementTree

from report_samples import DEMO, FAILED, HOSTILE, run

from evener.report import charts, rows
from evener.report.charts import Point, Series

LINE = Series(style=0, points=(Point(users=1, value=61.0, interval=(60.0, 62.0)), Point(users=4, value=25.0)))


def draw(name: str = "each", told: str = "speed by users") -> str:
    return charts.line_chart([LINE], name=name, told=told, unit="tok/s")


def ids(svg: str) -> set[str]:
    return set(re.findall(r'\bid="([^"]+)"', svg))


def test_a_chart_is_one_svg_that_asks_for_nothing() -> None:
    svg = draw()
    ElementTree.fromstring(svg.replace("xlink:href", "href"))
    assert svg.startswith("<svg ")
    assert not re.search(r"https?:|<style|<metadata|<!DOCTYPE|<\?xml|<image", svg)


def test_the_same_data_gives_the_same_bytes() -> None:
    assert draw() == draw()


def test_two_charts_on_a_page_share_no_id() -> None:
    one, other = draw("each"), draw("total")
    assert ids(one)
    assert not ids(one) & ids(other)
    assert set(re.findall(r'href="#([^"]+)|url\(#([^)]+)', one)) <= {(i, "") for i in ids(one)} | {
        ("", i) for i in ids(one)
    }


def test_colours_come_from_the_page_so_that_dark_works() -> None:
    svg = draw()
    assert "var(--series-1)" in svg
    assert "var(--ink)" in svg
    assert not re.search(r"#e[0-9]000a", svg)


def test_text_stays_text() -> None:
    assert re.search(r"<text [^>]*>users</text>", draw())


def test_the_words_beside_a_chart_are_escaped() -> None:
    svg = draw(told=HOSTILE)
    assert "<script" not in svg
    assert "&lt;script&gt;" in svg


def test_nothing_to_draw_draws_nothing() -> None:
    assert charts.line_chart([], name="each", told="", unit="") == ""


def test_a_point_is_a_median_with_its_interval() -> None:
    alone, cluster = charts.per_user(rows.layouts(run(), DEMO.stages))
    assert alone.points[0] == Point(users=1, value=61.0, interval=(60.0, 62.0))
    assert cluster.style == 1


def test_a_total_has_no_interval() -> None:
    assert charts.total(rows.layouts(run(), DEMO.stages))[0].points[0] == Point(users=1, value=58.0)


def test_an_invalid_result_is_not_drawn() -> None:
    assert charts.per_user(rows.layouts(run(), FAILED.stages)) == ()
