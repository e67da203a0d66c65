"""Instructions that code can check: lengths, words, formats. Each kind of check is one small function. Pure.

A text is counted as its readers count: English by words, Chinese by characters.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from evener.evals.scoring import fences, patterns
from evener.records.answers import EVIDENCE, Answer, Score
from evener.records.questions import Check, Question

SLOW_PATTERN = "a pattern that takes too long"
_HAN = re.compile(r"[\u3400-\u9fff\uf900-\ufaff]")
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_SENTENCE_END = re.compile(
    r"[.!?](?=[\s\"'”’)\]]|$)|[。！？]"
)  # "?!" ends nothing twice: what lies between is no sentence
_FENCED = re.compile(r"```(?:(?!```).)*+(?:```)?", re.DOTALL)  # closed, or to the end: each place is read once
_BULLET = re.compile(r"^[ \t]*[-*•·][ \t]+\S", re.MULTILINE)
_NUMBERED = re.compile(r"^[ \t]*(\d{1,6})[.)、．][ \t]*\S", re.MULTILINE)
_HEADING = re.compile(r"^#{1,6}[ \t]+\S", re.MULTILINE)


def score(question: Question, answer: Answer) -> Score:
    """1 when every check holds, else 0; `details` has each check's result."""
    if answer.outcome not in EVIDENCE:
        return Score(asked=answer.asked, scorer="checks", value=None, why=answer.outcome)
    try:
        results = [(check, holds(check, answer.text)) for check in question.checks]
    except patterns.TooSlow as error:
        return Score(
            asked=answer.asked, scorer="checks", value=None, why=SLOW_PATTERN, details={"pattern": error.args[0]}
        )
    return Score(
        asked=answer.asked,
        scorer="checks",
        value=float(all(held for _, held in results)),
        details={
            "held": sum(held for _, held in results),
            "of": len(results),
            "failed": [told(check) for check, held in results if not held],
        },
    )


def holds(check: Check, text: str) -> bool:
    """Raises KeyError for a kind that is none, TooSlow for a pattern that ran out of time."""
    return KINDS[check.kind](text.strip(), check.value)


def told(check: Check) -> str:
    return f"{check.kind}: {json.dumps(check.value, ensure_ascii=False)}"


def words(text: str) -> list[str]:
    """English words; each Chinese character is one."""
    return [part for found in _WORD.findall(text) for part in _split_han(found)]


def _split_han(word: str) -> list[str]:
    return [part for part in re.split(r"([\u3400-\u9fff\uf900-\ufaff])", word) if part]


def sentences(text: str) -> list[str]:
    """Parts that end in a full stop of either language, and what is left over without one."""
    return [part.strip() for part in _SENTENCE_END.split(text) if _WORD.search(part)]


def paragraphs(text: str) -> list[str]:
    return [part for part in re.split(r"\n\s*\n", text) if part.strip()]


def lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.strip()]


def _within(count: int, value: Any) -> bool:
    """`value` is a number, or {"least": n, "most": n} with either left out."""
    if isinstance(value, Mapping):
        return bool(value.get("least", 0) <= count <= value.get("most", count))
    return bool(count == value)


def _listed(value: Any) -> list[str]:
    return [value] if isinstance(value, str) else list(value)


def _times(text: str, word: str) -> int:
    """How often a word or phrase stands there; English ones as whole words, in any case."""
    if _HAN.search(word):
        return text.count(word)
    return len(re.findall(rf"(?<![^\W_]){re.escape(word)}(?![^\W_])", text, re.IGNORECASE))


def _json(text: str) -> Any:
    """The JSON value that the whole answer is, fenced or not; None when it is none."""
    body = text
    if "```" in text:
        fenced = fences.code(text, "json")
        outside = _FENCED.sub("", text).strip()
        if fenced is None or outside:
            return None
        body = fenced
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def _is_language(text: str, value: str) -> bool:
    """More than nine letters in ten belong to the language; code and digits do not count."""
    letters = [c for c in re.sub(r"`[^`\n]*`|https?://\S+", "", _FENCED.sub("", text)) if c.isalpha()]
    han = sum(bool(_HAN.match(c)) for c in letters)
    latin = sum(c.isascii() for c in letters)
    mine = {"zh": han, "en": latin}[value]
    return bool(letters) and mine > 0.9 * len(letters)


def _has_keys(text: str, value: Sequence[str]) -> bool:
    data = _json(text)
    return isinstance(data, dict) and list(data) == list(value)


