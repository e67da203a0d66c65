"""What a reply is before it is worth anything: complete, cut short, only thinking, or an error. Pure.

Knows the shape of chat completions; knows nothing of right and wrong.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from evener.dialects.openai_errors import one_line
from evener.ports import ChatReply
from evener.records.answers import Outcome

# As models write them; the first group is the stroke of a closing one, the second its name.
THINK_TAG = re.compile(
    r"(?:(?i:<(?=/?(?:think|thinking|thought|seed:think)>))|\[(?=/?THINK\])|◁(?=/?think▷))(/?)([^>\]▷]+)[>\]▷]"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """A reply, taken apart. `text` is without its thinking, `thinking` None where there was none."""

    outcome: Outcome
    text: str = ""
    thinking: str | None = None
    finish_reason: str | None = None
    model: str | None = None  # as the server calls it
    prompt_tokens: int | None = None
    tokens: int | None = None
    thinking_tokens: int | None = (
        None  # of these, where the server counts them apart: some do not show what was thought
    )
    cached_tokens: int | None = None
    tool_calls: tuple[dict[str, Any], ...] = ()
    detail: str | None = None

    @property
    def has_thought(self) -> bool:
        return bool(self.thinking or self.thinking_tokens or self.outcome == "think_unclosed")


def read(reply: ChatReply) -> Read:
    """Never raises: what cannot be read is an outcome, with the reason in `detail`."""
    if reply.ending == "timeout":
        return Read(outcome="timeout", detail=reply.detail)
    if reply.ending != "complete":
        return Read(outcome="http_error", detail=reply.detail or reply.ending)
    document = _document(reply.body)
    if reply.status != 200 or document.get("error") is not None:
        return Read(outcome="http_error", detail=f"HTTP {reply.status}: {_error(document, reply.body)}")
    choices = document.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else None
    if choice is None:
        return Read(outcome="http_error", detail=f"no choices in the answer: {_start(reply.body)}")
    return _choice(document, choice)


def split_thinking(text: str) -> tuple[str, str | None, bool]:
    """(the answer, its thinking or None, whether thinking was left open).

    Thinking that a template opened has only the closing tag; what follows the last one is the answer.
    """
    tags = list(THINK_TAG.finditer(text))
    if not tags:
        return text, None, False
    last = tags[-1]
    if not last.group(1):  # an opening tag that nothing closes
        return "", text[last.end() :].strip() or None, True
    thinking = THINK_TAG.sub("", text[: last.start()]).strip()
    return text[last.end() :].lstrip(), thinking or None, False


def _choice(document: Mapping[str, Any], choice: Mapping[str, Any]) -> Read:
    message = _table(choice.get("message"))
    text, thinking, is_open = split_thinking(_text(message.get("content")))
    apart = _text(message.get("reasoning_content") or message.get("reasoning"))
    thinking = "\n".join(part for part in (apart.strip(), thinking) if part) or None
    made = message.get("tool_calls")
    calls = tuple(call for call in made if isinstance(call, dict)) if isinstance(made, list) else ()
    reason = choice.get("finish_reason") if isinstance(choice.get("finish_reason"), str) else None
    usage = _table(document.get("usage"))
    return Read(
        outcome=_outcome(text, thinking, calls, is_open=is_open, reason=reason, refusal=message.get("refusal")),
        text=text.strip(),
        thinking=thinking,
        finish_reason=reason,
        model=document.get("model") if isinstance(document.get("model"), str) else None,
        prompt_tokens=_count(usage.get("prompt_tokens")),
        tokens=_count(usage.get("completion_tokens")),
        thinking_tokens=_count(_table(usage.get("completion_tokens_details")).get("reasoning_tokens")),
        cached_tokens=_count(_table(usage.get("prompt_tokens_details")).get("cached_tokens")),
        tool_calls=calls,
        detail=_text(message.get("refusal")) or None,
    )


def _outcome(
    text: str, thinking: str | None, calls: tuple[object, ...], *, is_open: bool, reason: str | None, refusal: object
) -> Outcome:
    if refusal or reason == "content_filter":
        return "refused"
    if is_open:
        return "think_unclosed"
    if reason == "length":
        return "truncated"
    if text.strip() or calls:
        return "ok"
    return "reasoning_only" if thinking else "empty"


def _document(body: bytes) -> dict[str, Any]:
    try:
        data = json.loads(body)
        if rb"\ud" in body.lower():  # half a character, which no file and no request can hold
            data = json.loads(json.dumps(data, ensure_ascii=False).encode(errors="replace"))
    except (ValueError, RecursionError):
        return {}
    return _table(data)


def _table(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _error(document: Mapping[str, Any], body: bytes) -> str:
    error = document.get("error")
    message = error.get("message") if isinstance(error, dict) else error
    return one_line(str(message)) if message else _start(body)


def _start(body: bytes) -> str:
    return one_line(body[:1000].decode(errors="replace")) or "an empty body"


def _text(value: object) -> str:
    """Content is a string, null, or a list of parts."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "".join(str(part.get("text", "")) for part in value if isinstance(part, dict))
    return ""


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
