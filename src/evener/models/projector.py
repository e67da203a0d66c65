"""From the header of an mmproj file to what a planner needs to know of it. Pure; reads no image.

The compute buffer is an estimate for vision transformers with flash attention: three activations and the inner width of
a feed-forward for every patch of the largest image. Equal to build 11434's own dry run within a MiB for projectors of
Gemma 3's kind at their own image size. Where images may be of any size, the largest is what the engine lets through
(tools/mtmd/clip.cpp, set_limit_image_tokens): its dry run and its first allocation are for a smaller one.
"""

from __future__ import annotations

from evener.dialects.gguf import Header, Value
from evener.errors import BadHeader
from evener.models.facts import gpu_bytes, model_name
from evener.records.weights import Projector

F32_BYTES, CHANNELS = 4, 3
# Tokens of the largest image, and patches per token and side, where the header says neither.
LARGEST_IMAGE = {
    "qwen2vl_merger": (4096, 2), "qwen2.5vl_merger": (4096, 2), "qwen3vl_merger": (4096, 2), "ling3vl": (4096, 2),
    "glm4v": (4096, 2), "kimik25": (4096, 1), "muse-glimmer": (4096, 2), "hunyuanvl": (16384, 2),
    "pixtral": (1024, 1), "kimivl": (1024, 1), "gemma4v": (1120, 3), "gemma4uv": (1120, 3), "minimax_m3": (576, 2),
    "lfm2": (256, 1),
}  # fmt: skip
MERGED_KEYS = ("clip.vision.spatial_merge_size", "clip.vision.projector.scale_factor")


def projector_of(path: str, header: Header) -> Projector:
    """A projector from its header. Raises BadHeader for a GGUF that is none."""
    metadata = header.metadata
    if metadata.get("general.architecture") != "clip":
        raise BadHeader(
            f"{path}: not a projector ({metadata.get('general.architecture') or 'no architecture'})",
            hint="an mmproj file belongs to its model; `evener models fetch hf:...` brings both",
        )
    patches = _patches(metadata)
    width, inner = (_whole(metadata, f"clip.vision.{key}") for key in ("embedding_length", "feed_forward_length"))
    patch = _whole(metadata, "clip.vision.patch_size")
    return Projector(
        name=model_name(path),
        path=path,
        weights_bytes=sum(map(gpu_bytes, header.tensors)),
        compute_bytes=F32_BYTES * patches * (3 * width + inner),
        host_bytes=F32_BYTES * CHANNELS * patches * patch**2,
    )


def _patches(metadata: dict[str, Value]) -> int:
    """Of the largest image; 0 for a projector that hears."""
    patch = _whole(metadata, "clip.vision.patch_size")
    if not patch:
        return 0
    kind = str(metadata.get("clip.vision.projector_type") or metadata.get("clip.projector_type") or "")
    tokens, merged = LARGEST_IMAGE.get(kind, (0, 1))
    merged = next((said for key in MERGED_KEYS if (said := _whole(metadata, key))), merged)
    shown = (_whole(metadata, "clip.vision.image_size") // patch) ** 2
    return max(shown, tokens * merged**2, _whole(metadata, "clip.vision.image_max_pixels") // patch**2)


def _whole(metadata: dict[str, Value], key: str) -> int:
    value = metadata.get(key, 0)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 31 else 0