def _has_types(text: str, value: Mapping[str, str]) -> bool:
    data = _json(text)
    return isinstance(data, dict) and all(_type(data.get(key)) in _TYPES[kind] for key, kind in value.items())


_TYPES = {
    "string": ("str",),
    "number": ("int", "float"),
    "integer": ("int",),
    "list": ("list",),
    "object": ("dict",),
    "boolean": ("bool",),
}


def _type(value: object) -> str:
    return type(value).__name__


def _in_order(text: str, value: Sequence[str]) -> bool:
    at = 0
    for part in value:
        found = text.casefold().find(part.casefold(), at)
        if found < 0:
            return False
        at = found + len(part)
    return True


def _is_numbered(text: str, value: Any) -> bool:
    numbers = [int(number) for number in _NUMBERED.findall(text)]
    return numbers == list(range(1, len(numbers) + 1)) and _within(len(numbers), value)


def _table(text: str, value: Mapping[str, int]) -> bool:
    """A Markdown table with that many columns and rows, header and rule not counted."""
    rows = [line.strip().strip("|").split("|") for line in lines(text) if line.strip().startswith("|")]
    return (
        len(rows) >= 2
        and all(set("".join(cell)) <= set("-: ") and cell.strip() for cell in rows[1])
        and all(len(row) == value["columns"] for row in rows)
        and _within(len(rows) - 2, value["rows"])
    )


def _csv(text: str, value: Mapping[str, int]) -> bool:
    body = fences.code(text, "csv") or text
    try:
        rows = [row for row in csv.reader(io.StringIO(body.strip())) if row]
    except csv.Error:  # a field longer than any table has
        return False
    return bool(rows) and all(len(row) == value["columns"] for row in rows) and _within(len(rows), value["rows"])


def _letters_only(text: str, transform: Callable[[str], str]) -> bool:
    return text == transform(text) and any(c.isalpha() for c in text)


def _acrostic(text: str, value: str) -> bool:
    firsts = [next((c for c in line if c.isalpha()), "") for line in lines(text)]
    return "".join(firsts).casefold() == value.casefold()


KINDS: dict[str, Callable[[str, Any], bool]] = {
    "words": lambda text, value: _within(len(words(text)), value),
    "characters": lambda text, value: _within(len(re.sub(r"\s", "", text)), value),
    "han": lambda text, value: _within(len(_HAN.findall(text)), value),
    "sentences": lambda text, value: _within(len(sentences(text)), value),
    "paragraphs": lambda text, value: _within(len(paragraphs(text)), value),
    "lines": lambda text, value: _within(len(lines(text)), value),
    "bullets": lambda text, value: _within(len(_BULLET.findall(text)), value),
    "numbered": _is_numbered,
    "headings": lambda text, value: _within(len(_HEADING.findall(text)), value),
    "each-sentence-words": lambda text, value: all(_within(len(words(one)), value) for one in sentences(text)),
    "each-line-words": lambda text, value: all(_within(len(words(one)), value) for one in lines(text)),
    "contains": lambda text, value: all(_times(text, word) for word in _listed(value)),
    "contains-any": lambda text, value: any(_times(text, word) for word in _listed(value)),
    "excludes": lambda text, value: not any(_times(text, word) for word in _listed(value)),
    "excludes-characters": lambda text, value: not any(c in text for c in value),
    "times": lambda text, value: all(_within(_times(text, word), count) for word, count in value.items()),
    "starts": lambda text, value: text.startswith(tuple(_listed(value))),
    "ends": lambda text, value: text.endswith(tuple(_listed(value))),
    "order": _in_order,
    "language": _is_language,
    "upper": lambda text, _value: _letters_only(text, str.upper),
    "lower": lambda text, _value: _letters_only(text, str.lower),
    "json": lambda text, _value: _json(text) is not None,
    "json-keys": _has_keys,
    "json-types": _has_types,
    "json-list": lambda text, value: isinstance(found := _json(text), list) and _within(len(found), value),
    "table": _table,
    "csv": _csv,
    "matches": lambda text, value: patterns.is_whole(value, text),
    "is": lambda text, value: text in _listed(value),
    "no-markdown": lambda text, _value: (
        not re.search(r"\*\*|^#{1,6} |```|^[ \t]*[-*] |\[[^\[\]]+\]\(", text, re.MULTILINE)
    ),
    "acrostic": _acrostic,
    "distinct-lines": lambda text, _value: len(set(lines(text))) == len(lines(text)),
}
