"""An endpoint that is not what the plan needs is one line, says who answers there, and nothing is started for it."""

from __future__ import annotations

import asyncio
import io
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, suppress

import pytest

from evener.dialects import rpc_wire as wire
from evener.edges.http import AioHttp
from evener.edges.local_shell import LocalShell
from evener.edges.rpc_probe import RpcProbe
from evener.errors import (
    EndpointBusy,
    EndpointNotRpc,
    EndpointRefused,
    EndpointTimedOut,
    EndpointUnresolved,
    EndpointWrongProtocol,
)
from evener.launch.bring_up import Ports, bring_up
from evener.records.plan import Candidate, Command


def ports(shell):
    return Ports(
        shells={"alpha": shell}, rpc=RpcProbe(), http=AioHttp(), open_log=lambda _host, _name: io.StringIO(),
        report=lambda _progress: None, doors={"127.0.0.1": shell},
    )  # fmt: skip


async def launch(*endpoints):
    """Bring up a server that names `endpoints`. /bin/false stands for it: nothing may get as far as starting it."""
    argv = ("/bin/false", "--rpc", ",".join(endpoints), "--device", "RPC0")
    server = Command(host="alpha", argv=argv, env={}, listen="127.0.0.1:28999")
    candidate = Candidate(
        name="cluster", kind="cluster", hosts=("alpha",), fits=True, short_bytes=0, devices=(), host_bytes={},
        servers=(server,), workers=(),
    )  # fmt: skip
    async with bring_up(candidate, ports(LocalShell("alpha")), model_bytes=0):
        raise AssertionError("it came up")


@contextmanager
def answering(reply):
    """A listener that sends `reply` to whatever it hears, and then reads on."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve():
            while True:
                try:
                    client, _ = server.accept()
                except OSError:
                    return
                with client:
                    client.recv(64)
                    client.sendall(reply)
                    with suppress(ConnectionError):
                        while client.recv(64):
                            pass

        threading.Thread(target=serve, daemon=True).start()
        yield f"127.0.0.1:{server.getsockname()[1]}"
        server.shutdown(socket.SHUT_RDWR)


def wait_for_listener(port):
    for _ in range(200):
        with socket.socket() as client:
            if client.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise AssertionError(f"nobody listens on {port}")


@contextmanager
def worker(engine):
    """A real worker on a port of its own."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    command = [engine / "ggml-rpc-server", "-H", "127.0.0.1", "-p", str(port), "-d", "CPU", "-t", "1"]
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        preexec_fn=lambda: signal.signal(signal.SIGPIPE, signal.SIG_IGN),
    )  # fmt: skip
    try:
        wait_for_listener(port)
        yield process, f"127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()


async def test_nobody_listening_is_refused():
    with socket.create_server(("127.0.0.1", 0)) as probe:
        endpoint = f"127.0.0.1:{probe.getsockname()[1]}"
    with pytest.raises(EndpointRefused, match=f"{re.escape(endpoint)}: nobody listens"):
        await launch(endpoint)


async def test_a_name_that_does_not_resolve_is_named():
    with pytest.raises(EndpointUnresolved, match=r"nowhere\.invalid:50052"):
        await launch("nowhere.invalid:50052")


async def test_a_full_backlog_times_out():
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen(0)
        where = server.getsockname()
        waiting = [socket.socket() for _ in range(3)]
        for client in waiting:
            client.setblocking(False)
            client.connect_ex(where)
        try:
            with pytest.raises(EndpointTimedOut, match="no answer to a connection within 3 s"):
                await launch(f"127.0.0.1:{where[1]}")
        finally:
            for client in waiting:
                client.close()


async def test_a_web_server_is_not_a_worker():
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    web = subprocess.Popen(  # noqa: ASYNC220 - a moment, in a test
        [sys.executable, "-m", "http.server", str(port), "--bind", "127.0.0.1"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        await asyncio.to_thread(wait_for_listener, port)
        with pytest.raises(EndpointNotRpc, match=f"a web server answers there; alpha runs .*pid {web.pid}"):
            await launch(f"127.0.0.1:{port}")
    finally:
        web.kill()
        web.wait()


async def test_another_protocol_names_host_pid_binary_and_both_versions():
    hello = bytes([5, 0, 0, 0]) + bytes(wire.CAPABILITIES_BYTES)
    with answering(struct.pack("<Q", len(hello)) + hello) as endpoint, pytest.raises(EndpointWrongProtocol) as caught:
        await launch(endpoint)
    said = str(caught.value)
    assert said.startswith(f"{endpoint}: speaks RPC 5.0.0, our engine 7.0.0; alpha runs ")
    assert f"(pid {os.getpid()}, {os.path.realpath(sys.executable)})" in said


async def test_nonsense_is_not_a_worker():
    with answering(b"220 mail ready, say hello\r\n") as endpoint, pytest.raises(EndpointNotRpc):
        await launch(endpoint)


@pytest.mark.engine
async def test_a_worker_that_serves_another_client_is_busy_and_lives_on(engine):
    with worker(engine) as (process, endpoint):
        address, _, port = endpoint.partition(":")
        with socket.create_connection((address, int(port))) as client:
            client.sendall(wire.hello())
            client.recv(64)
            with pytest.raises(EndpointBusy, match="it serves another client, one at a time; alpha runs ggml-rpc-"):
                await launch(endpoint)
        # Its queue held our visit, which gave up with a reset: the worker is alive and takes the next one.
        seen = await RpcProbe().hello(endpoint)
        assert seen.protocol == "7.0.0"
        assert process.poll() is None


@pytest.mark.engine
async def test_a_worker_that_hangs_is_busy_or_silent(engine):
    with worker(engine) as (process, endpoint):
        process.send_signal(signal.SIGSTOP)
        with pytest.raises(EndpointBusy, match="connected, but no answer to HELLO within 3 s; alpha runs ggml-rpc-"):
            await launch(endpoint)


@pytest.mark.engine
async def test_one_bad_endpoint_of_two_is_the_one_named(engine):
    with worker(engine) as (_, endpoint), pytest.raises(EndpointRefused, match=r"127\.0\.0\.1:1: nobody listens"):
        await launch(endpoint, "127.0.0.1:1")
