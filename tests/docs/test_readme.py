"""What the documents tell a reader to type exists."""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from typer.testing import CliRunner

from evener import __version__
from evener.cli.main import app
from evener.config import parse_rig
from evener.config.campaign import parse_campaign
from tests.docs.pages import ROOT, blocks, by_hand, command_lines

PAGES = [pytest.param(page, id=str(page.relative_to(ROOT))) for page in by_hand()]


def unknown_words(words: list[str], commands: dict[tuple[str, ...], Any]) -> list[str]:
    """Commands and options of one line that do not exist; what stands after `--` is the engine's."""
    words = words[: words.index("--")] if "--" in words else words
    path: tuple[str, ...] = ("evener",)
    while words and (*path, words[0]) in commands:
        path, words = (*path, words[0]), words[1:]
    known = {"--help", "-h"} | {o for p in commands[path].params for o in (*p.opts, *p.secondary_opts)}
    wrong = [w for w in words if w.startswith("-") and w.partition("=")[0] not in known]
    takes_words = any(p.param_type_name == "argument" for p in commands[path].params)
    return wrong if takes_words or not words or words[0].startswith("-") else [words[0], *wrong]


@pytest.mark.parametrize("page", PAGES)
def test_every_evener_line_can_be_typed(page: Path, reference: ModuleType) -> None:
    commands = dict(reference.commands())
    for words in command_lines(page, "evener"):
        assert unknown_words(words, commands) == [], f"{page.name}: evener {' '.join(words)}"


def test_a_line_with_a_wrong_word_is_found(reference: ModuleType) -> None:
    commands = dict(reference.commands())
    assert unknown_words(["plan", "demo", "--user", "8"], commands) == ["--user"]
    assert unknown_words(["engine", "instal"], commands) == ["instal"]
    assert unknown_words(["up", "demo", "--", "--jinja"], commands) == []


@pytest.mark.parametrize("page", PAGES)
def test_every_make_line_names_a_target(page: Path) -> None:
    targets = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M))
    for words in command_lines(page, "make"):
        assert set(words) <= targets, f"{page.name}: make {' '.join(words)}"


@pytest.mark.parametrize("page", PAGES)
def test_every_file_in_the_text_is_sound(page: Path) -> None:
    for text in blocks(page, "toml"):
        if "[[models]]" in text:
            assert parse_campaign(text, path=page.name).contestants
        else:
            assert parse_rig(text, path=page.name).hosts


def test_readme_speaks_of_the_two_commands_that_do_all_the_set_up() -> None:
    assert [words[0] for words in command_lines(ROOT / "README.md", "make")] == ["demo", "test"]


def test_the_plan_that_the_readme_opens_with_is_what_the_program_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a machine without an engine, and without anything measured."""
    for name in ("HOME", "EVENER_CACHE", "EVENER_STATE"):
        monkeypatch.setenv(name, str(tmp_path))
    for name in ("XDG_CACHE_HOME", "XDG_STATE_HOME", "EVENER_ENGINE", "EVENER_RIG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.chdir(ROOT)
    words = next(iter(command_lines(ROOT / "README.md", "evener")))
    assert words[0] == "plan"
    said = CliRunner().invoke(app, words, catch_exceptions=False).stdout
    for piece in blocks(ROOT / "README.md", "text")[0].split("\n...\n"):
        assert plain(piece.removesuffix("\n...")) in plain(said)


def plain(text: str) -> str:
    """Without line breaks and columns, which are broken by hand in the README."""
    return " ".join(text.split())


def test_ci_does_what_the_readme_says_and_nothing_after_it() -> None:
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert script.rstrip().splitlines()[-1] == "make test"


def test_the_tree_in_the_readme_exists() -> None:
    tree = blocks(ROOT / "README.md", "text")[-1]
    package, rest = tree.split("\ntests/", 1)
    inside = re.findall(r"(?:^ {2}|(?<= {2}))([a-z_]+(?:/|\.py))(?= )", package.partition("\n")[2], re.M)
    beside = re.findall(r"^([a-z]+)/", "tests/" + rest, re.M)
    assert len(inside) > 15
    assert [name for name in inside if not (ROOT / "src" / "evener" / name).exists()] == []
    assert [name for name in beside if not (ROOT / name).is_dir()] == []


def test_every_part_of_the_program_is_in_the_tree_of_the_readme() -> None:
    tree = blocks(ROOT / "README.md", "text")[-1]
    packages = {p.parent.name for p in (ROOT / "src" / "evener").glob("*/__init__.py")}
    assert {name for name in packages if f"{name}/ " not in tree} == set()


def test_the_changelog_speaks_of_this_version() -> None:
    assert f"\n## [{__version__}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
