"""Recorded requests, one JSON object per line, to be sent again. Pure: text in, records out; one clear error."""

from __future__ import annotations

import json
from typing import Any

from evener.bench.load import Replayed
from evener.errors import ConfigurationError

KEYS = ("messages", "prompt", "turns", "max_tokens", "at_s", "user")
EXAMPLE = '{"prompt": "Translate: ...", "max_tokens": 200}'


def parse_replay(text: str, *, source: str) -> tuple[Replayed, ...]:
    """One request per line; blank lines are skipped, and other keys than ours are ignored.

    Raises ConfigurationError, naming `source` and the line: no JSON object, not exactly one of `messages`, `prompt` and
    `turns`, or a value of the wrong kind; and for a text without any request.
    """
    found = [
        _request(line, where=f"{source}:{number}")
        for number, line in enumerate(text.splitlines(), start=1)
        if line.strip()
    ]
    if not found:
        raise ConfigurationError(f"{source}: no request in it", hint=f"one JSON object per line, e.g. {EXAMPLE}")
    timed = [one.at_s is not None for one in found]
    if any(timed) and not all(timed):
        raise ConfigurationError(f"{source}: some lines have at_s and some have none")
    return tuple(found)


def _request(line: str, *, where: str) -> Replayed:
    try:
        data = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ConfigurationError(f"{where}: {_why(error)}", hint=f"one JSON object per line, e.g. {EXAMPLE}") from None
    if not isinstance(data, dict):
        raise ConfigurationError(f"{where}: not a JSON object", hint=f"e.g. {EXAMPLE}")
    said = [key for key in ("messages", "prompt", "turns") if data.get(key)]
    if len(said) != 1:
        have = " and ".join(said) if said else "none"
        raise ConfigurationError(f"{where}: one of messages, prompt and turns is wanted, it has {have}")
    messages, turns = _said(data, where)
    return Replayed(
        messages=messages,
        turns=turns,
        max_tokens=_tokens(data.get("max_tokens"), where),
        at_s=_seconds(data.get("at_s"), where),
        user=None if data.get("user") is None else str(data["user"]),
    )


def _said(data: dict[str, Any], where: str) -> tuple[tuple[dict[str, Any], ...], tuple[str, ...]]:
    if prompt := data.get("prompt"):
        return (_user(_text(prompt, f"{where}: prompt")),), ()
    if (turns := data.get("turns")) is not None:
        if not isinstance(turns, list):
            raise ConfigurationError(f"{where}: turns is no list of texts")
        first, *rest = [_text(turn, f"{where}: turns") for turn in turns]
        return (_user(first),), tuple(rest)
    messages = data["messages"]
    if not isinstance(messages, list) or not all(
        isinstance(one, dict) and isinstance(one.get("role"), str) and "content" in one for one in messages
    ):
        raise ConfigurationError(f"{where}: messages is no list of objects with role and content")
    return tuple(messages), ()


def _text(value: object, what: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ConfigurationError(f"{what}: not a text")
    return value


def _tokens(value: object, where: str) -> int | None:
    if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 1):
        raise ConfigurationError(f"{where}: max_tokens is no whole number from 1")
    return value


def _seconds(value: object, where: str) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
        raise ConfigurationError(f"{where}: at_s is no number of seconds from 0")
    return float(value)


def _user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def _why(error: BaseException) -> str:
    return f"not JSON: {error.msg} (column {error.colno})" if isinstance(error, json.JSONDecodeError) else "not JSON"
