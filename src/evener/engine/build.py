"""Compile the pinned llama.cpp into the cache: resumable while it compiles, all or nothing when it lands.

It is told the backend and never chooses one.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
import shutil
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from evener.codec import to_json
from evener.dialects.llama_build import PROGRAMS
from evener.engine.choice import Choice
from evener.engine.host import HostFacts
from evener.engine.source import Pin, unpack
from evener.errors import EngineBuildFailed
from evener.ports import Report, Shell
from evener.records.capability import Built, Capability
from evener.records.events import Progress

COMMON_FLAGS: Final = (
    "-DCMAKE_BUILD_TYPE=Release",
    "-DBUILD_SHARED_LIBS=OFF",
    "-DGGML_RPC=ON",
    "-DGGML_NATIVE=ON",
    "-DGGML_CCACHE=OFF",
    "-DLLAMA_OPENSSL=OFF",
    "-DLLAMA_BUILD_TESTS=OFF",
    "-DLLAMA_BUILD_EXAMPLES=OFF",
    "-DLLAMA_BUILD_UI=OFF",
    "-DLLAMA_USE_PREBUILT_UI=OFF",
    "-DLLAMA_BUILD_APP=OFF",
    "-DCMAKE_UNITY_BUILD=ON",
)
# Their source files define the same names twice, or are compiled by something else than the C++ compiler.
NOT_UNITED: Final = {
    "cpu": (),
    "cuda": ("ggml-cuda",),
    "rocm": ("ggml-hip",),
    "vulkan": ("ggml-vulkan",),
    "metal": ("ggml-metal",),
}
UNITED_NEVER: Final = ("ggml-rpc", "mtmd")

NEEDED_BYTES: Final = {"cpu": 1 << 30, "metal": 1 << 30, "vulkan": 2 << 30, "cuda": 5 << 30, "rocm": 5 << 30}
JOB_BYTES: Final = 3 << 29  # the largest united files take this much memory to compile
TOOLCHAIN: Final = re.compile(
    r"CC|CXX|CUDACXX|CUDAHOSTCXX|CUDA_(HOME|PATH)|HIPCXX|HIP_(PATH|PLATFORM)|ROCM_PATH|VULKAN_SDK|CMAKE_PREFIX_PATH"
    r"|SDKROOT|DEVELOPER_DIR|MACOSX_DEPLOYMENT_TARGET"
)

_NINJA = re.compile(r"\[(\d+)/(\d+)\]")
_MAKE = re.compile(r"\[ *(\d+)%\]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """Everything that decides what comes out. Two hosts with the same key may share the result."""

    pin: Pin
    choice: Choice
    cpu: str

    @property
    def flags(self) -> tuple[str, ...]:
        mark = (f"-DLLAMA_BUILD_NUMBER={self.pin.build}", f"-DLLAMA_BUILD_COMMIT={self.pin.commit}")
        return (*COMMON_FLAGS, *mark, *self.choice.flags)

    @property
    def key(self) -> str:
        said = "\n".join((self.pin.sha256, self.choice.backend, *self.flags, self.cpu))
        return f"b{self.pin.build}-{self.choice.backend}-{hashlib.sha256(said.encode()).hexdigest()[:8]}"


def step(line: str) -> tuple[int, int] | None:
    """(done, of) in a line of ninja's ("[12/148]") or make's ("[ 12%]") output; None in any other line."""
    if found := _NINJA.match(line):
        return int(found[1]), int(found[2])
    found = _MAKE.match(line)
    return (int(found[1]), 100) if found else None


def first_error(lines: Sequence[str]) -> str | None:
    """The line that a person would look for in a failed build's output."""
    said = [line.strip() for line in lines]
    wanted = ("fatal error", "error:", "Error at", "Killed", "No space left", "undefined reference")
    return next((line for word in wanted for line in said if word in line), said[-1] if said else None)


