"""What OpenSSH prints becomes the cause and the command that helps. Texts captured from OpenSSH 9.2."""

from __future__ import annotations

import pytest

from evener.edges import ssh_faults
from evener.errors import HostError, HostLogin, HostUnreachable

CHANGED = """\
@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@\r
@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @\r
@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@\r
IT IS POSSIBLE THAT SOMEONE IS DOING SOMETHING NASTY!\r
Add correct host key in /home/me/.ssh/known_hosts to get rid of this message.\r
Offending ED25519 key in /home/me/.ssh/known_hosts:7\r
  remove with:\r
  ssh-keygen -f "/home/me/.ssh/known_hosts" -R "10.0.0.2"\r
Host key for 10.0.0.2 has changed and you have requested strict checking.\r
Host key verification failed.\r
"""


@pytest.mark.parametrize(
    ("said", "kind", "message", "hint"),
    [
        (
            "me@10.0.0.2: Permission denied (publickey,password).\r\n",
            HostLogin,
            "beta: ssh me@beta was refused: beta accepts none of the keys that work without a question",
            "ssh-copy-id me@beta",
        ),
        (
            "Permissions 0644 for '/home/me/.ssh/id' are too open.\r\nWARNING: UNPROTECTED PRIVATE KEY FILE!\r\n"
            "me@10.0.0.2: Permission denied (publickey).\r\n",
            HostLogin,
            "beta: ssh does not use your key, because others can read its file",
            "chmod 600",
        ),
        (
            "Host key verification failed.\r\n",
            HostLogin,
            "beta: the host key of me@beta is not known yet",
            "ssh me@beta",
        ),
        (
            CHANGED,
            HostLogin,
            "beta: the host key of me@beta has changed: a new installation, or another machine in its place",
            "sed -i 7d /home/me/.ssh/known_hosts, then ssh me@beta",
        ),
        (
            "ssh: Could not resolve hostname beta.lan: Name or service not known\r\n",
            HostUnreachable,
            "beta: the name beta.lan does not resolve",
            "rig.toml",
        ),
        (
            "ssh: connect to host 10.0.0.2 port 22: Connection refused\r\n",
            HostUnreachable,
            "beta: nobody listens at 10.0.0.2 port 22: connection refused",
            "ssh me@beta",
        ),
        (
            "ssh: connect to host 10.0.0.2 port 22: Connection timed out\r\n",
            HostUnreachable,
            "beta: no answer from 10.0.0.2 port 22",
            "the cable in",
        ),
        (
            "ssh: connect to host beta port 22: No route to host\r\n",
            HostUnreachable,
            "no answer from beta port 22",
            "on",
        ),
        (
            "Connection timed out during banner exchange\r\nConnection to 10.0.0.2 port 22 timed out\r\n",
            HostUnreachable,
            "beta: no answer from me@beta",
            "the cable in",
        ),
        (
            "kex_exchange_identification: Connection closed by remote host\r\n",
            HostUnreachable,
            "beta: the ssh server at me@beta hung up before the login",
            "overloaded",
        ),
        (
            "/home/me/.ssh/config: line 3: Bad configuration option: hots\r\n"
            "/home/me/.ssh/config: terminating, 1 bad configuration options\r\n",
            HostError,
            "beta: ssh does not accept its own configuration: /home/me/.ssh/config: terminating",
            "ssh me@beta",
        ),
        ("something new\r\n", HostUnreachable, "beta: ssh me@beta failed: something new", "without a question"),
        ("", HostUnreachable, "beta: ssh me@beta failed", "without a question"),
    ],
)
def test_each_cause_has_its_line_and_its_remedy(said: str, kind: type[HostError], message: str, hint: str) -> None:
    error = ssh_faults.fault("beta", "me@beta", said)
    assert type(error) is kind
    assert message in error.message
    assert hint in (error.hint or "")
    assert "\n" not in error.message


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ("Timeout, server 10.0.0.2 not responding.\r\n", "beta: the ssh connection broke: beta has stopped answering"),
        (
            "client_loop: send disconnect: Broken pipe\r\n",
            "beta: the ssh connection broke: client_loop: send disconnect: Broken pipe",
        ),
        (
            "Warning: Permanently added 'beta' (ED25519) to the list of known hosts.\r\n",
            "beta: the ssh connection broke",
        ),
    ],
)
def test_a_connection_that_broke_is_no_exit_code(said: str, message: str) -> None:
    assert ssh_faults.lost("beta", "me@beta", said).message == message
