"""Questions of a suite, and what counts as a right answer. One line of a suite file is one question."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

Scoring = Literal[
    "translation",  # chrF and BLEU against the references; a judge's MQM where there is one
    "match",  # one of the references, normalised, or an abstention where there is no reference
    "final",  # a last line "Answer: ..." says one of the references
    "tests",  # the tests pass in a sandbox
    "tool-call",  # the call asked for, as JSON
    "edit",  # the file after the edit is the reference
    "fill",  # the code with the hole filled passes the tests
    "checks",  # every check holds
    "same",  # the same text as another layout gave: a canary
    "recall",  # the needle is in the answer
    "rubric",  # a judge, by the rubric
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One constraint that code can check. `kind` names the rule, `value` holds what it asks for."""

    kind: str
    value: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One question. Errors are clustered by `cluster`: a document, or a question with its twin.

    `references` are right answers; for "match" an empty tuple means that abstaining is right. `wrong` is a plausible
    answer that the scorer must fail. `source` says where the item comes from or how it was made.
    """

    id: str
    cluster: str
    category: str
    prompt: str
    scoring: Scoring
    source: str
    system: str | None = None
    context: str | None = None
    references: tuple[str, ...] = ()
    wrong: tuple[str, ...] = ()
    checks: tuple[Check, ...] = ()
    language: str | None = None  # of the code, or of the answer
    tests: str | None = None  # code that exits 0 when the answer is right
    tools: tuple[dict[str, Any], ...] = ()  # as in a chat request
    rubric: str | None = None
    twin: str | None = None  # the id of the question this one was made from
    traps: tuple[str, ...] = ()  # what a careless answer falls into
    reviewed: bool = False
    quick: bool = False  # belongs to the quick subset


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """Questions that belong together. `sha256` is of the file: two runs of other questions are not compared."""

    name: str
    title: str
    questions: tuple[Question, ...]
    sha256: str
    path: str | None = None
    version: int = 1
    licence: str | None = None
    notes: tuple[str, ...] = field(default=())
