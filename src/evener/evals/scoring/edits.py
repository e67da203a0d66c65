"""Answers that change a file in a given format: SEARCH/REPLACE blocks, a unified diff, or the whole file. Pure.

The category names the format: "edit-blocks", "edit-diff", "edit-whole".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from evener.evals.scoring import fences
from evener.records.answers import EVIDENCE, Answer, Score
from evener.records.questions import Question

EDITS = ("edit-blocks", "edit-diff", "edit-whole")
_SEARCH, _MIDDLE, _REPLACE = (re.compile(mark) for mark in (r"<{5,9} SEARCH", r"={5,9}", r">{5,9} REPLACE"))


@dataclass(frozen=True, slots=True)
class Unreadable:
    """The edit is not in the format that was asked for, or does not apply."""

    why: str


def score(question: Question, answer: Answer) -> Score:
    """1 when the file after the edit is one of the references; what cannot be applied is `format_invalid`."""
    if answer.outcome not in EVIDENCE:
        return Score(asked=answer.asked, scorer="edit", value=None, why=answer.outcome)
    after = apply(question.category, question.context or "", answer.text, language=question.language)
    if isinstance(after, Unreadable):
        return Score(asked=answer.asked, scorer="edit", value=0.0, outcome="format_invalid", why=after.why)
    right = any(plain(after) == plain(reference) for reference in question.references)
    return Score(asked=answer.asked, scorer="edit", value=float(right))


def apply(category: str, before: str, text: str, *, language: str | None = None) -> str | Unreadable:
    """The file after the edit."""
    if category == "edit-blocks":
        return _blocks(before, text)
    if category == "edit-diff":
        return _diff(before, fences.code(text, "diff") or text)
    whole = fences.code(text, language or "python")
    return Unreadable("no code block") if whole is None else whole


def _blocks(before: str, text: str) -> str | Unreadable:
    blocks = list(_read_blocks(text))
    if not blocks:
        return Unreadable("no SEARCH/REPLACE block")
    for search, replace in blocks:
        if not search.strip():
            return Unreadable("a block searches for nothing")
        if before.count(search) != 1:
            return Unreadable(f"what a block searches for is there {before.count(search)} times")
        before = before.replace(search, replace)
    return before


def _read_blocks(text: str) -> Iterator[tuple[str, str]]:
    """(lines to find, lines to put there) of each whole block."""
    search, replace, parts = list[str](), list[str](), None
    for line in text.splitlines(keepends=True):
        if parts is None and _SEARCH.match(line):
            search, replace = [], []
            parts = search
        elif parts is search and _MIDDLE.match(line):
            parts = replace
        elif parts is replace and _REPLACE.match(line):
            yield "".join(search), "".join(replace)
            parts = None
        elif parts is not None:
            parts.append(line)


def _diff(before: str, text: str) -> str | Unreadable:
    """Hunks are applied where their lines are found once; line numbers are often wrong and are not believed."""
    lines, at, hunks = before.splitlines(), 0, _hunks(text)
    if not hunks:
        return Unreadable("no hunk of a unified diff")
    for old, new in hunks:
        places = [i for i in range(at, len(lines) - len(old) + 1) if lines[i : i + len(old)] == old]
        if not old or len(places) != 1:
            return Unreadable(f"the lines of a hunk are there {len(places) if old else 'nowhere or anywhere'} times")
        lines[places[0] : places[0] + len(old)] = new
        at = places[0] + len(new)
    return "\n".join(lines) + "\n"


def _hunks(text: str) -> list[tuple[list[str], list[str]]]:
    """(lines before, lines after) of each hunk."""
    hunks: list[tuple[list[str], list[str]]] = []
    for line in text.splitlines():
        if line.startswith("@@"):
            hunks.append(([], []))
        elif not hunks or line.startswith(("--- ", "+++ ", "\\ ")):
            continue
        else:
            old, new = hunks[-1]
            if not line.startswith("+"):
                old.append(line[1:])
            if not line.startswith("-"):
                new.append(line[1:])
    return hunks


def plain(text: str) -> str:
    """Without blanks that nobody sees."""
    return "\n".join(line.rstrip() for line in text.strip().splitlines())
