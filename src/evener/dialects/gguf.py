"""Read the header of a GGUF file: metadata and where each tensor lies. Never touches a weight.

A header may claim anything. Every length is held against the bytes the file still has before it is believed, long
arrays are walked and not kept, and whatever is wrong is one `BadHeader` line that says where.
"""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass
from typing import NoReturn, Protocol, TypeAlias

from evener.dialects.gguf_types import ARRAY, REMOVED_TENSOR_TYPES, STRING, TENSOR_TYPES, VALUE_TYPES
from evener.errors import BadHeader
from evener.records.weights import Tensor

MAGIC = b"GGUF"
VERSIONS = (2, 3)
DEFAULT_ALIGNMENT = 32
ALIGNMENT_KEY = "general.alignment"

WINDOW_BYTES = 1 << 18
KEPT_ELEMENTS = 4096  # of an array of numbers; per-layer arrays have hundreds
KEPT_STRINGS = 64  # of an array of strings; a vocabulary has 10^5
KEPT_TEXT_BYTES = 1 << 20  # a chat template has 10^4 to 10^5
MOST_WALKED = 1 << 24  # strings and inner arrays of one header; the largest tokenizers have 10^6
DEEPEST_ARRAY = 4
MOST_NAME_BYTES = 64  # the format's limits
MOST_KEY_BYTES = 65535
MOST_DIMENSIONS = 4

_U32, _U64, _COUNTS = struct.Struct("<I"), struct.Struct("<Q"), struct.Struct("<QQ")
_ARRAY_HEAD = struct.Struct("<IQ")
_SHAPES = tuple(struct.Struct(f"<{dimensions}QIQ") for dimensions in range(MOST_DIMENSIONS + 1))
_SCALARS = {number: struct.Struct("<" + code) for number, (_, code) in VALUE_TYPES.items() if code}
_LEAST_PAIR_BYTES, _LEAST_TENSOR_BYTES = 8 + 1 + 4 + 1, 8 + 4 + 4 + 8


class Readable(Protocol):
    """An open file, an mmap, or anything that fetches ranges: absolute seeks, short reads allowed."""

    def read(self, size: int, /) -> bytes: ...

    def seek(self, offset: int, whence: int = 0, /) -> object: ...

    def tell(self) -> int: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrayOf:
    """An array that was walked and not kept: a vocabulary, its scores, its merges."""

    type: str  # "string", "f32", "array", ...
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LongText:
    """A string that was passed over and not kept."""

    bytes: int


Scalar: TypeAlias = int | float | bool | str
Value: TypeAlias = Scalar | tuple[Scalar | LongText, ...] | ArrayOf | LongText


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """What one GGUF file says before its weights. Tensor offsets count from `data_offset`."""

    version: int
    metadata: dict[str, Value]
    tensors: tuple[Tensor, ...]
    alignment: int
    data_offset: int
    file_bytes: int


def read_header(file: Readable, *, name: str) -> Header:
    """Read the header at the start of `file`; `name` stands in the error line.

    Raises BadHeader. Takes memory for what it keeps and one window, whatever the header claims.
    """
    cursor = _Cursor(file, name)
    version = _version(cursor)
    tensor_count, pair_count = cursor.unpack(_COUNTS)
    cursor.expect(pair_count, _LEAST_PAIR_BYTES, "metadata keys")
    metadata = _metadata(cursor, pair_count)
    alignment = _alignment(cursor, metadata)
    cursor.expect(tensor_count, _LEAST_TENSOR_BYTES, "tensors")
    tensors = tuple(_tensor(cursor, index) for index in range(tensor_count))
    data_offset = _padded(cursor.position, alignment) if tensors else cursor.position
    _check_layout(cursor, tensors, alignment, data_offset)
    return Header(
        version=version,
        metadata=metadata,
        tensors=tensors,
        alignment=alignment,
        data_offset=data_offset,
        file_bytes=cursor.end,
    )


