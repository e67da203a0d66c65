"""Another quantisation of a model: by a toy that says what llama-quantize says, and by the real one."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from evener.api import models, quantising
from evener.edges.local_shell import LocalShell
from evener.errors import BadHeader, EngineError, HostError, ModelMissing, NameUnknown
from evener.models.quantise import file_name, quantise, require_type
from evener.testing.gguf_files import write_gguf
from tests.engine.toys import script

HERE = LocalShell("this machine")
SHA = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
SIZE = "echo 'x: quant size  =   1.00 MiB (8.5 BPW)'"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "Tiny-Q4_1.gguf"
    write_gguf(path, {"general.architecture": "llama"}, [("token_embd.weight", "Q8_0", (256, 10))])
    return path


def toy(tmp_path: Path, does: str) -> str:
    """`$3` is the target, `$4` the type; a dry run says the size."""
    return str(script(tmp_path / "toy" / "llama-quantize", f"[ $1 = --dry-run ] && {{ {SIZE}; exit; }}\n{does}"))


def nothing(_progress: object) -> None:
    return None


@pytest.mark.parametrize(
    ("source", "named"),
    [
        ("SmolLM2-135M-Instruct.Q4_1.gguf", "SmolLM2-135M-Instruct-Q8_0.b179c952.gguf"),
        ("Qwen3-0.6B-F16.gguf", "Qwen3-0.6B-Q8_0.b179c952.gguf"),
        ("big-BF16-00001-of-00003.gguf", "big-Q8_0.b179c952.gguf"),
        ("plain.gguf", "plain-Q8_0.b179c952.gguf"),
    ],
)
def test_a_name_says_the_model_its_type_and_what_it_is_made_of(source: str, named: str) -> None:
    assert file_name(source, "Q8_0", sha256=SHA) == named


def test_a_type_that_is_none_is_refused_with_all_that_are() -> None:
    assert require_type("q4_k_m") == "Q4_K_M"
    with pytest.raises(NameUnknown) as told:
        require_type("Q9")
    assert "Q8_0" in (told.value.hint or "")


async def test_what_is_there_is_not_made_again(tmp_path: Path, source: Path) -> None:
    program = toy(tmp_path, f'cp {source} "$3"; echo made >>{tmp_path}/made')
    for _ in range(2):
        path = await quantise(HERE, program, [source], "Q8_0", sha256=SHA, folder=tmp_path / "out", report=nothing)
    assert path == tmp_path / "out" / "Tiny-Q8_0.b179c952.gguf"
    assert (tmp_path / "made").read_text() == "made\n"


@pytest.mark.parametrize(
    ("does", "error", "said"),
    [
        ("echo 'failed to quantize: no imatrix'; exit 1", EngineError, "failed to quantize: no imatrix"),
        ('printf half >"$3"; kill -9 $$', EngineError, "cannot be quantised to Q8_0"),
        ('printf "no gguf" >"$3"', BadHeader, "not a GGUF"),
    ],
)
async def test_what_fails_leaves_nothing(
    tmp_path: Path, source: Path, does: str, error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        await quantise(HERE, toy(tmp_path, does), [source], "Q8_0", sha256=SHA, folder=tmp_path / "out", report=nothing)
    assert list((tmp_path / "out").iterdir()) == []


async def test_two_do_not_make_the_same_at_once(tmp_path: Path, source: Path) -> None:
    program = toy(tmp_path, f'cp {source} "$3"; until [ -e {tmp_path}/go ]; do sleep 0.02; done')

    async def once() -> Path:
        return await quantise(HERE, program, [source], "Q8_0", sha256=SHA, folder=tmp_path / "out", report=nothing)

    first = asyncio.ensure_future(once())
    while not list(tmp_path.glob("out/*.part")):
        await asyncio.sleep(0.02)
    with pytest.raises(ModelMissing, match="another evener is making it"):
        await once()
    (tmp_path / "go").touch()
    assert (await first).is_file()


async def test_a_disk_without_room_is_said_before_anything_is_written(tmp_path: Path, source: Path) -> None:
    program = str(script(tmp_path / "q", "echo 'x: quant size  =   999999999.00 MiB (8.5 BPW)'"))
    with pytest.raises(HostError, match="free, Tiny-Q8_0"):
        await quantise(HERE, program, [source], "Q8_0", sha256=SHA, folder=tmp_path / "out", report=nothing)
    assert not (tmp_path / "out").exists()


@pytest.mark.engine
async def test_the_real_one_makes_a_model_that_says_its_type(
    engine: Path, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVENER_ENGINE", str(engine))
    monkeypatch.setenv("EVENER_CACHE", str(tmp_path))
    expected = await quantising.predicted_bytes(str(model), "q8_0")
    made = await quantising.quantise(str(model), "q8_0", report=nothing)
    assert (await models.weights(made.path)).quantisation == "Q8_0"
    assert abs(made.bytes - expected) < 8 << 20  # the vocabulary's text comes with it
    assert (made.again, made.was_there) == (True, False)
    assert (await quantising.quantise(str(model), "Q8_0", report=nothing)).was_there
    assert await quantising.made(str(model), "Q8_0", report=nothing) == made.path
    assert await quantising.made(str(model), "Q6_K", report=nothing) is None


@pytest.mark.engine
def test_ctrl_c_leaves_nothing_of_it(
    engine: Path, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVENER_ENGINE", str(engine))
    monkeypatch.setenv("EVENER_CACHE", str(tmp_path))
    command = [sys.executable, "-m", "evener", "models", "quantise", str(model), "IQ4_NL"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True)
    part = tmp_path / "models" / "SmolLM2-135M-Instruct-IQ4_NL.b179c952.gguf.part"
    while not (part.exists() and part.stat().st_size):
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=30)
    assert process.returncode == 4, said
    assert list((tmp_path / "models").iterdir()) == []
