"""The documents of this project, and what is written in them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
DOCS = ROOT / "docs"
_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
_SPAN = re.compile(r"`(evener [^`\n]+)`")


def by_hand() -> list[Path]:
    """README and everything in docs that a person wrote."""
    written = [p for p in sorted(DOCS.rglob("*.md")) if "Do not edit" not in p.read_text(encoding="utf-8")]
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *written]


def blocks(page: Path, language: str) -> list[str]:
    """The fenced blocks of one language."""
    return [text for kind, text in _BLOCK.findall(page.read_text(encoding="utf-8")) if kind == language]


def command_lines(page: Path, program: str) -> Iterator[list[str]]:
    """Words of each line that calls `program`, in shell blocks, and for evener in the text; without comments."""
    text = _BLOCK.sub("", page.read_text(encoding="utf-8"))
    lines = [line for block in blocks(page, "sh") for line in block.splitlines()]
    lines += _SPAN.findall(text) if program == "evener" else []
    for line in lines:
        words = shlex.split(line, comments=True)
        if words and words[0] == program:
            yield words[1:]
