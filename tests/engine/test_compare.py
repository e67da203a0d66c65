"""Is it the same engine everywhere? Real listeners, real processes, a worker's answer made up."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from evener.edges.local_shell import LocalShell
from evener.edges.rpc_probe import RpcProbe
from evener.engine.capability import capability
from evener.engine.compare import compare, owners, workers
from evener.errors import EndpointBusy, EndpointError, EndpointNotRpc, EndpointRefused, EndpointWrongProtocol
from evener.ports import Child, WorkerSeen
from evener.records.capability import EngineCheck, HostEngine, WorkerFound
from evener.records.rig import Host
from tests.elsewhere import Elsewhere

from .toys import toy_engine


@dataclass
class Visitor:
    """Answers to HELLO by endpoint; nobody else answers."""

    answers: dict[str, WorkerSeen | EndpointError] = field(default_factory=dict)
    visited: list[str] = field(default_factory=list)

    async def hello(self, endpoint: str, *, within_s: float = 3.0) -> WorkerSeen:
        self.visited.append(endpoint)
        answer = self.answers.get(endpoint, EndpointRefused(endpoint, "nobody listens"))
        if isinstance(answer, EndpointError):
            raise answer
        return answer


def worker(endpoint: str) -> WorkerSeen:
    return WorkerSeen(endpoint=endpoint, protocol="7.0.0", devices=((1, 2),))


# ---- builds


async def there(folder: Path, host: str, *, build: int | None = 11434, commit: str | None = "b0a2feb",
                protocol: str = "7.0.0", backend: str = "cpu", source: str | None = None) -> HostEngine:  # fmt: skip
    able = await capability(LocalShell("here"), toy_engine(folder))
    check = EngineCheck(
        folder=str(folder), capability=replace(able, build=build, commit=commit, protocol=protocol), backends=("CPU",),
        token_ms=1.0, devices=(),
    )  # fmt: skip
    assert backend in ("cpu", "cuda")
    return HostEngine(
        host=host, folder=str(folder), backend="cpu" if backend == "cpu" else "cuda", source_sha256=source, check=check
    )


async def test_the_same_engine_everywhere_is_fine(tmp_path: Path) -> None:
    answer = compare([await there(tmp_path, "alpha"), await there(tmp_path, "beta")], [])
    assert (answer.ok, answer.problems, answer.notes) == (True, (), ())


async def test_another_protocol_or_build_or_commit_is_a_problem(tmp_path: Path) -> None:
    head = await there(tmp_path, "alpha")
    answer = compare([head, await there(tmp_path, "beta", build=9000, protocol="6.0.0")], [])
    assert not answer.ok
    assert answer.problems == (
        "beta: its worker speaks RPC 6.0.0, the head 7.0.0: evener engine push beta",
        "beta: b9000 (b0a2feb), the head has b11434 (b0a2feb)",
    )
    answer = compare([head, await there(tmp_path, "beta", commit="abcdef0")], [])
    assert answer.problems == ("beta: b11434 (abcdef0), the head has b11434 (b0a2feb)",)


async def test_our_own_mark_is_no_commit_to_compare(tmp_path: Path) -> None:
    head = await there(tmp_path, "alpha", source="b0a2feb" + "0" * 57)
    answer = compare([head, await there(tmp_path, "beta", commit="1234567")], [])
    assert answer.ok
    assert answer.notes[0].startswith("beta: b11434 (1234567), the head has b11434 (b0a2feb): one build number")


async def test_unknown_builds_and_other_backends_are_notes(tmp_path: Path) -> None:
    head = await there(tmp_path, "alpha", build=None, commit=None)
    answer = compare([head, await there(tmp_path, "beta", backend="cuda")], [])
    assert answer.ok
    assert answer.notes == (
        "beta: builds cannot be compared, b11434 (b0a2feb) and the head's unknown build",
        "beta: built for cuda, the head for cpu",
    )


async def test_faults_and_stale_workers_are_problems_and_an_endpoint_host_is_none(tmp_path: Path) -> None:
    broken = HostEngine(host="beta", fault="no llama.cpp engine")
    answer = compare([await there(tmp_path, "alpha"), broken, HostEngine(host="windows")], [], stale=["gamma: stale"])
    assert answer.problems == ("beta: no llama.cpp engine", "gamma: stale")


# ---- workers


@pytest.fixture
def port() -> Iterator[int]:
    """A port of its own on a loopback address of its own."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.9", 0))
        listener.listen()
        yield listener.getsockname()[1]


