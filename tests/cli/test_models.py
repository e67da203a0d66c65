"""`evener models` on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from evener.cli.main import app
from evener.errors import ConfigurationError, ModelMissing, NameUnknown
from evener.testing.gguf_files import Plain, write_gguf

METADATA: dict[str, Plain] = {
    "general.architecture": "llama",
    "general.name": "Red \x1b[31mLlama [bold]",
    "general.file_type": 7,
    "llama.block_count": 2,
    "llama.context_length": 4096,
    "llama.embedding_length": 256,
    "llama.attention.head_count": 4,
    "llama.attention.head_count_kv": 2,
    "tokenizer.ggml.tokens": [f"t{i}" for i in range(100)],
    "tokenizer.chat_template": "{{ x }}" * 100,
}


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Nobody's models are in it."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    for name in ("XDG_CACHE_HOME", "HF_HOME", "HF_HUB_CACHE", "LLAMA_CACHE", "OLLAMA_MODELS", "EVENER_RIG"):
        monkeypatch.delenv(name, raising=False)
    return home


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("EVENER_CACHE", str(tmp_path))
    models = tmp_path / "models"
    models.mkdir()
    write_gguf(models / "Llama-Q8_0.gguf", METADATA, [("token_embd.weight", "Q8_0", (256, 100))])
    return models


def evener(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["models", *arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_show_says_what_the_header_says(folder: Path) -> None:
    said = evener("show", "llama-q8_0")
    for words in (
        "llama (GGUF version 3)", "Q8_0", "parameters      25600", "4096 tokens in training",
        "4, 2 KV heads of 64 + 64, on 2 of 2 layers", "1.0 MiB per 1000 tokens at f16", "100 tokens",
        "token_embd.weight, Q8_0, 256 x 100", "chat template   yes",
    ):  # fmt: skip
        assert words in said


def test_strangers_text_reaches_the_terminal_as_text(folder: Path) -> None:
    said = evener("show", "llama-q8_0", "--metadata")
    assert "\x1b" not in said
    assert "Red \N{REPLACEMENT CHARACTER}[31mLlama [bold]" in said
    assert "tokenizer.ggml.tokens = 100 x string" in said
    assert "{{ x }}{{ x }}" in said
    assert "…" in said


def test_show_lists_tensors(folder: Path) -> None:
    assert "token_embd.weight  Q8_0  256 x 100  27200 bytes" in evener("show", "llama-q8_0", "--tensors")


def test_show_as_json_is_one_document(folder: Path) -> None:
    data = json.loads(evener("show", "llama-q8_0", "--json"))
    assert (data["quantisation"], data["weights"]["layers"], data["kv"]["growing_bytes"]) == ("Q8_0", 2, 1024)


def test_show_of_no_language_model_is_shown_with_a_note(folder: Path) -> None:
    write_gguf(folder / "mmproj.gguf", {"general.architecture": "clip"})
    result = CliRunner().invoke(app, ["models", "show", "mmproj"], catch_exceptions=False)
    assert result.exit_code == 0
    assert "clip" in result.stdout
    assert "not a language model" in result.stderr


def test_list_names_models_and_problems(folder: Path) -> None:
    (folder / "page.gguf").write_text("<html>")
    said = evener("list")
    assert "Llama-Q8_0.gguf" in said
    data = json.loads(evener("list", "--json"))
    assert [(one["file"], one["quantisation"], one["problem"] is None) for one in data] == [
        ("Llama-Q8_0.gguf", "Q8_0", True),
        ("page.gguf", None, False),
    ]


def test_list_of_nothing_says_how_to_begin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVENER_CACHE", str(tmp_path))
    assert "evener models fetch demo" in evener("list")
    assert json.loads(evener("list", "--json")) == []


def test_fetch_of_a_path_is_the_path(folder: Path) -> None:
    path = str(folder / "Llama-Q8_0.gguf")
    assert evener("fetch", path).strip() == path
    assert json.loads(evener("fetch", path, "--json")) == {"path": path}


def test_unknown_model_is_an_error_with_a_hint(folder: Path) -> None:
    with pytest.raises(ModelMissing) as caught:
        CliRunner().invoke(app, ["models", "show", "Lama-Q8_0"], catch_exceptions=False)
    assert (caught.value.hint or "").startswith("did you mean Llama-Q8_0")


def test_models_of_other_programs_are_listed_found_and_planned_with(folder: Path, own_home: Path) -> None:
    blob = "ab" * 32
    store = own_home / ".ollama/models"
    (store / "blobs").mkdir(parents=True)
    (store / "manifests/registry.ollama.ai/library/tiny").mkdir(parents=True)
    write_gguf(store / f"blobs/sha256-{blob}", METADATA, [("token_embd.weight", "Q8_0", (256, 100))])
    layer = {"mediaType": "application/vnd.ollama.image.model", "digest": f"sha256:{blob}"}
    (store / "manifests/registry.ollama.ai/library/tiny/1b").write_text(json.dumps({"layers": [layer]}))
    listed = json.loads(evener("list", "--json"))
    assert [(one["file"], one["store"], one["architecture"]) for one in listed] == [
        ("Llama-Q8_0.gguf", "evener", "llama"),
        ("tiny:1b", "ollama", "llama"),
    ]
    assert "in ollama" in evener("list")
    assert json.loads(evener("show", "tiny:1b", "--json"))["name"] == "tiny:1b"
    assert evener("fetch", "tiny:1b").strip() == str(store / f"blobs/sha256-{blob}")


RIG = """
[[hosts]]
name = "alpha"
connection = "local"

