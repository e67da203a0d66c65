from __future__ import annotations

from pathlib import Path

import pytest

from evener.edges.local_shell import LocalShell
from evener.engine.host import Gpu
from evener.engine.smoke import check, unseen_gpus
from evener.errors import EngineMissing, EngineUnfit
from evener.records.capability import EngineDevice

from .toys import script, toy_engine

HERE = LocalShell("here")


def nvidia(name: str) -> Gpu:
    return Gpu(vendor="nvidia", name=name, architecture="12.0")


def sees(*descriptions: str) -> list[EngineDevice]:
    return [EngineDevice(name=f"CUDA{n}", description=text) for n, text in enumerate(descriptions)]


def test_two_equal_cards_are_two() -> None:
    cards = [nvidia("NVIDIA GeForce RTX 5060 Ti")] * 2
    assert unseen_gpus(cards, sees("NVIDIA GeForce RTX 5060 Ti")) == ("NVIDIA GeForce RTX 5060 Ti",)
    assert unseen_gpus(cards, sees(*["NVIDIA GeForce RTX 5060 Ti"] * 2)) == ()


def test_a_5060_is_not_taken_for_the_5060_ti_beside_it() -> None:
    cards = [nvidia("NVIDIA GeForce RTX 5060"), nvidia("NVIDIA GeForce RTX 5060 Ti")]
    assert unseen_gpus(cards, sees("NVIDIA GeForce RTX 5060 Ti")) == ("NVIDIA GeForce RTX 5060",)


def test_the_engine_may_say_more_than_the_driver() -> None:
    card = Gpu(vendor="amd", name="AMD Radeon RX 7900 XTX", architecture="gfx1100")
    assert unseen_gpus([card], sees("AMD Radeon RX 7900 XTX (RADV NAVI31)")) == ()


def test_what_no_driver_shows_is_not_asked_for() -> None:
    cards = [Gpu(vendor="intel", name="Intel GPU", driver=False), Gpu(vendor="nvidia", name="NVIDIA GPU", driver=False)]
    assert unseen_gpus(cards, []) == ()


async def test_a_gpu_that_the_engine_does_not_see_makes_the_answer_no(tmp_path: Path) -> None:
    answer = await check(HERE, toy_engine(tmp_path), gpus=[nvidia("NVIDIA GeForce RTX 5090")])
    assert not answer.ok
    assert answer.problems == ("NVIDIA GeForce RTX 5090: the driver shows it, this engine (CPU) does not",)


async def test_a_gpu_that_both_see_is_fine(tmp_path: Path) -> None:
    folder = toy_engine(tmp_path, devices="  CUDA0: NVIDIA GeForce RTX 5090 (32607 MiB, 31900 MiB free)")
    answer = await check(HERE, folder, gpus=[nvidia("NVIDIA GeForce RTX 5090")])
    assert answer.ok
    assert [device.name for device in answer.devices] == ["CUDA0"]


async def test_an_illegal_instruction_means_another_cpu(tmp_path: Path) -> None:
    with pytest.raises(EngineUnfit, match="llama-bench: built for another CPU") as refusal:
        await check(HERE, toy_engine(tmp_path, token="kill -ILL $$"), gpus=[])
    assert refusal.value.hint == "evener engine install"


async def test_a_missing_library_is_named(tmp_path: Path) -> None:
    # As the loader of glibc says it, with exit status 127.
    said = "llama-server: error while loading shared libraries: libcudart.so.13: cannot open shared object file"
    folder = toy_engine(tmp_path)
    script(folder / "llama-server", f"echo '{said}' >&2; exit 127")
    with pytest.raises(EngineUnfit, match=r"libcudart\.so\.13: cannot open"):
        await check(HERE, folder, gpus=[])


async def test_no_token_is_told_with_the_engines_last_words(tmp_path: Path) -> None:
    failing = "echo 'main: error: failed to create context' >&2; exit 1"
    with pytest.raises(EngineUnfit, match=r"no token came \(main: error: failed to create context\)"):
        await check(HERE, toy_engine(tmp_path, token=failing), gpus=[])


async def test_a_folder_without_a_server_is_no_engine(tmp_path: Path) -> None:
    with pytest.raises(EngineMissing, match="no llama-server in it"):
        await check(HERE, tmp_path, gpus=[])


async def test_the_users_engine_settings_are_out_of_reach(tmp_path: Path) -> None:
    # llama.cpp reads ~/.config/llama.cpp/config.ini, where any option may stand.
    row = '[{"backends": "CPU", "avg_ns": 1}]'
    looks = f'[ -n "$XDG_CONFIG_HOME" ] && [ ! -e "$XDG_CONFIG_HOME" ] && echo \'{row}\''
    assert (await check(HERE, toy_engine(tmp_path, token=looks), gpus=[])).ok
