"""What a light client can do: a closed loop on bare sockets, stamps at the callback, all parsed at the end.

python benchmarks/ref_client.py URL STREAMS REQUESTS TOKENS     prints one JSON line: TTFT of each request, mean ITL

Standard library only. It trusts the mock: no framing (an answer ends with its last chunk), no errors, no retries.
"""

from __future__ import annotations

import asyncio
import json
import sys
from statistics import fmean
from time import perf_counter_ns
from urllib.parse import urlsplit

Stamped = list[tuple[int, bytes]]


class Wire(asyncio.Protocol):
    reads: Stamped
    ended: asyncio.Future[None]

    def data_received(self, data: bytes) -> None:
        self.reads.append((perf_counter_ns(), data))
        if data.endswith(b"0\r\n\r\n"):
            self.ended.set_result(None)


async def user(url: str, left: list[int], tokens: int, out: list[tuple[int, Stamped]]) -> None:
    loop, where = asyncio.get_running_loop(), urlsplit(url)
    transport, wire = await loop.create_connection(Wire, where.hostname, where.port)
    while left:
        left.pop()
        body = json.dumps(
            {
                "model": "mock-plain",
                "messages": [{"role": "user", "content": "hi " * 100}],
                "stream": True,
                "max_tokens": tokens,
                "stream_options": {"include_usage": True},
            }
        ).encode()
        wire.reads, wire.ended = [], loop.create_future()
        sent_ns = perf_counter_ns()
        head = b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        transport.write(head + b"Content-Length: %d\r\n\r\n" % len(body) + body)
        await wire.ended
        out.append((sent_ns, wire.reads))
    transport.close()


async def main(url: str, streams: int, requests: int, tokens: int) -> None:
    out: list[tuple[int, Stamped]] = []
    left = list(range(requests))
    await asyncio.gather(*(user(url, left, tokens, out) for _ in range(streams)))
    ttft_ms, itl_ms = [], []
    for sent_ns, reads in out:
        stamps = [at_ns for at_ns, data in reads if b'"content":' in data]
        count = sum(data.count(b'"content":') for _, data in reads)
        ttft_ms.append((stamps[0] - sent_ns) / 1e6)
        itl_ms.append((stamps[-1] - stamps[0]) / 1e6 / (count - 1))
    print(json.dumps({"ttft_ms": ttft_ms, "itl_ms": fmean(itl_ms)}))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], *map(int, sys.argv[2:5])))
