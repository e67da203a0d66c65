"""Several runs side by side: what is compared, refused, marked, told apart. `EVENER_GOLDEN=1` writes goldens anew."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from bench_samples import CONTEXT, PAIR, SPEED, URL, USERS, WARM, bench_run, summary_of
from eval_samples import HOSTILE, verdicts
from eval_samples import RUN as EVAL_RUN
from eval_samples import WHOLE as EVALUATED
from report_samples import DEMO, FACTS, run
from test_html import Page
from test_terminal import shown

from evener.dialects.llama_bench_files import settings
from evener.records.conditions import Conditions
from evener.records.foreign import ForeignBench
from evener.records.load import UsersResult
from evener.records.pair import PairResult
from evener.records.run import Stage
from evener.records.speed_rows import Repeated, SpeedResult
from evener.report import beside_charts, beside_view, html
from evener.report.beside import beside
from evener.report.beside_columns import Entrant, unlike_answers
from evener.report.beside_figures import ANSWERS, LOAD
from evener.report.beside_figures import CONTEXT as LONG
from evener.report.beside_figures import PAIR as PAIRS
from evener.report.beside_figures import SPEED as ROWS
from evener.report.beside_figures import USERS as CROWD
from evener.report.beside_parts import Beside, BesideRow, BesideTable
from evener.report.story import tell

GOLDENS = Path(__file__).parent / "goldens"
CAPTURES = Path(__file__).parents[1] / "captures" / "llama"
RUN = bench_run("users")


def entrant(name: str, stage: Stage, *, partial: str | None = None, **conditions: object) -> Entrant:
    of = replace(RUN, id=f"{RUN.id}-{name}", conditions=replace(RUN.conditions, **conditions))  # type: ignore[arg-type]
    return Entrant(name=name, story=tell(of, summary_of(stage), (), ()), run=of, partial=partial)


def users(name: str, by: float = 1.0, *, of: UsersResult = USERS, **more: object) -> Entrant:
    """A run of users with every user's rate multiplied."""
    levels = []
    for level in of.levels:
        each = level.per_user_tokens_per_s
        low, high = each.interval or (0.0, 0.0)
        rate = replace(each, p50=(each.p50 or 0) * by, interval=(low * by, high * by))
        levels.append(replace(level, per_user_tokens_per_s=rate))
    return entrant(name, Stage(layout=URL, users=replace(of, levels=tuple(levels))), **more)  # type: ignore[arg-type]


def speed(name: str, *values: float, llama_bench: float | None = None, **more: object) -> Entrant:
    row = replace(
        SPEED.rows[0],
        test="pp16",
        client=Repeated(n=len(values), mean=sum(values) / len(values), sd=1.0, unit="tok/s", values=values),
        llama_bench=None if llama_bench is None else Repeated(n=5, mean=llama_bench, sd=1.0, unit="tok/s"),
    )
    result: SpeedResult = replace(SPEED, rows=(row,))
    return entrant(name, Stage(layout=URL, speed=result), **more)  # type: ignore[arg-type]


def pairs(name: str, change: float, interval: tuple[float, float]) -> Entrant:
    result: PairResult = replace(
        PAIR, differences=(replace(PAIR.differences[0], change=change, interval=interval),)
    )  # fmt: skip
    of = bench_run("pair")
    return Entrant(name=name, story=tell(of, summary_of(pair=result), (), ()), run=of)


def foreign(name: str = "bench_two_settings.json") -> ForeignBench:
    return settings((CAPTURES / name).read_text(encoding="utf-8"), file="theirs.json")[0]


def table(found: Beside, name: str) -> BesideTable:
    return next(one for one in found.tables if one.name == name)


def row(found: Beside, kind: str, name: str, about: str) -> BesideRow:
    return next(one for one in table(found, kind).rows if (one.name, one.about) == (name, about))


def test_the_best_of_a_row_is_what_no_other_is_told_apart_from_as_better() -> None:
    found = beside([users("A"), users("B", 1.2), users("C", 1.21)])
    each = row(found, CROWD, "each", "4 users")
    assert (each.told, each.best) == ("told apart", ("B", "C"))
    assert [cell and cell.outcome for cell in each.cells] == ["first", "better", "better"]
    assert each.cells[1] is not None
    assert each.cells[1].change == pytest.approx(0.2)
    assert found.sentence == "Of 12 figures with an interval, 6 are best in B or C and 6 cannot be separated"


