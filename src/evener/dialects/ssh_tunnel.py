"""RPC through ssh: the worker listens on its own loopback, and so does the tunnel on the head's. Command line only."""

from __future__ import annotations

LOOPBACK = "127.0.0.1"


def tunnel_argv(destination: str, *, port: int, local_port: int | None = None) -> tuple[str, ...]:
    """A tunnel from this machine's loopback to the worker's. `destination` is anything ssh accepts.

    It ends where the port cannot be had, asks nothing, runs nothing, and notices a cut cable within 15 seconds. One
    connection of its own: a shared one would carry the payload beside everything else. ClearAllForwardings would clear
    its own -L too: what the user's configuration forwards for this host comes along, and must be free.
    """
    return (
        "ssh", "-N", "-T", "-a", "-x",
        "-o", "BatchMode=yes",
        "-o", "ExitOnForwardFailure=yes",
        "-o", "ServerAliveInterval=5", "-o", "ServerAliveCountMax=3",
        "-o", "ControlPath=none",
        "-o", "RemoteCommand=none", "-o", "PermitLocalCommand=no",
        "-L", f"{LOOPBACK}:{local_port or port}:{LOOPBACK}:{port}",
        "--", destination,
    )  # fmt: skip
