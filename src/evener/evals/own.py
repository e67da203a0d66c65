"""Questions of one's own: from a table or a file to a suite, with clusters and twins proposed. Pure.

Nothing is guessed about what is right: a proposal is made where the text itself gives the reason, and is said.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from evener.codec import to_data
from evener.errors import ConfigurationError
from evener.evals.scoring.match import holds
from evener.evals.scoring.translation import units
from evener.records.questions import Question, Scoring, Suite

COLUMNS = (
    *("id", "cluster", "category", "question", "context", "reference", "wrong", "rubric", "test", "language", "source"),
)
SEPARATOR = "|"  # between several references of one cell, and several wrong answers
_SENTENCE = re.compile(r"[^.!?。！？\n]+[.!?。！？]*\s*")


def from_csv(content: bytes, *, source: str) -> bytes:
    """A table with a header to the lines of a suite. Only `question` is needed.

    With a `test` the answer is code, with a `rubric` a judge decides, else it is compared with the references; without
    any of these declining is right. Raises ConfigurationError naming the file and the columns.
    """
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"{source}: not UTF-8 (byte {error.start})", hint="save it as CSV UTF-8") from None
    try:
        rows = list(csv.DictReader(io.StringIO(text), restkey="", strict=True))
    except csv.Error as error:
        raise ConfigurationError(f"{source}: {error}") from None
    names = list(rows[0]) if rows else []
    unknown = [name for name in names if name not in COLUMNS]
    if "question" not in names or unknown:
        raise ConfigurationError(
            f"{source}: " + (f"unknown column {unknown[0]!r}" if unknown else "no column 'question'"),
            hint=f"columns are {', '.join(COLUMNS)}; several references in one cell are separated by {SEPARATOR}",
        )
    lines = [_line(number, {k: (v or "").strip() for k, v in row.items()}) for number, row in enumerate(rows, start=1)]
    return "\n".join(json.dumps(line, ensure_ascii=False) for line in lines).encode()


def _line(number: int, row: Mapping[str, str]) -> dict[str, Any]:
    name = row.get("id") or f"row-{number}"
    scoring: Scoring = "tests" if row.get("test") else "rubric" if row.get("rubric") else "match"
    line = {
        "id": name,
        "cluster": row.get("cluster") or name,
        "category": row.get("category") or "own",
        "prompt": row.get("question", ""),
        "scoring": scoring,
        "source": row.get("source") or "own",
        "context": row.get("context"),
        "references": _parts(row.get("reference", "")),
        "wrong": _parts(row.get("wrong", "")),
        "rubric": row.get("rubric"),
        "tests": row.get("test"),
        "language": row.get("language") or ("python" if row.get("test") else None),
    }
    return {key: value for key, value in line.items() if value}


def _parts(cell: str) -> list[str]:
    return [part.strip() for part in cell.split(SEPARATOR) if part.strip()]


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposals:
    """What could be made of a suite. `clusters` are questions that share a context and stand alone; `twins` are
    questions whose answer stands in one sentence of the context, with that sentence."""

    clusters: tuple[tuple[str, ...], ...]
    twins: tuple[tuple[str, str], ...]


def proposals(suite: Suite) -> Proposals:
    known = {q.twin for q in suite.questions if q.twin}
    return Proposals(
        clusters=tuple(_shared_contexts(suite.questions)),
        twins=tuple(
            (q.id, sentence.strip())
            for q in suite.questions
            if q.id not in known and q.twin is None and (sentence := answering_sentence(q)) is not None
        ),
    )


def _shared_contexts(questions: Sequence[Question]) -> Iterable[tuple[str, ...]]:
    sizes = Counter(q.cluster for q in questions)
    by_context: dict[str, list[str]] = {}
    for question in questions:
        if question.context and sizes[question.cluster] == 1:
            by_context.setdefault(question.context, []).append(question.id)
    return (tuple(names) for names in by_context.values() if len(names) > 1)


def answering_sentence(question: Question) -> str | None:
    """The one sentence of the context that holds a reference; None when there is none, or more than one."""
    if question.scoring != "match" or not question.context or not question.references:
        return None
    found = [s for s in _SENTENCE.findall(question.context) if any(holds(s, r) for r in question.references)]
    rest = question.context.replace(found[0], "") if len(found) == 1 else ""
    return found[0] if units(rest) >= 3 else None


def with_clusters(questions: Sequence[Question]) -> tuple[Question, ...]:
    """Questions that share a context share a cluster, which is called after the first of them."""
    first = {name: names[0] for names in _shared_contexts(questions) for name in names}
    return tuple(replace(q, cluster=first[q.id]) if q.id in first else q for q in questions)


def with_twins(questions: Sequence[Question]) -> tuple[Question, ...]:
    """After each question that can have one, the same question without the sentence that answers it."""
    known = {q.twin for q in questions if q.twin}
    made: list[Question] = []
    for question in questions:
        made.append(question)
        sentence = answering_sentence(question)
        if sentence is None or question.context is None or question.id in known or question.twin is not None:
            continue
        made.append(
            replace(
                question,
                id=f"{question.id}-removed",
                category="answer-removed",
                context=question.context.replace(sentence, "").strip(),
                references=(),
                wrong=question.references[:1],
                twin=question.id,
                source=f"{question.id} without the sentence that answers it",
                reviewed=False,
            )
        )
    return tuple(made)


def lines_of(suite: Suite) -> str:
    """A suite as the text of its file: a header, then one question per line, without what is empty."""
    header = {"suite": suite.name, "version": suite.version, "title": suite.title}
    header |= {"licence": suite.licence} if suite.licence else {}
    header |= {"notes": list(suite.notes)} if suite.notes else {}
    rows = [{k: v for k, v in to_data(q).items() if v not in (None, [], False)} for q in suite.questions]
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in (header, *rows))