def test_a_difference_that_cannot_be_separated_has_no_change() -> None:
    each = row(beside([users("A"), users("B", 1.02), users("C", 0.99)]), CROWD, "each", "4 users")
    assert (each.told, each.best) == ("cannot be separated", ())
    assert [cell and cell.change for cell in each.cells] == [None, None, None]


def test_what_was_measured_once_is_told_apart_from_nothing() -> None:
    total = row(beside([users("A"), users("B", 3.0)]), CROWD, "total", "4 users")
    assert (total.told, total.best) == ("unknown", ())


def test_chance_is_divided_among_the_columns_that_a_figure_is_compared_with() -> None:
    """Four against four by chance: 2 / 70 = 0.029. With two comparisons it is 0.057, with five repetitions 0.016."""
    four = [speed("A", 10, 11, 12, 13), speed("B", 20, 21, 22, 23), speed("C", 10, 11, 12, 13)]
    five = [speed("A", 9, 10, 11, 12, 13), speed("B", 20, 21, 22, 23, 24), speed("C", 9, 10, 11, 12, 13)]
    assert row(beside(four[:2]), ROWS, "speed", "pp16").best == ("B",)
    assert row(beside(four), ROWS, "speed", "pp16").told == "unknown"
    assert row(beside(five), ROWS, "speed", "pp16").best == ("B",)


def test_every_kind_has_its_table_and_a_column_stands_only_where_it_measured_something() -> None:
    long = Stage(layout=URL, context=CONTEXT)
    found = beside([users("A"), speed("B", 1, 2, 3, 4, 5), users("C"), speed("D", 1, 2, 3, 4, 5), entrant("E", long)])
    assert {one.name: [c.name for c in one.columns] for one in found.tables} == {
        CROWD: ["A", "C"], ROWS: ["B", "D"], LONG: ["E"],
    }  # fmt: skip
    assert table(found, LONG).sentence == "Measured in E alone"
    assert found.refused == ()
    assert found.compares


def test_layouts_of_one_run_are_columns_of_their_own() -> None:
    demo = Entrant(name="A", story=tell(run(), DEMO, FACTS, ()), run=run())
    found = beside([demo, replace(demo, name="B")])
    assert [(c.name, c.label) for c in table(found, CROWD).columns] == [
        ("A1", "alpha alone"), ("A2", "alpha + beta"), ("B1", "alpha alone"), ("B2", "alpha + beta"),
    ]  # fmt: skip
    assert row(found, CROWD, "each", "1 user").best == ("A1", "B1")
    assert [cell and cell.figure.value for cell in row(found, LOAD, "loaded in", "the model").cells][:2] == [1.9, 2.6]


def test_a_load_is_a_load_whatever_was_asked_of_the_server_afterwards() -> None:
    """Memory of a layout stands where every card of it is known: here the second run could not read one."""
    warm = replace(run(), conditions=replace(run().conditions, thinking_asked="on"))
    blind = tuple(
        replace(stage, checks=(*stage.checks[:-1], replace(stage.checks[-1], measured_bytes=None)))
        for stage in DEMO.stages
    )
    asked = replace(run(), conditions=replace(run().conditions, thinking_asked="off"))
    found = beside(
        [
            Entrant(name="A", story=tell(asked, DEMO, FACTS, ()), run=asked),
            Entrant(name="B", story=tell(warm, replace(DEMO, stages=blind), FACTS, ()), run=warm),
        ]
    )
    assert [c.name for c in table(found, LOAD).columns] == ["A1", "A2", "B1", "B2"]
    assert [c.name for c in table(found, CROWD).columns] == ["A1", "A2"]
    cells = row(found, LOAD, "measured", "all cards").cells
    assert [cell is not None for cell in cells] == [True, True, False, False]


