"""What is installed from the wheel works without the checkout."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from evener import __version__
from tests.docs.pages import ROOT


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel's content, in a folder of its own."""
    folder = tmp_path_factory.mktemp("wheel")
    built = subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, ROOT],
        capture_output=True,
        text=True,
    )
    assert built.returncode == 0, built.stderr
    (wheel,) = folder.glob("evener-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "content")
    return folder / "content"


def without_the_checkout(unpacked: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Python on the wheel and its dependencies. -S: not the .pth file through which this checkout is installed."""
    path = f"{unpacked}:{sysconfig.get_path('purelib')}:{sysconfig.get_path('platlib')}"
    return subprocess.run(
        [sys.executable, "-S", *arguments], env={"PYTHONPATH": path}, cwd=unpacked, capture_output=True, text=True
    )


def test_wheel_holds_every_file_of_the_package(unpacked: Path) -> None:
    source = ROOT / "src"
    kept = {str(p.relative_to(source)) for p in (source / "evener").rglob("*") if p.is_file() and p.suffix != ".pyc"}
    packed = {str(p.relative_to(unpacked)) for p in (unpacked / "evener").rglob("*") if p.is_file()}
    assert packed == kept
    assert packed >= {
        "evener/edges/leash.sh",
        "evener/py.typed",
        "evener/report/templates/report.html.j2",
        "evener/report/templates/report.css",
    }


def test_wheel_holds_nothing_but_the_package_and_its_papers(unpacked: Path) -> None:
    papers = f"evener-{__version__}.dist-info"
    assert {p.name for p in unpacked.iterdir()} == {"evener", papers}
    assert (unpacked / papers / "licenses" / "LICENSE").is_file()


def test_wheel_runs_without_the_checkout(unpacked: Path) -> None:
    where = without_the_checkout(unpacked, "-c", "import evener; print(evener.__file__)")
    assert where.stdout.strip() == str(unpacked / "evener" / "__init__.py")
    done = without_the_checkout(unpacked, "-m", "evener", "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert "Plan, launch, verify and measure" in done.stdout
