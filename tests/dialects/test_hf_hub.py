"""Listings are written after the Hub's documented answer."""

from __future__ import annotations

import json

import pytest

from evener.dialects.hf_hub import HubFile, HubName, file_url, quant_of, read_name, read_tree, tree_url


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("hf:org/Repo-GGUF:Q4_K_M", HubName(repo="org/Repo-GGUF", quant="Q4_K_M")),
        ("HF:org/Repo.v2", HubName(repo="org/Repo.v2", quant=None)),
        ("hf:org/repo:sub/file.gguf", HubName(repo="org/repo", quant="sub/file.gguf")),
        ("hf:repo", None),
        ("hf:org/repo/more", None),
        ("hf:org/re po", None),
        ("hf:org/repo:", None),
    ],
)
def test_names_are_read(text: str, expected: HubName | None) -> None:
    assert read_name(text) == expected


def test_urls_are_quoted_and_an_endpoint_may_end_in_a_slash() -> None:
    assert tree_url("http://h/", "o/r") == "http://h/api/models/o/r/tree/main?recursive=true"
    assert file_url("http://h", "o/r", "a b/m#1.gguf") == "http://h/o/r/resolve/main/a%20b/m%231.gguf"


def test_large_files_have_a_hash_and_small_ones_only_gits_own() -> None:
    rows = [
        {"type": "directory", "oid": "1" * 40, "size": 0, "path": "sub"},
        {"type": "file", "oid": "2" * 40, "size": 1519, "path": ".gitattributes"},
        {
            "type": "file", "oid": "3" * 40, "size": 4920739232, "path": "sub/m-Q4_K_M.gguf",
            "lfs": {"oid": "ab" * 32, "size": 4920739232, "pointerSize": 135}, "xetHash": "cd" * 32,
        },
    ]  # fmt: skip
    assert read_tree(json.dumps(rows).encode()) == (
        HubFile(path=".gitattributes", bytes=1519, sha256=None),
        HubFile(path="sub/m-Q4_K_M.gguf", bytes=4920739232, sha256="ab" * 32),
    )


@pytest.mark.parametrize("text", [b"", b"<html>", b'{"error": "x"}', b'[{"type": "file", "path": "a"}]'])
def test_another_answer_is_no_listing(text: bytes) -> None:
    with pytest.raises(ValueError, match=r"^.+$"):
        read_tree(text)


@pytest.mark.parametrize(
    ("path", "quant"),
    [
        ("Meta-Llama-3.1-8B-Instruct-Q4_K_M.gguf", "Q4_K_M"),
        ("model.Q4_1.gguf", "Q4_1"),
        ("m-UD-IQ2_XXS.gguf", "UD-IQ2_XXS"),
        ("UD-Q4_K_XL/M-UD-Q4_K_XL-00001-of-00002.gguf", "UD-Q4_K_XL"),
        ("BF16/Model-00001-of-00008.gguf", "BF16"),
        ("gpt-oss-120b-mxfp4-00001-of-00003.gguf", "mxfp4"),
        ("mmproj-F16.gguf", "F16"),
        ("Q4_K_M.gguf", "Q4_K_M"),
        ("ggml-model.gguf", None),
        ("SuperQ8_model.gguf", None),
    ],
)
def test_the_quantisation_is_read_from_name_or_folder(path: str, quant: str | None) -> None:
    assert quant_of(path) == quant
