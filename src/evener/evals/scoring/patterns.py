"""A suite's own regular expression against a whole text, in a process of its own that may take so long and no longer.

Some patterns take longer than the universe on some texts, and Python's `re` cannot be stopped. Knows no question.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys

CPU_S = 2  # of the processor, so that a busy machine changes nothing
MOST_BYTES = 1 << 30
WITHIN_S = 60.0
NO_MATCH = 3
_CHILD = f"""
import json, re, resource, sys
resource.setrlimit(resource.RLIMIT_AS, ({MOST_BYTES}, {MOST_BYTES}))
resource.setrlimit(resource.RLIMIT_CPU, ({CPU_S}, {CPU_S + 1}))
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
pattern, text = json.load(sys.stdin)
sys.exit(0 if re.fullmatch(pattern, text, re.DOTALL) else {NO_MATCH})
"""


class TooSlow(Exception):
    """Nobody knows whether the pattern matches. Its first argument is the pattern."""


def check(pattern: object) -> None:
    """Raises TypeError or ValueError for what is no pattern; matches nothing."""
    if not isinstance(pattern, str):
        raise TypeError("a pattern is text")
    try:
        re.compile(pattern, re.DOTALL)
    except (re.error, RecursionError, OverflowError) as error:
        raise ValueError(str(error)) from None


def is_whole(pattern: str, text: str) -> bool:
    """Whether the pattern matches all of the text; a dot is any character. Raises TooSlow."""
    try:
        ended = subprocess.run(
            [sys.executable, "-I", "-S", "-c", _CHILD],
            input=json.dumps([pattern, text]).encode(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={},
            timeout=WITHIN_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise TooSlow(pattern) from None
    if ended.returncode not in (0, NO_MATCH):  # a limit has ended it
        raise TooSlow(pattern)
    return ended.returncode == 0
