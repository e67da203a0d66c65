"""The whole errand, on toys: real processes on real leashes, a toolchain of shell scripts."""

from __future__ import annotations

import asyncio
import os
import re
from pathlib import Path

import pytest

from evener.codec import from_json
from evener.edges.local_shell import LocalShell
from evener.engine.build import Recipe, Workshop, compile_engine
from evener.engine.choice import Choice
from evener.engine.host import HERE, HostFacts
from evener.engine.install import Folders, install, speaking_of
from evener.engine.lock import install_lock
from evener.engine.source import Pin
from evener.errors import EngineBuildFailed, EngineError, EngineUnfit, HostBusy
from evener.records.capability import Built, Installed
from evener.records.events import Progress
from tests.elsewhere import Elsewhere

from .toys import script, toy_archive, toy_engine, toy_toolchain


class Bench:
    """A cache, a toy toolchain on PATH, and a toy source archive."""

    def __init__(self, at: Path) -> None:
        self.cache = at / "cache"
        self.product = toy_engine(at / "product")
        self.tools = at / "tools"
        self.archive = at / "toy.tar.gz"
        self.pin: Pin = toy_archive(self.archive)
        self.seen: list[Progress] = []
        self.folders = Folders(
            engines=str(self.cache / "engines"),
            workshops=str(self.cache / "workshops"),
            sources=self.cache / "sources",
            logs=self.cache / "logs",
            lock=self.cache / "engines" / "install.lock",
        )
        toy_toolchain(self.tools, engine=self.product)

    async def install(self, environ: dict[str, str] | None = None) -> Installed:
        shell = LocalShell(HERE)
        return await install(
            shell, here=shell, folders=self.folders, environ=environ or {}, report=self.seen.append, asked="cpu",
            given=self.archive, pin=self.pin,
        )  # fmt: skip

    def landed(self) -> list[str]:
        return sorted(p.name for p in (self.cache / "engines").glob("*/engine.json"))

    def made(self) -> list[str]:
        return (next((self.cache / "workshops").glob("*/build/made"))).read_text().split()


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    bench = Bench(tmp_path)
    monkeypatch.setenv("PATH", f"{bench.tools}:{os.environ['PATH']}")
    return bench


async def wait_for_step(bench: Bench, number: int) -> None:
    async with asyncio.timeout(10):
        while not any(p.what == "compile" and p.done >= number for p in bench.seen):
            await asyncio.sleep(0.01)


async def test_an_engine_is_built_proved_and_named(bench: Bench) -> None:
    done = await bench.install()
    assert not done.already
    assert done.check.ok
    folder = Path(done.folder)
    assert folder.parent == bench.cache / "engines"
    assert sorted(p.name for p in folder.iterdir()) == [
        "engine.json", "ggml-rpc-server", "llama-bench", "llama-fit-params", "llama-quantize", "llama-server",
    ]  # fmt: skip
    built = from_json(Built, (folder / "engine.json").read_bytes(), source="engine.json")
    assert (built.build, built.commit, built.backend) == (77, bench.pin.sha256[:7], "cpu")
    assert (built.compiler, built.protocol) == ("GNU 12.2.0", "7.0.0")


async def test_progress_goes_through_every_stage_in_order(bench: Bench) -> None:
    await bench.install()
    assert list(dict.fromkeys(p.what for p in bench.seen)) == ["send", "unpack", "configure", "compile", "prove"]
    assert [(p.done, p.of) for p in bench.seen if p.what == "compile" and p.of] == [(1, 3), (2, 3), (3, 3)]


async def test_only_the_archive_is_kept_beside_the_result(bench: Bench) -> None:
    done = await bench.install()
    assert {p.name for p in (bench.cache / "engines").iterdir()} == {Path(done.folder).name, "install.lock"}
    assert [p.name for p in (bench.cache / "sources").iterdir()] == ["toy-1.tar.gz"]
    assert list((bench.cache / "workshops").iterdir()) == []
    assert list((bench.cache / "logs").iterdir()) == []


async def test_a_second_install_does_nothing(bench: Bench) -> None:
    first = await bench.install()
    bench.seen.clear()
    second = await bench.install()
    assert second.already
    assert second.built == first.built
    assert bench.seen == []


