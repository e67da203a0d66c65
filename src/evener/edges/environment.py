"""The environment our children get: a short allow-list, so that nobody's shell settings change the engine."""

from __future__ import annotations

import os
from collections.abc import Mapping

# Needed to start at all, to find drivers, or to speak the user's language. Everything else stays out:
# CUDA_VISIBLE_DEVICES, GGML_*, LLAMA_ARG_* and LLAMA_API_KEY change the engine without a word on its command line.
ALLOWED = (
    "PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR",
    "LD_LIBRARY_PATH", "SSH_AUTH_SOCK", "SYSTEMROOT",
)  # fmt: skip
ALWAYS = {"GGML_NO_BACKTRACE": "1"}  # a crash must not start gdb


def child_environment(
    wanted: Mapping[str, str] | None = None, *, ours: Mapping[str, str] = os.environ
) -> dict[str, str]:
    """Allow-listed variables of `ours`, then what we always set, then `wanted`."""
    return {k: ours[k] for k in ALLOWED if k in ours} | ALWAYS | dict(wanted or {})
