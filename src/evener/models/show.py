"""Everything a header says, for people. Works for every legal GGUF, also those that are no language model. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from evener.dialects.gguf import ArrayOf, LongText, Value
from evener.errors import BadHeader
from evener.models.facts import has_chat_template, joined, model_name, parameters, quantisation
from evener.models.parts import Opened
from evener.models.projector import projector_of
from evener.records.weights import Attention, Projector, Tensor, Weights

F16_BYTES = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeShare:
    """All tensors of one type."""

    type: str
    tensors: int
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class KvCost:
    """What a token leaves in the caches, at F16: `growing_bytes` always, `window_bytes` up to `window` tokens."""

    growing_bytes: int
    window_bytes: int
    window: int | None
    per_sequence_bytes: int  # recurrent state, whatever the length


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """One model's header. `weights` is None for a GGUF that is no language model; `not_a_model` then says why.

    `heads` is the number of query heads, the largest where layers differ. `projector` is what an mmproj file takes
    beside its model.
    """

    name: str
    architecture: str
    quantisation: str
    paths: tuple[str, ...]
    gguf_version: int
    file_bytes: int
    parameters: int
    tensor_count: int
    tensor_types: tuple[TypeShare, ...]
    largest_tensor: Tensor | None
    chat_template: bool
    heads: int | None
    weights: Weights | None
    kv: KvCost | None
    not_a_model: str | None
    projector: Projector | None = None
    tensors: tuple[Tensor, ...] | None = None
    metadata: dict[str, Value] | None = None


def shown(opened: Opened, *, tensors: bool = False, metadata: bool = False) -> Shown:
    """What to show of a model; its tensors and its metadata on demand. Raises BadHeader when the parts do not join."""
    every = joined(opened.paths, opened.headers)
    keys = opened.headers[0].metadata
    weights, why_not = _weights(opened)
    architecture = str(keys.get("general.architecture", "unknown"))
    return Shown(
        name=opened.called or model_name(opened.paths[0]),
        architecture=architecture,
        quantisation=quantisation(keys, every),
        paths=opened.paths,
        gguf_version=opened.headers[0].version,
        file_bytes=sum(header.file_bytes for header in opened.headers),
        parameters=parameters(every),
        tensor_count=len(every),
        tensor_types=type_shares(every),
        largest_tensor=max(every, key=lambda t: t.bytes, default=None),
        chat_template=has_chat_template(keys),
        heads=_most(keys.get(f"{architecture}.attention.head_count")),
        weights=weights,
        kv=kv_cost(weights.attention, weights.recurrent_bytes_per_sequence) if weights and weights.attention else None,
        not_a_model=why_not,
        projector=_projector(opened),
        tensors=every if tensors else None,
        metadata=keys if metadata else None,
    )


def _weights(opened: Opened) -> tuple[Weights | None, str | None]:
    try:
        return opened.weights(), None
    except BadHeader as error:
        return None, error.message.removeprefix(f"{opened.paths[0]}: ")


def _projector(opened: Opened) -> Projector | None:
    try:
        return projector_of(opened.paths[0], opened.headers[0])
    except BadHeader:
        return None


def type_shares(tensors: Iterable[Tensor]) -> tuple[TypeShare, ...]:
    """Tensors and bytes per type, the most bytes first."""
    shares: dict[str, tuple[int, int]] = {}
    for tensor in tensors:
        count, size = shares.get(tensor.type, (0, 0))
        shares[tensor.type] = (count + 1, size + tensor.bytes)
    return tuple(
        TypeShare(type=type_, tensors=count, bytes=size)
        for type_, (count, size) in sorted(shares.items(), key=lambda item: -item[1][1])
    )


def kv_cost(attention: Attention, recurrent_bytes: tuple[int, ...]) -> KvCost:
    """Bytes per token of the full layers and of the window layers, keys and values at F16."""
    growing = window_bytes = 0
    for heads, window in zip(attention.kv_heads, attention.window, strict=True):
        if window is None:
            growing += heads * (attention.key_length + (0 if attention.mla else attention.value_length))
        else:
            window_bytes += heads * (attention.key_length_swa + attention.value_length_swa)
    return KvCost(
        growing_bytes=growing * F16_BYTES,
        window_bytes=window_bytes * F16_BYTES,
        window=max((w for w in attention.window if w), default=None),
        per_sequence_bytes=sum(recurrent_bytes),
    )


def in_words(value: Value) -> str:
    """A metadata value on one line."""
    if isinstance(value, ArrayOf):
        return f"{value.count} x {value.type}"
    if isinstance(value, LongText):
        return f"text of {value.bytes} bytes"
    if isinstance(value, tuple):
        return "[" + ", ".join(in_words(entry) for entry in value) + "]"
    return str(value)


def _most(value: Value | None) -> int | None:
    """The largest of one count or of one per layer."""
    counts = value if isinstance(value, tuple) else (value,)
    return max((count for count in counts if isinstance(count, int)), default=None)
