"""`evener plan --check` where the rig and the model are known: the flags are the planner's own."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from evener.api.checks import check_command
from evener.api.rig import Rig
from evener.cli.main import app
from evener.config import example
from evener.errors import ConfigurationError, EvenerError
from evener.records import rig as records
from evener.records.card import Scan
from evener.scan.order import device_order
from tests import rigs

RIG = ("--rig", str(example("96gb.toml")))
COMMAND = "llama-server --rpc 10.0.0.2:50052 -ts 32,16,16,16,16 -c 32768 -np 2"


@pytest.fixture(autouse=True)
def a_laptop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HOME", "EVENER_CACHE", "EVENER_STATE"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    for name in ("XDG_CACHE_HOME", "XDG_STATE_HOME", "EVENER_ENGINE", "EVENER_RIG", "HF_HOME", "LLAMA_CACHE"):
        monkeypatch.delenv(name, raising=False)


def answer(*arguments: str) -> Any:
    done = CliRunner().invoke(app, ["plan", *arguments, *RIG, "--json"], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


@pytest.mark.parametrize("model", ["qwen3.6-35b-a3b:Q8_0", "llama-3.3-70b:Q4_K_M"])
def test_what_evener_would_write_is_what_its_plan_writes(model: str) -> None:
    checked = answer("--check", COMMAND, model)
    plan = answer(model, "--context", "16384", "--users", "2")
    said = f" {checked['ours']} "
    one_server = [c for c in plan["candidates"] if c["fits"] and len(c["servers"]) == 1]
    name = checked["ours_by"].removeprefix("the plan's ").partition(",")[0]
    chosen = next(c for c in one_server if c["name"] == name)
    argv = chosen["servers"][0]["argv"]
    for flag in ("--device", "-ts", "-ngl"):
        assert f" {flag} {argv[argv.index(flag) + 1]} " in said
    assert name != "cluster-by-memory"
    assert checked["ours_by"].endswith("for 2 users of 16384 tokens")


def test_without_a_model_the_split_by_memory_is_called_so() -> None:
    checked = answer("--check", COMMAND, "--layers", "40")
    assert checked["ours_by"] == "in proportion to memory: the model or the rig is not known"


def test_a_bench_command_gets_the_benchs_flags() -> None:
    checked = answer("--check", "llama-bench -ts 1/1", "qwen3.6-35b-a3b:Q8_0")
    assert "-dev " in checked["ours"]
    assert "-ts " in checked["ours"]


LISTED = """Available devices:
  CUDA0: NVIDIA GeForce RTX 5090 (32606 MiB, 30000 MiB free)
  RPC0: 10.0.0.2:50052 (16000 MiB, 15000 MiB free)
"""
WORDS = (
    "llama-server llama-bench env -ts -dev --rpc -ngl -c -np -m -sm -mg -ot -ncmoe -cmoe 1,1 1/3,2/2 -1 abc "
    "1e308,1e308 nan 1;2 CUDA0 none auto RPC0 a:1 : = exps=CPU (a+)+$=CPU ' \" \\ \0 ~ ~x .. row none 1e-46 A=1 "
    f"LLAMA_ARG_X=1 \n | -- {'9' * 400} \ud800 é １ ,, //"
).split(" ")


async def test_whatever_is_pasted_gives_an_answer_or_one_line() -> None:
    rig, dice = Rig.open(str(example("96gb.toml"))), random.Random(1)
    answered = 0
    for _ in range(400):
        command = " ".join(dice.choices(WORDS, k=dice.randrange(14)))
        try:
            found = await check_command(command, rig=rig, layers=dice.choice([None, 1, 40]), listed=LISTED)
        except EvenerError as refused:
            lines = (refused.message,)
        else:
            answered += 1
            lines = found.warnings
            assert sum(p.slots for p in found.places) + found.cpu_slots == found.slots
        assert not any("\n" in line for line in lines)
    assert answered > 40


FIVE = """Available devices:
  CUDA0: NVIDIA GeForce RTX 5090 (32606 MiB, 32000 MiB free)
  CUDA1: NVIDIA GeForce RTX 5060 Ti (16311 MiB, 16000 MiB free)
  RPC0: 10.0.0.2:50052 (16303 MiB, 15900 MiB free)
  RPC1: 10.0.0.2:50052 (16311 MiB, 15900 MiB free)
  RPC2: 10.0.0.2:50052 (16311 MiB, 15900 MiB free)
"""


async def test_case_22_two_decimals_and_a_pasted_list_need_no_rig_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """81 slots, cut at 0.33, 0.50, 0.67 and 0.84 of them: before slots 27, 41, 55 and 69."""
    monkeypatch.chdir(tmp_path)
    command = "llama-server -m 70b.gguf --rpc 10.0.0.2:50052 -ts 0.33,0.17,0.17,0.17,0.16"
    found = await check_command(command, rig=Rig.open(None), layers=80, listed=FIVE)
    assert [(place.device, place.slots) for place in found.places] == [
        ("RPC0", 27), ("RPC1", 14), ("RPC2", 14), ("CUDA0", 14), ("CUDA1", 12),
    ]  # fmt: skip
    assert found.warnings == (
        "no --device: remote devices come first, whatever --list-devices shows",
        "-ts 0.33,0.17,0.17,0.17,0.16 gives 27,14,14,14,12 layers, not the 26,14,14,14,13 that its shares come nearest "
        "to",
    )
    # 81 by 16303:16311:16311:32606:16311 MiB
    assert found.ours == "--device RPC0,RPC1,RPC2,CUDA0,CUDA1 -ts 13,14,14,27,13 -ngl 999"


class OnlyAProcessor(Rig):
    """A rig of one machine that has no GPU."""

    async def scan(self) -> Scan:
        hosts = (rigs.seen("alpha", rigs.cpu()),)
        return rigs.scan(*hosts, devices=device_order(self.record, hosts))


async def test_a_processor_is_no_device_that_a_split_or_device_could_name() -> None:
    alone = OnlyAProcessor(records.Rig(hosts=(records.Host(name="alpha", connection="local"),)))
    with pytest.raises(ConfigurationError, match="there is no device to split between"):
        await check_command("llama-server -ts 1,1", rig=alone, layers=40)
