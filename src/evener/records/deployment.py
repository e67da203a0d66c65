"""A plan that is running: its processes, where it listens, what state it is in."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from evener.records.plan import Candidate

# "loaded" is up and verified, e.g. for a measurement; "ready" is up for its users; "lent" is off its machines while
# something else is measured there, and comes back.
State = Literal["starting", "loading", "verifying", "loaded", "ready", "stopping", "stopped", "lent", "failed"]
Role = Literal["head", "worker", "tunnel"]


BufferKind = Literal["weights", "kv", "recurrent", "compute", "output"]


@dataclass(frozen=True, slots=True, kw_only=True)
class UsedDevice:
    """A device the engine said it uses. `description` is the endpoint for an RPC device."""

    name: str
    description: str
    bus_id: str | None
    free_bytes: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Buffer:
    """Memory the engine said it allocated. `device` is a device's name, or "host"."""

    device: str
    kind: BufferKind
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """What the head's log says after a load: devices used, slots on each (output head included), buffers.

    Devices and layers are the model's; buffers also those of what stands beside it.
    """

    devices: tuple[UsedDevice, ...]
    layers: dict[str, int]  # device name ("CPU" for the host) -> slots
    buffers: tuple[Buffer, ...]

    def bytes_on(self, device: str, *kinds: BufferKind) -> int:
        return sum(b.bytes for b in self.buffers if b.device == device and (not kinds or b.kind in kinds))


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """One process of a deployment on one host. `pid` is the engine's own, not its leash's."""

    role: Role
    host: str
    pid: int
    listen: str
    argv: tuple[str, ...]
    log: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployment:
    """What `evener status` shows. `url` is the OpenAI-compatible base URL, without a trailing slash."""

    name: str
    state: State
    since: datetime
    supervisor_pid: int
    model: str
    model_path: str
    candidate: Candidate
    users: int
    context: int
    projector: str | None = None  # the file that it sees or hears with
    draft: str | None = None  # the file of the model that drafts for it
    processes: tuple[Process, ...] = ()
    url: str | None = None
    run: str | None = None  # run folder
    api_key_env: str | None = None  # where the key is found; the key itself is on no record
    api_key_file: str | None = None
    fault: str | None = None
