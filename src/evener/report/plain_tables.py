"""Tables for other programs: Markdown for forums, CSV for spreadsheets. What strangers named stays text in both."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence

from evener.report.words import plain

# A spreadsheet takes a cell that begins so for a formula; a leading apostrophe makes it text.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
# What Markdown or the HTML in it would read as more than a character.
_SPECIAL = re.compile(r"([\\`*_\[\]<>|#~$!&])")


def csv_text(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """RFC 4180, one header row; None is an empty cell, numbers stay numbers, text cannot become a formula."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(heads)
    writer.writerows([[_cell(value) for value in row] for row in rows])
    return text.getvalue()


def _cell(value: object) -> object:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.6g}"
    if not isinstance(value, str):
        return value
    shown = plain(value)
    return f"'{shown}" if shown.startswith(_FORMULA) else shown


def markdown_table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A GitHub table; the cells are text already escaped. A head that begins with "#" is a column of figures."""
    names = [head.removeprefix("#") for head in heads]
    lines = [names, ["---:" if head.startswith("#") else "---" for head in heads], *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def escaped(text: str) -> str:
    """Text that Markdown shows as it is, on one line."""
    return _SPECIAL.sub(r"\\\1", " ".join(plain(text).split()))
