"""Answers compared with references, and answers that rightly decline. Pure.

A question without references cannot be answered from what is given: declining is then right, and any answer is wrong.
How often declining is recognised was measured on labelled replies: docs/explanation/evaluations.md.
"""

from __future__ import annotations

import re
import unicodedata

from evener.records.answers import EVIDENCE, Answer, Outcome, Score
from evener.records.questions import Question

DECLINING_IS_RIGHT_TOO = ("false-premise",)
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_HAN = re.compile(r"[\u3400-\u9fff\uf900-\ufaff]")
_THOUSANDS = re.compile(r"(?<=\d)[,\u202f\u00a0 ](?=\d{3}(?!\d))")
_MARKS = re.compile(r"[^\w\s.%€$£°-]|_|(?<!\d)\.|\.(?!\d)|(?<!\d)-|-(?!\d)")

_DECLINES = re.compile(
    "|".join(
        (
            r"\b(?:do(?:es)? not|don't|doesn't|did not|didn't|is not|isn't|are not|aren't|was not|wasn't|never|nowhere)"
            r"\b[^.!?\n]{0,40}\b(?:say|state|mention|specif\w+|provide\w*|contain\w*|include|give|given|tell|stated|"
            r"mentioned|indicate\w*|disclosed?|revealed?|known?|clear|available|address|answer\w*|found)\b",
            r"\b(?:cannot|can't|can not|could not|couldn't|not possible to|impossible to|unable to|no way to)\b"
            r"[^.!?\n]{0,30}\b(?:answer|determin\w*|know|tell|say|predict|find|verify|confirm|be (?:known|determined|"
            r"answered|predicted|inferred))\b",
            r"\b(?:i do not|i don't|nobody|no one|we do not|we don't) (?:really )?know\b",
            r"\bno (?:such )?(?:information|mention|data|record|details?|evidence|indication|way of knowing)\b",
            r"\b(?:not enough|insufficient) (?:information|context|detail)\b",
            r"\bnot (?:mentioned|stated|specified|provided|given|known|disclosed|available|answerable|in the (?:text|"
            r"context|passage))\b",
            r"\b(?:is|are|remains?) unknown\b|^\W*unknown\W*$|\bunanswerable\b|\bi'?m not (?:sure|certain|aware)\b",
            r"没有(?:提到|提及|说明|说|给出|提供|写明|交代|涉及|相关|足够|任何|这方面|记载|透露|信息)|未(?:提到|提及|说明|给出|提供|"
            r"写明|交代|涉及|透露|指明|知|公布)|并未|无法(?:得知|确定|回答|判断|知道|预测|知晓|确认|推断|从)|不(?:知道|清楚|确定|得而知|详)|"
            r"不能(?:确定|回答|判断|得知|预测)|没办法(?:知道|确定|回答)|信息不足|无从(?:得知|知晓|判断)|没人知道|无可奉告",
        )
    ),
    re.IGNORECASE,
)
_REJECTS = re.compile(
    "|".join(
        (
            r"\b(?:false|incorrect|wrong|mistaken|faulty) (?:premise|assumption|claim)\b|\bpremise (?:is|of)\b",
            r"\b(?:there (?:is|was|are|were|has been|have been) no|no such|has never|never (?:existed|happened|won|was|"
            r"did|had|wrote|visited|took place))\b",
            r"\b(?:did not|didn't|was not|wasn't|has not|hasn't|have not|is not|isn't|does not|doesn't|cannot)\b",
            r"\b(?:in fact|actually)\b",
            r"不存在|从未|从来没|并不是|并非|并没有|不是|没有|前提|说法有误|不正确|错误|事实上|实际上",
        )
    ),
    re.IGNORECASE,
)


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


def declines(text: str) -> bool:
    """Whether a reply says that it does not know, or that nothing given tells."""
    return bool(_DECLINES.search(text))


def rejects(text: str) -> bool:
    """Whether a reply says that what the question takes for granted is not so."""
    return bool(_REJECTS.search(text))
