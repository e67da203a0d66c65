"""Evaluations among runs of other kinds, refused or compared; and llama-bench's own output beside a run of ours."""

import asyncio
from pathlib import Path

import pytest

from evener.api import side_by_side
from evener.dialects.llama_bench_files import settings
from evener.errors import ConfigurationError
from tests.api.test_verdicts import run, suite

__all__ = ["suite"]  # a fixture


def opened(*paths):
    return side_by_side.named([str(path) for path in paths])


async def test_three_evaluations_give_the_verdict_without_the_one_that_was_asked_otherwise(suite, tmp_path):
    a = await run("a", 28, suite, tmp_path)
    b = await run("b", 5, suite, tmp_path)
    c = await run("c", 27, suite, tmp_path, temperature=0.9)
    found = side_by_side.evaluations(opened(a, b, c))
    assert found is not None
    assert found.candidates == ("a", "b")
    assert f"left out: {c.name}: sampling, temperature: A 0, C 0.9" in found.notes
    kept = side_by_side.evaluations(opened(a, b, c), anyway=True)
    assert kept is not None
    assert kept.candidates == ("a", "b", "c")
    assert kept.differing == ("sampling",)  # and it is marked so


async def test_two_evaluations_are_compared_and_what_differs_is_named(suite, tmp_path):
    a = await run("a", 20, suite, tmp_path)
    b = await run("b", 20, suite, tmp_path, temperature=0.9)
    found = side_by_side.evaluations(opened(a, b))
    assert found is not None
    assert found.differing == ("sampling",)


async def test_evaluations_of_which_no_two_were_asked_alike_are_refused_in_one_line(suite, tmp_path):
    a = await run("a", 20, suite, tmp_path)
    b = await run("b", 20, suite, tmp_path, temperature=0.5)
    c = await run("c", 20, suite, tmp_path, temperature=0.9)
    with pytest.raises(
        ConfigurationError, match=r"nothing here can be compared: B: sampling, temperature: A 0, B 0\.5"
    ):
        side_by_side.evaluations(opened(a, b, c))


async def test_an_evaluation_that_was_cut_off_hides_no_verdict_of_the_others(suite, tmp_path):
    paths = [await run(name, right, suite, tmp_path) for name, right in (("a", 28), ("b", 5), ("c", 27))]
    (paths[2] / "summary.json").unlink()
    found = side_by_side.evaluations(opened(*paths))
    assert found is not None
    assert found.dimensions[0].dropped == ("b",)
    assert f"left out: {paths[2].name}: it is not finished" in found.notes
    beside = side_by_side.beside([*opened(*paths), side_by_side.Named(name="D", foreign=theirs())])
    assert beside.evaluations is not None
    assert [(one.name, one.why) for one in beside.refused] == [("C", "it is not finished")]


async def test_evaluations_beside_a_foreign_file_are_compared_question_by_question(suite, tmp_path):
    a = await run("a", 28, suite, tmp_path)
    b = await run("b", 5, suite, tmp_path)
    foreign = side_by_side.Named(name="C", foreign=theirs())
    found = side_by_side.beside([*opened(a, b), foreign])
    assert found.evaluations is not None
    assert found.evaluations.dimensions[0].dropped == ("b",)
    assert [column.name for table in found.tables for column in table.columns] == ["C1", "C2"]
    assert "b can be dropped" in found.sentence or "a is the best" in found.sentence


def theirs():
    path = Path(__file__).parents[1] / "captures" / "llama" / "bench_two_settings.json"
    return settings(path.read_text(), file=path.name)


@pytest.mark.engine
async def test_what_llama_bench_has_just_written_is_read_in_each_form(engine, model, tmp_path):
    """The real llama-bench with the real model: the same four facts in every form, and its own figures."""
    for form in ("json", "jsonl", "csv", "sql"):
        child = await asyncio.create_subprocess_exec(
            str(engine / "llama-bench"), "-m", str(model), "-p", "8", "-n", "2", "-r", "2", "-t", "1", "-o", form,
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
        )  # fmt: skip
        out, _ = await asyncio.wait_for(child.communicate(), 120)
        path = tmp_path / f"theirs.{form}"
        path.write_bytes(out)
        (named,) = opened(path)
        (bench,) = named.foreign
        assert [row.test for row in bench.rows] == ["pp8", "tg2"]
        assert (bench.model, bench.model_bytes, bench.stated["n_threads"]) == ("llama 256M Q4_1", 96_576_768, "1")
        assert all(row.mean > 0 for row in bench.rows)
        assert {row.n for row in bench.rows} == ({2} if form.startswith("json") else {None})
