"""Measure a worker through its own protocol behind the `RpcBench` port: what loading and tokens will see.

It counts the processors' work on both sides along with the cable. Rounds are repeated until there are enough of them
or their time is up, so that a 100 Mbit/s link costs seconds and not minutes.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from evener.dialects import rpc_wire as wire
from evener.edges.rpc_visit import Visit, visit
from evener.errors import EndpointError
from evener.records.link import Hop, Payload
from evener.stats.repeated import measured

MIB = 1 << 20
BLOCK_BYTES = 8 * MIB  # below the 10 MiB from which the engine hashes first
HOP_BYTES = (4 << 10, 16 << 10, 64 << 10)  # activations of embeddings 1024, 4096, 16384 wide
QUESTIONS, BLOCKS, HOPS = 100, 8, 50
BLOCKS_WITHIN_S, HOPS_WITHIN_S = 1.0, 0.3  # a further round starts only before
LEAST_ROUNDS = 2


@dataclass(frozen=True, slots=True)
class _Region:
    """A buffer on the worker with exactly the bytes that are sent to it."""

    visit: Visit
    buffer: int
    tensor: bytes
    size: int
    within_s: float

    async def set(self, data: bytes) -> float:
        """Seconds until the worker has stored `data`: the question behind it is answered only then."""
        begun = time.perf_counter()
        await self.visit.tell(wire.set_tensor_head(self.tensor, self.size), data, within_s=self.within_s)
        await self.visit.ask(wire.device_count(), 4, within_s=self.within_s)
        return time.perf_counter() - begun

    async def get(self) -> tuple[float, bytes | bytearray]:
        receive = self.visit.fetch if self.size >= MIB else self.visit.ask  # a thread costs 40 us: nothing for blocks
        begun = time.perf_counter()
        data = await receive(wire.get_tensor(self.tensor, self.size), self.size, within_s=self.within_s)
        return time.perf_counter() - begun, data


class RpcPayload:
    """Real sockets. `protocol` is the version of the engine that will be the client."""

    def __init__(self, protocol: tuple[int, int, int] = wire.PROTOCOL) -> None:
        self._protocol = protocol

    async def measure(self, endpoint: str, *, device: str, within_s: float = 30.0) -> Payload:
        begun = time.perf_counter()
        async with visit(endpoint, within_s=within_s) as worker:
            connect_s = time.perf_counter() - begun
            await worker.hello(self._protocol, within_s=within_s)
            questions = [await _question(worker, within_s) for _ in range(QUESTIONS)]
            sets, gets = await _rounds(worker, endpoint, BLOCK_BYTES, BLOCKS, BLOCKS_WITHIN_S, within_s)
            hops = [await _hop(worker, endpoint, size, within_s) for size in HOP_BYTES]
        return Payload(
            endpoint=endpoint,
            device=device,
            connect_us=connect_s * 1e6,
            rtt_us=measured([s * 1e6 for s in questions]),
            set_mib_per_s=measured([BLOCK_BYTES / MIB / s for s in sets]),
            get_mib_per_s=measured([BLOCK_BYTES / MIB / s for s in gets]),
            hops=tuple(hops),
        )


async def _question(worker: Visit, within_s: float) -> float:
    begun = time.perf_counter()
    await worker.ask(wire.device_count(), 4, within_s=within_s)
    return time.perf_counter() - begun


async def _hop(worker: Visit, endpoint: str, size: int, within_s: float) -> Hop:
    sets, gets = await _rounds(worker, endpoint, size, HOPS, HOPS_WITHIN_S, within_s)
    return Hop(bytes=size, set_us=measured([s * 1e6 for s in sets]), get_us=measured([s * 1e6 for s in gets]))


async def _rounds(
    worker: Visit, endpoint: str, size: int, most: int, begin_within_s: float, within_s: float
) -> tuple[list[float], list[float]]:
    """Seconds to set, and to get back, `size` bytes of a buffer of that size. Raises EndpointError for wrong data.

    The first round is not counted: it touches fresh memory on both sides and opens TCP's window.
    """
    data = os.urandom(size)  # a link that compresses must not look faster than it is

    async def round_trip(region: _Region) -> tuple[float, float]:
        set_s = await region.set(data)
        get_s, back = await region.get()
        if back != data:
            raise EndpointError(
                endpoint, f"{size} bytes did not come back as they were sent", hint="do not use this worker or link"
            )
        return set_s, get_s

    async def measure(region: _Region) -> list[tuple[float, float]]:
        await round_trip(region)
        until = asyncio.get_running_loop().time() + begin_within_s
        done: list[tuple[float, float]] = []
        while len(done) < LEAST_ROUNDS or (len(done) < most and asyncio.get_running_loop().time() < until):
            done.append(await round_trip(region))
        return done

    times = await _with_region(worker, endpoint, size, within_s, measure)
    return [s for s, _ in times], [g for _, g in times]


async def _with_region(
    worker: Visit,
    endpoint: str,
    size: int,
    within_s: float,
    work: Callable[[_Region], Awaitable[list[tuple[float, float]]]],
) -> list[tuple[float, float]]:
    buffer = wire.read_buffer(await worker.ask(wire.alloc(0, size), 16, within_s=within_s))
    if buffer is None:
        raise EndpointError(endpoint, f"could not allocate {size} bytes on its first device", hint="is it full?")
    base = wire.read_number(await worker.ask(wire.buffer_base(buffer), 8, within_s=within_s))
    tensor = wire.region(buffer, base, size)
    done = await work(_Region(worker, buffer, tensor, size, within_s))
    await worker.tell(wire.free(buffer), within_s=within_s)
    return done
