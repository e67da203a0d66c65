"""The outside world, as parameters: what a verb may ask of a host. Adapters are in `edges`, fakes in `testing`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from evener.records.events import Progress
from evener.records.link import Payload

Report = Callable[[Progress], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """A command that ended by itself. `code` is negative for a signal, as in subprocess."""

    argv: tuple[str, ...]
    code: int
    stdout: str
    stderr: str


class Child(Protocol):
    """A long-running process on a leash: it ends when we do, whichever way we end.

    `pid` is the command's own pid on its host. `lines()` yields standard output and error, line by line,
    without line ends, until the process has closed both.
    """

    @property
    def pid(self) -> int: ...

    def lines(self) -> AsyncIterator[str]: ...

    async def wait(self) -> int:
        """Wait for the end; negative for a signal. Raises HostUnreachable when the host is lost: nobody knows then."""
        ...

    async def stop(self) -> int:
        """Let the leash go: SIGTERM, again after a second (a head waits for open streams at the first), SIGKILL
        after five. Returns when the process has ended, -1 when its host is lost and it ends by itself; idempotent."""
        ...


class Shell(Protocol):
    """One host's door. Every argv is a list: no shell is built from user strings."""

    @property
    def host(self) -> str: ...

    async def run(
        self,
        argv: Sequence[str],
        *,
        within_s: float,
        env: Mapping[str, str] | None = None,
        stdin: bytes = b"",
    ) -> Finished:
        """Run to the end. `env` replaces the environment but for the allow-list.

        Raises HostError when the program is missing, cannot start, or does not end within `within_s`.
        """
        ...

    async def start(self, argv: Sequence[str], *, env: Mapping[str, str]) -> Child:
        """Start on a leash. Raises HostError when it cannot start."""
        ...

    async def read(self, path: str, *, most_bytes: int = 1 << 20) -> bytes | None:
        """The first bytes of a file, None when it does not exist or may not be read. Raises HostError if lost."""
        ...

    async def which(self, name: str) -> str | None:
        """Absolute path of a program on the host's PATH, None when there is none."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An HTTP answer, whatever its status."""

    status: int
    body: bytes


class Http(Protocol):
    """Short HTTP conversations: health, properties, metrics."""

    async def get(self, url: str, *, within_s: float, headers: Mapping[str, str] | None = None) -> Answer | None:
        """None when nobody listens, the connection breaks, or no answer came within `within_s`."""
        ...


ChatEnding = Literal["complete", "timeout", "unreachable", "cut"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatReply:
    """How one request to a chat endpoint ended. `status` and `body` are the HTTP answer's, None and empty without one.

    "cut" is a connection that broke after the request was sent: nobody knows what the server did with it.
    `retry_after_s` is what a busy server asked for.
    """

    ending: ChatEnding
    seconds: float
    status: int | None = None
    body: bytes = b""
    retry_after_s: float | None = None
    detail: str | None = None


class Chat(Protocol):
    """A chat endpoint: one question, one whole answer. Never raises for what the network does."""

    async def ask(self, body: Mapping[str, Any], *, within_s: float) -> ChatReply: ...

    async def is_up(self, *, within_s: float) -> bool:
        """Whether it answers at all, without being asked to generate."""
        ...

    async def prompt_tokens(self, body: Mapping[str, Any], *, within_s: float) -> int | None:
        """How many tokens the prompt of `body` has in the server's own template and tokenizer. None where it has none
        to ask, or does not say."""
        ...


BoxEnding = Literal["exited", "time", "memory", "output"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BoxRun:
    """How a program in the sandbox ended. All endings but "exited" name the limit that ended it.

    `code` is negative for a signal, None when a limit ended it. Output is cut where its limit is.
    """

    ending: BoxEnding
    code: int | None
    stdout: str
    stderr: str
    seconds: float


class Sandbox(Protocol):
    """Runs what nobody has read: no network, the world read-only, private writes, limits that hold for root too."""

    async def run(self, files: Mapping[str, str], argv: Sequence[str], *, within_s: float, said: str = "") -> BoxRun:
        """Run `argv` in a fresh folder that holds `files` (name -> text), with `said` (short) on its standard input.
        Everything it started is gone on return.

        Raises HostError when the sandbox itself cannot start.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSeen:
    """What an RPC worker said of itself. `devices` holds (free bytes, total bytes) per device.

    A CPU device reports its host's whole memory as free on Linux and macOS: not usable as free memory.
    """

    endpoint: str
    protocol: str
    devices: tuple[tuple[int, int], ...]


class Rpc(Protocol):
    """A short visit to an RPC worker, safe for it: a queued visit that gives up must not kill the worker."""

    async def hello(self, endpoint: str, *, within_s: float = 3.0) -> WorkerSeen:
        """Raises the subclass of EndpointError that says what is wrong with "host:port"."""
        ...


class RpcBench(Protocol):
    """Measure a worker through its own protocol. It sends data and takes seconds: only for a worker without clients."""

    async def measure(self, endpoint: str, *, device: str, within_s: float = 30.0) -> Payload:
        """Of the worker's first device; `device` is its name, for the record.

        Raises EndpointError: what `Rpc.hello` raises, or that data did not come back as it was sent.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Body:
    """An answer whose body streams. It begins at byte `start` of the whole, which has `total_bytes` (None: unsaid).

    `version` is what the server calls this content (ETag or date), None when it says nothing; two answers with the
    same version are pieces of the same file. `next_url` is the next page of a listing, where there is one.
    """

    status: int
    start: int
    total_bytes: int | None
    version: str | None
    chunks: AsyncIterator[bytes]
    next_url: str | None = None


class Downloads(Protocol):
    """Large files over HTTP."""

    def open(
        self, url: str, *, start: int = 0, headers: Mapping[str, str] | None = None
    ) -> AbstractAsyncContextManager[Body]:
        """Ask for the file from byte `start` on; the server may ignore that, so look at `Body.start`.

        `headers` may hold a secret: when the server redirects to another one, Authorization stays behind.
        Raises FetchFailed, also from `chunks`: no such host, refused, redirects without end, silence, a broken body.
        """
        ...
