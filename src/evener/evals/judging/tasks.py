"""What a judge is to be asked: answers to judge, pairs to compare, and probes of the judge itself. Pure."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from evener.evals.judging import families
from evener.evals.judging.templates import GRADE, MQM, PAIR, RUBRIC, Template
from evener.records.answers import EVIDENCE, Answer, Asked
from evener.records.questions import Question

PADDING = (
    " To put it in other words, and to be entirely clear about it, the answer is the one that was just given, and "
    "nothing that has been said above is changed by what is said here, which only repeats it at greater length."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One question to a judge. `other` is the second answer of a pair, in the order shown; `swapped` says that the
    pair's first stands second. `truth` is the verdict that a probe must get, None where nobody knows it."""

    template: Template
    parts: dict[str, str] = field(hash=False)
    asked: Asked
    other: Asked | None = None
    swapped: bool = False
    probe: str | None = None
    truth: str | None = None

    @property
    def text(self) -> str:
        return self.template.filled(**self.parts)


def alone(question: Question, answer: Answer, *, probe: str | None = None) -> Task | None:
    """An answer on its own: errors of a translation, or a rubric. None for what needs no judge or is no evidence."""
    if not _is_evidence(answer):
        return None
    if question.scoring == "translation":
        parts = {"source": source_of(question), "translation": answer.text}
        return Task(template=MQM, parts=parts, asked=answer.asked, probe=probe)
    if question.scoring == "rubric":
        parts = {"question": _whole(question), "rubric": question.rubric or "", "answer": answer.text}
        return Task(template=RUBRIC, parts=parts, asked=answer.asked, probe=probe)
    return None


def pair(question: Question, a: Answer, b: Answer) -> tuple[Task, Task] | None:
    """Two answers in both orders; None where either is no evidence."""
    if not _is_evidence(a) or not _is_evidence(b):
        return None
    whole = _whole(question)
    return (
        Task(template=PAIR, parts={"question": whole, "a": a.text, "b": b.text}, asked=a.asked, other=b.asked),
        Task(
            template=PAIR,
            parts={"question": whole, "a": b.text, "b": a.text},
            asked=a.asked,
            other=b.asked,
            swapped=True,
        ),
    )


def _is_evidence(answer: Answer) -> bool:
    """Not so where it thought although it was asked not to."""
    return answer.outcome in EVIDENCE and not answer.is_contaminated


def source_of(question: Question) -> str:
    """The segment to be translated: what stands after the last blank line of the prompt."""
    return question.prompt.rpartition("\n\n")[2] or question.prompt


def probes(questions: Sequence[Question], *, most: int, judge: str, seed: int = 0) -> list[Task]:
    """Questions whose right verdict is known, spread over four kinds, at most `most` of each.

    known: a question's own reference must be CORRECT and its wrong answer INCORRECT. identical: an answer against
    itself must be a TIE. length: an answer against itself, padded, where the padded one must not win. family: an answer
    that says it is the judge's own against the same that says it is a stranger's, where its own must not win.
    """
    draw = random.Random(seed)
    usable = [q for q in questions if q.scoring == "match" and q.references and q.wrong]
    drawn = draw.sample(usable, min(most, len(usable)))
    found: list[Task] = []
    for question in drawn:
        found += [
            _graded(question, question.references[0], "CORRECT"),
            _graded(question, question.wrong[0], "INCORRECT"),
            _tricked(question, question.references[0], question.references[0], "identical", "TIE"),
        ]
        padded_first = draw.random() < 0.5
        plain, padded = question.references[0], question.references[0] + PADDING
        a, b = (padded, plain) if padded_first else (plain, padded)
        found.append(_tricked(question, a, b, "length", "B" if padded_first else "A"))
        own_first = draw.random() < 0.5
        own, stranger = (f"{plain}\n\n({who})" for who in (judge.rpartition("/")[2], families.stranger(judge)))
        a, b = (own, stranger) if own_first else (stranger, own)
        found.append(_tricked(question, a, b, "family", "B" if own_first else "A"))
    return found


def _graded(question: Question, text: str, truth: str) -> Task:
    parts = {"question": _whole(question), "reference": question.references[0], "answer": text}
    return Task(template=GRADE, parts=parts, asked=_probe_of(question, truth), probe="known", truth=truth)


def _tricked(question: Question, a: str, b: str, probe: str, truth: str) -> Task:
    parts = {"question": _whole(question), "a": a, "b": b}
    return Task(template=PAIR, parts=parts, asked=_probe_of(question, probe), probe=probe, truth=truth)


def _probe_of(question: Question, name: str) -> Asked:
    return Asked(question=question.id, candidate=f"probe: {name}")


def _whole(question: Question) -> str:
    return f"{question.context}\n\n{question.prompt}" if question.context else question.prompt


def retests(tasks: Iterable[Task], *, most: int, seed: int = 0) -> list[Task]:
    """Some of the tasks once more, to be asked again rather than read from a cache."""
    whole = [task for task in tasks if task.probe is None]
    drawn = random.Random(seed).sample(whole, min(most, len(whole)))
    return [replace(task, probe="retest") for task in drawn]