[[hosts]]
name = "gamma"
connection = "endpoint"
endpoints = ["10.9.9.9:50052"]
"""


def test_hosts_of_a_rig_are_listed_and_pushed_to_by_name(folder: Path, tmp_path: Path) -> None:
    rig = tmp_path / "rig.toml"
    rig.write_text(RIG)
    listed = json.loads(evener("list", "--all", "--rig", str(rig), "--json"))
    assert [(one["host"], one["file"]) for one in listed] == [("alpha", "Llama-Q8_0.gguf")]
    done = json.loads(evener("push", "llama-q8_0", "alpha", "--rig", str(rig), "--json"))
    assert (done["host"], done["by"], done["paths"]) == ("alpha", "nothing", [str(folder / "Llama-Q8_0.gguf")])
    with pytest.raises(NameUnknown, match="beta: no such host"):
        CliRunner().invoke(app, ["models", "push", "x", "beta", "--rig", str(rig)], catch_exceptions=False)
    with pytest.raises(ConfigurationError, match="gamma: connection = endpoint: no command can be run there"):
        CliRunner().invoke(app, ["models", "list", "--host", "gamma", "--rig", str(rig)], catch_exceptions=False)


def test_the_catalogue_lists_what_can_be_planned_without_a_file(folder: Path) -> None:
    entries = {entry["name"]: entry for entry in json.loads(evener("catalogue", "--json"))}
    assert {"Qwen3.6-35B-A3B", "Llama-3.3-70B", "gpt-oss-120b", "Gemma-3-27B"} <= set(entries)
    assert next(iter(entries["Llama-3.1-8B"]["sizes"])) == "BF16"
    assert entries["gpt-oss-120b"]["experts"] == 128
    assert "gpt-oss-120b" in evener("catalogue")


def test_a_catalogue_model_is_shown_as_if_its_header_had_been_read(folder: Path) -> None:
    said = evener("show", "qwen3.6-35b-a3b:q8_0")
    assert "34.66 B, 2.95 B active per token" in said
    assert "2 KV heads of 256 + 256, on 10 of 40 layers" in said


def test_what_is_here_goes_before_the_catalogue(folder: Path) -> None:
    write_gguf(folder / "gpt-oss-20b.gguf", METADATA, [("token_embd.weight", "Q8_0", (256, 100))])
    assert "llama (GGUF version 3)" in evener("show", "gpt-oss-20b")


def test_a_name_that_comes_near_the_catalogue_is_offered(folder: Path) -> None:
    with pytest.raises(ModelMissing) as caught:
        CliRunner().invoke(app, ["models", "show", "gpt-oss-12b"], catch_exceptions=False)
    assert "gpt-oss-120b" in str(caught.value.hint)
