"""The smallest model the engine will run: one block, random weights, no vocabulary. Pure; it knows no format but this.

It exists so that a smoke test can always generate one token: a build for another CPU dies of an illegal instruction
in the first matrix product, long after `--version` has worked.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator
from typing import Final

EMBEDDING: Final = 64
HEADS: Final = 2
FEED_FORWARD: Final = 128
VOCABULARY: Final = 32

_ALIGNMENT = 32
_U32, _F32, _STRING = 4, 6, 8  # value types of GGUF metadata
_TENSOR_F32 = 0

_METADATA: dict[str, str | int | float] = {
    "general.architecture": "llama",
    "general.name": "tiny",
    "llama.block_count": 1,
    "llama.context_length": 256,
    "llama.embedding_length": EMBEDDING,
    "llama.feed_forward_length": FEED_FORWARD,
    "llama.attention.head_count": HEADS,
    "llama.attention.head_count_kv": HEADS,
    "llama.attention.layer_norm_rms_epsilon": 1e-5,
    "llama.rope.dimension_count": EMBEDDING // HEADS,
    "llama.vocab_size": VOCABULARY,
    "tokenizer.ggml.model": "none",
}

_SHAPES: dict[str, tuple[int, ...]] = {
    "token_embd.weight": (EMBEDDING, VOCABULARY),
    "blk.0.attn_norm.weight": (EMBEDDING,),
    "blk.0.attn_q.weight": (EMBEDDING, EMBEDDING),
    "blk.0.attn_k.weight": (EMBEDDING, EMBEDDING),
    "blk.0.attn_v.weight": (EMBEDDING, EMBEDDING),
    "blk.0.attn_output.weight": (EMBEDDING, EMBEDDING),
    "blk.0.ffn_norm.weight": (EMBEDDING,),
    "blk.0.ffn_gate.weight": (EMBEDDING, FEED_FORWARD),
    "blk.0.ffn_up.weight": (EMBEDDING, FEED_FORWARD),
    "blk.0.ffn_down.weight": (FEED_FORWARD, EMBEDDING),
    "output_norm.weight": (EMBEDDING,),
    "output.weight": (EMBEDDING, VOCABULARY),
}


def tiny_model() -> bytes:
    """A whole GGUF version 3 file, about 180 kB, the same bytes every time."""
    header = struct.pack("<4sIQQ", b"GGUF", 3, len(_SHAPES), len(_METADATA))
    header += b"".join(_string(key) + _value(value) for key, value in _METADATA.items())
    header += b"".join(_tensor_infos())
    data = b"".join(_weights(_elements(shape)) for shape in _SHAPES.values())
    return header + bytes(-len(header) % _ALIGNMENT) + data


def _tensor_infos() -> Iterator[bytes]:
    offset = 0  # every size here is a multiple of the alignment
    for name, shape in _SHAPES.items():
        yield _string(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, _TENSOR_F32, offset)
        offset += 4 * _elements(shape)


def _elements(shape: tuple[int, ...]) -> int:
    return shape[0] * (shape[1] if len(shape) > 1 else 1)


def _weights(count: int) -> bytes:
    dice = random.Random(count)
    return struct.pack(f"<{count}f", *(dice.uniform(-0.1, 0.1) for _ in range(count)))


def _string(text: str) -> bytes:
    raw = text.encode()
    return struct.pack("<Q", len(raw)) + raw


def _value(value: str | int | float) -> bytes:
    if isinstance(value, str):
        return struct.pack("<I", _STRING) + _string(value)
    if isinstance(value, int):
        return struct.pack("<II", _U32, value)
    return struct.pack("<If", _F32, value)
