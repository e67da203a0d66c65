"""`evener serve`, `people` and the orders: what is wrong is told before anything is opened or written."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from evener.api import deployments, door
from evener.api.door import Wanted
from evener.cli import deploy, main

RIG = '[[hosts]]\nname = "alpha"\nconnection = "local"\n'


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, folder in (("EVENER_STATE", "state"), ("XDG_CONFIG_HOME", "config")):
        monkeypatch.setenv(name, str(tmp_path / folder))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rig.toml").write_text(RIG)
    return tmp_path


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["evener", *arguments])
    with pytest.raises(SystemExit) as ended:
        main.run()
    return int(ended.value.code or 0)


def told(capsys: pytest.CaptureFixture[str]) -> str:
    said = capsys.readouterr()
    assert "Traceback" not in said.err
    return said.out + said.err


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("--", "--jinja"), "Missing argument"),
        (("demo", "--tls-cert", "cert.pem"), "belong together"),
        (("demo", "--rig", "none.toml"), "none.toml"),
        (("demo", "--", "--api-key", "x"), "--api-key"),
        (("demo", "--rig", "rig.toml", "--host", "0.0.0.0"), "open to the network without a key"),
    ],
)
def test_a_mistake_is_told_and_installs_nothing(
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    why: str,
) -> None:
    for more in ((), ("--install",)):
        assert run(monkeypatch, "serve", *more, *arguments) == 2
        assert why in told(capsys)
    assert not (home / "config").exists()


def test_the_unit_is_the_same_command_from_the_same_folder(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "serve", "demo", "--rig", "rig.toml", "--install", "--", "--jinja") == 0
    assert "enable-linger" in told(capsys)
    unit = (home / "config/systemd/user/evener-door.service").read_text()
    assert '"serve" "demo" "--rig" "rig.toml" "--wait-for-hosts" "600" "--" "--jinja"' in unit
    assert f"WorkingDirectory={home}\n" in unit
    assert "--install" not in unit
    assert run(monkeypatch, "serve", "demo", "--rig", "rig.toml", "--users", "8", "--install") == 2
    assert "--force" in told(capsys)


def test_what_stands_behind_two_dashes_is_for_the_engine(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def opened(
        _rig: object, wanted: Sequence[Wanted], _options: object, *, extra: tuple[str, ...], **_more: object
    ) -> Any:
        told = [(one.name, one.model, one.layout) for one in wanted]
        return asyncio.sleep(0, f"{told} {extra}")

    monkeypatch.setattr(door, "serve", opened)
    arguments = ("a=demo", "other@beta", "--rig", "rig.toml", "--layout", "alpha", "--", "--jinja", "--threads", "4")
    assert run(monkeypatch, "serve", *arguments) == 0
    expected = "[('a', 'demo', 'alpha'), (None, 'other', 'beta')] ('--jinja', '--threads', '4')"
    assert expected in told(capsys)


def test_a_key_is_shown_once_and_kept_nowhere(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "people", "add", "ann", "--parallel", "2", "--json") == 0
    key = json.loads(capsys.readouterr().out)["key"]
    assert run(monkeypatch, "people", "list", "--json") == 0
    (ann,) = json.loads(capsys.readouterr().out)["people"]
    assert (ann["name"], ann["limits"]["parallel"], "key_sha256" in ann) == ("ann", 2, False)
    assert not any(key in path.read_text() for path in (home / "state").rglob("*.json"))
    assert run(monkeypatch, "people", "new-key", "ann") == 0
    assert key not in told(capsys)
    assert run(monkeypatch, "people", "revoke", "ann") == 0
    assert run(monkeypatch, "people", "revoke", "ann") == 2
    assert "nobody called 'ann'" in told(capsys)


@pytest.mark.parametrize("name", ["", "a b", "../x", "-a", "a" * 65])
def test_a_name_that_is_none_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    assert run(monkeypatch, "people", "add", "--", name) == 2
    assert "is no name" in told(capsys)


@pytest.mark.parametrize("order", [("pause",), ("continue", "alpha"), ("switch",), ("down", "door")])
def test_orders_without_a_door_say_that_there_is_none(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], order: tuple[str, ...]
) -> None:
    assert run(monkeypatch, *order) == 3
    assert "no door is open" in told(capsys)


def test_settings_without_a_door_are_told_to_be_of_a_door(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(deployments, "running", lambda: ["one that evener up made"])
    monkeypatch.setattr(deployments, "is_alive", lambda one: True)
    monkeypatch.setattr(deploy, "_show", lambda one, alive: None)
    assert run(monkeypatch, "status", "--clients") == 0
    assert "no door is open" in told(capsys)
    assert run(monkeypatch, "status") == 0
    assert "no door" not in told(capsys)
