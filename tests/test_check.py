"""`make check` is part of the tests: what CI calls is `make test` alone."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
RECIPE = re.compile(r"^check:.*\n((?:\t.*\n)+)", re.MULTILINE)
found = RECIPE.search((ROOT / "Makefile").read_text(encoding="utf-8"))
assert found is not None
STEPS = [line.strip() for line in found[1].splitlines()]


def test_check_looks_at_format_lint_types_and_layers() -> None:
    assert [step.split()[0] for step in STEPS] == ["$(BIN)/ruff", "$(BIN)/ruff", "$(BIN)/mypy", "$(BIN)/lint-imports"]


@pytest.mark.parametrize("step", STEPS)
def test_check_passes(step: str) -> None:
    program, *arguments = step.replace("$(BIN)", str(Path(sys.executable).parent)).split()
    done = subprocess.run([program, *arguments], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
