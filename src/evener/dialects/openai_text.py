"""The words of a streamed OpenAI-compatible answer, for a conversation that goes on. Pure; knows nothing of times."""

from __future__ import annotations

import json
from collections.abc import Iterable

from evener.dialects.sse import SseParser


def answer_text(pieces: Iterable[bytes]) -> str:
    """What the answer said, without its reasoning: that is not sent back. Events that say nothing readable are
    skipped."""
    parser = SseParser()
    return "".join(_said(event.data) for piece in pieces for event in parser.feed(piece))


def _said(data: str) -> str:
    try:
        chunk = json.loads(data)
        choice = chunk["choices"][0]
        text = choice["delta"]["content"] if "delta" in choice else choice["text"]
    except (ValueError, RecursionError, LookupError, TypeError):
        return ""
    return text if isinstance(text, str) else ""
