"""Who answers on an endpoint, where its host lets us look: the process behind a refusal, and whether it is busy."""

from __future__ import annotations

import re
from collections.abc import Mapping

from evener.errors import EndpointBusy, EndpointError, HostError
from evener.ports import Rpc, Shell, WorkerSeen

_USERS = re.compile(r'users:\(\("([^"]+)",pid=(\d+)')


async def visit(endpoint: str, rpc: Rpc, shells: Mapping[str, Shell], *, within_s: float) -> WorkerSeen:
    """Say HELLO; a failure names the process that listens there when one of `shells` (by address) can see it."""
    try:
        return await rpc.hello(endpoint, within_s=within_s)
    except EndpointError as error:
        address, _, port = endpoint.rpartition(":")
        shell = shells.get(address)
        seen = await listener(shell, port) if shell else None
        if shell is None or seen is None:
            raise
        busy = isinstance(error, EndpointBusy) and await _serves_a_client(shell, port)
        why = error.message.removeprefix(f"{endpoint}: ")
        what = "it serves another client, one at a time" if busy else why
        raise type(error)(endpoint, f"{what}; {shell.host} runs {seen} there", hint=error.hint) from error


async def listener(shell: Shell, port: str) -> str | None:
    """ "NAME (pid N, BINARY)" of whoever listens on that port, None where nobody can tell."""
    found = _USERS.search(await _sockets(shell, "-ltnp", f"sport = :{port}"))
    if found is None:
        return None
    binary = await _binary(shell, found[2])
    return f"{found[1]} (pid {found[2]}{f', {binary}' if binary else ''})"


async def _serves_a_client(shell: Shell, port: str) -> bool:
    """A worker with a client has an established connection that its process has accepted, beside our queued one."""
    lines = (await _sockets(shell, "-tnp", "state", "established", f"sport = :{port}")).splitlines()
    return any("users:" in line for line in lines)


async def _sockets(shell: Shell, *arguments: str) -> str:
    try:
        if await shell.which("ss") is None:
            return ""
        return (await shell.run(["ss", "-H", *arguments], within_s=5)).stdout
    except HostError:
        return ""


async def _binary(shell: Shell, pid: str) -> str | None:
    try:
        found = await shell.run(["readlink", f"/proc/{pid}/exe"], within_s=5)
    except HostError:
        return None
    return found.stdout.strip() or None
