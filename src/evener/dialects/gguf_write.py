"""Write the header of a GGUF file: metadata, and where each tensor would lie. Writes no weight and checks nothing.

With its data left out (a hole of the right size) such a file is enough for the engine's own dry run.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from math import prod
from typing import TypeAlias

from evener.dialects.gguf_types import ARRAY, STRING, TENSOR_TYPES, VALUE_TYPES

Scalar: TypeAlias = str | bool | int | float
Plain: TypeAlias = Scalar | Sequence[str] | Sequence[bool] | Sequence[int] | Sequence[float]
Shape: TypeAlias = tuple[str, str, tuple[int, ...]]  # name, type, shape in ggml order

_NUMBERS = {name: number for number, (name, _) in VALUE_TYPES.items()}
_TYPES = {kind.name: (number, kind) for number, kind in TENSOR_TYPES.items()}


def gguf_bytes(
    metadata: Mapping[str, Plain], tensors: Sequence[Shape] = (), *, version: int = 3, alignment: int = 32
) -> bytes:
    """A header up to where the data begins. Ints are u32 (i32 when negative), floats f32."""
    infos, _ = _infos(tensors, alignment)
    head = struct.pack("<4sIQQ", b"GGUF", version, len(tensors), len(metadata))
    body = head + b"".join(text(key) + value(plain) for key, plain in metadata.items()) + infos
    return body + bytes(-len(body) % alignment) if tensors else body


def data_bytes(tensors: Sequence[Shape], *, alignment: int = 32) -> int:
    """Bytes of the tensors' data, the padding between them included."""
    return _infos(tensors, alignment)[1]


def tensor_bytes(type_name: str, shape: tuple[int, ...]) -> int:
    kind = _TYPES[type_name][1]
    return prod(shape) // kind.block * kind.block_bytes


def text(content: str | bytes) -> bytes:
    raw = content.encode() if isinstance(content, str) else content
    return struct.pack("<Q", len(raw)) + raw


def value(plain: Plain) -> bytes:
    """A metadata value with its type in front."""
    if isinstance(plain, (str, bool, int, float)):
        number = _number(plain)
        return struct.pack("<I", number) + _packed(plain, number)
    items: list[Scalar] = list(plain)
    number = _number(items[0]) if items else _NUMBERS["u32"]
    return struct.pack("<IIQ", ARRAY, number, len(items)) + b"".join(_packed(item, number) for item in items)


def _number(plain: Scalar) -> int:
    if isinstance(plain, str):
        return STRING
    if isinstance(plain, bool):
        return _NUMBERS["bool"]
    if isinstance(plain, float):
        return _NUMBERS["f32"]
    return _NUMBERS["u32" if plain >= 0 else "i32"]


def _packed(plain: Scalar, number: int) -> bytes:
    return text(plain) if isinstance(plain, str) else struct.pack("<" + VALUE_TYPES[number][1], plain)


def _infos(tensors: Sequence[Shape], alignment: int) -> tuple[bytes, int]:
    """The tensor infos, packed one behind the other, and the bytes of their data."""
    infos, offset = [], 0
    for name, type_name, shape in tensors:
        infos.append(text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, _TYPES[type_name][0], offset))
        offset += tensor_bytes(type_name, shape)
        offset += -offset % alignment
    return b"".join(infos), offset
