"""Compile the pinned llama.cpp on a host, through its Shell: resumable while it compiles.

It is told the backend and never chooses one, and it never looks at the host's files by itself: every host is far away.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from evener import files
from evener.dialects.llama_build import PROGRAMS
from evener.engine.choice import Choice
from evener.engine.host import HostFacts
from evener.engine.source import Pin
from evener.errors import EngineBuildFailed, HostError
from evener.ports import Report, Shell
from evener.records.events import Progress
from evener.together import to_the_end

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
UNPACK_WITHIN_S: Final = 600.0
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Workshop:
    """Where one recipe is built on its host. It is named by the recipe's key, so an interrupted build is found again.

    `log` is a file here: what the compiler printed must be at hand when the host is not.
    """

    folder: str
    log: Path

    @property
    def source(self) -> str:
        return f"{self.folder}/source"

    @property
    def build(self) -> str:
        return f"{self.folder}/build"

    @property
    def programs(self) -> str:
        return f"{self.build}/bin"

    @property
    def compiling(self) -> str:
        """Present while a compiler runs, so that a power cut can be told from an orderly stop."""
        return f"{self.folder}/compiling"


# All of the source or none of it. The archive is the pinned one, so nothing in it can climb.
_UNPACK = """[ -f "$2/CMakeLists.txt" ] && exit 0
rm -rf -- "$2.partial" && mkdir -p -- "$2.partial" &&
gzip -dc -- "$1" | tar -xf - -C "$2.partial" --strip-components=2 "$3" &&
[ -f "$2.partial/CMakeLists.txt" ] && { mv -- "$2.partial" "$2" && rm -f -- "$1"; }"""


async def deliver(shell: Shell, pin: Pin, archive: Path, workshop: Workshop, *, report: Report) -> None:
    """Put the source into the workshop: send the pinned archive, check it there, unpack it. Goes on where it stopped.

    Raises HostError (no room, no connection) or EngineBuildFailed (it arrived damaged, or cannot be unpacked).
    """
    if f"{workshop.source}/CMakeLists.txt" in await files.entries(shell, [f"{workshop.source}/CMakeLists.txt"]):
        return
    there = f"{workshop.folder}/{pin.file_name}"
    await files.make_folder(shell, workshop.folder)
    await files.send(shell, archive, there, what="send", report=report)
    arrived = await files.sha256(shell, there, bytes=pin.bytes)
    if arrived not in (None, pin.sha256):
        await files.remove(shell, there)
        raise EngineBuildFailed(f"{shell.host}: {pin.file_name} arrived damaged", hint="evener engine install, again")
    report(Progress(what="unpack", detail=pin.file_name))
    try:
        await files.must(
            shell, _UNPACK, there, workshop.source, pin.folder, what=f"unpack {pin.file_name}", within_s=UNPACK_WITHIN_S
        )
    except HostError as error:
        raise EngineBuildFailed(error.message, hint=error.hint) from error


async def compile_engine(
    shell: Shell,
    recipe: Recipe,
    *,
    facts: HostFacts,
    workshop: Workshop,
    jobs: int,
    environ: Mapping[str, str],
    report: Report,
) -> str:
    """The folder with the compiled programs. Stopped at any point, the next call goes on from there.

    The source is in the workshop. Raises EngineBuildFailed with the compiler's first error.
    """
    tool = "ninja" if "ninja" in facts.tools else "make"
    if tool == "make" and workshop.compiling in await files.entries(shell, [workshop.compiling]):
        await files.remove(shell, workshop.build)  # make takes a half-written object for a whole one
    env = toolchain(environ) | ({"PATH": facts.path} if facts.path else {})
    run = _Runner(shell=shell, log=workshop.log, environ=env, report=report)
    workshop.log.parent.mkdir(parents=True, exist_ok=True)
    workshop.log.unlink(missing_ok=True)
    await run("configure", await _configure(shell, recipe, workshop, facts.tools.get("cmake", "cmake"), tool))
    await files.write(shell, workshop.compiling, b"")
    nice = [facts.tools["nice"], "-n", "10"] if "nice" in facts.tools else []
    try:
        await run("compile", [*nice, facts.tools.get(tool, tool), "-C", workshop.build, f"-j{jobs}", *PROGRAMS])
    finally:
        with suppress(HostError):  # out of reach: make then begins anew, which costs time and no more
            await to_the_end(files.remove(shell, workshop.compiling))
    return workshop.programs


async def _configure(shell: Shell, recipe: Recipe, workshop: Workshop, cmake: str, tool: str) -> list[str]:
    apart = " ".join((*UNITED_NEVER, *NOT_UNITED[recipe.choice.backend]))
    include = f"{workshop.folder}/unity.cmake"
    text = f"cmake_language(DEFER CALL set_target_properties {apart} PROPERTIES UNITY_BUILD OFF)\n"
    await files.write(shell, include, text.encode())
    generator = {"ninja": "Ninja", "make": "Unix Makefiles"}[tool]
    places = ["-G", generator, "-S", workshop.source, "-B", workshop.build]
    return [cmake, *places, *recipe.flags, f"-DCMAKE_PROJECT_llama.cpp_INCLUDE={include}"]


def toolchain(environ: Mapping[str, str]) -> dict[str, str]:
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
            with self.log.open("a", encoding="utf-8") as log:
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