def host(port: int, **keys: object) -> Host:
    return replace(Host(name="beta", connection="local", address="127.0.0.9", ports=(port, port)), **keys)


async def test_a_worker_is_found_with_its_process(port: int, tmp_path: Path) -> None:
    endpoint = f"127.0.0.9:{port}"
    rpc = Visitor({endpoint: worker(endpoint)})
    found, problems = await workers(host(port), Elsewhere("beta", tmp_path), rpc, engine=None, in_use={})
    assert found == [
        WorkerFound(
            host="beta", endpoint=endpoint, answer="RPC 7.0.0, 1 devices", protocol="7.0.0", pid=os.getpid(),
            path=str(Path("/proc/self/exe").readlink()),
        )
    ]  # fmt: skip
    assert problems == []


async def test_another_protocol_names_pid_and_binary(port: int, tmp_path: Path) -> None:
    endpoint = f"127.0.0.9:{port}"
    rpc = Visitor({endpoint: EndpointWrongProtocol(endpoint, "speaks RPC 5.0.0, our engine 7.0.0")})
    _, problems = await workers(host(port), Elsewhere("beta", tmp_path), rpc, engine=None, in_use={})
    python = Path("/proc/self/exe").readlink()
    assert problems == [
        f"beta: the worker at {endpoint} (pid {os.getpid()}, {python}) speaks RPC 5.0.0, our engine 7.0.0: stop it"
    ]


async def test_a_busy_worker_is_no_problem_and_something_else_on_its_port_is(port: int, tmp_path: Path) -> None:
    endpoint = f"127.0.0.9:{port}"
    shell = Elsewhere("beta", tmp_path)
    found, problems = await workers(
        host(port), shell, Visitor({endpoint: EndpointBusy(endpoint, "busy")}), engine=None, in_use={}
    )
    assert (found[0].answer, found[0].protocol, problems) == ("busy", None, [])
    rpc = Visitor({endpoint: EndpointNotRpc(endpoint, "a web server answers there")})
    _, problems = await workers(host(port), shell, rpc, engine=None, in_use={})
    assert "a web server answers there: stop it" in problems[0]


async def test_a_worker_on_every_address_is_visited_at_the_one_of_its_host(tmp_path: Path) -> None:
    with socket.socket() as listener:
        listener.bind(("0.0.0.0", 0))
        listener.listen()
        port = listener.getsockname()[1]
        rpc = Visitor()
        await workers(host(port), Elsewhere("beta", tmp_path), rpc, engine=None, in_use={})
    assert rpc.visited == [f"127.0.0.9:{port}"]


async def test_a_worker_that_serves_a_client_is_left_alone(tmp_path: Path) -> None:
    with socket.socket() as listener, socket.socket() as client, socket.socket() as queued:
        listener.bind(("127.0.0.9", 0))
        listener.listen()
        address = listener.getsockname()
        queued.connect(address)
        waiting, rpc = Visitor(), Visitor()
        await workers(host(address[1]), Elsewhere("beta", tmp_path), waiting, engine=None, in_use={})
        client.connect(address)
        with listener.accept()[0]:
            found, problems = await workers(host(address[1]), Elsewhere("beta", tmp_path), rpc, engine=None, in_use={})
    assert waiting.visited == [f"127.0.0.9:{address[1]}"]
    assert (rpc.visited, found[0].answer, problems) == ([], "it serves a client", [])


async def test_an_endpoint_that_serves_is_named_and_never_visited(port: int, tmp_path: Path) -> None:
    """One of somebody else's, and one whose head still loads and has not connected yet."""
    rpc, far, near = Visitor(), "10.0.0.3:50052", f"127.0.0.9:{port}"
    other = Host(name="windows", connection="endpoint", endpoints=(far,))
    serving = {far: "big", near: "small"}
    found, problems = await workers(other, None, rpc, engine=None, in_use=serving)
    assert ([one.answer for one in found], problems) == (["it serves big"], [])
    found, problems = await workers(host(port), Elsewhere("beta", tmp_path), rpc, engine=None, in_use=serving)
    assert ([one.answer for one in found], problems, rpc.visited) == (["it serves small"], [], [])