@pytest.mark.parametrize(
    ("other", "why"),
    [
        (users("C", 9.0, of=WARM), "A was measured cold, C warm: the cache alone changes waits many times over"),
        (users("C", 9.0, of=replace(USERS, prompt_tokens_asked=1024)), "prompt tokens: A 512, C 1024"),
        (users("C", of=replace(USERS, output_tokens_asked=64)), "answer tokens: A 128, C 64"),
        (users("C", thinking_asked="on"), "thinking asked: A off, C on"),
        (users("C", sampling={"temperature": 0.8, "seed": 2}), "sampling, temperature: A 0, C 0.8"),
        (users("C", of=replace(USERS, validity="the client was saturated")), "invalid: the client was saturated"),
        (users("C", partial="interrupted"), "partial: interrupted"),
    ],
)
def test_what_answers_another_question_is_refused_in_one_line_or_shown_marked(other: Entrant, why: str) -> None:
    asked = {"thinking_asked": "off", "sampling": {"temperature": 0.0, "seed": 1}}
    known = [users("A", **asked), users("B", 1.5, **asked)]
    refused = beside([*known, other])
    assert [(one.name, one.table, one.why) for one in refused.refused] == [("C", CROWD, why)]
    assert [c.name for c in table(refused, CROWD).columns] == ["A", "B"]
    assert f"C is left out of {CROWD}: {why} (--anyway shows it, marked)" in beside_view.refusals(refused)
    marked = beside([*known, other], anyway=True)
    assert marked.refused == ()
    assert [(c.name, c.marked) for c in table(marked, CROWD).columns] == [("A", None), ("B", None), ("C", why)]
    each = row(marked, CROWD, "each", "4 users")
    assert each.cells[2] is not None
    assert (each.cells[2].outcome, each.cells[2].change, each.best) == ("not comparable", None, ("B",))
    assert any(why in note for note in table(marked, CROWD).notes)


def test_a_seed_and_the_length_of_an_answer_are_no_sampling() -> None:
    one = {"seed": 1, "max_tokens": 64, "temperature": 0}
    found = beside([users("A", sampling=one), users("B", sampling=one | {"seed": 2, "max_tokens": 128})])
    assert found.refused == ()


def test_runs_that_fit_together_in_two_ways_make_two_tables() -> None:
    found = beside([users("A"), users("B", of=WARM), users("C"), users("D", of=WARM)])
    assert [[c.name for c in one.columns] for one in found.tables] == [["A", "C"], ["B", "D"]]
    assert found.refused == ()


def test_nothing_is_compared_where_all_were_asked_otherwise() -> None:
    found = beside([users("A"), users("B", of=WARM)])
    assert not found.compares
    assert [one.name for one in found.refused] == ["B"]
    assert not beside([users("A"), users("B", of=WARM)], anyway=True).compares


def test_a_run_that_measured_nothing_is_named() -> None:
    empty = Entrant(name="B", story=tell(RUN, None, (), ()), run=RUN, partial="it is not finished")
    assert [(x.name, x.why) for x in beside([users("A"), empty]).refused] == [("B", "it is not finished")]


def test_foreign_figures_stand_in_the_row_and_are_never_ranked() -> None:
    """llama-bench's 66.9 tok/s would be the best of all by far."""
    found = beside([speed("A", 1, 2, 3, 4, 5), speed("B", 11, 12, 13, 14, 15)], [("C", foreign())])
    fast = row(found, ROWS, "speed", "pp16")
    assert fast.best == ("B",)
    assert fast.cells[2] is not None
    assert (fast.cells[2].figure.value, fast.cells[2].sd, fast.cells[2].figure.n) == (66.90305, 1.049089, 3)
    assert (fast.cells[2].outcome, fast.cells[2].change) == ("foreign", None)
    assert "C" not in found.sentence
    assert row(found, ROWS, "speed", "tg4").told == "unknown"
    assert beside_view.value(fast.cells[2], "tok/s") == "66.90 ± 1.05"
    assert "foreign" in beside_view.markdown(found)
    assert "conditions unknown, never ranked" in beside_view.markdown(found)


def test_foreign_figures_stand_beside_ours_of_llama_bench_where_it_ran_for_us_too() -> None:
    found = beside([speed("A", 1, 2, 3, 4, 5, llama_bench=6.0)], [("B", foreign())])
    assert row(found, ROWS, "speed", "pp16").cells[1] is None
    cells = row(found, ROWS, "by llama-bench", "pp16").cells
    assert [cell and cell.figure.value for cell in cells] == [6.0, 66.90305]
    assert found.compares


