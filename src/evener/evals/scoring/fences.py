"""Code in an answer: which part of the text is meant to be run. Pure."""

from __future__ import annotations

import ast
import re

ALIASES: dict[str, tuple[str, ...]] = {
    "python": ("python", "py", "python3"),
    "bash": ("bash", "sh", "shell", "zsh"),
    "sql": ("sql", "sqlite", "sqlite3"),
    "json": ("json", "json5"),
    "diff": ("diff", "patch"),
}
_FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,})[ \t]*([\w+#.-]*)[^\n]*\n(.*?)^[ \t]*\1[ \t]*$", re.MULTILINE | re.DOTALL)


def code(text: str, language: str) -> str | None:
    """The last complete fenced block of that language, else the last complete one without a language.

    Without any fence the whole text, if it can be code: Python that parses, or another language's bare text. None for
    an answer that holds no code, or only an unfinished block.
    """
    blocks = [(match.group(2).lower(), match.group(3)) for match in _FENCE.finditer(text)]
    names = ALIASES.get(language, (language,))
    for wanted in (names, ("",)):
        if mine := [block for name, block in blocks if name in wanted]:
            return mine[-1]
    if blocks or "```" in text or not text.strip():
        return None
    if language != "python":
        return text
    return text if _parses(text) else None


def _parses(text: str) -> bool:
    try:
        return bool(ast.parse(text).body)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
