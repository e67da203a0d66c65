"""What an engine build is and what it can do: where it was found, how it was built, which flags it knows."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal

Backend = Literal["cpu", "cuda", "vulkan", "rocm", "metal"]
ANY_CPU: Final = "any"  # `Built.cpu` of a build that asks at run time what the processor can do
EngineSource = Literal["argument", "EVENER_ENGINE", "cache", "PATH"]


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineDevice:
    """A device as the engine lists it. For the CPU, free = total = all of the host's memory: no measure of free."""

    name: str
    description: str
    total_bytes: int | None = None
    free_bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """`engine.json`: how an engine in our cache was built.

    `commit` of a build of our own is our mark, the first digits of the source archive's hash: that carries no git
    commit. `cpu` is a digest of the model and instruction sets of the CPU it was proved on, since a build may use
    everything that its CPU has; "any" for an official release. `key` stays the same wherever the engine is pushed to.
    """

    key: str
    build: int | None
    commit: str | None
    backend: Backend
    flags: tuple[str, ...]
    cpu: str
    compiler: str | None
    protocol: str | None
    source_sha256: str | None  # of the archive it came from; None for an engine that the user brought
    built_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Capability:
    """What one engine build may be asked to do, read from its binaries.

    `build` and `commit` are None where the binary does not know them (it was built outside git).
    `protocol` is the RPC version of its worker, "7.0.0". Flags carry their dashes ("--device", "-ngl") and are sorted.
    `lacks` names what the minimum demands and this build has not; empty means fit for use.
    """

    folder: str
    build: int | None
    commit: str | None
    compiler: str | None
    protocol: str | None
    flags: tuple[str, ...]  # of llama-server
    fit_flags: tuple[str, ...]  # of llama-fit-params
    worker_flags: tuple[str, ...]  # of ggml-rpc-server
    lacks: tuple[str, ...] = ()

    @property
    def log_jsonl(self) -> bool:
        """Whether the server can log as one JSON object per line."""
        return "--log-jsonl" in self.flags


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundEngine:
    """One engine that resolution came across. `used` marks the one that would be taken; `why` says why, or why not."""

    folder: str
    source: EngineSource
    used: bool
    why: str
    bytes: int | None = None
    built: Built | None = None
    capability: Capability | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineCheck:
    """The answer of `evener engine check`. `unseen` are GPUs the driver shows and the engine does not."""

    folder: str
    capability: Capability
    backends: tuple[str, ...]
    token_ms: float
    devices: tuple[EngineDevice, ...]
    unseen: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    ok: bool = True  # no problems


@dataclass(frozen=True, slots=True, kw_only=True)
class Installed:
    """What `evener engine install` left behind. `already` means that nothing had to be done."""

    folder: str
    built: Built
    already: bool
    bytes: int | None
    took_s: float
    check: EngineCheck
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class HostEngine:
    """The engine of one host of a rig. Neither check nor fault: a host whose workers somebody else starts."""

    host: str
    folder: str | None = None
    backend: Backend | None = None  # what it was built for; None for an engine that nobody described
    source_sha256: str | None = None  # of the archive it came from; None where nobody wrote it down
    check: EngineCheck | None = None  # None where there is no engine, or none that works
    fault: str | None = None  # why there is none


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerFound:
    """Somebody who listens in a host's range of RPC ports, or on an endpoint of the rig file."""

    host: str
    endpoint: str  # "address:port"
    answer: str  # what it said, or why nothing came
    protocol: str | None = None  # None where no worker answered
    pid: int | None = None  # None where we may not look
    path: str | None = None  # the binary that runs, None where we may not look


@dataclass(frozen=True, slots=True, kw_only=True)
class RigEngines:
    """The answer of `evener engine check` for a rig."""

    hosts: tuple[HostEngine, ...]  # the head first
    workers: tuple[WorkerFound, ...]  # those that run already
    problems: tuple[str, ...] = ()  # what must be put right before a load
    notes: tuple[str, ...] = ()  # what differs and does no harm
    ok: bool = True  # no problems
