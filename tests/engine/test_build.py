from __future__ import annotations

import pytest

from evener.engine.build import Recipe, first_error, fitting_jobs, step
from evener.engine.choice import Choice
from evener.engine.source import PIN

GIB = 1 << 30


def recipe(*, cpu: str = "11111111", flags: tuple[str, ...] = ()) -> Recipe:
    return Recipe(pin=PIN, choice=Choice(backend="cpu", flags=flags), cpu=cpu)


def test_key_tells_version_backend_flags_and_cpu_apart() -> None:
    assert recipe().key.startswith("b11434-cpu-")
    assert recipe().key == recipe().key
    assert len({recipe().key, recipe(cpu="22222222").key, recipe(flags=("-DGGML_BLAS=ON",)).key}) == 3


def test_our_build_number_and_mark_are_passed_in() -> None:
    assert {"-DLLAMA_BUILD_NUMBER=11434", "-DLLAMA_BUILD_COMMIT=b0a2feb", "-DGGML_RPC=ON"} <= set(recipe().flags)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("[12/148] Building CXX object src/CMakeFiles/llama.dir/llama.cpp.o", (12, 148)),
        ("[  7%] Building C object ggml/src/ggml.c.o", (7, 100)),
        ("[100%] Built target llama-server", (100, 100)),
        ("-- Found OpenMP: TRUE", None),
        ("warning: array[12/148]", None),
    ],
)
def test_progress_is_read_from_ninja_and_make(line: str, expected: tuple[int, int] | None) -> None:
    assert step(line) == expected


def test_the_first_error_is_what_a_person_would_look_for() -> None:
    said = ["FAILED: a.o", "a.cpp:1:2: warning: odd", "a.cpp:3:4: error: no member named 'x'", "ninja: build stopped"]
    assert first_error(said) == "a.cpp:3:4: error: no member named 'x'"
    assert first_error(["c++: fatal error: Killed signal terminated program cc1plus", "b.cpp:1:1: error: y"]) == (
        "c++: fatal error: Killed signal terminated program cc1plus"
    )
    assert first_error(["ninja: error: loading 'build.ninja'"]) == "ninja: error: loading 'build.ninja'"
    assert first_error([]) is None


def test_jobs_are_bounded_by_cores_and_memory() -> None:
    assert fitting_jobs(cores=16, memory_bytes=64 * GIB) == 16
    assert fitting_jobs(cores=16, memory_bytes=4 * GIB) == 2
    assert fitting_jobs(cores=2, memory_bytes=GIB) == 1
    assert fitting_jobs(cores=4, memory_bytes=None) == 4
