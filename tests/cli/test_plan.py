"""`evener plan` on the command line, from the catalogue and with the real engine's dry run."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from evener.cli.main import app
from evener.errors import ModelMissing

RIG = """
[[hosts]]
name = "alpha"
connection = "local"
address = "127.0.0.1"

[[hosts]]
name = "beta"
connection = "local"
address = "127.0.0.2"
"""


@pytest.fixture
def rig(tmp_path: Path) -> str:
    path = tmp_path / "rig.toml"
    path.write_text(RIG)
    return str(path)


def planned(*arguments: str) -> dict:
    result = CliRunner().invoke(app, ["plan", *arguments, "--json"], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


@pytest.mark.engine
def test_every_candidate_is_confirmed_when_asked_and_one_otherwise(rig: str, engine: Path) -> None:
    asked = planned("qwen3-0.6b:q8_0", "--rig", rig, "--users", "2", "--exact")
    assert all(d["dry_run"] and not d["compute_estimated"] for c in asked["candidates"] for d in c["devices"])
    usual = planned("qwen3-0.6b:q8_0", "--rig", rig, "--users", "2")
    confirmed = {c["name"] for c in usual["candidates"] for d in c["devices"] if d["dry_run"]}
    assert confirmed == {usual["verdict"]["choice"]}


@pytest.mark.engine
def test_both_figures_are_in_the_json(rig: str, engine: Path) -> None:
    made = planned("qwen3-0.6b:q8_0", "--rig", rig, "--users", "2", "--layout", "cluster")
    last = next(c for c in made["candidates"] if c["name"] == "cluster")["devices"][-1]
    # 151936 tokens x 512 rows x 4 bytes of logits are the dry run's alone
    assert last["dry_run"]["compute_bytes"] > 296 << 20
    assert last["compute_bytes"] < 100 << 20


@pytest.mark.engine
def test_a_confirmed_plan_is_made_within_a_second_and_a_half(rig: str, engine: Path) -> None:
    planned("qwen3-0.6b:q8_0", "--rig", rig)
    start = time.perf_counter()
    planned("qwen3-0.6b:q8_0", "--rig", rig)
    assert time.perf_counter() - start < 1.5


def test_a_makers_own_mix_is_planned_as_an_estimate(rig: str) -> None:
    made = planned("qwen3-0.6b:UD-Q4_K_XL", "--rig", rig)
    assert any("sizes are those of Q4_K_M" in reason for reason in made["verdict"]["reasons"])


def test_what_is_known_by_its_header_alone_is_not_brought_up(rig: str, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("EVENER_STATE", str(tmp_path / "state"))
    with pytest.raises(ModelMissing, match="only its header is known, in the catalogue"):
        CliRunner().invoke(app, ["up", "qwen3-0.6b:q8_0", "--rig", rig], catch_exceptions=False)
