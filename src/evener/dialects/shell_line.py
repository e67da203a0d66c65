"""A planned process as one line for a POSIX shell, ready to paste. Carries no secret, and knows no host."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence

from evener.dialects import llama_flags as flags

_SECRET = ("KEY", "TOKEN", "SECRET", "PASSWORD")
_LEFT_OUT = "<left out>"


def shell_line(argv: Sequence[str], env: Mapping[str, str]) -> str:
    """What is a secret by its name is left to the reader's environment; what only evener reads is left out.

    A worker lives on when its client vanishes: of SIGPIPE it would die.
    """
    settings = [_setting(name, value) for name, value in sorted(env.items())]
    line = shlex.join(_without_secrets(_without_log_flags(argv)))
    if argv and argv[0].endswith(flags.WORKER):
        line = shlex.join(["sh", "-c", f"trap '' PIPE; exec {line}"])
    return " ".join([*(["env", *settings] if settings else []), line])


def _setting(name: str, value: str) -> str:
    if not any(word in name.upper() for word in _SECRET):
        return shlex.quote(f"{name}={value}")
    return f'{name}="${name}"' if name.isidentifier() else shlex.quote(f"{name}={_LEFT_OUT}")


def _without_secrets(argv: Sequence[str]) -> list[str]:
    words = [_LEFT_OUT if before == "--api-key" else word for before, word in zip(["", *argv], argv, strict=False)]
    return [f"--api-key={_LEFT_OUT}" if word.startswith("--api-key=") else word for word in words]


def _without_log_flags(argv: Sequence[str]) -> list[str]:
    """Without the log that verification reads."""
    plain = [word for word in argv if word != "--log-jsonl"]
    at = plain.index("-lv") if "-lv" in plain else len(plain)
    return plain[:at] + plain[at + 2 :]
