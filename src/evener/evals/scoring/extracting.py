"""What a reply comes down to, so that two can be equal: its answer without the words around it. English and Chinese.

The key is not looked at: whoever knew it would hear right replies agree where wrong ones do not. Pure.
"""

from __future__ import annotations

import json
import re

from evener.evals.scoring import edits, final, match, tools
from evener.evals.scoring.declining import declines, rejects
from evener.records.answers import Answer
from evener.records.questions import Question

DECLINED = "(declined)"
SHORTEST_SHARED = 2  # Chinese characters that a reply repeats of its question
_FINAL = re.compile(
    r"(?:\b(?:final )?answer(?: is)?\b|\\boxed|答案(?:应该)?(?:就)?是?)[\s:：*={]*+([^\n{}]*)", re.IGNORECASE
)
_SENTENCE = re.compile(r"[^.!?。！？\n]*(?:[.](?=\d)[^.!?。！？\n]*)*[.!?。！？\n]?")
_LABEL = re.compile(r"^\W*(?:answer|a|答|回答)\s*[:：]", re.IGNORECASE)
_AROUND = re.compile(
    r"is|was|are|were|be|been|it|its|he|his|she|her|they|their|there|this|that|these|those|of|in|on|at|to|"
    r"for|from|by|with|as|and|so|about|around|approximately|roughly|text|passage|context|article|"
    r"according|based|says|said|states|stated|mentions|i|we|you|do|does|did|has|have|had|would|will|can|"
    r"sure|okay|well"
)
_AROUND_ZH = re.compile(
    r"需要|大约|大概|总共|一共|根据|上文|文中|文章|提到|说明|其中|应该|这个|那个|[是有为在的了它他她这那要共需约于由从]"
)
_DENIES = re.compile(r"\b(?:not|no|never|cannot)\b|n['’]t\b|不|没|无|未")
_HAN = re.compile(r"[\u3400-\u9fff\uf900-\ufaff]")


def extracted(question: Question, answer: Answer) -> str | None:
    """What an answer says; None for one without form."""
    if question.scoring == "tool-call":
        try:
            return json.dumps(tools.plain_calls(answer), sort_keys=True)
        except (ValueError, RecursionError):
            return None
    if question.scoring == "edit":
        after = edits.apply(question.category, question.context or "", answer.text, language=question.language)
        return edits.plain(after) if isinstance(after, str) else None
    if question.scoring == "final":
        return _final(question, final.said(answer.text))
    if question.scoring == "recall" and (named := _named(question, answer.text)):
        return named
    takes_back = question.category in match.DECLINING_IS_RIGHT_TOO and rejects(answer.text)
    if takes_back or answer.outcome == "refused" or declines(answer.text):
        return DECLINED
    return phrase(question.prompt, answer.text) or None


def agree(a: str, b: str) -> bool:
    """Whether a reply that says `a` also says `b`: forty minutes is in "only forty minutes", and not in "not forty"."""
    if a == b:
        return True
    return DECLINED not in (a, b) and bool(_DENIES.search(a)) == bool(_DENIES.search(b)) and match.holds(a, b)


def phrase(prompt: str, text: str) -> str:
    """The words of a reply that answer: of what it calls its answer, or of its first sentence, those that are not the
    question's own and not there for grammar. All of them where nothing else is left."""
    called = [said for said in _FINAL.findall(text) if match.plain(said)]
    sentences = called[-1:] or _SENTENCE.findall(_LABEL.sub("", text))
    plain = next((plain for sentence in sentences if (plain := match.plain(sentence))), "")
    if _HAN.search(plain):
        return _chinese(prompt, plain.replace(" ", "")) or plain
    asked = set(match.plain(prompt).split())
    return " ".join(word for word in plain.split() if word not in asked and not _AROUND.fullmatch(word)) or plain


def _final(question: Question, said: str | None) -> str | None:
    """Numbers in one form. A letter is what it begins with, where letters are asked for."""
    if said is None:
        return None
    numbers = final.NUMBER.findall(said)
    if len(numbers) == 1:
        return f"{float(numbers[0]):g}"
    return said[:1] if all(len(one) == 1 for one in question.references) and said[1:2] in ("", " ") else said


def _named(question: Question, text: str) -> str:
    """Which of all that could be found, right or wrong, a reply names."""
    return "|".join(sorted(name for name in (*question.references, *question.wrong) if match.holds(text, name)))


def _chinese(prompt: str, plain: str) -> str:
    """Without what it shares with the question, and without the words around."""
    asked = match.plain(prompt).replace(" ", "")
    kept, at = "", 0
    while at < len(plain):
        end = at + SHORTEST_SHARED
        if plain[at:end] not in asked or end > len(plain):
            kept, at = kept + plain[at], at + 1
            continue
        while end < len(plain) and plain[at : end + 1] in asked:
            end += 1
        at = end
    return _AROUND_ZH.sub("", kept)