def fitting_jobs(*, cores: int, memory_bytes: int | None) -> int:
    """As many compilers at once as there are cores, and as memory allows."""
    return max(1, min(cores, memory_bytes // JOB_BYTES if memory_bytes is not None else cores))


def demand_disk(folder: Path, *, needed_bytes: int) -> None:
    """Raises EngineBuildFailed when the disk under `folder` is too full to build on."""
    free = shutil.disk_usage(folder).free
    if free < needed_bytes:
        raise EngineBuildFailed(
            f"{folder}: {free / (1 << 30):.1f} GiB free, building takes {needed_bytes / (1 << 30):.0f} GiB",
            hint="make room, or set EVENER_CACHE to a folder on another disk",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Workshop:
    """Where one recipe is built. It is named by the recipe's key, so an interrupted build is found again."""

    folder: Path

    @property
    def source(self) -> Path:
        return self.folder / "source"

    @property
    def build(self) -> Path:
        return self.folder / "build"

    @property
    def log(self) -> Path:
        return self.folder / "build.log"

    @property
    def compiling(self) -> Path:
        """Present while a compiler runs, so that a power cut can be told from an orderly stop."""
        return self.folder / "compiling"


async def compile_engine(
    shell: Shell,
    recipe: Recipe,
    *,
    facts: HostFacts,
    archive: Path,
    workshop: Workshop,
    jobs: int,
    environ: Mapping[str, str],
    report: Report,
) -> Path:
    """The folder with the compiled programs. Stopped at any point, the next call goes on from there.

    Raises EngineBuildFailed with the compiler's first error.
    """
    workshop.folder.mkdir(parents=True, exist_ok=True)
    report(Progress(what="unpack", detail=archive.name))
    await asyncio.to_thread(unpack, archive, workshop.source)
    tool = "ninja" if "ninja" in facts.tools else "make"
    if workshop.compiling.exists() and tool == "make":
        shutil.rmtree(workshop.build, ignore_errors=True)  # make takes a half-written object for a whole one
    run = _Runner(shell=shell, log=workshop.log, environ=_toolchain(environ), report=report)
    workshop.log.unlink(missing_ok=True)
    await run("configure", _configure(recipe, workshop, tool))
    workshop.compiling.touch()
    targets = [f"-j{jobs}", *PROGRAMS]
    nice = ["nice", "-n", "10"] if "nice" in facts.tools else []
    try:
        await run("compile", [*nice, tool, "-C", str(workshop.build), *targets])
    finally:
        workshop.compiling.unlink(missing_ok=True)
    return workshop.build / "bin"


def _configure(recipe: Recipe, workshop: Workshop, tool: str) -> list[str]:
    apart = " ".join((*UNITED_NEVER, *NOT_UNITED[recipe.choice.backend]))
    include = workshop.folder / "unity.cmake"
    include.write_text(f"cmake_language(DEFER CALL set_target_properties {apart} PROPERTIES UNITY_BUILD OFF)\n")
    generator = {"ninja": "Ninja", "make": "Unix Makefiles"}[tool]
    places = ["-G", generator, "-S", str(workshop.source), "-B", str(workshop.build)]
    return ["cmake", *places, *recipe.flags, f"-DCMAKE_PROJECT_llama.cpp_INCLUDE={include}"]


def _toolchain(environ: Mapping[str, str]) -> dict[str, str]:
    """Where compilers are, and not CFLAGS and the like: they would change the result and are in no key."""
    return {name: value for name, value in environ.items() if TOOLCHAIN.fullmatch(name)}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Runner:
    """One build step on a leash, its output kept in the log and read for progress."""

    shell: Shell
    log: Path
    environ: Mapping[str, str]
    report: Report

    async def __call__(self, what: str, argv: Sequence[str]) -> None:
        self.report(Progress(what=what))
        said: list[str] = []
        child = await self.shell.start(argv, env=self.environ)
        try:
            with self.log.open("a") as log:
                async for line in child.lines():
                    log.write(line + "\n")
                    if (at := step(line)) is not None:
                        self.report(Progress(what=what, done=at[0], of=at[1]))
                    else:
                        said.append(line)
            code = await child.wait()
        finally:
            await child.stop()
        if code != 0:
            why = first_error(said) or f"{argv[0]} ended with {code}"
            killed = "Killed" in why or "Killed" in " ".join(said)
            raise EngineBuildFailed(
                f"cannot {what} llama.cpp: {why}",
                hint="not enough memory: evener engine install --jobs 1"
                if killed
                else f"the whole output is in {self.log}",
            )


Prove = Callable[[Path], Awaitable[Capability]]


async def land(built_in: Path, *, recipe: Recipe, engines: Path, prove: Prove) -> Built:
    """Copy the programs beside the cache, `prove` that they work, and only then give them their name.

    A crash leaves a folder whose name starts with a dot, which nobody takes for an engine.
    """
    landing = engines / f".landing-{recipe.key}"
    try:
        await asyncio.to_thread(_copy_programs, built_in, landing)
        built = _mark(recipe, await prove(landing))
        (landing / "engine.json").write_text(to_json(built, indent=2) + "\n")
        landing.rename(engines / recipe.key)
    finally:
        shutil.rmtree(landing, ignore_errors=True)
    return built


def _mark(recipe: Recipe, able: Capability) -> Built:
    return Built(
        key=recipe.key,
        build=recipe.pin.build,
        commit=recipe.pin.commit,
        backend=recipe.choice.backend,
        flags=recipe.flags,
        cpu=recipe.cpu,
        compiler=able.compiler,
        protocol=able.protocol,
        source_sha256=recipe.pin.sha256,
        built_at=datetime.now(UTC),
    )


def _copy_programs(built_in: Path, landing: Path) -> None:
    shutil.rmtree(landing, ignore_errors=True)  # left by a crash
    landing.mkdir(parents=True)
    for name in PROGRAMS:
        try:
            shutil.copy2(built_in / name, landing / name)
        except FileNotFoundError:
            raise EngineBuildFailed(
                f"the build ended well and left no {name}", hint="evener engine install, again"
            ) from None
