"""What a GGUF header says, and how a broken one is refused."""

from __future__ import annotations

import io
import mmap
import struct
import time
import tracemalloc
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evener.dialects.gguf import ArrayOf, Header, LongText, read_header
from evener.dialects.gguf_types import TENSOR_TYPES
from evener.errors import BadHeader
from evener.testing.gguf_files import gguf_bytes, text, value, write_gguf

TENSORS = [("token_embd.weight", "Q8_0", (64, 10)), ("blk.0.attn_norm.weight", "F32", (64,))]
SMALL = gguf_bytes({"general.architecture": "llama", "llama.block_count": 1}, TENSORS) + bytes(680 + 24 + 256)


def read(data: bytes) -> Header:
    return read_header(io.BytesIO(data), name="m.gguf")


def fault(data: bytes) -> str:
    with pytest.raises(BadHeader) as caught:
        read(data)
    assert "\n" not in caught.value.message
    assert caught.value.message.startswith("m.gguf: ")
    return caught.value.message.removeprefix("m.gguf: ")


def head(version: int = 3, tensors: int = 0, pairs: int = 0) -> bytes:
    return struct.pack("<4sIQQ", b"GGUF", version, tensors, pairs)


def test_small_header_is_read_whole() -> None:
    header = read(SMALL)
    assert header.version == 3
    assert header.metadata == {"general.architecture": "llama", "llama.block_count": 1}
    assert [(t.name, t.type, t.shape, t.bytes, t.offset) for t in header.tensors] == [
        ("token_embd.weight", "Q8_0", (64, 10), 680, 0),  # 20 blocks of 34 bytes
        ("blk.0.attn_norm.weight", "F32", (64,), 256, 704),  # 680 padded to 32
    ]
    assert header.file_bytes == len(SMALL)
    assert header.data_offset == len(SMALL) - 680 - 24 - 256


def test_version_2_is_read_like_version_3() -> None:
    assert read(gguf_bytes({"a": 1}, version=2)).version == 2


def test_mmap_is_as_good_as_a_file(tmp_path: Path) -> None:
    path = write_gguf(tmp_path / "m.gguf", {"a": 1}, TENSORS)
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        assert read_header(mapped, name="m") == read_header(file, name="m")


class Trickle(io.BytesIO):
    """A source that gives a few bytes at a time, as a network does."""

    def read(self, size: int | None = -1, /) -> bytes:
        return super().read(min(size or 0, 7))


def test_source_may_give_less_than_it_was_asked_for() -> None:
    assert read_header(Trickle(SMALL), name="m.gguf") == read(SMALL)


@pytest.mark.parametrize(
    ("name", "number", "code", "content"),
    [
        ("u8", 0, "B", 200), ("i8", 1, "b", -2), ("u16", 2, "H", 60000), ("i16", 3, "h", -3), ("u32", 4, "I", 4),
        ("i32", 5, "i", -5), ("f32", 6, "f", 0.5), ("bool", 7, "B", True), ("u64", 10, "Q", 1 << 63),
        ("i64", 11, "q", -(1 << 62)), ("f64", 12, "d", 0.1),
    ],
)  # fmt: skip
def test_every_value_type_is_read_alone_and_in_arrays(name: str, number: int, code: str, content: float) -> None:
    one = text("k") + struct.pack("<I" + code, number, content)
    two = text("l") + struct.pack("<IIQ2" + code, 9, number, 2, content, content)
    long = text("m") + struct.pack("<IIQ", 9, number, 5000) + bytes(5000 * struct.calcsize(code))
    read_back = read(head(pairs=3) + one + two + long).metadata
    assert read_back == {"k": content, "l": (content, content), "m": ArrayOf(type=name, count=5000)}
    assert type(read_back["k"]) is type(content)


def test_vocabulary_is_counted_and_not_kept() -> None:
    words = [f"word{i}" for i in range(1000)]
    metadata = read(gguf_bytes({"tokenizer.ggml.tokens": words, "after": 7, "tags": ["a", "b"]})).metadata
    assert metadata == {"tokenizer.ggml.tokens": ArrayOf(type="string", count=1000), "after": 7, "tags": ("a", "b")}


