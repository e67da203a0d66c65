"""From the headers of a model's parts to what a planner needs to know. Pure: no disk, no cards, no context size."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from math import prod
from pathlib import PurePath

from evener.dialects.gguf import ArrayOf, Header, Value
from evener.dialects.gguf_types import FILE_TYPES, GUESSED, TYPES_BY_NAME
from evener.errors import BadHeader
from evener.models.caches import ENCODERS, caches
from evener.models.keys import Keys
from evener.models.names import stem
from evener.records.weights import Tensor, Weights

GPU_ALIGNMENT = 128  # bytes
GPU_ROW_ELEMENTS = 512  # MATRIX_ROW_PADDING in ggml-cuda
MOST_LAYERS = 512  # LLAMA_MAX_LAYERS; a header's own claim must not size our tuples

HEAD, EMBEDDING = "output.weight", "token_embd.weight"
# LLM_TENSOR_LAYER_INPUT in llama-arch.cpp: looked up by token, on the host whatever is offloaded.
HOST_TENSORS = ("token_embd", "position_embd", "token_types", "per_layer_token_embd")
# Not in a block by name, and loaded with block 0.
FIRST_BLOCK_TENSORS = ("token_embd_norm", "per_layer_model_proj", "per_layer_proj_norm", "rope_freqs", "rope_factors")
UNUSED_TENSORS = ("masked_embd_centroids", "masked_embd_ordering")

# llama_model_rope_type in llama-model.cpp: four positions per token always, or where the header has sections.
MROPE = frozenset(
    {"qwen2vl", "paddleocr", "qwen3vl", "qwen3vlmoe", "qwen35", "qwen35moe", "clef", "qwen4exp", "qwen3tts"}
)
MROPE_BY_SECTIONS = frozenset({"glm4", "glm4moe", "hunyuan_vl", "bailingmoe3"})

STATE_SPACE = frozenset({"mamba", "mamba2"})  # blocks with no attention and no feed-forward beside it

_BLOCK = re.compile(r"(?:enc\.|dec\.)?blk\.(\d{1,4})\.")
_NORM_FIRST = re.compile(r"blk\.\d+\.attn_norm\.")
_EXPERT = re.compile(r"\.ffn_\w*_(?:ch)?exps\.")


def weights_of(paths: Sequence[str], headers: Sequence[Header]) -> Weights:
    """A model from all of its parts, in order.

    Raises BadHeader when the parts do not make one model, or the model is none that generates text (a projector, an
    adapter, a vocabulary): such a file has a header, and no layers to place.
    """
    tensors, metadata = joined(paths, headers), headers[0].metadata
    architecture = str(metadata.get("general.architecture", ""))
    keys = Keys(name=paths[0], architecture=architecture, metadata=metadata)
    layers = _layers(keys)
    mtp_layers = keys.number("nextn_predict_layers")
    if mtp_layers > layers:
        keys.fault("nextn_predict_layers", f"is {mtp_layers} of {layers} blocks")
    tied = _tied(tensors, architecture)
    known = caches(keys, layers=layers, mtp_layers=mtp_layers)
    used = keys.per_layer("expert_used_count", layers)
    experts = keys.number("expert_count")
    return Weights(
        name=model_name(paths[0]),
        paths=tuple(paths),
        architecture=architecture,
        quantisation=quantisation(metadata, tensors),
        file_bytes=sum(header.file_bytes for header in headers),
        layers=layers,
        mtp_layers=mtp_layers,
        parameters=parameters(tensors),
        active_parameters=_active_parameters(tensors, experts, used, trunk=layers - mtp_layers, tied=tied),
        context_train=keys.number("context_length") or None,
        vocabulary=vocabulary(keys, tensors),
        embedding=keys.number("embedding_length"),
        feed_forward=max(keys.per_layer("feed_forward_length", layers), default=0),
        slot_bytes=_per_slot(tensors, layers, tied=tied, size=lambda t: t.bytes),
        slot_bytes_gpu=_per_slot(tensors, layers, tied=tied, size=gpu_bytes),
        slot_expert_bytes=_per_slot(tensors, layers, tied=False, size=lambda t: t.bytes * is_routed(t)),
        slot_parameters=_per_slot(tensors, layers, tied=tied, size=_count),
        slot_expert_parameters=_per_slot(tensors, layers, tied=False, size=lambda t: _count(t) * is_routed(t)),
        host_bytes=sum(t.bytes for t in tensors if _stem(t) in HOST_TENSORS),
        tied_head=tied,
        tied_bytes=sum(t.bytes for t in tensors if tied and t.name == EMBEDDING),
        largest_tensor_bytes=max((t.bytes for t in tensors), default=0),
        attention=known.attention,
        recurrent_bytes_per_sequence=known.recurrent_bytes,
        cache_unknown=known.unknown,
        experts=experts,
        experts_used=max(used, default=0),
        expert_feed_forward=_expert_width(keys, layers) if experts else 0,
        recurrent_width=_recurrent_width(keys, tensors),
        state_space_in=_projected(tensors) if architecture in STATE_SPACE else 0,
        state_space_out=keys.number("ssm.inner_size") if architecture in STATE_SPACE else 0,
        attention_width=_attention_width(keys, layers),
        norm_first=any(_NORM_FIRST.match(t.name) for t in tensors),
        position_numbers=_position_numbers(keys),
        chat_template=has_chat_template(metadata),
    )


def joined(paths: Sequence[str], headers: Sequence[Header]) -> tuple[Tensor, ...]:
    """The tensors of all parts. Raises BadHeader when a name occurs in two parts or a part belongs elsewhere."""
    for position, (path, header) in enumerate(zip(paths, headers, strict=True)):
        number, count = header.metadata.get("split.no", 0), header.metadata.get("split.count", 1)
        if len(headers) > 1 and (number, count) != (position, len(headers)):
            raise BadHeader(f"{path}: says it is part {number} of {count} (from 0), not {position} of {len(headers)}")
    tensors = tuple(replace(t, part=part) for part, header in enumerate(headers) for t in header.tensors)
    name, times = Counter(t.name for t in tensors).most_common(1)[0] if tensors else ("", 1)
    if times > 1:
        raise BadHeader(f"{paths[0]}: tensor {name!r} occurs in {times} parts")
    promised = headers[0].metadata.get("split.tensors.count", len(tensors))
    if promised != len(tensors):
        raise BadHeader(f"{paths[0]}: the parts hold {len(tensors)} tensors of {promised}", hint="fetch all parts anew")
    return tensors


def model_name(path: str) -> str:
    """The file's own name: what people choose by. `general.name` is often that of a training run."""
    return stem(PurePath(path).name)


