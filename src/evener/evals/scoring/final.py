"""Answers that stand behind a marked last line, "Answer: 18": what is reckoned before it counts for nothing. Pure."""

from __future__ import annotations

import re

from evener.evals.scoring import match
from evener.records.answers import EVIDENCE, Answer, Score
from evener.records.questions import Question

_MARKED = re.compile(
    r"(?:\banswer(?: is)?[ \t*_]*[:：]|答案(?:是)?[ \t*]*[:：]|####|\\boxed\{)[ \t*_]*+([^\n}]*)", re.IGNORECASE
)
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


def score(question: Question, answer: Answer) -> Score:
    """1 when the last line so marked says a reference, else 0; without one the answer is `format_invalid`."""
    if answer.outcome not in EVIDENCE:
        return Score(asked=answer.asked, scorer="final", value=None, why=answer.outcome)
    found = said(answer.text)
    if found is None:
        return Score(
            asked=answer.asked, scorer="final", value=0.0, outcome="format_invalid", why="no line 'Answer: ...'"
        )
    right = any(is_same(found, reference) for reference in question.references)
    return Score(asked=answer.asked, scorer="final", value=float(right), details={"said": found})


def said(text: str) -> str | None:
    """What the last marked line says, in plain words; None without one."""
    found = [plain for line in _MARKED.findall(text) if (plain := match.plain(line))]
    return found[-1] if found else None


def is_same(said: str, reference: str) -> bool:
    """Numbers by their value, whatever their unit; a letter by the first word; anything else word by word."""
    wanted = match.plain(reference)
    if NUMBER.fullmatch(wanted):
        numbers = NUMBER.findall(said)
        return len(numbers) == 1 and float(numbers[0]) == float(wanted)
    return said == wanted or (len(wanted) == 1 and said.split()[0] == wanted)