def test_a_foreign_file_alone_is_shown_and_compares_nothing() -> None:
    two = settings((CAPTURES / "bench_two_settings.csv").read_text(encoding="utf-8"), file="theirs.csv")
    found = beside([], [("A1", two[0]), ("A2", two[1])])
    assert [c.label for c in table(found, ROWS).columns] == [
        "llama 256M Q4_1, n_threads 1", "llama 256M Q4_1, n_threads 2",
    ]  # fmt: skip
    assert found.sentence == "Nothing here is compared"
    assert "n unknown" in beside_view.markdown(found)
    assert {line["may_be_best"] for line in csv.DictReader(io.StringIO(beside_view.csv(found)))} == {""}


def test_the_same_needles_are_compared_in_pairs_and_others_by_their_intervals() -> None:
    """Twelve questions at 512 tokens that B found and A did not: p = 2 / 4096. Their intervals overlap."""
    long = Stage(layout=URL, context=CONTEXT)

    def needles(right: bool, seed: int = 1) -> Mapping[int, Mapping[tuple[int, int], bool]]:
        return {512: {(seed, n): right for n in range(12)}}

    a, b = (replace(entrant(name, long), needles=needles(right)) for name, right in (("A", False), ("B", True)))
    found = beside([a, b])
    assert row(found, LONG, "needles found", "512 tokens").best == ("B",)
    assert "question by question" in table(found, LONG).notes[0]
    three = {512: {(1, n): n < 3 for n in range(12)}}  # three more than A found: p = 0.25
    assert (
        row(beside([a, replace(b, needles=three)]), LONG, "needles found", "512 tokens").told == "cannot be separated"
    )
    other = beside([a, replace(b, needles=needles(True, seed=2))])
    assert row(other, LONG, "needles found", "512 tokens").told == "cannot be separated"
    assert "the same --seed makes pairs" in table(other, LONG).notes[0]


def test_pairs_of_different_runs_stand_as_changes_with_their_own_intervals() -> None:
    found = beside([pairs("A", -0.42, (-0.44, -0.40)), pairs("B", -0.10, (-0.12, -0.08))])
    one = row(found, PAIRS, "each, tok/s", "1 user")
    assert one.best == ("B",)
    assert one.cells[1] is not None
    assert one.cells[1].change is None  # a change of changes says nothing to anybody
    assert "| each, tok/s | 1 user | -42 % (-44 % to -40 % n=8) | -10 % (-12 % to -8.0 % n=8) | B |" in (
        beside_view.markdown(found)
    )


def test_one_evaluation_stands_with_its_scores_and_several_as_their_verdict() -> None:
    one = Entrant(name="A", story=tell(EVAL_RUN, None, (), (), evaluation=EVALUATED), run=EVAL_RUN)
    alone = beside([one, users("B"), users("C")])
    assert row(alone, ANSWERS, "score", "restraint").cells[0] is not None
    together = beside([one, replace(one, name="B")], evaluations=verdicts())
    assert together.tables == ()
    assert together.compares
    assert verdicts().dimensions[0].sentence in together.sentence
    assert verdicts().dimensions[0].sentence in " ".join(Page(html.beside_page(together)).words)


def test_evaluations_of_other_questions_or_asked_otherwise_are_refused() -> None:
    assert EVALUATED.result is not None
    others = tuple(replace(suite, sha256="9" * 64) for suite in EVALUATED.result.results)
    apart = replace(EVALUATED, result=replace(EVALUATED.result, results=others))
    asked = (
        ("A", EVALUATED, EVAL_RUN.conditions),
        ("B", EVALUATED, replace(EVAL_RUN.conditions, thinking_asked="on")),
        ("C", EVALUATED, EVAL_RUN.conditions),
        ("D", apart, EVAL_RUN.conditions),
    )
    entrants = []
    for name, evaluation, conditions in asked:
        of = replace(EVAL_RUN, conditions=conditions)
        entrants.append(Entrant(name=name, story=tell(of, None, (), (), evaluation=evaluation), run=of))
    assert [(one.name, one.why) for one in unlike_answers(entrants)] == [
        ("B", "thinking asked: A off, B on"), ("D", "other questions than A"),
    ]  # fmt: skip


def test_conditions_that_differ_are_named_run_by_run_and_unknown_ones_apart() -> None:
    found = beside([users("A"), users("B", kv_type_k="q8_0"), users("C", kv_type_k=None, link=None)])
    assert [(one.name, one.values) for one in found.differing] == [
        ("KV cache type of keys", {"A": "f16", "B": "q8_0", "C": None})
    ]
    assert "link" in found.unknown
    assert Conditions().link is None


