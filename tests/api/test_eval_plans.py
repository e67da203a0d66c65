"""A plan of real run folders: what finished evaluations have shown takes the place of assumptions."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from evener.api import eval_plans
from evener.cli.main import app
from evener.errors import ConfigurationError
from tests.api.test_evals import QUESTIONS, asked, evaluate, right, suite, wrong_on_odd
from tests.evals.scripted import Scripted, scripted

__all__ = ["suite"]  # a fixture


@pytest.fixture
async def runs(suite, tmp_path):
    """Two candidates, of which the second gets every other question wrong."""
    found = []
    for name, say in (("good", right), ("bad", wrong_on_odd)):
        async with scripted(Scripted(say)) as server:
            found.append(await evaluate(server, asked(suite, candidate=name, epochs=2, temperature=0.7), tmp_path))
    return [str(one.path) for one in found]


async def test_runs_of_two_candidates_plan_the_next(runs, suite):
    plain = eval_plans.plan(asked(suite, parallel=1), models=2)
    found = eval_plans.plan(asked(suite, parallel=1), models=2, runs=runs)
    assert plain.minutes is None
    assert found.minutes > 0
    assert found.suites[0].se is not None
    assert any(note.startswith("mine: as runs show") for note in found.notes)
    assert not any("assumed" in note for note in found.notes)


async def test_minutes_need_a_rate(runs, suite):
    with pytest.raises(ConfigurationError, match="--within needs to know how fast answers come"):
        eval_plans.plan(asked(suite), models=2, within_minutes=5)
    assert eval_plans.plan(asked(suite), models=2, within_minutes=5, runs=runs).suites[0].split.epochs > 1


async def test_a_run_that_is_no_finished_evaluation_is_named(runs, suite):
    (Path(runs[1]) / "summary.json").unlink()
    with pytest.raises(ConfigurationError, match="holds no finished evaluation"):
        eval_plans.plan(asked(suite), models=2, runs=runs)


async def test_the_split_looks_at_the_questions_that_are_left_out(suite):
    found = eval_plans.plan(asked(suite, most=2, epochs=3), models=2)
    assert (found.suites[0].split.questions, found.suites[0].split.epochs) == (6, 1)
    assert len(QUESTIONS) == 8


def test_what_is_about_a_plan_is_refused_where_somebody_is_asked(suite):
    with pytest.raises(ConfigurationError, match="--within and --from are about a plan"):
        CliRunner().invoke(app, ["eval", str(suite), "--within", "3"], catch_exceptions=False)


async def test_the_command_shows_what_the_plan_says(runs, suite):
    command = ["eval", str(suite), "--plan", "--from", runs[0], "--from", runs[1], "--within", "3", "--epochs", "2"]
    shown = CliRunner().invoke(app, command, env={"COLUMNS": "200"})
    assert shown.exit_code == 0, shown.output
    assert "best split" in shown.output
    assert "is best spent on 8 questions in" in shown.output
    assert "never" in shown.output
    told = json.loads(CliRunner().invoke(app, [*command, "--json"]).output)
    assert told["suites"][0]["split"]["questions"] == 8
    assert told["suites"][0]["never"] == ["practically equal"]
