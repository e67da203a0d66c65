"""Suites as files: read, checked as a whole, and cut down to what was asked for. Knows no model and asks nothing.

A suite is JSON lines, one question each, with the fields of `records.questions.Question`. A first line with "suite"
names it: {"suite": "translation", "version": 1, "title": ..., "licence": ...}.
"""

from __future__ import annotations

import ast
import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from importlib import resources
from typing import Any

from evener.codec import from_json
from evener.errors import ConfigurationError, NameUnknown, RunUnreadable
from evener.evals.scoring import checks, patterns
from evener.evals.scoring.edits import EDITS
from evener.evals.scoring.running import ENDINGS, HOLE
from evener.records.questions import Check, Question, Suite

SHIPPED = ("translation", "restraint", "coding", "instructions", "canary", "recall")
MOST_FAULTS = 8  # named at once
NEEDS: Mapping[str, tuple[str, ...]] = {
    "translation": ("references",),
    "final": ("references",),
    "tests": ("tests", "language"),
    "fill": ("tests", "language"),
    "edit": ("references", "context"),
    "tool-call": ("references", "tools"),
    "checks": ("checks",),
    "recall": ("references",),
    "rubric": ("rubric",),
}


def shipped(name: str) -> Suite:
    """One of our own suites. Raises NameUnknown."""
    if name not in SHIPPED:
        raise NameUnknown(f"no suite {name!r}", hint=f"there are {', '.join(SHIPPED)}, or give a file")
    file = resources.files("evener.evals") / "data" / f"{name}.jsonl"
    return read(file.read_bytes(), source=f"{name}.jsonl")


def read(content: bytes, *, source: str) -> Suite:
    """A suite from the bytes of its file; `source` names the file.

    Raises ConfigurationError with all faults (the first few by line).
    """
    header, lines = _header([(n, line) for n, line in enumerate(content.splitlines(), start=1) if line.strip()], source)
    faults: list[str] = [f"{source}: the header's {name!r} is no {kind}" for name, kind in _header_faults(header)]
    questions: list[Question] = []
    for number, line in lines:
        try:
            questions.append(_question(line, f"{source}:{number}"))
        except RunUnreadable as error:
            faults.append(error.message)
    faults += [f"{source}: {fault}" for fault in check(questions)]
    if not questions and not faults:
        faults.append(f"{source}: no questions")
    if faults:
        raise ConfigurationError(_told(faults), hint="evener suite check FILE")
    return Suite(
        name=str(header.get("suite", source.rpartition("/")[2].removesuffix(".jsonl"))),
        title=str(header.get("title", source)),
        version=header.get("version", 1),
        licence=header.get("licence"),
        notes=tuple(str(note) for note in header.get("notes", ())),
        questions=tuple(questions),
        sha256=hashlib.sha256(content).hexdigest(),
        path=source,
    )


def check(questions: Sequence[Question]) -> Iterator[str]:
    """What is wrong with questions that can be read, one line each."""
    ids = Counter(q.id for q in questions)
    yield from (f"the id {name!r} is used {count} times" for name, count in ids.items() if count > 1)
    for question in questions:
        for name in NEEDS.get(question.scoring, ()):
            if not getattr(question, name):
                yield f"{question.id}: scoring {question.scoring!r} needs {name!r}"
        if question.twin is not None and question.twin not in ids:
            yield f"{question.id}: its twin {question.twin!r} is not there"
        if not question.prompt.strip():
            yield f"{question.id}: the prompt is empty"
        yield from (f"{question.id}: {fault}" for fault in _unusable(question))


def _unusable(question: Question) -> Iterator[str]:
    """What a scorer would stumble over, told before anybody is asked."""
    yield from (fault for one in question.checks if (fault := _check_fault(one)) is not None)
    if question.scoring == "tool-call":
        yield from (f"the reference {text!r} is no call" for text in question.references if not _is_call(text))
    if question.scoring == "edit" and question.category not in EDITS:
        yield f"the category of an edit is one of {', '.join(EDITS)}"
    if question.scoring in ("tests", "fill") and question.tests:
        if question.language and question.language not in ENDINGS:
            yield f"code is in {', '.join(ENDINGS)}, not in {question.language!r}"
        try:
            ast.parse(question.tests)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            yield f"its tests are no Python: {error}"
    if question.scoring == "fill" and HOLE not in (question.context or HOLE):
        yield f"the context has no {HOLE}"


def _check_fault(one: Check) -> str | None:
    if one.kind not in checks.KINDS:
        return f"there is no check {one.kind!r}: {', '.join(sorted(checks.KINDS))}"
    try:
        if one.kind == "matches":
            patterns.check(one.value)
        else:
            checks.holds(one, "An answer.")
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        return f"the check {one.kind!r} cannot use {one.value!r} ({error})"
    return None


def _is_call(text: str) -> bool:
    try:
        call = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return call is None or (isinstance(call, dict) and isinstance(call.get("name"), str))


def _header_faults(header: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    kinds: dict[str, tuple[type, str]] = {name: (str, "text") for name in ("suite", "title", "licence")}
    kinds |= {"version": (int, "number"), "notes": (list, "list")}
    for name, (kind, word) in kinds.items():
        if name in header and not isinstance(header[name], kind):
            yield name, word


def select(suite: Suite, *, quick: bool = False, categories: Sequence[str] = (), most: int | None = None) -> Suite:
    """Part of a suite. With `most`, whole clusters are taken in the order of the file while they fit.

    Raises ConfigurationError when nothing is left.
    """
    chosen = [q for q in suite.questions if (q.quick or not quick) and (not categories or q.category in categories)]
    if most is not None:
        chosen = _whole_clusters(chosen, most)
    if not chosen:
        known = ", ".join(dict.fromkeys(q.category for q in suite.questions))
        raise ConfigurationError(f"{suite.name}: nothing is left to ask", hint=f"its categories: {known}")
    return replace(suite, questions=tuple(chosen))


def _whole_clusters(questions: Sequence[Question], most: int) -> list[Question]:
    sizes = Counter(q.cluster for q in questions)
    taken: set[str] = set()
    room = most
    for cluster, size in sizes.items():
        if size <= room:
            taken.add(cluster)
            room -= size
    return [q for q in questions if q.cluster in taken]


def _header(lines: list[tuple[int, bytes]], source: str) -> tuple[dict[str, Any], list[tuple[int, bytes]]]:
    if not lines:
        return {}, []
    try:
        first = json.loads(lines[0][1])
    except (ValueError, RecursionError):
        return {}, lines
    if isinstance(first, dict) and "suite" in first:
        return first, lines[1:]
    return {}, lines


def _question(line: bytes, source: str) -> Question:
    try:
        data = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise RunUnreadable(f"{source}: {error}") from None
    if isinstance(data, dict) and (unknown := sorted(set(data) - set(Question.__dataclass_fields__))):
        raise RunUnreadable(f"{source}: unknown key {unknown[0]!r}")
    return from_json(Question, line, source=source)


def _told(faults: Sequence[str]) -> str:
    more = f"; and {len(faults) - MOST_FAULTS} more" if len(faults) > MOST_FAULTS else ""
    return "; ".join(faults[:MOST_FAULTS]) + more
