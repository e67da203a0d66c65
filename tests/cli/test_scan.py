"""`evener`, `evener scan` and `evener rig` as a user calls them, on this machine."""

from __future__ import annotations

import json
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest

from evener.config import parse_rig
from evener.records.card import Card, HostSeen
from evener.scan.first_rig import first_rig


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder and an empty state folder, without an engine in sight."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EVENER_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("EVENER_CACHE", str(tmp_path / "cache"))
    for name in ("EVENER_RIG", "EVENER_ENGINE"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def evener(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "evener", *arguments], capture_output=True, text=True, timeout=60)


def test_bare_evener_answers_within_two_seconds_where_nothing_is_there(here: Path) -> None:
    began = time.monotonic()
    done = evener()
    took_s = time.monotonic() - began
    assert done.returncode == 0, done.stderr
    assert "this machine alone" in done.stdout
    assert done.stdout.rstrip().splitlines()[-1].startswith("next: evener ")
    assert took_s < 4  # about 0.5 s by itself; a busy test machine gets twice the promise


def test_scan_init_writes_a_rig_file_that_scan_then_uses(here: Path) -> None:
    assert evener("scan", "--init").returncode == 0
    name = tomllib.loads((here / "rig.toml").read_text())["hosts"][0]["name"]
    scanned = json.loads(evener("scan", "--json").stdout)
    assert [host["name"] for host in scanned["hosts"]] == [name]
    assert evener("rig", "check").stdout.startswith("rig.toml: 1 host, 0 links\n")


def test_scan_init_never_replaces_a_file_unless_told_to(here: Path) -> None:
    (here / "rig.toml").write_text("# mine\n")
    refused = evener("scan", "--init")
    assert (refused.returncode, refused.stderr) == (
        2,
        "error: rig.toml exists and stays as it is\nhint: --force replaces it\n",
    )
    assert (here / "rig.toml").read_text() == "# mine\n"
    assert evener("scan", "--init", "--force").returncode == 0
    assert (here / "rig.toml").read_text() != "# mine\n"
    assert [path.name for path in here.glob(".rig-*")] == []


def test_scan_init_into_a_folder_that_is_not_there_is_an_error(here: Path) -> None:
    done = evener("scan", "--init", "--rig", "none/rig.toml")
    assert done.returncode == 2
    assert "cannot be written: No such file or directory" in done.stderr


def test_the_json_of_a_scan_has_its_documented_keys(here: Path) -> None:
    scanned = json.loads(evener("scan", "--json").stdout)
    assert set(scanned) == {"taken_at", "hosts", "devices", "links"}
    assert {"name", "machine_id", "cards", "engine", "fault", "cores", "threads"} <= set(scanned["hosts"][0])
    assert {"position", "name", "host", "card_id", "endpoint", "worker_device"} == set(scanned["devices"][0]) - {
        "description"
    }


def test_a_faulty_rig_file_is_one_line_and_exit_code_2(here: Path) -> None:
    (here / "rig.toml").write_text('[[hosts]]\nname = "a"\nconnection = "local"\naddress = "0.0.0.0"\nfoo = 1\n')
    for command in (["scan"], ["rig", "check"], []):
        done = evener(*command)
        assert done.returncode == 2
        assert done.stderr.startswith("error: rig.toml: hosts[0].address: ")
        assert "; hosts[0].foo: unknown key" in done.stderr
        assert "Traceback" not in done.stderr


def test_a_named_rig_file_that_is_not_there_is_an_error(here: Path) -> None:
    done = evener("scan", "--rig", "none.toml")
    assert (done.returncode, done.stderr) == (
        2,
        "error: none.toml: no such file\nhint: `evener scan --init` writes a first one\n",
    )


def test_the_schema_is_json_and_knows_the_hosts(here: Path) -> None:
    assert "hosts" in json.loads(evener("rig", "schema").stdout)["properties"]


def test_two_loopback_hosts_are_one_machine(here: Path) -> None:
    (here / "rig.toml").write_text(
        '[[hosts]]\nname = "alpha"\nconnection = "local"\naddress = "127.0.0.1"\n'
        '[[hosts]]\nname = "beta"\nconnection = "local"\naddress = "127.0.0.2"\n'
    )
    scanned = json.loads(evener("scan", "--json").stdout)
    alpha, beta = scanned["hosts"]
    assert alpha["machine_id"] == beta["machine_id"] is not None
    assert next(d["host"] for d in scanned["devices"]) == "beta"


def test_the_first_rig_file_is_sound_also_with_its_second_host_taken_in() -> None:
    seen = HostSeen(
        name="alpha",
        connection="local",
        cards=(Card(id="GPU-1", kind="cuda", name="RTX 5090", total_bytes=32607 << 20, drives_display=True),),
    )
    text = first_rig(seen)
    assert "RTX 5090, 31.8 GiB (GPU-1)" in text
    assert parse_rig(text, path="rig.toml").head.reserve_bytes == 512 << 20
    taken_in = text.replace('# address = "10.0.0.1"', 'address = "10.0.0.1"')
    for start in ("# [[hosts]]", "# [serve]", "# [money]"):
        head, _, tail = taken_in.partition(start)
        block, blank, rest = (start + tail).partition("\n\n")
        taken_in = (
            head + "\n".join(line.removeprefix("# ").removeprefix("#") for line in block.splitlines()) + blank + rest
        )
    rig = parse_rig(taken_in, path="rig.toml")
    assert [host.name for host in rig.hosts] == ["alpha", "beta"]
    assert (rig.links[0].gbit_per_s, rig.serve.port, rig.money is not None) == (4.7, 8080, True)
