"""What `evener models show` tells, for every legal GGUF."""

from __future__ import annotations

from pathlib import Path

from evener.codec import to_data
from evener.dialects.gguf import ArrayOf, Header, LongText, Value
from evener.models.parts import Opened, open_model
from evener.models.show import KvCost, Shown, TypeShare, in_words, shown
from evener.testing.gguf_files import Plain, write_gguf

from .shapes import deepseek_v3, gemma3_27b, header, qwen35moe
from .test_projector import gemma3


def show(*, tensors: bool = False, metadata: bool = False, **values: Value) -> Shown:
    made = header({key.replace("__", "."): value for key, value in values.items()}, [("a", "F32", (8, 2))])
    return shown(Opened(paths=("/m/a.gguf",), headers=(made,)), tensors=tensors, metadata=metadata)


def kv_of(made: Header) -> KvCost | None:
    return shown(Opened(paths=("/m/a.gguf",), headers=(made,))).kv


def test_file_without_any_metadata_is_shown() -> None:
    it = show()
    assert (it.name, it.architecture, it.quantisation, it.parameters) == ("a", "unknown", "F32", 16)
    assert it.weights is None
    assert it.not_a_model == "not a language model (no architecture): it names no blocks"
    assert it.tensor_types == (TypeShare(type="F32", tensors=1, bytes=64),)
    assert it.largest_tensor is not None
    assert it.tensors is None
    assert it.metadata is None


def test_projector_is_shown_with_what_it_is() -> None:
    it = show(general__architecture="clip", clip__vision__block_count=27)
    assert (it.name, it.architecture) == ("a", "clip")
    assert it.not_a_model is not None


def test_lists_come_on_demand() -> None:
    it = show(tensors=True, metadata=True, k=1)
    assert it.metadata == {"k": 1}
    assert it.tensors is not None
    assert [t.name for t in it.tensors] == ["a"]


def test_token_costs_what_full_layers_keep() -> None:
    # 10 layers x 2 heads x (256 + 256) x 2 bytes; 62.8 MiB of state
    assert kv_of(qwen35moe()) == KvCost(
        growing_bytes=20480, window_bytes=0, window=None, per_sequence_bytes=30 * 4 * (3 * 8192 + 128 * 4096)
    )


def test_window_layers_are_counted_apart() -> None:
    # 10 full and 52 window layers of 16 x (128 + 128) x 2 bytes
    assert kv_of(gemma3_27b()) == KvCost(
        growing_bytes=10 * 8192, window_bytes=52 * 8192, window=1024, per_sequence_bytes=0
    )


def test_compressed_cache_has_keys_only() -> None:
    cost = kv_of(deepseek_v3())
    assert cost is not None
    assert cost.growing_bytes == 61 * 576 * 2


def test_values_are_put_on_one_line() -> None:
    assert in_words(ArrayOf(type="string", count=5)) == "5 x string"
    assert in_words(LongText(bytes=9)) == "text of 9 bytes"
    assert in_words((1, 2)) == "[1, 2]"
    assert in_words(True) == "True"


def test_json_keys_are_those_that_are_documented(tmp_path: Path) -> None:
    metadata: dict[str, Plain] = {"general.architecture": "llama", "llama.block_count": 1, "tokens": ["a"] * 99}
    path = write_gguf(tmp_path / "m.gguf", metadata, [("output.weight", "Q8_0", (32, 2))])
    data = to_data(shown(open_model(path), tensors=True, metadata=True))
    assert set(data) == {
        "name", "architecture", "quantisation", "paths", "gguf_version", "file_bytes", "parameters", "tensor_count",
        "tensor_types", "largest_tensor", "chat_template", "heads", "weights", "kv", "not_a_model", "projector",
        "tensors", "metadata",
    }  # fmt: skip
    assert data["metadata"]["tokens"] == {"type": "string", "count": 99}
    assert data["tensors"][0]["shape"] == [32, 2]
    assert data["weights"]["slot_bytes"] == [0, 68]


def test_a_projector_is_shown_with_what_it_takes_and_a_model_without() -> None:
    eyes = shown(Opened(paths=("/m/mmproj.gguf",), headers=(gemma3(),)))
    assert eyes.projector is not None
    assert eyes.projector.compute_bytes == 4 * 4096 * (3 * 1152 + 4304)
    assert shown(Opened(paths=("/m/a.gguf",), headers=(gemma3_27b(),))).projector is None
