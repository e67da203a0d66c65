"""GGUF files made to order: small, sparse, or wrong on purpose. Writes what it is told and checks nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from evener.dialects.gguf_write import Plain, Scalar, Shape, data_bytes, gguf_bytes, tensor_bytes, text, value

__all__ = ["Plain", "Scalar", "Shape", "gguf_bytes", "tensor_bytes", "text", "value", "write_gguf"]


def write_gguf(
    path: Path, metadata: Mapping[str, Plain], tensors: Sequence[Shape] = (), *, alignment: int = 32
) -> Path:
    """A file whose header is real and whose data is a hole of the right size."""
    header = gguf_bytes(metadata, tensors, alignment=alignment)
    with path.open("wb") as file:
        file.write(header)
        file.truncate(len(header) + data_bytes(tensors, alignment=alignment))
    return path
