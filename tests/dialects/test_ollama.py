"""Written after Ollama's own store (version 0.12, one layer per kind of content)."""

from __future__ import annotations

import json

import pytest

from evener.dialects.ollama import model_blob, model_name

DIGEST = "sha256:" + "ab" * 32


def manifest(*layers: tuple[str, str]) -> str:
    return json.dumps({
        "schemaVersion": 2,
        "mediaType": "application/vnd.docker.distribution.manifest.v2+json",
        "layers": [
            {"mediaType": f"application/vnd.ollama.image.{kind}", "digest": digest} for kind, digest in layers
        ],
    })  # fmt: skip


def test_the_model_is_one_of_the_layers() -> None:
    text = manifest(("template", "sha256:" + "11" * 32), ("model", DIGEST), ("projector", "sha256:" + "22" * 32))
    assert model_blob(text) == "sha256-" + "ab" * 32


@pytest.mark.parametrize(
    "text",
    [
        "", "{", "[]", "{}", '{"layers": 3}', '{"layers": [{}]}', manifest(("template", DIGEST)),
        manifest(("model", "sha256:../../etc/passwd")), manifest(("model", DIGEST), ("model", DIGEST)),
    ],
)  # fmt: skip
def test_a_manifest_that_names_no_single_model_names_none(text: str) -> None:
    assert model_blob(text) is None


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("registry.ollama.ai/library/llama3.2/1b", "llama3.2:1b"),
        ("registry.ollama.ai/somebody/model/latest", "somebody/model:latest"),
        ("hf.co/org/repo-GGUF/Q4_K_M", "hf.co/org/repo-GGUF:Q4_K_M"),
    ],
)
def test_names_are_those_that_ollama_run_takes(path: str, name: str) -> None:
    assert model_name(path) == name