def has_chat_template(metadata: dict[str, Value]) -> bool:
    return bool(metadata.get("tokenizer.chat_template"))


def parameters(tensors: Iterable[Tensor]) -> int:
    return sum(prod(t.shape) for t in tensors)


def quantisation(metadata: dict[str, Value], tensors: Iterable[Tensor]) -> str:
    """The file type's name ("Q4_K_M"); without one, the type that holds most bytes; else "unknown"."""
    stated = metadata.get("general.file_type")
    if isinstance(stated, int) and (name := FILE_TYPES.get(stated & ~GUESSED)):
        return name
    by_bytes: Counter[str] = Counter()
    for tensor in tensors:
        by_bytes[tensor.type] += tensor.bytes
    return by_bytes.most_common(1)[0][0] if by_bytes else "unknown"


def vocabulary(keys: Keys, tensors: Iterable[Tensor]) -> int:
    """Tokens: as stated, as listed, or as many as the embedding has rows."""
    if stated := keys.number("vocab_size"):
        return stated
    tokens = keys.metadata.get("tokenizer.ggml.tokens")
    if isinstance(tokens, (ArrayOf, tuple)):
        return tokens.count if isinstance(tokens, ArrayOf) else len(tokens)
    return next((t.shape[1] for t in tensors if t.name == EMBEDDING and len(t.shape) > 1), 0)


def _layers(keys: Keys) -> int:
    """The engine's block count, MTP blocks included."""
    if not keys.architecture or "block_count" not in keys:
        what = keys.architecture or "no architecture"
        raise BadHeader(
            f"{keys.name}: not a language model ({what}): it names no blocks",
            hint="projectors (mmproj), adapters and vocabularies are not models; `evener models show` reads them",
        )
    layers = keys.number("block_count") * (keys.number("num_loops") or 1)
    layers += keys.architecture == "graniteswitch"  # its router is one more block
    if not 0 < layers <= MOST_LAYERS:
        keys.fault("block_count", f"is {layers}; engines take 1 to {MOST_LAYERS}")
    return layers


