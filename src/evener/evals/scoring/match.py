"""Answers compared with references, and answers that rightly decline. Pure.

A question without references cannot be answered from what is given: declining is then right, and any answer is wrong.
Whether a reply declines is told by `declining`.
"""

from __future__ import annotations

import re
import unicodedata

from evener.evals.scoring.declining import declines, rejects
from evener.records.answers import EVIDENCE, Answer, Outcome, Score
from evener.records.questions import Question

DECLINING_IS_RIGHT_TOO = ("false-premise",)
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_HAN = re.compile(r"[\u3400-\u9fff\uf900-\ufaff]")
_THOUSANDS = re.compile(r"(?<=\d)[,\u202f\u00a0 ](?=\d{3}(?!\d))")
_MARKS = re.compile(r"[^\w\s.%€$£°-]|_|(?<!\d)\.|\.(?!\d)|(?<!\d)-|-(?!\d)")


def score(question: Question, answer: Answer) -> Score:
    """1 when right, else 0. `details["class"]` is C (right), I (wrong), or NA (declined)."""
    if answer.outcome not in (*EVIDENCE, "refused"):
        return Score(asked=answer.asked, scorer="match", value=None, why=answer.outcome)
    found = next((r for r in question.references if holds(answer.text, r)), None)
    declined = found is None and (answer.outcome == "refused" or declines(answer.text))
    outcome: Outcome | None = "abstained" if declined else None
    right = found is not None or (declined and not question.references)
    if not right and question.category in DECLINING_IS_RIGHT_TOO:
        right = declined or rejects(answer.text)
    kind = "C" if right else "NA" if declined else "I"
    return Score(asked=answer.asked, scorer="match", value=float(right), outcome=outcome, details={"class": kind})


def holds(text: str, reference: str) -> bool:
    """Whether the reference stands in the text as a phrase of its own, whatever its case, marks and articles."""
    wanted, whole = plain(reference), plain(text)
    if not wanted:
        return False
    if _HAN.search(wanted):
        return wanted.replace(" ", "") in whole.replace(" ", "")
    return f" {wanted} " in f" {whole} "


def plain(text: str) -> str:
    """Lower case, without marks, articles and thousands separators; one blank between words."""
    text = unicodedata.normalize("NFKC", text).casefold()
    text = _THOUSANDS.sub("", text)
    return " ".join(_ARTICLES.sub(" ", _MARKS.sub(" ", text)).split())