async def test_a_far_worker_on_loopback_is_out_of_our_reach(port: int, tmp_path: Path) -> None:
    rpc = Visitor()
    far = host(port, connection="ssh", ssh="beta")
    found, problems = await workers(far, Elsewhere("beta", tmp_path), rpc, engine=None, in_use={})
    assert (rpc.visited, found[0].answer, problems) == ([], "it listens on that host's loopback only", [])


async def test_only_ports_of_the_range_are_visited(port: int, tmp_path: Path) -> None:
    rpc = Visitor()
    free = replace(host(port), ports=(port + 1, port + 1))
    assert await workers(free, Elsewhere("beta", tmp_path), rpc, engine=None, in_use={}) == ([], [])
    assert rpc.visited == []


async def test_endpoints_of_somebody_else_are_visited_and_nothing_more_is_known() -> None:
    rpc = Visitor({"10.0.0.3:50052": worker("10.0.0.3:50052")})
    other = Host(name="windows", connection="endpoint", endpoints=("10.0.0.3:50052", "10.0.0.3:50053"))
    found, problems = await workers(other, None, rpc, engine=None, in_use={})
    assert [(one.protocol, one.pid, one.path) for one in found] == [("7.0.0", None, None), (None, None, None)]
    assert problems == ["windows: the worker at 10.0.0.3:50053 nobody listens: stop it"]


LISTING = """\
/proc/12/fd:
total 0
lrwx------ 1 anna anna 64 Nov 30 21:00 3 -> socket:[4711]
/proc/13/fd:
lrwx------ 1 anna anna 64 Nov 30 21:00 3 -> socket:[4711]
lrwx------ 1 anna anna 64 Nov 30 21:00 4 -> socket:[4712]
"""


def test_a_socket_that_was_inherited_belongs_to_the_first_that_has_it() -> None:
    assert owners(LISTING) == {4711: 12, 4712: 13}
    assert owners("") == {}


# ---- the real worker


@pytest.fixture
async def running(engine: Path, tmp_path: Path, port: int) -> AsyncIterator[tuple[Path, int, Child]]:
    """A real worker of an engine of its own, on the port after ours."""
    folder = tmp_path / "engine"
    folder.mkdir()
    shutil.copy(engine / "ggml-rpc-server", folder / "ggml-rpc-server")
    with socket.socket() as taken:
        taken.bind(("127.0.0.9", 0))
        free = taken.getsockname()[1]
    child = await LocalShell("beta").start(
        [str(folder / "ggml-rpc-server"), "-H", "127.0.0.9", "-p", str(free)], env={}
    )
    try:
        while True:
            try:
                await RpcProbe().hello(f"127.0.0.9:{free}")
                break
            except EndpointRefused:
                await asyncio.sleep(0.05)
        yield folder, free, child
    finally:
        await child.stop()


@pytest.mark.engine
async def test_a_worker_of_the_engine_in_use_is_fine_and_one_whose_binary_was_replaced_is_stale(
    running: tuple[Path, int, Child], tmp_path: Path
) -> None:
    folder, port, child = running
    shell = Elsewhere("beta", tmp_path)
    found, problems = await workers(host(port), shell, RpcProbe(), engine=str(folder), in_use={})
    assert [(one.pid, one.path, one.protocol) for one in found] == [
        (child.pid, str(folder / "ggml-rpc-server"), "7.0.0")
    ]
    assert problems == []
    _, problems = await workers(host(port), shell, RpcProbe(), engine="/opt/another", in_use={})
    assert len(problems) == 1
    assert (
        f"(pid {child.pid}, {folder}/ggml-rpc-server) is not of the engine in use, /opt/another: stop it" in problems[0]
    )
    (folder / "ggml-rpc-server").unlink()
    _, problems = await workers(host(port), shell, RpcProbe(), engine=str(folder), in_use={})
    assert "ggml-rpc-server (deleted)) is stale: its binary has been replaced since it started: stop it" in problems[0]
