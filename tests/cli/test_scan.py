"""`evener`, `evener scan` and `evener rig` as a user calls them, on this machine."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest

from evener.config import parse_rig
from evener.records.card import Card, HostSeen
from evener.scan.first_rig import first_rig
from evener.testing.gguf_files import gguf_bytes

TINY = {
    "general.architecture": "llama", "llama.block_count": 1, "llama.embedding_length": 256,
    "llama.attention.head_count": 4, "llama.vocab_size": 100,
}  # fmt: skip
TENSORS = [("token_embd.weight", "Q8_0", (256, 100))]


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
    assert set(scanned) == {"taken_at", "hosts", "devices", "links", "speeds"}
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


RIG_WITH_WINDOWS = """\
[[hosts]]
name = "alpha"
connection = "local"
[[hosts]]
name = "windows"
connection = "endpoint"
endpoints = ["192.0.2.1:50052"]
"""
TABLE = Path(__file__).parents[1] / "captures" / "nvidia_smi" / "table_two_5090.txt"


def test_pasted_output_is_kept_and_shown_with_its_age(here: Path) -> None:
    (here / "rig.toml").write_text(RIG_WITH_WINDOWS)
    done = evener("scan", "--paste", "windows", "--from", str(TABLE))
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith("windows: taken in as pasted: NVIDIA GeForce RTX 5090, NVIDIA GeForce RTX 5090\n")
    scanned = json.loads(evener("scan", "--json").stdout)
    cards = scanned["hosts"][1]["cards"]
    assert [(c["bus_id"], c["holders"], c["pasted_at"] is not None) for c in cards] == [
        ("00000000:01:00.0", None, True),
        ("00000000:02:00.0", None, True),
    ]
    assert scanned["hosts"][1]["fault"].startswith("192.0.2.1:50052: ")


def test_what_is_pasted_must_be_nvidia_smis_and_for_a_host_of_the_rig(here: Path) -> None:
    (here / "rig.toml").write_text(RIG_WITH_WINDOWS)
    (here / "note.txt").write_text("hello")
    done = evener("scan", "--paste", "windows", "--from", "note.txt")
    assert (done.returncode, done.stderr.splitlines()[0]) == (2, "error: this is no output of nvidia-smi")
    done = evener("scan", "--paste", "vista", "--from", str(TABLE))
    assert done.stderr == "error: no host is called vista\nhint: there is: alpha, windows\n"
    done = evener("scan", "--paste", "windows", "--from", "none.txt")
    assert (done.returncode, done.stderr) == (2, "error: none.txt: No such file or directory\n")


def test_measuring_links_needs_one(here: Path) -> None:
    (here / "rig.toml").write_text('[[hosts]]\nname = "alpha"\nconnection = "local"\n')
    done = evener("scan", "--links")
    assert done.returncode == 2
    assert "error: the rig file names no link\n" in done.stderr


@pytest.mark.engine
def test_links_are_measured_kept_and_shown_again(engine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EVENER_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("EVENER_ENGINE", str(engine))
    text = (
        '[[hosts]]\nname = "alpha"\nconnection = "local"\naddress = "127.0.0.1"\nports = "19100-19103"\n'
        '[[hosts]]\nname = "beta"\nconnection = "local"\naddress = "127.0.0.2"\nports = "19100-19103"\n'
        '[[links]]\nname = "lo"\nbetween = ["alpha", "beta"]\n'
    )
    (tmp_path / "rig.toml").write_text(text)
    done = evener("scan", "--links", "--json")
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith("Sending data over each link, about 5 s each.\n")
    (link,) = json.loads(done.stdout)["links"]
    assert (link["name"], link["addresses"]) == ("lo", ["127.0.0.1", "127.0.0.2"])
    assert link["payload"]["set_mib_per_s"]["n"] >= 2
    assert re.search(r"measured \d+ s ago", evener("scan").stdout)
    (tmp_path / "rig.toml").write_text(text.replace("127.0.0.2", "127.0.0.4"))
    assert json.loads(evener("scan", "--json").stdout)["links"] == []  # of another address: it says nothing


def test_scan_takes_a_model_only_to_measure_with(here: Path) -> None:
    done = evener("scan", "demo")
    assert (done.returncode, done.stderr) == (
        2,
        "error: demo: scan takes a model only to measure with\nhint: add --measure\n",
    )


def test_what_cannot_be_measured_says_why(here: Path) -> None:
    (here / "tiny.gguf").write_bytes(gguf_bytes(TINY, TENSORS) + bytes(27200))
    done = evener("scan", "--measure", "--yes", "tiny.gguf")
    assert done.returncode == 3
    assert "error: nothing could be measured: " in done.stderr
    assert "no engine there" in done.stderr
