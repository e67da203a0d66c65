"""The site builds without a warning, every link leads somewhere, and nothing is fetched from elsewhere."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import DOCS, ROOT

LINK = re.compile(r"\]\(([^)\s]+)\)")
FETCHED = re.compile(
    r"<(?:script|img|iframe)[^>]+src=\"(?:https?:)?//|<link[^>]+href=\"(?:https?:)?//(?![^>]+canonical)"
)
DECISIONS = sorted((DOCS / "decisions").glob("*.md"))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", folder],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", ""), "a broken link, or a page outside the navigation"
    return folder


def test_pages_fetch_nothing_from_elsewhere(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) > 20
    assert [p.name for p in pages if FETCHED.search(p.read_text(encoding="utf-8"))] == []


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"])
def test_relative_links_lead_somewhere(name: str) -> None:
    links = [link for link in LINK.findall((ROOT / name).read_text(encoding="utf-8")) if "://" not in link]
    assert [link for link in links if not (ROOT / link.partition("#")[0]).exists()] == []


@pytest.mark.parametrize("page", DECISIONS, ids=lambda page: page.stem)
def test_a_decision_is_short_and_says_what_was_given_up(page: Path) -> None:
    lines = page.read_text(encoding="utf-8").splitlines()
    assert len(lines) < 40
    assert re.match(rf"# {int(page.name[:4])}\. \S", lines[0])
    assert [line for line in lines if line.startswith("## ")] == ["## Context", "## Decision", "## What we gave up"]


def test_decisions_are_numbered_without_gaps() -> None:
    assert [int(page.name[:4]) for page in DECISIONS] == list(range(1, len(DECISIONS) + 1))