def test_long_text_is_passed_over() -> None:
    metadata = read(gguf_bytes({"huge": "x" * (2 << 20), "after": 7})).metadata
    assert metadata == {"huge": LongText(bytes=2 << 20), "after": 7}


def test_strings_longer_than_the_window_do_not_derail_the_walk() -> None:
    words = ["a" * length for length in (0, 1, 300_000, 5, 262_144, 262_136, 8)] * 20
    metadata = read(gguf_bytes({"tokens": words, "after": 7})).metadata
    assert metadata == {"tokens": ArrayOf(type="string", count=140), "after": 7}


@given(st.lists(st.integers(0, 600_000), min_size=65, max_size=80), st.integers(1, 4))
@settings(max_examples=20, deadline=None)
def test_any_string_lengths_are_walked_exactly(lengths: list[int], shift: int) -> None:
    words = ["a" * (length if index % 7 == 0 else length % 23) for index, length in enumerate(lengths)]
    metadata = read(gguf_bytes({"b" * shift: 1, "tokens": words, "after": 7})).metadata
    assert metadata["after"] == 7


def test_arrays_in_arrays_are_legal_and_described() -> None:
    inner = struct.pack("<IQ2I", 4, 2, 1, 2) + struct.pack("<IQ", 8, 1) + text("x")
    pair = text("k") + struct.pack("<IIQ", 9, 9, 2) + inner
    assert read(head(pairs=2) + pair + text("z") + value(1)).metadata == {"k": ArrayOf(type="array", count=2), "z": 1}


def test_text_that_is_not_utf8_does_not_stop_the_reader() -> None:
    assert read(head(pairs=1) + text("k") + struct.pack("<I", 8) + text(b"\xff!")).metadata == {
        "k": "\N{REPLACEMENT CHARACTER}!"
    }


def test_alignment_of_the_file_is_honoured() -> None:
    header = read(gguf_bytes({"general.alignment": 128}, [("a", "F32", (1,))], alignment=128) + bytes(128))
    assert (header.alignment, header.data_offset % 128) == (128, 0)


def test_tensor_types_are_those_of_the_gguf_package() -> None:
    gguf = pytest.importorskip("gguf")
    theirs = {t.value: (t.name, *gguf.GGML_QUANT_SIZES[t]) for t in gguf.GGMLQuantizationType}
    ours = {number: (kind.name, kind.block, kind.block_bytes) for number, kind in TENSOR_TYPES.items()}
    assert {number: ours[number] for number in theirs} == theirs
    assert set(ours) - set(theirs) <= {42}  # Q2_0 is younger than the package


# Case 17: what is not a GGUF we can read, one line each.


def test_empty_file_is_said_to_be_empty() -> None:
    assert fault(b"") == "an empty file, not a GGUF"


def test_four_bytes_are_a_header_cut_short() -> None:
    assert fault(b"GGUF") == "cut short: 4 bytes wanted at byte 4, the file has 4"


def test_text_file_is_not_a_gguf() -> None:
    assert fault(b"hello world\n") == "not a GGUF: begins with b'hell'"


def test_web_page_instead_of_a_model_is_recognised() -> None:
    assert fault(b"<!DOCTYPE html><html>") == "a web page, not a GGUF"


def test_git_lfs_pointer_is_recognised() -> None:
    assert fault(b"version https://git-lfs.github.com/spec/v1\n") == "a Git LFS pointer, not the model itself"


def test_header_cut_anywhere_is_one_line() -> None:
    for length in range(4, len(SMALL)):
        assert "cut short" in fault(SMALL[:length])


def test_file_without_its_last_byte_is_cut_short() -> None:
    data = gguf_bytes({}, TENSORS) + bytes(704 + 255)
    size = len(data)
    assert fault(data) == f"cut short: 'blk.0.attn_norm.weight' ends at byte {size + 1}, the file at {size}"


def test_claim_of_2_to_60_tensors_is_refused_at_once() -> None:
    assert (
        fault(head(tensors=1 << 60)) == f"cut short or damaged: claims {1 << 60} tensors at byte 24, with 0 bytes left"
    )


