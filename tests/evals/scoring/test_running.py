import pytest

from evener.edges.sandbox import open_sandbox
from evener.evals.scoring.running import run_tests
from tests.boxes import needs_box
from tests.evals.answered import answer, question

TESTS = "from solution import double\nassert double(2) == 4\nassert double(-1) == -2\n"


def fenced(code, language="python"):
    return answer(f"Here it is:\n```{language}\n{code}\n```\n")


@pytest.fixture
async def box():
    return await open_sandbox()


@needs_box
@pytest.mark.parametrize(
    ("code", "value", "why"),
    [
        ("def double(x):\n    return 2 * x", 1.0, None),
        ("def double(x):\n    return x + 2", 0.0, "AssertionError"),
        ("def double(x)\n    return 2 * x", 0.0, "SyntaxError"),
        ("import sys\nsys.exit(0)", 0.0, "exit code 0"),
        ("import os\nos._exit(0)", 0.0, "exit code 0"),
        ("import os\nprint('every test passed', flush=True)\nos._exit(0)", 0.0, "every test passed"),
        ("import os\nexec(open('test.py').read().splitlines()[-1])\nos._exit(0)", 0.0, "NameError"),
        ("import os\nprint(open('/given/test.py').read(), flush=True)\nos._exit(0)", 0.0, "_say()"),
        ("import atexit, os\natexit.register(os._exit, 0)\ndef double(x):\n    return x", 0.0, "AssertionError"),
        ("print(input())\ndef double(x):\n    return x", 0.0, "EOFError"),
        ("def double(x):\n    while True: pass", 0.0, "limit: time"),
        ("def double(x):\n    return bytearray(9 << 30)", 0.0, "MemoryError"),
    ],
)
async def test_an_answer_passes_only_by_passing_every_test(box, code, value, why, monkeypatch):
    monkeypatch.setattr("evener.evals.scoring.running.WITHIN_S", 1.5)
    score = await run_tests(question("tests", tests=TESTS, language="python"), fenced(code), box)
    assert score.value == value
    assert why is None or why in score.details["why"]


@needs_box
async def test_bash_and_sql_are_files_beside_the_tests(box):
    shell = question(
        "tests",
        language="bash",
        tests="import subprocess\nassert subprocess.check_output(['bash', 'solution.sh', 'a b']) == b'A B\\n'",
    )
    assert (await run_tests(shell, fenced('echo "${1^^}"', "bash"), box)).value == 1.0
    sql = question(
        "tests",
        language="sql",
        tests="import sqlite3\ndb = sqlite3.connect(':memory:')\n"
        "assert db.execute(open('solution.sql').read()).fetchall() == [(2,)]",
    )
    assert (await run_tests(sql, fenced("SELECT 1 + 1;", "sql"), box)).value == 1.0


@needs_box
async def test_a_hole_is_filled_before_the_tests_run(box):
    hole = question("fill", language="python", context="def double(x):\n<HOLE>\n", tests=TESTS)
    assert (await run_tests(hole, fenced("    return 2 * x"), box)).value == 1.0
    assert (await run_tests(hole, answer("    return 2 * x"), box)).value == 1.0
    assert (await run_tests(hole, fenced("    return x"), box)).value == 0.0


async def test_without_a_sandbox_nothing_is_run_and_nothing_is_zero():
    score = await run_tests(question("tests", tests=TESTS, language="python"), fenced("def double(x): ..."), None)
    assert (score.value, score.why) == (None, "no sandbox")


@needs_box
async def test_an_answer_without_code_has_the_wrong_format(box):
    score = await run_tests(question("tests", tests=TESTS, language="python"), answer("I would double it."), box)
    assert (score.value, score.outcome) == (0.0, "format_invalid")


async def test_without_a_sandbox_an_answer_without_code_is_not_the_only_one_that_counts():
    score = await run_tests(question("tests", tests=TESTS, language="python"), answer("I would double it."), None)
    assert (score.value, score.why) == (None, "no sandbox")


async def test_what_is_no_evidence_is_not_scored():
    score = await run_tests(question("tests", tests=TESTS), answer("```", outcome="truncated"), None)
    assert (score.value, score.why) == (None, "truncated")
