"""Records to JSON and back. Keys are the field names; None is null; times are ISO 8601 in UTC."""

from __future__ import annotations

import json
from collections.abc import Hashable
from contextlib import suppress
from functools import cache
from typing import Any, TypeVar, cast

from pydantic import TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError

from evener.errors import RunUnreadable

T = TypeVar("T")


@cache
def _adapter(kind: Hashable) -> TypeAdapter[Any]:
    return TypeAdapter(cast(Any, kind))


def to_data(record: object) -> Any:
    """JSON-ready data of a record (or of a list or tuple of records)."""
    if isinstance(record, (list, tuple)):
        return [to_data(item) for item in record]
    return _adapter(cast(Hashable, type(record))).dump_python(record, mode="json")


def to_json(record: object, *, indent: int | None = None) -> str:
    return json.dumps(to_data(record), indent=indent, ensure_ascii=False)


def to_line(record: object, *, without: str | None = None) -> bytes:
    """A record as one line of JSON without its end, in a tenth of the time: for what is written while streams run.

    `without` is a key that is left out. Half a character, which a server may send, becomes a question mark.
    """
    adapter, left_out = _adapter(cast(Hashable, type(record))), {without} if without else None
    try:
        return adapter.dump_json(record, exclude=left_out)
    except PydanticSerializationError:
        data = adapter.dump_python(record, mode="json", exclude=left_out)
        return json.dumps(data, ensure_ascii=False).encode(errors="replace")


def from_json(kind: type[T], text: str | bytes, *, source: str) -> T:
    """Read a record. Unknown keys are dropped: a newer minor writer may have added some. `source` names the file."""
    adapter = _adapter(cast(Hashable, kind))
    try:
        read: T = adapter.validate_json(text)
    except ValidationError as error:
        with suppress(ValueError):  # ValidationError is one too
            older: T = adapter.validate_json(json.dumps(_as_today(json.loads(text))))
            return older
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "document"
        raise RunUnreadable(f"{source}: {where}: {first['msg']}") from error
    return read


def _as_today(data: Any) -> Any:
    """What an earlier evener wrote, in today's shape: a suite's `measures` were bare numbers."""
    if isinstance(data, list):
        return [_as_today(item) for item in data]
    if not isinstance(data, dict):
        return data
    return {
        key: {name: one if isinstance(one, dict) else {"value": one} for name, one in value.items()}
        if key == "measures" and isinstance(value, dict)
        else _as_today(value)
        for key, value in data.items()
    }


def from_data(kind: type[T], data: Any, *, source: str) -> T:
    """The same for data that `json` has already read, e.g. a part of a message."""
    return from_json(kind, json.dumps(data), source=source)