def test_claim_of_2_to_60_keys_is_refused_at_once() -> None:
    assert (
        fault(head(pairs=1 << 60))
        == f"cut short or damaged: claims {1 << 60} metadata keys at byte 24, with 0 bytes left"
    )


def test_string_of_2_to_50_bytes_is_refused_at_once() -> None:
    data = head(pairs=1) + text("k") + struct.pack("<IQ", 8, 1 << 50) + b"abc"
    assert fault(data) == f"cut short or damaged: claims {1 << 50} bytes of text at byte 45, with 3 bytes left"


def test_string_of_2_to_50_bytes_inside_a_vocabulary_is_refused_at_once() -> None:
    data = head(pairs=1) + text("k") + struct.pack("<IIQQ", 9, 8, 65, 1 << 50) + bytes(64 * 8)
    assert "a string ends at byte" in fault(data)


def test_array_of_2_to_60_numbers_is_refused_at_once() -> None:
    data = head(pairs=1) + text("k") + struct.pack("<IIQ", 9, 4, 1 << 60) + bytes(100)
    assert fault(data).startswith(f"cut short or damaged: claims {1 << 60} elements of 'k'")


def test_big_endian_file_is_named_so() -> None:
    assert fault(b"GGUF" + struct.pack(">IQQ", 3, 0, 0)) == "a big-endian GGUF, which no little-endian engine reads"


def test_version_1_is_named_so() -> None:
    assert fault(b"GGUF" + struct.pack("<III", 1, 0, 0)) == "GGUF version 1, which engines no longer read"


def test_version_of_the_future_is_named_so() -> None:
    assert fault(head(version=4)) == "GGUF version 4; 2 and 3 are known"


def test_claims_in_a_huge_sparse_file_cost_neither_time_nor_memory(tmp_path: Path) -> None:
    """The file is large enough for the claims to be possible."""
    path = tmp_path / "huge.gguf"
    for claim in (
        head(tensors=1 << 30),
        head(pairs=1 << 30),
        head(pairs=1) + text("k") + struct.pack("<IIQ", 9, 8, 1 << 30),
        head(pairs=1) + text("k") + struct.pack("<IIQ", 9, 9, 1 << 30),
        head(pairs=2) + text("k") + struct.pack("<IQ", 8, 1 << 36),
        head(pairs=2) + text("k") + struct.pack("<IIQ", 9, 12, 1 << 33),
    ):
        with path.open("wb") as file:
            file.write(claim)
            file.truncate(1 << 38)
        tracemalloc.start()
        began = time.perf_counter()
        with path.open("rb") as file, pytest.raises(BadHeader):
            read_header(file, name="m.gguf")
        assert time.perf_counter() - began < 0.5
        assert tracemalloc.get_traced_memory()[1] < 4 << 20
        tracemalloc.stop()


def one(name: str, shape: tuple[int, ...] = (32,), *, number: int = 0, offset: int = 0) -> bytes:
    return text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, number, offset)


def test_duplicate_key_is_refused() -> None:
    assert fault(head(pairs=2) + (text("k") + value(1)) * 2) == "metadata key 'k' occurs twice"


def test_duplicate_tensor_is_refused() -> None:
    assert fault(head(tensors=2) + one("t") + one("t", offset=128) + bytes(512)) == "tensor 't' occurs twice"


def test_tensors_on_the_same_bytes_are_refused() -> None:
    data = head(tensors=2) + one("t") + one("u", offset=96) + bytes(512)
    assert fault(data) == "tensors 't' and 'u' share bytes"


def test_tensor_at_a_crooked_offset_is_refused() -> None:
    assert (
        fault(head(tensors=1) + one("t", offset=8) + bytes(512)) == "tensor 't' lies at offset 8, not a multiple of 32"
    )


def test_tensor_beyond_any_memory_is_refused() -> None:
    data = head(tensors=1) + one("t", (1 << 40, 1 << 40)) + bytes(512)
    assert fault(data) == f"tensor 't' is larger than any machine: {1 << 40} x {1 << 40}"


