"""Layouts with a part in RAM on hosts that need not exist: planned, compared and refused by what their owner says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from evener.cli.main import app

HOST = """[[hosts]]
name = "alpha"
connection = "stated"
address = "10.0.0.1"
cards = [{ model = "RTX 5090" }]
"""


@pytest.fixture(autouse=True)
def a_laptop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HOME", "EVENER_CACHE", "EVENER_STATE"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    for name in ("XDG_CACHE_HOME", "XDG_STATE_HOME", "EVENER_ENGINE", "EVENER_RIG"):
        monkeypatch.delenv(name, raising=False)


def planned(folder: Path, ram: str) -> Any:
    rig = folder / "rig.toml"
    rig.write_text(HOST + ram)
    done = CliRunner().invoke(app, ["plan", "gpt-oss-120b", "--users", "1", "--rig", str(rig), "--json"])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    made = json.loads(done.stdout)
    return next(one for one in made["candidates"] if one["name"] == "alpha-experts-in-ram")


def test_without_a_word_about_ram_its_speed_is_unknown(tmp_path: Path) -> None:
    found = planned(tmp_path, "")
    assert (found["fits"], found["predicted"]) == (True, None)


def test_stated_ram_gives_a_speed_and_a_stated_rate_a_narrower_one(tmp_path: Path) -> None:
    assumed, stated = (
        planned(tmp_path, ram)["predicted"]["decode_tokens_per_s"]
        for ram in ("ram_gib = 64", "ram_gib = 64\nram_gb_per_s = 83.2")
    )
    assert stated["value"] == pytest.approx(assumed["value"], rel=0.001)
    assert assumed["low"] < stated["low"] < stated["value"] < stated["high"] < assumed["high"]


def test_ram_that_is_too_small_refuses_the_layout_and_says_by_how_much(tmp_path: Path) -> None:
    found = planned(tmp_path, "ram_gib = 24")
    assert not found["fits"]
    assert "alpha needs 29.7 GiB of RAM" in found["why_not"]  # of 59 GiB what 31 GiB of card leave, and buffers
    assert "and has 20.0 GiB available" in found["why_not"]
