"""Is it the same engine on every host, and in every worker that already runs? Looks and compares; stops nobody."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from pathlib import PurePosixPath
from types import MappingProxyType

from evener import files
from evener.dialects import proc_net
from evener.dialects.llama_build import WORKER, engine_name
from evener.dialects.proc_net import Listener
from evener.errors import EndpointBusy, EndpointError, HostError
from evener.ports import Rpc, Shell
from evener.records.capability import HostEngine, RigEngines, WorkerFound
from evener.records.rig import Host
from evener.together import together

HELLO_WITHIN_S = 3.0
NOBODY: Mapping[str, str] = MappingProxyType({})
DELETED = " (deleted)"  # how the kernel marks a binary that was replaced while it runs
# One walk for all sockets. It shows our own processes, and everybody's to root; others stay unknown.
_OWNERS = """ls -l /proc/[0-9]*/fd 2>/dev/null | grep -E "^/proc/|socket:\\[($1)\\]"; :"""
_BINARIES = 'echo "$(readlink -f -- "$1" || echo "$1")"; shift; for p; do echo "$p $(readlink "/proc/$p/exe")"; done; :'


def compare(hosts: Sequence[HostEngine], workers: Sequence[WorkerFound], stale: Sequence[str] = ()) -> RigEngines:
    """Everything that forbids or qualifies a load over these engines. The head is the first host. `stale` are problems
    of workers that were found on the way."""
    problems = [f"{host.host}: {host.fault}" for host in hosts if host.fault]
    problems += [f"{host.host}: {problem}" for host in hosts if host.check for problem in host.check.problems]
    notes: list[str] = []
    for host in hosts[1:]:
        more_problems, more_notes = _beside(hosts[0], host)
        problems += more_problems
        notes += more_notes
    problems += stale
    return RigEngines(
        hosts=tuple(hosts), workers=tuple(workers), problems=tuple(problems), notes=tuple(notes), ok=not problems
    )


def _beside(head: HostEngine, other: HostEngine) -> tuple[list[str], list[str]]:
    """(problems, notes) of one host's engine beside the head's."""
    if head.check is None or other.check is None:
        return [], []
    ours, theirs = head.check.capability, other.check.capability
    problems, notes = [], []
    if theirs.protocol != ours.protocol:
        problems.append(
            f"{other.host}: its worker speaks RPC {theirs.protocol or '?'}, the head {ours.protocol or '?'}: "
            f"evener engine push {other.host}"
        )
    if None in (theirs.build, ours.build):
        notes.append(
            f"{other.host}: builds cannot be compared, {engine_name(theirs)} and the head's {engine_name(ours)}"
        )
    elif theirs.build != ours.build:
        problems.append(f"{other.host}: {engine_name(theirs)}, the head has {engine_name(ours)}")
    elif theirs.commit != ours.commit:
        said = f"{other.host}: {engine_name(theirs)}, the head has {engine_name(ours)}"
        if _is_our_mark(head) or _is_our_mark(other):
            notes.append(f"{said}: one build number; what we build is marked by its archive, not by its commit")
        else:
            problems.append(said)
    if other.backend != head.backend:
        notes.append(f"{other.host}: built for {other.backend or '?'}, the head for {head.backend or '?'}")
    return problems, notes


def _is_our_mark(host: HostEngine) -> bool:
    commit = host.check.capability.commit if host.check else None
    return commit is not None and (host.source_sha256 or "").startswith(commit)


async def workers(
    host: Host, shell: Shell | None, rpc: Rpc, *, engine: str | None, in_use: Mapping[str, str] = NOBODY
) -> tuple[list[WorkerFound], list[str]]:
    """Who listens in a host's range of RPC ports (or on its endpoints) and what is wrong with them.

    `engine` is the folder of the host's engine. Nobody visits an endpoint that is `in_use` (by whom), or whose host
    shows a client. Raises HostError when the host does not answer.
    """
    if shell is None:
        found = [WorkerFound(host=host.name, endpoint=e, answer=_serves(e, in_use)) for e in host.endpoints]
        return await _asked(found, rpc, expected=None)
    tables = [(await shell.read(path) or b"").decode(errors="replace") for path in proc_net.TABLES]
    first, last = host.ports
    here = [one for one in proc_net.listeners(*tables) if first <= one.port <= last]
    if not here:
        return [], []
    pids = await _owners(shell, here)
    expected, binaries = await _binaries(shell, f"{engine}/{WORKER}" if engine else "", list(pids.values()))
    served = proc_net.served(*tables)
    found = [
        WorkerFound(
            host=host.name,
            endpoint=f"{_reached(one, host)}:{one.port}",
            answer=_serves(f"{_reached(one, host)}:{one.port}", in_use) or _left_alone(one, host, served),
            pid=pids.get(one.inode),
            path=binaries.get(pids.get(one.inode, 0)),
        )
        for one in here
    ]
    return await _asked(found, rpc, expected=expected or None)


def _reached(one: Listener, host: Host) -> str:
    return (host.address or "127.0.0.1") if one.address in proc_net.ANY else one.address


def _serves(endpoint: str, in_use: Mapping[str, str]) -> str:
    return f"it serves {in_use[endpoint]}" if endpoint in in_use else ""


def _left_alone(one: Listener, host: Host, served: Set[int]) -> str:
    """Why a worker is not visited; empty for one that is. A visit to a busy one would wait in its queue."""
    if one.port in served:
        return "it serves a client"
    if host.connection == "ssh" and one.address.startswith("127."):
        return "it listens on that host's loopback only"
    return ""


async def _asked(
    found: Sequence[WorkerFound], rpc: Rpc, *, expected: str | None
) -> tuple[list[WorkerFound], list[str]]:
    answers = await together(_ask(worker, rpc, expected) for worker in found)
    return [worker for worker, _ in answers], [problem for _, problem in answers if problem]


async def _ask(worker: WorkerFound, rpc: Rpc, expected: str | None) -> tuple[WorkerFound, str | None]:
    """The worker with its answer, and what is wrong with it. A busy one is fine: it serves somebody."""
    who = f"{worker.host}: the worker at {worker.endpoint}" + (
        f" (pid {worker.pid}, {worker.path or 'binary unknown'})" if worker.pid else ""
    )
    wrong = _wrong_binary(worker, expected)
    if worker.answer:
        return worker, f"{who} {wrong}" if wrong else None
    try:
        seen = await rpc.hello(worker.endpoint, within_s=HELLO_WITHIN_S)
    except EndpointError as error:
        why = error.message.removeprefix(f"{worker.endpoint}: ")
        said = replace(worker, answer=why)
        if isinstance(error, EndpointBusy):
            return said, f"{who} {wrong}" if wrong else None
        return said, f"{who} {why}{f', and {wrong}' if wrong else ''}: stop it"
    said = replace(worker, answer=f"RPC {seen.protocol}, {len(seen.devices)} devices", protocol=seen.protocol)
    return said, f"{who} {wrong}: stop it" if wrong else None


def _wrong_binary(worker: WorkerFound, expected: str | None) -> str | None:
    if worker.path is None:
        return None
    if worker.path.endswith(DELETED):
        return "is stale: its binary has been replaced since it started"
    if expected and worker.path != expected and PurePosixPath(worker.path).name == WORKER:
        return f"is not of the engine in use, {PurePosixPath(expected).parent}"
    return None


async def _owners(shell: Shell, sockets: Sequence[Listener]) -> dict[int, int]:
    """Process ids by the sockets' inodes, as far as we may look."""
    wanted = "|".join(str(one.inode) for one in sockets)
    try:
        text = (await files.sh(shell, _OWNERS, wanted)).stdout
    except HostError:
        return {}
    return owners(text)


def owners(listing: str) -> dict[int, int]:
    """`ls -l /proc/*/fd`: the first process that holds each socket, by inode."""
    found: dict[int, int] = {}
    pid = 0
    for line in listing.splitlines():
        if heading := re.fullmatch(r"/proc/(\d+)/fd:", line):
            pid = int(heading[1])
        elif (socket := re.search(r"socket:\[(\d+)\]", line)) and pid:
            found.setdefault(int(socket[1]), pid)
    return found


async def _binaries(shell: Shell, engine: str, pids: Sequence[int]) -> tuple[str, dict[int, str]]:
    """The host's own worker program, links resolved, and what each process runs."""
    text = (await files.sh(shell, _BINARIES, engine, *map(str, pids))).stdout
    first, _, rest = text.partition("\n")
    return first, {int(pid): path for pid, path in re.findall(r"^(\d+) (/.*)$", rest, re.MULTILINE)}
