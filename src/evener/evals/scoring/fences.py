"""Code in an answer: which part of the text is meant to be run. Pure."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

ALIASES: dict[str, tuple[str, ...]] = {
    "python": ("python", "py", "python3"),
    "bash": ("bash", "sh", "shell", "zsh"),
    "sql": ("sql", "sqlite", "sqlite3"),
    "json": ("json", "json5"),
    "diff": ("diff", "patch"),
}
_OPENING = re.compile(r"([ \t]*)(`{3,}|~{3,})[ \t]*([\w+#.-]*)[^`\n]*$")


def code(text: str, language: str) -> str | None:
    """The last complete fenced block of that language, else the last complete one without a language.

    Without any fence the whole text, if it can be code: Python that parses, or another language's bare text. None for
    an answer that holds no code, or only an unfinished block.
    """
    blocks = list(complete(text))
    names = ALIASES.get(language, (language,))
    for wanted in (names, ("",)):
        if mine := [block for name, block in blocks if name in wanted]:
            return mine[-1]
    if blocks or "```" in text or not text.strip():
        return None
    if language != "python":
        return text
    return text if _parses(text) else None


def complete(text: str) -> Iterator[tuple[str, str]]:
    """(language, content) of each block that is closed by marks like those that opened it, in one pass over the lines.

    A block in a list is indented as a whole: what stands before its marks is taken off its lines (CommonMark 4.5).
    """
    indent, marks, language, inside = "", "", "", list[str]()
    for line in text.splitlines(keepends=True):
        if marks and len(line.strip()) >= len(marks) and not line.strip().strip(marks[0]):
            yield language, "".join(inside)
            marks = ""
        elif marks:
            inside.append(line.removeprefix(indent) if line.startswith(indent) else line.lstrip(" \t"))
        elif found := _OPENING.match(line):
            indent, marks, language, inside = found[1], found[2], found[3].lower(), []


def _parses(text: str) -> bool:
    try:
        return bool(ast.parse(text).body)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
