"""What OpenSSH says when it cannot reach a host, translated once: the cause in one line and what helps. Pure.

OpenSSH's messages are the same in every language; they were captured from 9.2 and read in the source for older ones.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from evener.errors import HostError, HostLogin, HostUnreachable

KNOWN_HOSTS_LINE = re.compile(r"^Offending \S+ key in (.+):(\d+)\r?$", re.MULTILINE)
WHERE = re.compile(r"connect to (?:host )?(?:address )?(\S+) port (\d+)")
NOT_SAID = re.compile(r"^(debug\d:|Warning: Permanently added|Pseudo-terminal|\*\* )")  # not a cause


def fault(host: str, target: str, said: str) -> HostError:
    """The error that fits what ssh printed. `target` is what the rig file gives to ssh, for commands to copy."""
    for sign, translate in SIGNS:
        if sign in said:
            return translate(host, target, said)
    last = _last_line(said)
    return HostUnreachable(f"{host}: ssh {target} failed{f': {last}' if last else ''}", hint=_try(target))


def lost(host: str, target: str, said: str) -> HostUnreachable:
    """The error for a connection that worked and then broke: whatever ran there ends by its leash."""
    if "not responding" in said:
        return HostUnreachable(
            f"{host}: the ssh connection broke: {host} has stopped answering",
            hint="is the cable in, is the host on? what ran there ends by itself within 15 s",
        )
    why = _last_line(said)
    return HostUnreachable(
        f"{host}: the ssh connection broke{f': {why}' if why else ''}",
        hint=f"what ran there ends by itself within 15 s; {_try(target)}",
    )


def _key_refused(host: str, target: str, said: str) -> HostError:
    if "UNPROTECTED PRIVATE KEY FILE" in said:
        return HostLogin(
            f"{host}: ssh does not use your key, because others can read its file",
            hint="chmod 600 the file that `ssh -v` names",
        )
    return HostLogin(
        f"{host}: ssh {target} was refused: {host} accepts none of the keys that work without a question",
        hint=f"ssh-copy-id {target} brings your key there; a key with a passphrase needs ssh-add first",
    )


def _host_key(host: str, target: str, said: str) -> HostError:
    if "IDENTIFICATION HAS CHANGED" in said:
        line = KNOWN_HOSTS_LINE.search(said)
        forget = f"sed -i {line[2]}d {line[1]}" if line else "ssh-keygen -R HOST"
        return HostLogin(
            f"{host}: the host key of {target} has changed: a new installation, or another machine in its place",
            hint=f"if you know why: {forget}, then ssh {target}",
        )
    return HostLogin(
        f"{host}: the host key of {target} is not known yet",
        hint=f"run ssh {target} once and compare the fingerprint it shows",
    )


def _no_name(host: str, target: str, said: str) -> HostError:
    name = re.search(r"resolve hostname (\S+?):", said)
    return HostUnreachable(
        f"{host}: the name {name[1] if name else target} does not resolve", hint="check `ssh = ...` in rig.toml"
    )


def _refused(host: str, target: str, said: str) -> HostError:
    return HostUnreachable(
        f"{host}: nobody listens at {_where(target, said)}: connection refused",
        hint=f"is an ssh server running there? {_try(target)}",
    )


def _no_answer(host: str, target: str, said: str) -> HostError:
    return HostUnreachable(
        f"{host}: no answer from {_where(target, said)}",
        hint=f"is {host} on, the cable in, the address right, port 22 let through? {_try(target)}",
    )


def _hung_up(host: str, target: str, said: str) -> HostError:
    return HostUnreachable(
        f"{host}: the ssh server at {target} hung up before the login",
        hint=f"it may be overloaded or block this address; {_try(target)}",
    )


def _config(host: str, target: str, said: str) -> HostError:
    return HostError(f"{host}: ssh does not accept its own configuration: {_last_line(said)}", hint=_try(target))


Translate = Callable[[str, str, str], HostError]
# In this order: a refused host key is also followed by other words.
SIGNS: tuple[tuple[str, Translate], ...] = (
    ("Host key verification failed", _host_key),
    ("IDENTIFICATION HAS CHANGED", _host_key),
    ("Permission denied", _key_refused),
    ("Too many authentication failures", _key_refused),
    ("Could not resolve hostname", _no_name),
    ("Connection refused", _refused),
    ("Connection timed out", _no_answer),
    ("Operation timed out", _no_answer),
    ("No route to host", _no_answer),
    ("Network is unreachable", _no_answer),
    ("kex_exchange_identification", _hung_up),
    ("Bad configuration option", _config),
    ("Bad owner or permissions", _config),
    ("terminating, ", _config),
)


def _where(target: str, said: str) -> str:
    found = WHERE.search(said)
    return f"{found[1]} port {found[2]}" if found else target


def _try(target: str) -> str:
    return f"`ssh {target}` must work without a question"


def _last_line(said: str) -> str:
    lines = [line.strip() for line in said.splitlines()]
    return next((line for line in reversed(lines) if line and not NOT_SAID.match(line)), "")
