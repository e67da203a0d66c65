"""RPC through ssh: the worker listens on its own loopback, and so does the tunnel on the head's. Command line only."""

from __future__ import annotations

LOOPBACK = "127.0.0.1"


def tunnel_argv(destination: str, *, port: int, local_port: int | None = None) -> tuple[str, ...]:
    """A tunnel from this machine's loopback to the worker's. `destination` is anything ssh accepts.

    It ends where the port cannot be had, asks nothing, and notices a cut cable within 15 seconds. One connection of
    its own: a shared one would carry the payload beside everything else.
    """
    return (
        "ssh", "-N", "-T",
        "-o", "BatchMode=yes",
        "-o", "ExitOnForwardFailure=yes",
        "-o", "ServerAliveInterval=5", "-o", "ServerAliveCountMax=3",
        "-o", "ControlPath=none",
        "-L", f"{LOOPBACK}:{local_port or port}:{LOOPBACK}:{port}",
        destination,
    )  # fmt: skip
