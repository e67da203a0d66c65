from __future__ import annotations

import csv
import io
from dataclasses import replace

import pytest
from bench_samples import CONTEXT, LEVELS, SPEED, URL, USERS, WARM, bench_run, repeated, summary_of
from report_samples import HOSTILE, spread
from test_html import Page
from test_terminal import shown

from evener.records.load import UsersResult
from evener.records.run import Run, Stage
from evener.records.speed_rows import Repeated, SpeedResult
from evener.report import against_view, html
from evener.report.against import against
from evener.report.against_parts import Against, Figure
from evener.report.story import tell

RUN = bench_run("users")


def held(a: Stage, b: Stage, *, run_a: Run = RUN, run_b: Run = RUN) -> Against:
    stories = [
        tell(run, summary_of(stage), (), ()) for run, stage in ((run_a, a), (run_b, replace(b, layout="http://other")))
    ]
    return against(*stories, run_a, run_b)


def users(result: UsersResult) -> Stage:
    return Stage(layout=URL, users=result)


def faster(by: float) -> UsersResult:
    """The same run with every user's rate and the total multiplied."""
    levels = []
    for level in LEVELS:
        each = level.per_user_tokens_per_s
        low, high = each.interval or (0.0, 0.0)
        rate = replace(each, p50=(each.p50 or 0) * by, interval=(low * by, high * by))
        levels.append(replace(level, per_user_tokens_per_s=rate))
    return replace(USERS, levels=tuple(levels))


def figure(found: Against, name: str, about: str) -> Figure:
    return next(f for f in found.figures if (f.name, f.about) == (name, about))


def speeds(*values: float) -> SpeedResult:
    mean = sum(values) / len(values)
    row = replace(SPEED.rows[0], client=Repeated(n=len(values), mean=mean, sd=1.0, unit="tok/s", values=values))
    return replace(SPEED, rows=(row,))


def test_intervals_that_do_not_overlap_are_told_apart_and_others_are_not() -> None:
    found = held(users(USERS), users(faster(1.2)))
    assert figure(found, "each", "4 users").outcome == "B is better"
    assert figure(found, "each", "4 users").change == pytest.approx(0.2)
    assert figure(found, "first token", "4 users").outcome == "cannot be separated"
    assert figure(held(users(faster(1.2)), users(USERS)), "each", "4 users").outcome == "B is worse"
    assert figure(held(users(USERS), users(faster(1.02))), "each", "4 users").outcome == "cannot be separated"


def test_a_shorter_wait_is_better() -> None:
    quick = replace(LEVELS[0], ttft_ms=spread(60.0, (55.0, 65.0), 40, "ms"))
    found = held(users(USERS), users(replace(USERS, levels=(quick,))))
    assert figure(found, "first token", "1 user").outcome == "B is better"


def test_a_total_was_measured_once_and_has_no_outcome() -> None:
    assert figure(held(users(USERS), users(faster(2.0))), "total", "4 users").outcome == "unknown"


def test_cold_against_warm_gets_no_outcome_and_says_so_first() -> None:
    found = held(users(USERS), users(WARM))
    assert not found.comparable
    assert found.cautions[0].grave
    assert found.cautions[0].text == (
        "not comparable: A was measured cold, B warm: the cache alone changes waits many times over"
    )
    assert {f.outcome for f in found.figures} == {"not comparable"}
    assert {f.change for f in found.figures} == {None}
    assert "no verdict is drawn" in found.sentence


@pytest.mark.parametrize(
    ("field", "value", "told"),
    [
        ("prompt_tokens_asked", 1024, "prompt tokens: A 512, B 1024"),
        ("output_tokens_asked", 64, "answer tokens: A 128, B 64"),
        ("think_s", 9.0, "seconds of thinking: A 0, B 9"),
        ("arrivals", "poisson", "arrivals: A closed, B poisson"),
    ],
)
def test_other_lengths_and_other_loads_are_not_compared(field: str, value: object, told: str) -> None:
    found = held(users(USERS), users(replace(USERS, **{field: value})))  # type: ignore[arg-type]
    assert f"not comparable: {told}" in [c.text for c in found.cautions]
    assert {f.outcome for f in found.figures} == {"not comparable"}


