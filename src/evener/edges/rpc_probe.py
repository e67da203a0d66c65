"""A short visit to an RPC worker behind the `Rpc` port: who is there, and with which devices."""

from __future__ import annotations

from evener.dialects import rpc_wire as wire
from evener.edges.rpc_visit import visit
from evener.ports import WorkerSeen

MOST_DEVICES = 16  # llama_max_devices()


class RpcProbe:
    """Real sockets. `protocol` is the version of the engine that will be the client."""

    def __init__(self, protocol: tuple[int, int, int] = wire.PROTOCOL) -> None:
        self._protocol = protocol

    async def hello(self, endpoint: str, *, within_s: float = 3.0) -> WorkerSeen:
        async with visit(endpoint, within_s=within_s) as worker:
            version = await worker.hello(self._protocol, within_s=within_s)
            count = wire.read_count(await worker.ask(wire.device_count(), 4, within_s=within_s))
            memory = [
                wire.read_memory(await worker.ask(wire.device_memory(i), 16, within_s=within_s))
                for i in range(min(count, MOST_DEVICES))
            ]
        return WorkerSeen(endpoint=endpoint, protocol=wire.dotted(version), devices=tuple(memory))
