"""Answers compared with references, and answers that rightly decline. Pure.

A question without references cannot be answered from what is given: declining is then right, and any answer is wrong.
Whether a reply declines is told by `declining`. An answer that names a right and a wrong alternative side by side has
not chosen, and is wrong; one that takes the wrong one back has.
"""

from __future__ import annotations

import re
import unicodedata

from evener.evals.scoring.declining import TAKES_BACK, declines, rejects
from evener.records.answers import EVIDENCE, Answer, Outcome, Score
from evener.records.questions import Question

DECLINING_IS_RIGHT_TOO = ("false-premise",)
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_HAN = re.compile(r"[\u3400-\u9fff\uf900-\ufaff]")
_NUMERAL = r"[\d〇零一二两三四五六七八九十百千万亿]"
_THOUSANDS = re.compile(r"(?<![\d.])\d{1,3}(?:([,\u202f\u00a0 ])\d{3})(?:\1\d{3})*(?![\d,])")
_SCALES = {"hundred", "thousand", "million", "billion"}
_NUMBER_WORDS = _SCALES | {
    *("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "thirteen"),
    *("fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty", "thirty", "forty", "fifty"),
    *("sixty", "seventy", "eighty", "ninety"),
}
# Ends of clauses that cut no number.
_CLAUSES = re.compile(
    r"[;:!?，；：。！？\n]|(?<!\d)[.,]|[.,](?!\d)|\b(?=but\b|rather than\b|instead of\b)|(?=而是|而不是|而非)", re.I
)
_OR = re.compile(r"\b(?:or|either|maybe|perhaps|possibly)\b|或|还是|要么|也许|可能", re.IGNORECASE)
_MARKS = re.compile(r"[^\w\s.%€$£°-]|_|(?<!\d)\.|\.(?!\d)|(?<!\d)-|-(?!\d)")


def score(question: Question, answer: Answer) -> Score:
    """1 when right, else 0. `details["class"]` is C (right), I (wrong), or NA (declined)."""
    if answer.outcome not in (*EVIDENCE, "refused"):
        return Score(asked=answer.asked, scorer="match", value=None, why=answer.outcome)
    found = any(holds(answer.text, reference) for reference in question.references)
    others = [wrong for wrong in question.wrong if found and _is_offered(answer.text, wrong, question)]
    declined = not found and (answer.outcome == "refused" or declines(answer.text))
    outcome: Outcome | None = "abstained" if declined else None
    right = (found and not others) or (declined and not question.references)
    if not right and question.category in DECLINING_IS_RIGHT_TOO:
        right = declined or rejects(answer.text)
    kind = "C" if right else "NA" if declined else "I"
    details = {"class": kind, "others": others} if others else {"class": kind}
    return Score(asked=answer.asked, scorer="match", value=float(right), outcome=outcome, details=details)


def _is_offered(text: str, wrong: str, question: Question) -> bool:
    """Whether a wrong alternative stands in the text as an answer of its own: in a clause that does not take it back,
    and not as a part of every right one. What the context tells too may be told again beside the answer: "31 pupils in
    two classes"; it is offered where something says "or"."""
    if not holds(text, wrong) or any(holds(reference, wrong) for reference in question.references):
        return False
    clauses = [clause for clause in _CLAUSES.split(text) if holds(clause, wrong)]
    offered = not clauses or any(not TAKES_BACK.search(clause) for clause in clauses)
    return offered and (not holds(question.context or "", wrong) or bool(_OR.search(text)))


def holds(text: str, reference: str) -> bool:
    """Whether the reference stands in the text as a phrase of its own, whatever its case, marks and articles."""
    wanted, whole = plain(reference), plain(text)
    if not wanted:
        return False
    if _HAN.search(wanted):
        return _in_chinese(wanted.replace(" ", ""), whole.replace(" ", ""))
    return _in_words(wanted.split(), whole.split())


def _in_words(wanted: list[str], whole: list[str]) -> bool:
    """As whole words that cut no number: forty is not in forty-two, nor six in six hundred."""
    for at in range(len(whole) - len(wanted) + 1):
        if whole[at : at + len(wanted)] == wanted:
            before, after = whole[at - 1 : at], whole[at + len(wanted) : at + len(wanted) + 1]
            if not _is_cut(before, wanted[:1]) and not _is_cut(wanted[-1:], after):
                return True
    return False


def _is_cut(left: list[str], right: list[str]) -> bool:
    """Whether two neighbouring words are one number."""
    both = {*left, *right} & _NUMBER_WORDS
    return len(both) == 2 or (bool(both & _SCALES) and any(word[0].isdigit() for word in (*left, *right)))


def _in_chinese(wanted: str, whole: str) -> bool:
    """As a part of the text that cuts no number: 六 is not in 十六, nor 5人 in 15人."""
    before = rf"(?<!{_NUMERAL})(?<!\d\.)" if re.match(_NUMERAL, wanted) else ""
    after = rf"(?!{_NUMERAL}|\.\d)" if re.search(rf"{_NUMERAL}$", wanted) else ""
    return re.search(f"{before}{re.escape(wanted)}{after}", whole) is not None


def plain(text: str) -> str:
    """Lower case, without marks, articles and thousands separators; one blank between words."""
    text = unicodedata.normalize("NFKC", text).casefold()
    text = _THOUSANDS.sub(lambda found: found[0].replace(found[1], ""), text)
    return " ".join(_ARTICLES.sub(" ", _MARKS.sub(" ", text)).split())