class _Cursor:
    """A window that moves forward over the file."""

    def __init__(self, file: Readable, name: str) -> None:
        self._file = file
        self._name = name
        file.seek(0, os.SEEK_END)
        self.end = file.tell()
        file.seek(0)
        self._window = b""
        self._base = 0  # where the window begins
        self._at = 0  # where we are in it
        self._walked = 0

    @property
    def position(self) -> int:
        return self._base + self._at

    @property
    def left(self) -> int:
        return self.end - self.position

    def fault(self, what: str, *, hint: str | None = None) -> NoReturn:
        raise BadHeader(f"{self._name}: {what}", hint=hint)

    def expect(self, count: int, each_bytes: int, what: str) -> None:
        """Refuse a count that the rest of the file cannot hold."""
        if count * each_bytes > self.left:
            self.fault(
                f"cut short or damaged: claims {count} {what} at byte {self.position}, with {self.left} bytes left"
            )

    def unpack(self, form: struct.Struct) -> tuple[int, ...]:
        at = self._reach(form.size)
        self._at = at + form.size
        return form.unpack_from(self._window, at)

    def take(self, size: int) -> bytes:
        at = self._reach(size)
        self._at = at + size
        return self._window[at : at + size]

    def skip(self, size: int) -> None:
        self.expect(size, 1, "bytes")
        self._move(self.position + size)

    def skip_strings(self, count: int) -> None:
        """Pass over `count` strings by their lengths alone: the one loop that a vocabulary's size reaches."""
        self.walk(count, _U64.size, "strings")
        length_at = _U64.unpack_from
        while count:
            self._reach(_U64.size)
            window, at, last = self._window, self._at, len(self._window) - _U64.size
            passed = 0
            for passed in range(1, count + 1):  # noqa: B007  what the loop reached is what it passed
                at += 8 + length_at(window, at)[0]
                if at > last:
                    break
            count -= passed
            self._move(self._base + at)

    def walk(self, count: int, each_bytes: int, what: str) -> None:
        """Account for elements that must be visited one by one."""
        self.expect(count, each_bytes, what)
        self._walked += count
        if self._walked > MOST_WALKED:
            self.fault(f"holds {self._walked} {what}: more than any tokenizer")

    def _move(self, position: int) -> None:
        if position > self.end:
            self.fault(f"cut short: a string ends at byte {position}, the file at {self.end}")
        if position <= self._base + len(self._window):
            self._at = position - self._base
            return
        self._file.seek(position)
        self._base, self._at, self._window = position, 0, b""

    def _reach(self, size: int) -> int:
        """Have `size` bytes in the window; where they begin in it."""
        if self._at + size <= len(self._window):
            return self._at
        if size > self.left:
            self.fault(f"cut short: {size} bytes wanted at byte {self.position}, the file has {self.end}")
        parts = [self._window[self._at :]]
        have = len(parts[0])
        while have < size:
            part = self._file.read(max(WINDOW_BYTES, size - have))
            if not part:
                self.fault(f"cut short while it was read, at byte {self.position + have}")
            parts.append(part)
            have += len(part)
        self._base, self._at, self._window = self.position, 0, b"".join(parts)
        return 0


def _version(cursor: _Cursor) -> int:
    start = cursor.take(min(4, cursor.left))
    if start != MAGIC:
        _not_gguf(cursor, start)
    (version,) = cursor.unpack(_U32)
    if version & 0xFFFF == 0 and version:
        cursor.fault("a big-endian GGUF, which no little-endian engine reads", hint="get the file without '-be'")
    if version == 1:
        cursor.fault("GGUF version 1, which engines no longer read", hint="convert the model anew")
    if version not in VERSIONS:
        cursor.fault(f"GGUF version {version}; 2 and 3 are known")
    return version


def _not_gguf(cursor: _Cursor, start: bytes) -> NoReturn:
    if not start:
        cursor.fault("an empty file, not a GGUF")
    if start == b"vers":
        cursor.fault("a Git LFS pointer, not the model itself", hint="run `git lfs pull`, or download the file")
    if start.lstrip()[:1] == b"<":
        cursor.fault("a web page, not a GGUF", hint="use the download link (…/resolve/…), not the page about it")
    cursor.fault(f"not a GGUF: begins with {start!r}")


def _metadata(cursor: _Cursor, count: int) -> dict[str, Value]:
    metadata: dict[str, Value] = {}
    for _ in range(count):
        key = _identifier(cursor, MOST_KEY_BYTES, "metadata key")
        if key in metadata:
            cursor.fault(f"metadata key {_short(key)} occurs twice")
        (number,) = cursor.unpack(_U32)
        if key == ALIGNMENT_KEY and number != 4:
            cursor.fault(f"{ALIGNMENT_KEY} is not a u32")
        metadata[key] = _value(cursor, key, number)
    return metadata


def _value(cursor: _Cursor, key: str, number: int) -> Value:
    if number == STRING:
        return _text(cursor)
    if number == ARRAY:
        return _array(cursor, key)
    (value,) = cursor.unpack(_scalar(cursor, key, number))
    return bool(value) if VALUE_TYPES[number][0] == "bool" else value


def _scalar(cursor: _Cursor, key: str, number: int) -> struct.Struct:
    if number not in _SCALARS:
        cursor.fault(f"metadata key {_short(key)} has the unknown type {number}")
    return _SCALARS[number]


def _array(cursor: _Cursor, key: str) -> Value:
    number, count = cursor.unpack(_ARRAY_HEAD)
    if number == STRING:
        if count > KEPT_STRINGS:
            cursor.skip_strings(count)
            return ArrayOf(type="string", count=count)
        return tuple(_text(cursor) for _ in range(count))
    if number == ARRAY:
        _skip_arrays(cursor, key, count, depth=1)
        return ArrayOf(type="array", count=count)
    form = _scalar(cursor, key, number)
    name, code = VALUE_TYPES[number]
    cursor.expect(count, form.size, f"elements of {_short(key)}")
    if count > KEPT_ELEMENTS:
        cursor.skip(count * form.size)
        return ArrayOf(type=name, count=count)
    values = struct.unpack(f"<{count}{code}", cursor.take(count * form.size))
    return tuple(map(bool, values)) if name == "bool" else values