def test_row_that_is_no_whole_number_of_blocks_is_refused() -> None:
    data = head(tensors=1) + one("t", (33,), number=8) + bytes(512)
    assert fault(data) == "tensor 't' has rows of 33 elements, not whole Q8_0 blocks of 32"


def test_five_dimensions_are_refused() -> None:
    assert fault(head(tensors=1) + one("t", (1,) * 5) + bytes(64)) == "tensor 't' has 5 dimensions; 4 are allowed"


def test_tensor_type_of_the_future_is_named() -> None:
    assert fault(head(tensors=1) + one("t", number=99) + bytes(512)) == "tensor 't' has the unknown type 99"


def test_tensor_type_of_the_past_is_named() -> None:
    assert (
        fault(head(tensors=1) + one("t", number=4) + bytes(99)) == "tensor 't' has type 4, which engines no longer read"
    )


def test_alignment_that_is_no_power_of_two_is_refused() -> None:
    assert fault(gguf_bytes({"general.alignment": 48})) == "general.alignment is 48, not a power of two"
    assert fault(gguf_bytes({"general.alignment": 0})) == "general.alignment is 0, not a power of two"


def test_alignment_of_another_type_is_refused() -> None:
    assert fault(gguf_bytes({"general.alignment": "32"})) == "general.alignment is not a u32"


def test_value_type_nobody_knows_is_named() -> None:
    assert fault(head(pairs=1) + text("k") + struct.pack("<II", 13, 0)) == "metadata key 'k' has the unknown type 13"


def test_key_of_60_000_letters_does_not_fill_the_screen() -> None:
    assert fault(head(pairs=1) + text("k" * 60_000) + struct.pack("<II", 13, 0)) == (
        "metadata key '" + "k" * 60 + "…' has the unknown type 13"
    )


def test_empty_key_and_overlong_tensor_name_are_refused() -> None:
    assert fault(head(pairs=1) + text("") + value("xxxxx")).startswith("a metadata key of 0 bytes")
    assert fault(head(tensors=1) + one("t" * 65)).startswith("a name of tensor 0 of 65 bytes")


def test_name_that_is_not_text_is_refused() -> None:
    assert "that is not text" in fault(head(pairs=1) + text(b"\xff\xfe") + value(1))


def test_arrays_nested_without_end_are_refused() -> None:
    nest = struct.pack("<IQ", 9, 1) * 40
    assert (
        fault(head(pairs=1) + text("k") + struct.pack("<I", 9) + nest)
        == "metadata key 'k' nests arrays more than 4 deep"
    )


def test_250_000_tokens_are_read_within_half_a_second() -> None:
    vocabulary = b"".join(text(f"token number {i}") for i in range(250_000))
    pair = text("tokenizer.ggml.tokens") + struct.pack("<IIQ", 9, 8, 250_000) + vocabulary
    data = head(pairs=1) + pair
    began = time.perf_counter()
    read(data)
    assert time.perf_counter() - began < 0.5


@given(st.binary(max_size=200))
@settings(deadline=None)
def test_arbitrary_bytes_behind_the_magic_are_read_or_refused(rest: bytes) -> None:
    with suppress(BadHeader):
        read(b"GGUF" + struct.pack("<I", 3) + rest)


@pytest.mark.engine
def test_demo_model_reads_as_in_the_gguf_package(model: Path) -> None:
    gguf = pytest.importorskip("gguf")
    theirs = gguf.GGUFReader(model)
    with model.open("rb") as file:
        ours = read_header(file, name=str(model))
    fields = {key: field for key, field in theirs.fields.items() if not key.startswith("GGUF.")}
    assert list(ours.metadata) == list(fields)
    for key, read_value in ours.metadata.items():
        expected = fields[key].contents()
        if isinstance(read_value, ArrayOf):
            assert read_value.count == len(expected)
        else:
            assert (list(read_value) if isinstance(read_value, tuple) else read_value) == expected
    assert [
        (t.name, t.type, t.shape, t.bytes, t.offset + ours.data_offset) for t in ours.tensors
    ] == [
        (t.name, t.tensor_type.name, tuple(t.shape.tolist()), t.n_bytes, t.data_offset) for t in theirs.tensors
    ]  # fmt: skip
