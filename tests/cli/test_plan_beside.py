"""`evener plan --mmproj --draft`: what stands beside a model, on the screen and in the JSON."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from typer.testing import CliRunner

from evener.cli import plan_view
from evener.cli.main import app
from evener.config import example
from evener.testing.gguf_files import write_gguf
from tests.models.test_projector import gemma3

RIG = ("--rig", str(example("96gb.toml")))
LARGE, SMALL = "llama-3.3-70b:Q4_K_M", "llama-3.1-8b:Q4_K_M"


@pytest.fixture(autouse=True)
def a_laptop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HOME", "EVENER_CACHE", "EVENER_STATE"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    for name in ("XDG_CACHE_HOME", "XDG_STATE_HOME", "EVENER_ENGINE", "EVENER_RIG"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def eyes(tmp_path: Path) -> str:
    held = gemma3(blocks=1)
    return str(write_gguf(tmp_path / "mmproj.gguf", held.metadata, [(t.name, t.type, t.shape) for t in held.tensors]))


def run(*arguments: str) -> Any:
    return CliRunner().invoke(app, ["plan", *arguments, *RIG])


def test_a_draft_model_is_one_row_of_one_card_and_of_the_json(monkeypatch: pytest.MonkeyPatch) -> None:
    made = json.loads(run(LARGE, "--draft", SMALL, "--json").stdout)
    assert made["workload"]["drafts"] == 3
    chosen = next(one for one in made["candidates"] if one["name"] == made["verdict"]["choice"])
    assert [bool(device["draft_bytes"]) for device in chosen["devices"]].count(True) == 1
    screen = io.StringIO()
    monkeypatch.setattr(plan_view, "out", Console(width=100, file=screen, highlight=False))
    run(LARGE, "--draft", SMALL)
    assert screen.getvalue().count("draft model, about") == 1
    assert "beside the model: draft model Llama-3.1-8B-Q4_K_M" in screen.getvalue()


def test_more_drafts_are_what_was_asked() -> None:
    made = json.loads(run(LARGE, "--draft", SMALL, "--drafts", "8", "--json").stdout)
    assert made["workload"]["drafts"] == 8


def test_a_projector_is_in_the_card_and_in_the_command(eyes: str) -> None:
    made = json.loads(run("gemma-3-27b:Q4_K_M", "--mmproj", eyes, "--json").stdout)
    chosen = next(one for one in made["candidates"] if one["name"] == made["verdict"]["choice"])
    assert sum(device["projector_bytes"] > 0 for device in chosen["devices"]) == 1
    assert eyes in chosen["servers"][0]["argv"]


def test_rows_of_a_sweep_have_them_too() -> None:
    alone, helped = (
        json.loads(run(LARGE, *more, "--sweep", "context=4k,8k", "--json").stdout)["points"][0]["needs_bytes"]
        for more in ((), ("--draft", SMALL))
    )
    assert helped - alone > 5 << 30


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((LARGE, "--draft", "qwen3-0.6b:Q8_0"), "151936 tokens, and Llama-3.3-70B-Q4_K_M has 128256"),
        ((LARGE, "--mmproj", SMALL), "not a projector (llama)"),
        (("--draft", SMALL), "--mmproj and --draft belong to a model: which?"),
    ],
)
def test_what_does_not_belong_together_is_one_line(arguments: tuple[str, ...], says: str) -> None:
    done = run(*arguments)
    assert says in " ".join(str(getattr(done.exception, "message", done.output)).split())
