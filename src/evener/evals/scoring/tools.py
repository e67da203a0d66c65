"""Answers that call a tool: the right one, with the right arguments. Pure.

References are JSON calls, {"name": ..., "arguments": {...}}; the reference "null" means that calling nothing is right.
"""

from __future__ import annotations

import json
from typing import Any

from evener.evals.scoring import fences
from evener.records.answers import EVIDENCE, Answer, Score
from evener.records.questions import Question


def score(question: Question, answer: Answer) -> Score:
    """1 for a call that equals one of the references, in any order of its arguments; exactly one call is expected."""
    if answer.outcome not in EVIDENCE:
        return Score(asked=answer.asked, scorer="tool-call", value=None, why=answer.outcome)
    wanted = [json.loads(reference) for reference in question.references]
    try:
        calls = made(answer)
        right = len(calls) == 1 and any(_same(calls[0], call) for call in wanted if call is not None)
    except (ValueError, RecursionError) as error:
        why = "a call nested too deep" if isinstance(error, RecursionError) else str(error)
        return Score(asked=answer.asked, scorer="tool-call", value=0.0, outcome="format_invalid", why=why)
    if not calls:
        return Score(asked=answer.asked, scorer="tool-call", value=float(None in wanted))
    return Score(asked=answer.asked, scorer="tool-call", value=float(right), details={"calls": calls})


def made(answer: Answer) -> list[dict[str, Any]]:
    """Calls of the reply: its `tool_calls`, else a JSON object with a name and arguments in its text.

    Raises ValueError for a call whose arguments are no JSON object.
    """
    if answer.tool_calls:
        return [_call(call.get("function")) for call in answer.tool_calls]
    text = fences.code(answer.text, "json") or answer.text
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return []
    listed = data if isinstance(data, list) else [data]
    return [_call(item) for item in listed if isinstance(item, dict) and "name" in item]


def plain_calls(answer: Answer) -> list[Any]:
    """Calls in a form in which two that are the same are equal. Raises what `made` raises."""
    return [[call["name"], _plain(call["arguments"])] for call in made(answer)]


def _call(function: object) -> dict[str, Any]:
    if not isinstance(function, dict) or not isinstance(function.get("name"), str):
        raise ValueError("a call without a name")
    arguments = function.get("arguments", {})
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments or "{}")
        except (ValueError, RecursionError):
            raise ValueError(f"the arguments of {function['name']} are no JSON") from None
    if not isinstance(arguments, dict):
        raise ValueError(f"the arguments of {function['name']} are no JSON object")
    return {"name": function["name"], "arguments": arguments}


def _same(made: dict[str, Any], wanted: dict[str, Any]) -> bool:
    return bool(made["name"] == wanted["name"]) and _plain(made["arguments"]) == _plain(wanted.get("arguments", {}))


def _plain(value: Any) -> Any:
    """3 and 3.0 are one number, a string without its outer blanks is the same; an absent argument is None."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, bool):  # true is no 1, though Python says so
        return ("truth", value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value.strip() if isinstance(value, str) else value
