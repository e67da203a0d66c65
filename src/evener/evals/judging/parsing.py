"""A judge's reply to a verdict, or to none. Strict: what the last verdict line does not say, nobody said. Pure.

A reply that cannot be read is "judge_unparseable", with the raw text kept. Nothing is ever guessed from single letters,
from silence, or from what the judge thought before it answered.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from evener.evals.outcomes import split_thinking

Severity = Literal["critical", "major", "minor", "punctuation"]
SEVERITIES: tuple[Severity, ...] = ("critical", "major", "minor", "punctuation")
# A line that speaks of its verdict, well formed or not: the last of these must be well formed.
_MENTION = re.compile(r"^[\W_]*VERDICT|VERDICT[\W_]{0,8}[:：]", re.IGNORECASE)
_VERDICT = re.compile(r"[\s>*_#`-]*VERDICT[*_`]*[ \t]*[:：](.*)", re.IGNORECASE | re.DOTALL)
_DRESS = " \t\r*_`\"'“”[](){}<>.。!"
_ERROR = re.compile(r"^[ \t>*-]*ERROR[*_]*[ \t]*[:：][ \t]*(.+)$", re.IGNORECASE | re.MULTILINE)


def verdict(reply: str, offered: Sequence[str]) -> str | None:
    """The last verdict line's word, in the spelling of `offered`; None where it is not one of them.

    The whole rest of the line must be the word, but for case, blanks for underscores, and what dresses it (**A**,
    [[A]], a full stop).
    """
    said = last_verdict(reply)
    if said is None:
        return None
    spelled = {_plain(word): word for word in offered}
    return spelled.get(_plain(said))


def last_verdict(reply: str) -> str | None:
    """What stands after "VERDICT:" in the last line that speaks of a verdict, undressed; None where it is ill formed.

    Thinking is no answer, and a reply that never stopped thinking has none.
    """
    answer, _, is_open = split_thinking(reply)
    lines = [] if is_open else [line for line in answer.split("\n") if _MENTION.search(line)]
    found = _VERDICT.fullmatch(lines[-1]) if lines else None
    return found.group(1).strip(_DRESS) if found else None


def _plain(word: str) -> str:
    return re.sub(r"[\s_-]+", "_", word.strip(_DRESS)).upper()


@dataclass(frozen=True, slots=True)
class Flaw:
    """One error of a translation. `span` is quoted from the candidate, word for word."""

    severity: Severity
    category: str
    span: str


@dataclass(frozen=True, slots=True)
class Flaws:
    """Errors that a judge found, and how many of its quotes are not in the candidate: those count for nothing."""

    found: tuple[Flaw, ...]
    invented: int


def flaws(reply: str, candidate: str) -> Flaws | None:
    """Errors of an MQM reply: lines "ERROR: severity | category | span", then "VERDICT: <how many>".

    None unless the last verdict is the number of error lines and each of them can be read: an empty reply, a refusal
    or a list cut short is no praise.
    """
    answer, _, _ = split_thinking(reply)
    said = last_verdict(reply)
    lines = _ERROR.findall(answer)
    if said is None or not said.isdecimal() or len(said) > 4 or int(said) != len(lines):
        return None
    read = [_flaw(line) for line in lines]
    if any(flaw is None for flaw in read):
        return None
    known = [flaw for flaw in read if flaw is not None]
    real = tuple(flaw for flaw in known if flaw.span and flaw.span in candidate)
    return Flaws(found=real, invented=len(known) - len(real))


def _flaw(line: str) -> Flaw | None:
    parts = [part.strip() for part in line.split("|", 2)]
    if len(parts) != 3:
        return None
    severity = next((s for s in SEVERITIES if s == parts[0].strip(_DRESS).lower()), None)
    return None if severity is None else Flaw(severity, parts[1].strip(_DRESS).lower(), _unquoted(parts[2]))


def _unquoted(span: str) -> str:
    for left, right in (('"', '"'), ("“", "”"), ("「", "」"), ("`", "`"), ("'", "'")):
        if len(span) > 1 and span.startswith(left) and span.endswith(right):
            return span[1:-1]
    return span