def whole() -> Beside:
    known = [users("A"), users("B", 1.2), speed("C", 1, 2, 3, 4, 5), speed("D", 11, 12, 13, 14, 15)]
    return beside([*known, users("E", of=WARM)], [("F", foreign())])


@pytest.mark.parametrize("columns", [60, 100])
def test_several_runs_in_a_terminal_look_as_they_did(columns: int) -> None:
    text = shown(beside_view.view(whole()), columns)
    golden = GOLDENS / f"beside-{columns}.txt"
    if os.environ.get("EVENER_GOLDEN"):
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text(encoding="utf-8")
    assert max(map(len, text.splitlines())) <= columns


def test_columns_that_have_no_room_beside_each_other_stand_below_with_the_first_again() -> None:
    many = beside([users(name, 1 + n / 100) for n, name in enumerate("ABCDEFGH")])
    heads = [line.split() for line in shown(beside_view.view(many), 80).splitlines() if line.startswith("figure")]
    assert len(heads) > 1
    assert all(line[2] == "A" for line in heads)
    assert [name for line in heads for name in line[3:-1]] == list("BCDEFGH")


def test_a_line_of_csv_is_a_figure_of_a_column() -> None:
    lines = list(csv.DictReader(io.StringIO(beside_view.csv(whole()))))
    (one,) = [x for x in lines if (x["column"], x["figure"], x["about"]) == ("B", "each", "4 users")]
    assert (one["value"], one["outcome"], one["change"], one["may_be_best"]) == ("32.4", "better", "0.2", "yes")
    assert one["run"] == f"{RUN.id}-B"
    (other,) = [x for x in lines if (x["column"], x["about"]) == ("F", "pp16")]
    assert (other["foreign"], other["value"], other["sd"], other["n"]) == ("yes", "66.903", "1.04909", "3")
    assert (other["outcome"], other["may_be_best"]) == ("foreign", "")


def test_a_page_of_several_runs_closes_its_tags_and_loads_nothing() -> None:
    page = Page(html.beside_page(whole()))
    assert len(page.ids) == len(set(page.ids))
    assert not [url for url in page.urls if not url.startswith("#")]
    assert not page.unnamed
    words = " ".join(page.words)
    assert "66.90 ± 1.05" in words
    assert "E is left out of speed for users" in words


def test_users_have_curves_of_each_column_and_nothing_that_is_not_compared_is_drawn() -> None:
    known = [users("A"), users("B", 1.2), users("C", of=WARM)]
    (crowd,) = beside(known, anyway=True).tables
    drawn = beside_charts.curves(crowd, name="t")
    assert [title for title, _ in drawn] == ["total, tok/s", "each, tok/s", "first token, ms"]
    assert "A: 60.0 at 1, 42.0 at 2" in drawn[1][1]
    assert "B: 72.0 at 1, 50.4 at 2" in drawn[1][1]
    assert "C: " not in "".join(svg for _, svg in drawn)
    page = Page(html.beside_page(beside(known, anyway=True)))
    assert len(page.ids) == len(set(page.ids))
    assert not page.unnamed
    assert "C (not compared, not drawn)" in page.words


def test_a_single_user_count_makes_no_curve() -> None:
    one = replace(USERS, levels=USERS.levels[:1])
    (crowd,) = beside([users("A", of=one), users("B", of=one)]).tables
    assert beside_charts.curves(crowd, name="t") == []


def test_names_of_strangers_are_text_here_too() -> None:
    bench = replace(foreign(), file=HOSTILE, model=HOSTILE, build=HOSTILE, backends=HOSTILE, taken_at=HOSTILE)
    bench = replace(bench, stated={"cpu_info": HOSTILE}, rows=(replace(bench.rows[0], test=HOSTILE),))
    hostile = speed("A", 1, 2, 3, 4, 5, link=HOSTILE)
    found = beside([hostile, speed("B", 1, 2, 3, 4, 5), users("C", partial=HOSTILE)], [("D", bench)])
    assert "<script" not in html.beside_page(found)
    assert "<script>" not in beside_view.markdown(found)
    assert "\x1b" not in shown(beside_view.view(found), 100)
    assert all(not line.startswith("=") for line in beside_view.csv(found).split(","))
