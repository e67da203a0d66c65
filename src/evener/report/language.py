"""The sentences of a report in one language. Templates are English; a table of lang/ says them in another.

Numbers and names are put in as they are. A template that a table lacks is said in English: a test keeps it complete.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Literal

Language = Literal["en", "zh"]


class Say:
    """`say("{n} blocks", n=2)`: the sentence, in its language."""

    def __init__(self, language: Language = "en", *, package: str = "evener.report") -> None:
        self.language = language
        self._table = table(language, package)

    def __call__(self, template: str, /, **values: object) -> str:
        said = self._table.get(template, template)
        return said.format(**values) if values else said

    def count(self, n: int, one: str, many: str) -> str:
        """`say.count(2, "{n} block", "{n} blocks")`"""
        return self(one if n == 1 else many, n=n)

    def listed(self, words: Sequence[str]) -> str:
        """ "a", "a and b", "a, b and c" """
        if len(words) < 2:
            return "".join(words)
        return self("{several} and {last}", several=self.comma.join(words[:-1]), last=words[-1])

    @property
    def comma(self) -> str:
        return self(", ")


@cache
def table(language: Language, package: str = "evener.report") -> Mapping[str, str]:
    """English template -> the same in `language`, of the folder `lang` of a package; empty for English."""
    if language == "en":
        return {}
    text = files(package).joinpath("lang", f"{language}.toml").read_text(encoding="utf-8")
    return {key: value for part in tomllib.loads(text).values() for key, value in part.items()}
