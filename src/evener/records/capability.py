"""What an engine build is and what it can do: where it was found, how it was built, which flags it knows."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

Backend = Literal["cpu", "cuda", "vulkan", "rocm", "metal"]
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

    `commit` is our own mark, the first digits of the source archive's hash: the archive carries no git commit.
    `cpu` is a digest of the CPU's model and instruction sets, since the build uses everything this CPU has.
    """

    key: str
    build: int
    commit: str
    backend: Backend
    flags: tuple[str, ...]
    cpu: str
    compiler: str | None
    protocol: str | None
    source_sha256: str
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
