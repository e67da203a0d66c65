"""An OpenAI-compatible server with known token times, as light as Python allows: what is measured is the client.

Raw asyncio.Protocol, one thread. A token is due at  request received + ttft + i * itl;  the time of each write is kept
on the clock of time.perf_counter_ns, which all processes of a machine share. `testing/fake_engine.py` knows far more
ways to answer; this one knows one, at a third of the CPU, and says of each stream what really happened:

GET /__truth    {"cpu_s": ..., "requests": [{"t0_ns": ..., "write_ns": [one per token], "whole": ...}]}
GET /__reset    forget the requests
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
from dataclasses import dataclass, field
from time import perf_counter_ns
from typing import Any

TEXT = (
    "the of and to in is that it was for on are with as his they be at one have this from or had by hot but some "
    "what there we can out other were all your when up use word how said an each she which do their time if will"
)
WORDS = TEXT.split()
MODEL = "mock-plain"
PROMPT_TOKENS = 100
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


@dataclass(slots=True)
class Mock:
    ttft_s: float
    itl_s: float
    tokens: int
    requests: list[dict[str, Any]] = field(default_factory=list)


class Connection(asyncio.Protocol):
    """Requests of one connection, one after the other."""

    def __init__(self, mock: Mock) -> None:
        self._mock = mock
        self._rest = b""
        self._busy = False
        self._streams: set[asyncio.Task[None]] = set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._rest += data
        while not self._busy and (stop := self._rest.find(b"\r\n\r\n")) >= 0:
            first, *lines = self._rest[:stop].decode("latin-1").split("\r\n")
            headers = {k.lower(): v.strip() for k, _, v in (line.partition(":") for line in lines)}
            body, rest = _body(headers, self._rest[stop + 4 :])
            if body is None:
                return
            self._rest = rest
            self._answer(first.split(" ")[1].split("?")[0], body, perf_counter_ns())

    def _answer(self, path: str, body: bytes, received_ns: int) -> None:
        if not path.endswith("/completions"):
            self._reply(_document(self._mock, path, body))
            return
        asked = json.loads(body)
        tokens = int(asked.get("max_completion_tokens") or asked.get("max_tokens") or self._mock.tokens)
        self._busy = True
        how = self._stream if asked.get("stream") else self._whole
        task = asyncio.ensure_future(how("chat" in path, tokens, received_ns))
        self._streams.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._streams.discard(task)
        self._busy = False
        self.data_received(b"")

    def _reply(self, data: object) -> None:
        body = json.dumps(data).encode()
        head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
        self._transport.write(head % len(body) + body)

    async def _whole(self, chat: bool, tokens: int, received_ns: int) -> None:
        await asyncio.sleep(self._mock.ttft_s + (tokens - 1) * self._mock.itl_s)
        text = " ".join(WORDS[i % len(WORDS)] for i in range(tokens))
        said: dict[str, Any] = {"message": {"role": "assistant", "content": text}} if chat else {"text": text}
        self._reply(
            _head(chat) | {"choices": [{"index": 0, "finish_reason": "length"} | said], "usage": _usage(tokens)}
        )

    async def _stream(self, chat: bool, tokens: int, received_ns: int) -> None:
        loop, mock = asyncio.get_running_loop(), self._mock
        start = loop.time() - (perf_counter_ns() - received_ns) / 1e9
        payloads = [_http_chunk(_event(_delta(chat, i))) for i in range(tokens)]
        self._transport.write(HEAD)
        seen: dict[str, Any] = {"t0_ns": received_ns, "write_ns": [], "whole": False}
        mock.requests.append(seen)
        for i, payload in enumerate(payloads):
            await asyncio.sleep(max(0.0, start + mock.ttft_s + i * mock.itl_s - loop.time()))
            if self._transport.is_closing():
                return
            self._transport.write(payload)
            seen["write_ns"].append(perf_counter_ns())
        bill = _event(_head(chat) | {"choices": [], "usage": _usage(tokens)})
        self._transport.write(_http_chunk(_event(_delta(chat, None)) + bill + b"data: [DONE]\n\n") + b"0\r\n\r\n")
        seen["whole"] = True


def _body(headers: dict[str, str], data: bytes) -> tuple[bytes | None, bytes]:
    """(the request's body or None while it is not whole, what follows it)."""
    if "chunked" not in headers.get("transfer-encoding", ""):
        length = int(headers.get("content-length", 0))
        return (data[:length], data[length:]) if len(data) >= length else (None, data)
    body, at = b"", 0
    while (stop := data.find(b"\r\n", at)) >= 0:
        size = int(data[at:stop].split(b";")[0], 16)
        if len(data) < stop + size + 4:
            break
        body, at = body + data[stop + 2 : stop + 2 + size], stop + size + 4
        if size == 0:
            return body, data[at:]
    return None, data


def _document(mock: Mock, path: str, body: bytes) -> object:
    """Everything but completions."""
    if path == "/__truth":
        used = resource.getrusage(resource.RUSAGE_SELF)
        return {"cpu_s": used.ru_utime + used.ru_stime, "requests": mock.requests}
    if path == "/__reset":
        mock.requests.clear()
        return {}
    if path == "/book":  # for clients that cut their prompts out of one
        return f"{TEXT} " * 400
    if path.endswith("/models"):
        return {"object": "list", "data": [{"id": MODEL, "object": "model", "created": 0, "owned_by": "llamacpp"}]}
    if path.endswith("/tokenize"):
        return {"tokens": list(range(len(json.loads(body or b"{}").get("content", "").split())))}
    return {"status": "ok"}


def _head(chat: bool) -> dict[str, Any]:
    kind = "chat.completion.chunk" if chat else "text_completion"
    return {"id": "mock", "object": kind, "created": 1, "model": MODEL, "system_fingerprint": "mock"}


def _delta(chat: bool, token: int | None) -> dict[str, Any]:
    """A token, or the finish reason behind the last one."""
    text = "" if token is None else " " + WORDS[token % len(WORDS)]
    delta: dict[str, Any] = {"delta": {"content": text} if text else {}} if chat else {"text": text}
    if chat and token == 0:
        delta["delta"] = {"role": "assistant", "content": text}
    return _head(chat) | {"choices": [{"index": 0, "finish_reason": None if text else "length"} | delta]}


def _usage(tokens: int) -> dict[str, int]:
    return {"prompt_tokens": PROMPT_TOKENS, "completion_tokens": tokens, "total_tokens": PROMPT_TOKENS + tokens}


def _event(data: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(data, separators=(",", ":")).encode() + b"\n\n"


def _http_chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--ttft-ms", type=float, default=200)
    parser.add_argument("--itl-ms", type=float, default=20)
    parser.add_argument("--tokens", type=int, default=64)
    asked = parser.parse_args()
    mock = Mock(asked.ttft_ms / 1e3, asked.itl_ms / 1e3, asked.tokens)
    server = await asyncio.get_running_loop().create_server(
        lambda: Connection(mock), "127.0.0.1", asked.port, backlog=1024
    )
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