async def test_an_interrupted_build_stops_its_compiler_and_goes_on_where_it_was(bench: Bench) -> None:
    gate = bench.cache / "gate"
    toy_toolchain(bench.tools, engine=bench.product, gate=gate)
    errand = asyncio.create_task(bench.install())
    await wait_for_step(bench, 2)
    errand.cancel()
    with pytest.raises(asyncio.CancelledError):
        await errand
    assert bench.landed() == []
    assert bench.made() == ["1"]
    gate.touch()
    await asyncio.sleep(0.3)
    assert bench.made() == ["1"], "the compiler went on after it was interrupted"
    bench.seen.clear()
    done = await bench.install()
    assert not done.already
    assert [p.done for p in bench.seen if p.what == "compile" and p.of] == [2, 3]


async def test_compilers_hear_where_tools_are_and_not_flags_that_no_key_holds(bench: Bench) -> None:
    script(bench.tools / "cmake", f'while [ "$1" != -B ]; do shift; done; mkdir -p "$2/bin"; env >{bench.cache}/env')
    await bench.install({"CUDACXX": "/opt/cuda/bin/nvcc", "CFLAGS": "-O0", "LLAMA_ARG_CTX_SIZE": "1"})
    heard = (bench.cache / "env").read_text().splitlines()
    assert "CUDACXX=/opt/cuda/bin/nvcc" in heard
    assert not [line for line in heard if line.startswith(("CFLAGS", "LLAMA_ARG"))]


async def test_a_failed_compile_lands_nothing_and_names_the_first_error(bench: Bench) -> None:
    script(bench.tools / "ninja", "echo '[1/3] Building'; echo \"a.cpp:3:4: error: no member named 'x'\"; exit 1")
    with pytest.raises(EngineBuildFailed, match=r"cannot compile llama\.cpp: a\.cpp:3:4: error: no member") as failure:
        await bench.install()
    log = Path((failure.value.hint or "").removeprefix("the whole output is in "))
    assert "a.cpp:3:4" in log.read_text()
    assert bench.landed() == []


async def test_a_compiler_killed_for_memory_is_told_apart(bench: Bench) -> None:
    script(bench.tools / "ninja", "echo 'c++: fatal error: Killed signal terminated program cc1plus'; exit 1")
    with pytest.raises(EngineBuildFailed) as failure:
        await bench.install()
    assert failure.value.hint == "not enough memory: evener engine install --jobs 1"


async def test_an_engine_that_dies_of_an_illegal_instruction_never_lands(bench: Bench) -> None:
    toy_engine(bench.product, token="kill -ILL $$")
    with pytest.raises(EngineUnfit, match="built for another CPU"):
        await bench.install()
    assert [p.name for p in (bench.cache / "engines").iterdir()] == ["install.lock"]
    toy_engine(bench.product)
    assert not (await bench.install()).already


async def test_a_missing_program_is_told(bench: Bench) -> None:
    (bench.product / "llama-quantize").unlink()
    with pytest.raises(EngineBuildFailed, match="left no llama-quantize"):
        await bench.install()


async def test_two_installs_meet_by_pid(bench: Bench) -> None:
    with install_lock(bench.folders.lock), pytest.raises(HostBusy, match=rf"another evener \(pid {os.getpid()}\)"):
        await bench.install()
    assert not (await bench.install()).already


async def test_missing_tools_are_told_before_anything_is_fetched(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(bench.product))
    with pytest.raises(EngineError, match=r"here: cmake, ninja or make, a C\+\+ compiler missing"):
        await bench.install()
    assert not (bench.cache / "sources").exists()


async def test_make_begins_anew_after_a_sudden_death(bench: Bench) -> None:
    # ninja knows which objects it finished; make takes half an object for a whole one.
    recipe = Recipe(pin=bench.pin, choice=Choice(backend="cpu"), cpu="11111111")
    workshop = Workshop(folder=str(bench.cache / "w"), log=bench.cache / "log")
    build = Path(workshop.build)
    (build / "bin").mkdir(parents=True)
    (build / "half.o").touch()
    Path(workshop.compiling).touch()
    (bench.tools / "ninja").rename(bench.tools / "make")
    facts = HostFacts(system="Linux", cpu="11111111", gpus=(), tools={"make": "make"})
    await compile_engine(
        LocalShell(HERE), recipe, facts=facts, workshop=workshop, jobs=1, environ={}, report=bench.seen.append
    )
    assert not (build / "half.o").exists()
    assert not Path(workshop.compiling).exists()


