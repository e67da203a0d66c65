"""One chat endpoint behind the `Chat` port: whole answers over aiohttp. Knows HTTP; knows nothing of what was asked."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import aiohttp

from evener.ports import ChatReply

CONNECT_WITHIN_S = 10.0
MOST_BYTES = 16 << 20
SHORTEST_SECRET = 12  # a shorter value of a header is a word
NOT_THERE = (404, 405, 501)


@asynccontextmanager
async def chat(
    url: str, *, headers: Mapping[str, str] | None = None, path: str = "/v1/chat/completions", up: str = "/v1/models"
) -> AsyncIterator[AioChat]:
    """An endpoint at the base `url`. `headers` may hold a secret and are sent to this endpoint only.

    `up` is asked to learn whether it lives; any answer but 5xx says yes.
    """
    async with aiohttp.ClientSession(headers=headers, connector=aiohttp.TCPConnector(limit=0)) as session:
        secrets = [value.removeprefix("Bearer ") for value in (headers or {}).values()]
        hidden = [form.encode() for s in secrets if len(s) >= SHORTEST_SECRET for form in _forms(s)]
        yield AioChat(session, base=url, ask_url=url + path, up_url=url + up, secrets=hidden)


class AioChat:
    """Use `chat(...)`, which closes it."""

    def __init__(
        self, session: aiohttp.ClientSession, *, base: str, ask_url: str, up_url: str, secrets: list[bytes]
    ) -> None:
        self._session = session
        self._base = base
        self._counts = True  # until it says that it has no tokenizer to ask
        self._ask_url = ask_url
        self._up_url = up_url
        self._secrets = secrets

    async def ask(self, body: Mapping[str, Any], *, within_s: float) -> ChatReply:
        begun = time.monotonic()
        timeout = aiohttp.ClientTimeout(total=within_s, sock_connect=CONNECT_WITHIN_S)
        try:
            async with self._session.post(
                self._ask_url, data=_bytes(body), headers=_JSON, timeout=timeout, allow_redirects=False
            ) as answer:
                return ChatReply(
                    ending="complete",
                    seconds=time.monotonic() - begun,
                    status=answer.status,
                    body=self._redacted(await _whole(answer.content)),
                    retry_after_s=_seconds(answer.headers.get("Retry-After")),
                )
        except (aiohttp.ConnectionTimeoutError, aiohttp.ClientConnectorError) as error:
            return ChatReply(ending="unreachable", seconds=time.monotonic() - begun, detail=_why(error))
        except TimeoutError:
            took = time.monotonic() - begun
            return ChatReply(ending="timeout", seconds=took, detail=f"no whole answer within {within_s:g} s")
        except (aiohttp.ClientError, OSError, ValueError) as error:
            return ChatReply(ending="cut", seconds=time.monotonic() - begun, detail=_why(error))

    def _redacted(self, body: bytes) -> bytes:
        """Replies are kept as they come, and some servers repeat the key that they refuse."""
        for secret in self._secrets:
            body = body.replace(secret, b"(secret)")
        return body

    async def is_up(self, *, within_s: float) -> bool:
        timeout = aiohttp.ClientTimeout(total=within_s)
        try:
            async with self._session.get(self._up_url, timeout=timeout, allow_redirects=False) as answer:
                return answer.status < 500
        except (aiohttp.ClientError, TimeoutError, OSError):
            return False

    async def prompt_tokens(self, body: Mapping[str, Any], *, within_s: float) -> int | None:
        """By llama-server's /apply-template and /tokenize, which other servers lack. Takes none of its slots."""
        prompt = (await self._told("/apply-template", body, within_s)).get("prompt")
        if not isinstance(prompt, str):
            return None
        whole = {"content": prompt, "add_special": True, "parse_special": True}
        model = {"model": body["model"]} if "model" in body else {}  # a router passes it on by that
        tokens = (await self._told("/tokenize", whole | model, within_s)).get("tokens")
        return len(tokens) if isinstance(tokens, list) and tokens else None

    async def _told(self, path: str, body: Mapping[str, Any], within_s: float) -> dict[str, Any]:
        """A document that costs the server next to nothing; empty when none came."""
        if not self._counts:
            return {}
        timeout = aiohttp.ClientTimeout(total=within_s)
        try:
            async with self._session.post(
                self._base + path, data=_bytes(body), headers=_JSON, timeout=timeout, allow_redirects=False
            ) as answer:
                self._counts = answer.status not in NOT_THERE
                found = json.loads(await _whole(answer.content)) if answer.status == 200 else {}
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError, RecursionError):
            return {}
        return found if isinstance(found, dict) else {}


_JSON = {"Content-Type": "application/json"}


def _forms(secret: str) -> list[str]:
    """As it may stand in JSON: some writers mask strokes and signs, and readers undo it."""
    return [secret, secret.replace("/", "\\/"), json.dumps(secret)[1:-1]]


def _bytes(body: Mapping[str, Any]) -> bytes:
    return json.dumps(body, ensure_ascii=False).encode()


async def _whole(content: aiohttp.StreamReader) -> bytes:
    """All of it. Raises ValueError for more than any answer has."""
    pieces, size = [], 0
    async for piece in content.iter_any():
        size += len(piece)
        if size > MOST_BYTES:
            raise ValueError(f"an answer of more than {MOST_BYTES >> 20} MiB")
        pieces.append(piece)
    return b"".join(pieces)


def _seconds(text: str | None) -> float | None:
    """Retry-After in seconds; its other form, a date, is left alone."""
    return float(text) if text and text.isdecimal() else None


def _why(error: BaseException) -> str:
    return (str(error) or type(error).__name__).splitlines()[0]
