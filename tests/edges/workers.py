"""Workers for tests: the real one on a port of its own, and things on a port that are none."""

from __future__ import annotations

import http.server
import itertools
import os
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

_ports = itertools.count(16200 + os.getpid() % 50 * 60)  # below the range that the kernel gives to clients


def free_port(address: str = "127.0.0.1") -> int:
    """A port that nobody listens on now."""
    for port in _ports:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((address, port))
                return port
            except OSError:
                continue
    raise AssertionError("no port is free")


@dataclass(frozen=True)
class RealWorker:
    """ggml-rpc-server on the CPU. `pid` is its process."""

    endpoint: str
    pid: int

    @property
    def is_alive(self) -> bool:
        stat = Path(f"/proc/{self.pid}/stat")
        return stat.exists() and stat.read_text().rpartition(")")[2].split()[0] != "Z"


@contextmanager
def real_worker(engine: Path, *, devices: str = "CPU") -> Iterator[RealWorker]:
    """As a stranger starts one: SIGPIPE kills it."""
    port = free_port()
    command = [engine / "ggml-rpc-server", "-H", "127.0.0.1", "-p", str(port), "-d", devices, "-t", "1"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        _until_listening(port)
        yield RealWorker(endpoint=f"127.0.0.1:{port}", pid=process.pid)
    finally:
        process.kill()
        process.wait()


def _until_listening(port: int) -> None:
    for _ in range(200):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise AssertionError(f"nobody listens on {port}")


@contextmanager
def web_server() -> Iterator[str]:
    """Its endpoint."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", free_port()), http.server.SimpleHTTPRequestHandler)
    server.RequestHandlerClass.log_message = lambda *_: None  # type: ignore[attr-defined]
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