# ---- another host


def poor(folder: Path) -> Path:
    """/usr/bin without compilers and Python."""
    folder.mkdir()
    for program in Path("/usr/bin").iterdir():
        if not re.search(r"cmake|ninja|make|\+\+|gcc|cc1?$|clang|python|pip|hipcc|nvcc|glslc", program.name):
            (folder / program.name).symlink_to(program)
    return folder


class Beta(Elsewhere):
    """A host with the bare PATH of a command over ssh; its toolchain is in ~/.local/bin, and it has no Python."""

    def __init__(self, bench: Bench, at: Path) -> None:
        super().__init__("beta", at / "beta")
        toy_toolchain(at / "beta/.local/bin", engine=bench.product)
        self.own["PATH"] = str(poor(at / "poor"))
        self.cache = at / "beta/.cache/evener"
        self.folders = Folders(
            engines=str(self.cache / "engines"), workshops=str(self.cache / "workshops"), sources=bench.folders.sources,
            logs=bench.folders.logs, lock=bench.folders.lock.with_name("install-beta.lock"),
        )  # fmt: skip


async def install_on(beta: Beta, bench: Bench) -> Installed:
    return await install(
        beta, here=LocalShell(HERE), folders=beta.folders, environ={}, report=bench.seen.append, asked="cpu",
        given=bench.archive, pin=bench.pin,
    )  # fmt: skip


@pytest.fixture
def beta(bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Beta:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")  # our own toolchain must not help
    return Beta(bench, tmp_path)


async def test_a_host_without_python_builds_with_tools_that_no_path_leads_to(beta: Beta, bench: Bench) -> None:
    tools = Path(beta.own["HOME"]) / ".local/bin"
    (tools / "cmake").rename(tools / "real-cmake")
    script(tools / "cmake", f'echo "$PATH" >{bench.cache}/path; exec real-cmake "$@"')
    bench.cache.mkdir()
    done = await install_on(beta, bench)
    assert (bench.cache / "path").read_text().startswith(f"{beta.own['PATH']}:{tools}")
    assert Path(done.folder).parent == beta.cache / "engines"
    assert done.check.ok
    assert list(dict.fromkeys(p.what for p in bench.seen)) == ["send", "unpack", "configure", "compile", "prove"]
    assert {p.name for p in (beta.cache / "engines").iterdir()} == {Path(done.folder).name, "install.lock"}
    assert list((beta.cache / "workshops").iterdir()) == []
    assert not bench.landed()
    assert (await install_on(beta, bench)).already


async def test_an_interrupted_build_on_a_host_goes_on_where_it_was(beta: Beta, bench: Bench) -> None:
    gate = bench.cache / "gate"
    toy_toolchain(Path(beta.own["HOME"]) / ".local/bin", engine=bench.product, gate=gate)
    errand = asyncio.create_task(install_on(beta, bench))
    await wait_for_step(bench, 2)
    errand.cancel()
    with pytest.raises(asyncio.CancelledError):
        await errand
    assert [p.name for p in (beta.cache / "engines").iterdir()] == ["install.lock"]
    gate.touch()
    bench.seen.clear()
    assert not (await install_on(beta, bench)).already
    assert [p.done for p in bench.seen if p.what == "compile" and p.of] == [2, 3]
    assert "send" not in [p.what for p in bench.seen]


async def test_a_source_that_arrives_damaged_is_not_unpacked(beta: Beta, bench: Bench) -> None:
    (Path(beta.own["PATH"]) / "sha256sum").unlink()
    script(Path(beta.own["PATH"]) / "sha256sum", f"echo {'00' * 32} x")
    with pytest.raises(EngineBuildFailed, match=r"^beta: toy-1\.tar\.gz arrived damaged"):
        await install_on(beta, bench)
    assert list(beta.cache.glob("workshops/*/*")) == []


async def test_errors_about_a_host_name_it_and_hint_at_commands_for_it() -> None:
    with pytest.raises(EngineUnfit, match=r"^beta: too old$") as caught, speaking_of("beta"):
        raise EngineUnfit("too old", hint="evener engine install --backend cpu")
    assert caught.value.hint == "evener engine install --host beta --backend cpu"
    with pytest.raises(EngineUnfit, match=r"^too old$"), speaking_of(HERE):
        raise EngineUnfit("too old")
