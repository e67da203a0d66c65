"""What an mmproj header says of the memory that seeing takes."""

from __future__ import annotations

import pytest

from evener.dialects.gguf import Header, Value
from evener.errors import BadHeader
from evener.models.projector import projector_of
from evener.testing.gguf_files import Shape
from tests.models.shapes import header, keyed, llama_70b

MIB = 1 << 20


def clip(**more: Value) -> dict[str, Value]:
    return keyed(
        "clip", projector_type="gemma3", vision__image_size=896, vision__patch_size=14, vision__embedding_length=1152,
        vision__feed_forward_length=4304, vision__block_count=27,
    ) | {f"clip.{key}": value for key, value in more.items()}  # fmt: skip


def gemma3(blocks: int = 27) -> Header:
    """The vision tower of Gemma 3, tensor for tensor."""
    width, inner, out = 1152, 4304, 5376
    shapes: list[Shape] = [
        ("v.patch_embd.weight", "F16", (14, 14, 3, width)), ("v.patch_embd.bias", "F32", (width,)),
        ("v.position_embd.weight", "F32", (width, 4096)), ("v.post_ln.weight", "F32", (width,)),
        ("v.post_ln.bias", "F32", (width,)), ("mm.input_projection.weight", "F16", (out, width)),
        ("mm.soft_emb_norm.weight", "F32", (width,)),
    ]  # fmt: skip
    for block in range(blocks):
        b = f"v.blk.{block}."
        shapes += [(f"{b}{norm}.{part}", "F32", (width,)) for norm in ("ln1", "ln2") for part in ("weight", "bias")]
        for name in ("attn_q", "attn_k", "attn_v", "attn_out"):
            shapes += [(f"{b}{name}.weight", "F16", (width, width)), (f"{b}{name}.bias", "F32", (width,))]
        shapes += [(f"{b}ffn_up.weight", "F16", (width, inner)), (f"{b}ffn_up.bias", "F32", (inner,))]
        shapes += [(f"{b}ffn_down.weight", "F16", (inner, width)), (f"{b}ffn_down.bias", "F32", (width,))]
    return header(clip(), shapes)


def test_gemma_3s_eyes_take_what_the_engine_says() -> None:
    """937.94 MiB on the device and 9.19 in RAM: llama-server of build 11434, from the header alone."""
    found = projector_of("/models/mmproj-gemma-3.gguf", gemma3())
    assert found.name == "mmproj-gemma-3"
    assert (found.weights_bytes + found.compute_bytes) / MIB == pytest.approx(937.94, abs=0.1)
    assert found.host_bytes / MIB == pytest.approx(9.19, abs=0.01)
    assert found.dry_run_bytes is None


def test_where_images_may_be_of_any_size_the_engines_largest_counts() -> None:
    def compute(kind: str, **more: Value) -> int:
        metadata = clip(projector_type=kind, **more)
        return projector_of("m.gguf", header(metadata, [("v.post_ln.weight", "F32", (1152,))])).compute_bytes

    # 64 x 64 patches are shown; qwen's take 4096 tokens of two by two, or of what the header says
    assert compute("qwen2.5vl_merger") == 4 * compute("gemma3")
    assert compute("qwen2.5vl_merger", **{"vision.spatial_merge_size": 4}) == 16 * compute("gemma3")
    assert compute("dots_ocr", **{"vision.image_max_pixels": 2 * 896 * 896}) == 2 * compute("gemma3")


def test_a_projector_that_hears_has_weights_and_no_image() -> None:
    metadata: dict[str, Value] = {"general.architecture": "clip", "clip.has_audio_encoder": True}
    found = projector_of("ears.gguf", header(metadata, [("a.conv1d.1.weight", "F16", (3, 128, 1280))]))
    assert (found.weights_bytes, found.compute_bytes, found.host_bytes) == (3 * 128 * 1280 * 2, 0, 0)


def test_a_model_is_no_projector() -> None:
    with pytest.raises(BadHeader, match=r"m.gguf: not a projector \(llama\)"):
        projector_of("m.gguf", llama_70b())
