"""How OpenAI-compatible servers say that something failed: bodies, events and words in them, to classes of failure.

Pure. Each reason is one line that can be shown and written down, whatever bytes a server put in it.
"""

from __future__ import annotations

import json
from typing import Any

from evener.dialects.http1 import Exchange
from evener.records.load import FailureClass

# What servers call a prompt that is longer than one sequence may be, and a pool that ran full under several.
CONTEXT_WORDS = ("exceed_context_size_error", "context_length_exceeded", "exceeds the available context size",
                 "maximum context length")  # fmt: skip
KV_WORDS = ("context size has been exceeded", "kv cache", "kv_cache")


def http_failure(status: int, body: bytes) -> tuple[FailureClass, str]:
    """Class and one line for an answer that is not 200."""
    text = error_text(loads(body)) or one_line(body.decode(errors="replace"))
    detail = f"HTTP {status}: {text}" if text else f"HTTP {status}"
    if named := _by_words(body.decode(errors="replace")):
        return named, detail
    if status == 503 and "loading" in text.lower():
        return "model_loading", detail
    return "http_error", detail


def error_text(answer: object) -> str:
    """The message of an error body in any of the shapes servers use; "" when there is none."""
    if not isinstance(answer, dict):
        return one_line(answer) if isinstance(answer, str) else ""
    error = answer.get("error") or answer.get("message") or answer.get("detail")
    if isinstance(error, dict):
        error = error.get("message") or error.get("type") or json.dumps(error)
    return one_line(error if isinstance(error, str) else json.dumps(error)) if error else ""


def in_stream(text: str) -> FailureClass:
    """The class of an error that came with HTTP 200, by its words."""
    return _by_words(text) or "server_error_in_stream"


def unstreamed(exchange: Exchange) -> tuple[FailureClass, str]:
    """Class and reason for HTTP 200 whose body holds no event."""
    answer = loads(exchange.body)
    if isinstance(answer, dict) and is_error(answer):
        return in_stream(error_text(answer)), error_text(answer)
    if isinstance(answer, dict) and answer.get("choices"):
        return "client_invalid", "answered without streaming: no token has a time"
    return "no_token", f"no event stream: {one_line(exchange.body[:200].decode(errors='replace')) or 'an empty body'}"


def is_error(chunk: dict[str, Any]) -> bool:
    """OpenAI, llama-server and Ollama send `error`; older vLLMs the error itself, an object of that kind."""
    return bool(chunk.get("error")) or chunk.get("object") == "error"


def compressed(headers: dict[str, str]) -> str | None:
    """The coding of a body that cannot be read; None for plain text. We ask for "identity"."""
    codings = f"{headers.get('content-encoding', '')},{headers.get('transfer-encoding', '')}".lower()
    names = [name for part in codings.split(",") if (name := part.strip()) not in ("", "identity", "chunked")]
    return ", ".join(names) or None


def loads(body: bytes) -> object:
    """JSON, or None for what is none."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def one_line(text: str) -> str:
    """At most 200 characters that can be printed."""
    words = " ".join(text.split())
    line = "".join(c if c.isprintable() else "\ufffd" for c in words)  # control codes, and halves of characters
    return line if len(line) <= 200 else line[:199] + "…"


def _by_words(text: str) -> FailureClass | None:
    lower = text.lower()
    if any(words in lower for words in CONTEXT_WORDS):
        return "context_exceeded"
    return "kv_exhausted" if any(words in lower for words in KV_WORDS) else None