@pytest.mark.parametrize(
    ("known", "told"),
    [
        ({"thinking_asked": "on"}, "thinking asked: A off, B on"),
        ({"sampling": {"temperature": 0.7, "seed": 2}}, "sampling, temperature: A 0, B 0.7"),
        ({"sampling": {"temperature": 0.0, "seed": 2}}, None),
        ({"thinking_asked": None, "sampling": {}}, None),
    ],
)
def test_another_thinking_mode_or_sampling_is_another_question_where_both_are_known(
    known: dict[str, object], told: str | None
) -> None:
    asked = replace(RUN.conditions, thinking_asked="off", sampling={"temperature": 0.0, "seed": 1})
    other = replace(RUN, conditions=replace(asked, **known))  # type: ignore[arg-type]
    found = held(users(USERS), users(USERS), run_a=replace(RUN, conditions=asked), run_b=other)
    assert [c.text for c in found.cautions if "not comparable" in c.text] == (
        [f"not comparable: {told}"] if told else []
    )
    assert found.comparable == (told is None)


def test_repetitions_are_told_apart_from_four_against_four_on() -> None:
    four = held(Stage(layout=URL, speed=speeds(10, 11, 12, 13)), Stage(layout=URL, speed=speeds(20, 21, 22, 23)))
    three = held(Stage(layout=URL, speed=speeds(10, 11, 12)), Stage(layout=URL, speed=speeds(20, 21, 22)))
    mixed = held(Stage(layout=URL, speed=speeds(10, 11, 12, 21)), Stage(layout=URL, speed=speeds(20, 21, 22, 23)))
    assert [x.figures[0].outcome for x in (four, three, mixed)] == ["B is better", "unknown", "cannot be separated"]


def test_kinds_that_have_nothing_in_common_are_named() -> None:
    found = held(users(USERS), Stage(layout=URL, speed=SPEED))
    assert found.figures == ()
    assert "not comparable: A measured users, B speed" in [c.text for c in found.cautions]


def test_an_invalid_run_gives_no_outcome() -> None:
    found = held(users(USERS), users(replace(faster(2.0), validity="the client was saturated")))
    assert {f.outcome for f in found.figures} == {"not comparable"}
    assert any(c.text.startswith("B: the figures must not be used") for c in found.cautions)


def test_ceilings_and_lengths_stand_side_by_side() -> None:
    found = held(Stage(layout=URL, context=CONTEXT), Stage(layout=URL, context=CONTEXT))
    assert figure(found, "ceiling", "quality").b.value == 2048
    assert figure(found, "ceiling", "memory").a.value is None
    assert figure(found, "needles found", "512 tokens").outcome == "cannot be separated"
    assert repeated(1.0, None).values == ()  # no repetition is known one by one: no range, no outcome
    assert figure(found, "answer", "512 tokens").outcome == "unknown"


def test_conditions_that_differ_are_named_with_both_values_and_unknown_ones_apart() -> None:
    other = replace(RUN, conditions=replace(RUN.conditions, kv_type_k="q8_0", link=None))
    found = held(users(USERS), users(USERS), run_b=other)
    assert [(d.name, d.a, d.b) for d in found.differing] == [("KV cache type of keys", "f16", "q8_0")]
    assert "link" in found.unknown
    assert "client" in found.unknown


def test_two_runs_fit_sixty_columns_with_what_must_be_known_first() -> None:
    text = shown(against_view.view(held(users(USERS), users(WARM))), 60)
    assert max(map(len, text.splitlines())) <= 60
    words = " ".join(text.split())
    assert words.index("not comparable: A was measured cold") < words.index("first token")
    alike = shown(against_view.view(held(users(USERS), users(USERS))), 60)
    assert "no room for: change" in alike
    assert "separated" in alike


def test_two_runs_as_markdown_csv_and_page() -> None:
    found = held(users(USERS), users(faster(1.2)))
    assert "| each, tok/s | 4 users | 27.0 (26.2 to 27.8) | 32.4 (31.4 to 33.4) | +20 % | B is better |" in (
        against_view.markdown(found)
    )
    rows = list(csv.DictReader(io.StringIO(against_view.csv(found))))
    assert {"figure": "each", "about": "4 users", "a": "27", "b": "32.4"}.items() <= rows[7].items()
    page = Page(html.against_page(found))
    assert len(page.ids) == len(set(page.ids))
    assert "B is better" in page.words


def test_names_of_strangers_are_text_in_a_comparison_too() -> None:
    hostile = bench_run(HOSTILE)
    hostile = replace(hostile, conditions=replace(hostile.conditions, link=HOSTILE))
    found = held(users(replace(USERS, model=HOSTILE)), users(USERS), run_a=hostile)
    assert "<script" not in html.against_page(found)
    assert "<script>" not in against_view.markdown(found)
    assert HOSTILE in " ".join(shown(against_view.view(found), 300).split())