def _skip_arrays(cursor: _Cursor, key: str, count: int, *, depth: int) -> None:
    """Arrays in arrays are legal and nobody writes them."""
    if depth > DEEPEST_ARRAY:
        cursor.fault(f"metadata key {_short(key)} nests arrays more than {DEEPEST_ARRAY} deep")
    cursor.walk(count, _ARRAY_HEAD.size, f"arrays in {_short(key)}")
    for _ in range(count):
        number, inner = cursor.unpack(_ARRAY_HEAD)
        if number == STRING:
            cursor.skip_strings(inner)
        elif number == ARRAY:
            _skip_arrays(cursor, key, inner, depth=depth + 1)
        else:
            cursor.skip(inner * _scalar(cursor, key, number).size)


def _text(cursor: _Cursor) -> str | LongText:
    (length,) = cursor.unpack(_U64)
    cursor.expect(length, 1, "bytes of text")
    if length > KEPT_TEXT_BYTES:
        cursor.skip(length)
        return LongText(bytes=length)
    return cursor.take(length).decode(errors="replace")


def _identifier(cursor: _Cursor, most_bytes: int, what: str) -> str:
    (length,) = cursor.unpack(_U64)
    if not 0 < length <= most_bytes:
        cursor.fault(f"a {what} of {length} bytes at byte {cursor.position}; 1 to {most_bytes} are allowed")
    try:
        return cursor.take(length).decode()
    except UnicodeDecodeError:
        cursor.fault(f"a {what} that is not text, before byte {cursor.position}")


def _alignment(cursor: _Cursor, metadata: dict[str, Value]) -> int:
    alignment = metadata.get(ALIGNMENT_KEY, DEFAULT_ALIGNMENT)
    assert isinstance(alignment, int)  # _metadata has seen to it
    if alignment == 0 or alignment & (alignment - 1):
        cursor.fault(f"{ALIGNMENT_KEY} is {alignment}, not a power of two")
    return alignment


def _tensor(cursor: _Cursor, index: int) -> Tensor:
    name = _identifier(cursor, MOST_NAME_BYTES, f"name of tensor {index}")
    (dimensions,) = cursor.unpack(_U32)
    if dimensions > MOST_DIMENSIONS:
        cursor.fault(f"tensor {name!r} has {dimensions} dimensions; {MOST_DIMENSIONS} are allowed")
    *shape, number, offset = cursor.unpack(_SHAPES[dimensions])
    return Tensor(
        name=name,
        type=_tensor_type_name(cursor, name, number),
        shape=tuple(shape),
        bytes=_tensor_bytes(cursor, name, shape, number),
        offset=offset,
    )


def _tensor_type_name(cursor: _Cursor, name: str, number: int) -> str:
    if number in REMOVED_TENSOR_TYPES:
        cursor.fault(f"tensor {name!r} has type {number}, which engines no longer read", hint="convert the model anew")
    if number not in TENSOR_TYPES:
        cursor.fault(f"tensor {name!r} has the unknown type {number}", hint="a newer evener may know it")
    return TENSOR_TYPES[number].name


def _tensor_bytes(cursor: _Cursor, name: str, shape: list[int], number: int) -> int:
    kind = TENSOR_TYPES[number]
    row = shape[0] if shape else 1
    if row % kind.block:
        cursor.fault(f"tensor {name!r} has rows of {row} elements, not whole {kind.name} blocks of {kind.block}")
    elements = 1
    for dimension in shape:
        elements *= dimension
        if dimension >= 1 << 63 or elements >= 1 << 63:
            cursor.fault(f"tensor {name!r} is larger than any machine: {' x '.join(map(str, shape))}")
    return elements // kind.block * kind.block_bytes


def _check_layout(cursor: _Cursor, tensors: tuple[Tensor, ...], alignment: int, data_offset: int) -> None:
    """Names are unique; data is aligned, inside the file, and nobody's twice."""
    names: set[str] = set()
    for tensor in tensors:
        if tensor.name in names:
            cursor.fault(f"tensor {tensor.name!r} occurs twice")
        names.add(tensor.name)
        if tensor.offset % alignment:
            cursor.fault(f"tensor {tensor.name!r} lies at offset {tensor.offset}, not a multiple of {alignment}")
    end, owner = 0, ""
    for tensor in sorted(tensors, key=lambda t: (t.offset, t.bytes)):
        if tensor.offset < end and tensor.bytes:
            cursor.fault(f"tensors {owner!r} and {tensor.name!r} share bytes")
        end, owner = max(end, tensor.offset + tensor.bytes), tensor.name
    if data_offset + end > cursor.end:
        cursor.fault(
            f"cut short: {owner!r} ends at byte {data_offset + end}, the file at {cursor.end}",
            hint="fetch it again",
        )


def _short(key: str) -> str:
    return repr(key if len(key) <= 64 else f"{key[:60]}…")


def _padded(position: int, alignment: int) -> int:
    return position + -position % alignment
