"""What every file at the door has in common: read as TOML, and its faults told by their keys. Knows no key itself."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from evener.errors import FaultyFile

Fault = tuple[str, str]  # (key, what is wrong)
MUST_BE = {
    "model_type": "must be a table",
    "dict_type": "must be a table",
    "list_type": "must be a list",
    "string_type": "must be text",
    "int_type": "must be a whole number",
    "float_type": "must be a number",
    "bool_type": "must be true or false",
}


def text_of(path: Path, *, fault: type[FaultyFile], hint: str) -> str:
    """The whole file. Raises `fault`; `hint` is what to do where there is none."""
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise fault(str(path), (("", "no such file"),), hint=hint) from None
    except (OSError, UnicodeDecodeError) as error:
        raise fault(str(path), (("", f"cannot be read: {error}"),)) from None


def toml_of(text: str, *, path: str, fault: type[FaultyFile]) -> dict[str, Any]:
    """What the text says. Raises `fault` with the line where it is not TOML."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"^(.*) \(at (line \d+), column \d+\)$", str(error))
        key, what = (found[2], found[1]) if found else ("", str(error))
        raise fault(path, ((key, f"not TOML: {what}"),)) from None


def key_of(loc: Sequence[str | int]) -> str:
    """A place in the file as its owner would write it: hosts[1].ports."""
    path = ""
    for part in loc:
        path += f"[{part}]" if isinstance(part, int) else f".{part}" if path else part
    return path


def plain_fault(error: Any) -> str:
    """What pydantic found wrong with one value, in our words."""
    if error["type"] == "missing":
        return "is required"
    if error["type"] == "value_error":
        return str(error["ctx"]["error"])
    return MUST_BE.get(error["type"]) or str(error["msg"]).replace("Input should", "must")


def near(given: str, known: Collection[str]) -> str:
    """What was probably meant, as the end of a sentence; nothing where no name is close."""
    found = get_close_matches(given, known, n=1)
    return f'; did you mean "{found[0]}"?' if found else ""


def repeated(table: str, names: Sequence[str | None]) -> Iterator[Fault]:
    """Two tables of one list that have the same name."""
    for i, name in enumerate(names):
        if name is not None and name in names[:i]:
            yield f"{table}[{i}].name", f'"{name}" is the name of {table}[{names.index(name)}] already'


# ---- what can be read of a table, whatever else is wrong with it


def tables(value: Any) -> list[dict[str, Any]]:
    return [item if isinstance(item, dict) else {} for item in value] if isinstance(value, list) else []


def texts(value: Any) -> list[str | None]:
    return [item if isinstance(item, str) else None for item in value] if isinstance(value, list) else []


def text(table: Mapping[str, Any], key: str) -> str | None:
    return table[key] if isinstance(table.get(key), str) else None


def sound(check: Callable[[str], str], value: Any) -> str | None:
    """The value when it passes its own check; its fault is told elsewhere."""
    try:
        return check(value) if isinstance(value, str) else None
    except ValueError:
        return None
