"""Other programs' stores, laid out as they lay them out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evener.models.stores import Place, Stored, named, places, stored
from tests.elsewhere import Elsewhere

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with one model in each store, and one of them in two."""
    home = tmp_path / "home of anna"
    hub = home / ".cache/huggingface/hub/models--org--Repo-GGUF"
    put(hub / "blobs/aa11", b"from the hub")
    link(hub / f"snapshots/{COMMIT}/Model-Q4_K_M.gguf", "../../blobs/aa11")
    link(hub / "snapshots/older/Model-Q4_K_M.gguf", "../../blobs/aa11")
    put(home / ".cache/llama.cpp/org_Repo_m-Q8_0.gguf", b"llama.cpp")
    put(home / ".cache/llama.cpp/manifest=org=Repo.json", b"{}")
    put(home / ".lmstudio/models/org/Repo/Big-00001-of-00002.gguf", b"12345")
    put(home / ".lmstudio/models/org/Repo/Big-00002-of-00002.gguf", b"678")
    put(home / ".cache/lm-studio/models/old.gguf", b"old")
    ollama(home / ".ollama/models", "library/llama3.2/1b", "ab" * 32, b"from ollama")
    own = home / ".cache/evener/models"
    own.mkdir(parents=True)
    (own / "Mine.gguf").hardlink_to(hub / "blobs/aa11")
    put(own / "half.gguf.0123456789ab.part", b"1")
    return home


def put(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def link(path: Path, target: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(target)


def ollama(folder: Path, name: str, digest: str, content: bytes) -> None:
    put(folder / f"blobs/sha256-{digest}", content)
    layer = {"mediaType": "application/vnd.ollama.image.model", "digest": f"sha256:{digest}"}
    put(folder / f"manifests/registry.ollama.ai/{name}", json.dumps({"layers": [layer]}, indent=1).encode())


async def look(home: Path, **environ: str) -> tuple[Stored, ...]:
    where = places(str(home), environ=environ, own=[f"{home}/.cache/evener/models"])
    return await stored(Elsewhere("beta", home), where)


async def test_every_store_is_found_and_a_file_of_two_stores_is_shown_once(home: Path) -> None:
    found = await look(home)
    assert [(one.store, one.name, one.bytes) for one in found] == [
        ("evener", "half.gguf.0123456789ab.part", 1),
        ("evener", "Mine.gguf", 12),  # the Hub's blob under another name: not again below
        ("llama.cpp", "org_Repo_m-Q8_0.gguf", 9),
        ("lmstudio", "Big-00001-of-00002.gguf", 8),
        ("lmstudio", "old.gguf", 3),
        ("ollama", "llama3.2:1b", 11),
    ]
    assert found[3].paths == tuple(f"{home}/.lmstudio/models/org/Repo/Big-0000{n}-of-00002.gguf" for n in (1, 2))
    assert found[5].path == f"{home}/.ollama/models/blobs/sha256-{'ab' * 32}"
    assert [one.unfinished for one in found] == [True, False, False, False, False, False]


async def test_a_snapshot_of_the_hub_is_called_by_its_file_and_not_by_its_blob(home: Path) -> None:
    (home / ".cache/evener/models/Mine.gguf").unlink()
    (model,) = [one for one in await look(home) if one.store == "huggingface"]
    assert (model.name, model.bytes) == ("Model-Q4_K_M.gguf", 12)
    assert model.path.endswith(f"snapshots/{COMMIT}/Model-Q4_K_M.gguf")


async def test_a_lost_part_is_counted(home: Path) -> None:
    (home / ".lmstudio/models/org/Repo/Big-00001-of-00002.gguf").unlink()
    (model,) = [one for one in await look(home) if one.name.startswith("Big")]
    assert (model.name, model.missing, model.bytes) == ("Big-00001-of-00002.gguf", 1, 3)


async def test_stores_that_somebody_has_moved_are_found(home: Path) -> None:
    (home / ".ollama").rename(home / "elsewhere")
    assert "llama3.2:1b" not in [one.name for one in await look(home)]
    assert "llama3.2:1b" in [one.name for one in await look(home, OLLAMA_MODELS=f"{home}/elsewhere/models")]


def test_the_environment_says_where_stores_are() -> None:
    folders = {
        place.store: place.folder for place in places("/h", environ={"HF_HOME": "/hf", "LLAMA_CACHE": "/l"}, own=[])
    }
    assert (folders["huggingface"], folders["llama.cpp"]) == ("/hf/hub", "/l")
    folders = {place.store: place.folder for place in places("/h", environ={"HF_HUB_CACHE": "/x"}, own=["/o", "/o"])}
    assert (folders["huggingface"], folders["llama.cpp"]) == ("/x", "/h/.cache/llama.cpp")


async def test_nothing_anywhere_is_nothing(tmp_path: Path) -> None:
    assert await look(tmp_path / "empty") == ()
    assert await stored(Elsewhere("beta", tmp_path), [Place(store="evener", folder="/no/such/folder")]) == ()


async def test_names_find_complete_models_only(home: Path) -> None:
    found = await look(home)
    for name in ("big", "Big-00001-of-00002.gguf", "LMSTUDIO:big-00001-of-00002.gguf"):
        assert [one.name for one in named(name, found)] == ["Big-00001-of-00002.gguf"]
    assert [one.name for one in named("Llama3.2:1B", found)] == ["llama3.2:1b"]
    assert named("half.gguf.0123456789ab.part", found) == ()
    (home / ".lmstudio/models/org/Repo/Big-00002-of-00002.gguf").unlink()
    assert named("big", await look(home)) == ()
