"""Answers that are code: run against the question's tests in a sandbox. Knows nothing of how the sandbox is built.

The tests are Python. They find the answer beside them as solution.py, solution.sh or solution.sql, and fail by raising
or by exiting with anything but 0. An answer that ends the process before the tests are through has not passed, whatever
it prints: the word that says so is drawn anew for each run and stands in no file.
"""

from __future__ import annotations

import secrets

from evener.evals.scoring import fences
from evener.ports import BoxRun, Sandbox
from evener.records.answers import EVIDENCE, Answer, Score
from evener.records.questions import Question

HOLE = "<HOLE>"
PYTHON = "/usr/bin/python3"
WITHIN_S = 10.0
NO_SANDBOX = "no sandbox"
ENDINGS = {"python": "py", "bash": "sh", "sql": "sql"}
# Taken from standard input before the answer is loaded, and said when all tests are through.
_FIRST = "_say = (lambda word: lambda: print('', word, sep='\\n'))(input())"
_LAST = "_say()"
_MOST_TOLD = 400


async def run_tests(question: Question, answer: Answer, sandbox: Sandbox | None) -> Score:
    """1 when the tests pass, 0 when they do not; None without a sandbox or for an answer that is no evidence."""
    if answer.outcome not in EVIDENCE:
        return Score(asked=answer.asked, scorer="tests", value=None, why=answer.outcome)
    found = solution(question, answer.text)
    if sandbox is None:  # also for an answer without code: a suite of which only failures count would be all wrong
        return Score(asked=answer.asked, scorer="tests", value=None, why=NO_SANDBOX)
    if found is None:
        return Score(asked=answer.asked, scorer="tests", value=0.0, outcome="format_invalid", why="no code block")
    language = question.language or "python"
    files = {f"solution.{ENDINGS.get(language, language)}": found, "test.py": _framed(question.tests or "")}
    word = secrets.token_hex(16)
    seen = await sandbox.run(files, [PYTHON, "test.py"], within_s=WITHIN_S, said=f"{word}\n")
    passed = seen.ending == "exited" and seen.code == 0 and seen.stdout.rstrip().endswith(word)
    return Score(
        asked=answer.asked,
        scorer="tests",
        value=float(passed),
        details={} if passed else {"why": _why(seen)},
    )


def solution(question: Question, text: str) -> str | None:
    """The code to be tested: the answer's own, or, for a hole, the file with the hole filled."""
    found = fences.code(text, question.language or "python")
    if question.scoring != "fill" or question.context is None:
        return found
    if found is None:
        found = text if "```" not in text and text.strip() else None
    return None if found is None else question.context.replace(HOLE, found.strip("\n"))


def _framed(tests: str) -> str:
    return f"{_FIRST}\n{tests.rstrip()}\n{_LAST}\n"


def _why(seen: BoxRun) -> str:
    if seen.ending != "exited":
        return f"stopped at its limit: {seen.ending}"
    last = (seen.stderr.strip() or seen.stdout.strip()).splitlines()
    return last[-1][:_MOST_TOLD] if last else f"exit code {seen.code}"