def _position_numbers(keys: Keys) -> int:
    """Position numbers per token (llama_hparams::n_pos_per_embd)."""
    sections = keys.get("rope.dimension_sections")
    sectioned = isinstance(sections, tuple) and len(sections) > 1 and bool(sections[0] and sections[1])
    return 4 if keys.architecture in MROPE or (keys.architecture in MROPE_BY_SECTIONS and sectioned) else 1


def _expert_width(keys: Keys, layers: int) -> int:
    """The inner width of a routed expert; older files say only that of the feed-forward."""
    own = keys.per_layer("expert_feed_forward_length", layers)
    return max(own, default=0) or max(keys.per_layer("feed_forward_length", layers), default=0)


def _recurrent_width(keys: Keys, tensors: Iterable[Tensor]) -> int:
    """What a state-space layer has at once: its mixed input before and after the convolution, and its gate.

    With one projection for all of it (ssm_in) that projection's output lives on beside them.
    """
    inner = keys.number("ssm.inner_size")
    mixed = inner + 2 * keys.number("ssm.group_count") * keys.number("ssm.state_size")
    return 2 * mixed + inner + _projected(tensors) if inner else 0


def _projected(tensors: Iterable[Tensor]) -> int:
    """What the one projection into a state space gives; 0 where there are several."""
    return max((t.shape[1] for t in tensors if t.name.endswith(".ssm_in.weight") and len(t.shape) > 1), default=0)


def _attention_width(keys: Keys, layers: int) -> int:
    """With compressed keys every head has its query twice in their width, once as it was projected."""
    own = keys.number("attention.key_length_mla")
    heads = max(keys.per_layer("attention.head_count", layers), default=0)
    return heads * (2 * keys.number("attention.key_length") + own) if own else 0


def _stem(tensor: Tensor) -> str:
    return tensor.name.split(".", 1)[0]


def _tied(tensors: Iterable[Tensor], architecture: str) -> bool:
    names = {t.name for t in tensors}
    return HEAD not in names and EMBEDDING in names and architecture not in ENCODERS


def _per_slot(tensors: Iterable[Tensor], layers: int, *, tied: bool, size: Callable[[Tensor], int]) -> tuple[int, ...]:
    """Sizes per block, then of the head's slot. Blocks beyond the last are loaded by nobody."""
    slots = [0] * (layers + 1)
    for tensor in tensors:
        if tied and tensor.name == EMBEDDING:
            slots[layers] += size(tensor)
        if (slot := _slot(tensor, layers)) is not None:
            slots[slot] += size(tensor)
    return tuple(slots)


def _count(tensor: Tensor) -> int:
    return prod(tensor.shape)


def gpu_bytes(tensor: Tensor) -> int:
    """What CUDA allocates for a tensor: ggml_backend_cuda_buffer_type_get_alloc_size, then its alignment."""
    kind, size = TYPES_BY_NAME[tensor.type], tensor.bytes
    short = -tensor.shape[0] % GPU_ROW_ELEMENTS if tensor.shape and kind.block > 1 else 0
    size += short // kind.block * kind.block_bytes
    return size + -size % GPU_ALIGNMENT


def is_routed(tensor: Tensor) -> bool:
    """Whether a tensor stacks the experts of which each token is sent to a few."""
    return _EXPERT.search(tensor.name) is not None


def _slot(tensor: Tensor, layers: int) -> int | None:
    """Where a tensor goes; None for the host's, and for those that no engine loads."""
    if block := _BLOCK.match(tensor.name):
        return int(block[1]) if int(block[1]) < layers else None
    stem = _stem(tensor)
    if stem in HOST_TENSORS or stem in UNUSED_TENSORS:
        return None
    return 0 if stem.startswith(FIRST_BLOCK_TENSORS) else layers


def _active_parameters(tensors: Iterable[Tensor], experts: int, used: Sequence[int], *, trunk: int, tied: bool) -> int:
    """Parameters read for one token: not the experts not chosen, the MTP blocks, or the rows of other tokens."""
    active = 0
    for tensor in tensors:
        block = _BLOCK.match(tensor.name)
        layer = int(block[1]) if block else 0
        looked_up = _stem(tensor) in HOST_TENSORS and not (tied and tensor.name == EMBEDDING)
        if layer >= trunk or looked_up:
            continue
        count = _count(tensor)
        active += count * used[layer] // experts if experts and is_routed(tensor) else count
    return active
