"""Undocumented is red: commands, options, keys of rig.toml, errors, JSON keys, kinds of facts."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from evener import errors
from evener.config import rig_schema
from tests.docs.pages import DOCS, ROOT

COMMANDS, RIG, JSON, ERRORS = (DOCS / "reference" / f"{name}.md" for name in ("commands", "rig-toml", "json", "errors"))
TREE = re.compile(r"^([ |]*)\+- (\w+)(?: +(\d) )?")


def test_reference_pages_say_what_the_code_says(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "reference.py", "--check"], capture_output=True, text=True, cwd=tmp_path
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_stale_page_is_named(reference: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    page = DOCS / "reference" / "errors.md"
    monkeypatch.setattr(reference, "pages", lambda: {page: "what the code says now"})
    assert reference.main(["--check"]) == 1
    assert capsys.readouterr().out == "stale: docs/reference/errors.md (make docs)\n"


def test_every_command_has_help_and_a_section(reference: ModuleType) -> None:
    written = COMMANDS.read_text(encoding="utf-8")
    for path, command in reference.commands():
        assert command.help, path
        assert f"\n## {' '.join(path)}\n" in written, path


def test_every_option_and_argument_has_help_and_is_in_the_reference(reference: ModuleType) -> None:
    sections = dict(re.findall(r"^## (evener[^\n]*)\n(.*?)(?=^## |\Z)", COMMANDS.read_text(), re.M | re.S))
    for path, command in reference.commands():
        for parameter in command.params:
            if not getattr(parameter, "hidden", False):
                assert parameter.help, (path, parameter.name)
                shown = (*parameter.opts, *parameter.secondary_opts) if parameter.param_type_name == "option" else ()
                for word in shown or (parameter.metavar or parameter.name,):
                    assert word in sections[" ".join(path)], (path, word)


def test_every_key_of_the_rig_file_is_described_and_in_the_reference() -> None:
    written = RIG.read_text(encoding="utf-8")
    schema = rig_schema()
    for name, table in {"rig.toml": schema, **schema["$defs"]}.items():
        for key, value in table["properties"].items():
            if key != "connection":  # its values have a section of their own
                assert value.get("description"), (name, key)
            assert f"`{key}`" in written or f"[{key}]" in written, (name, key)


def error_classes() -> list[type[errors.EvenerError]]:
    return [c for c in vars(errors).values() if inspect.isclass(c) and issubclass(c, errors.EvenerError)]


def test_every_error_has_a_docstring_and_is_in_the_reference() -> None:
    written = ERRORS.read_text(encoding="utf-8")
    for error in error_classes():
        assert error.__dict__["__doc__"], error
        assert f"| `{error.__name__}` | {error.exit_code} |" in written, error


def test_the_tree_at_the_top_of_errors_is_the_tree_in_the_code() -> None:
    drawn = {errors.EvenerError: None}
    above: list[type[errors.EvenerError]] = [errors.EvenerError]
    for line in (errors.__doc__ or "").splitlines():
        if found := TREE.match(line):
            error = getattr(errors, found[2])
            depth = len(found[1]) // 4 + 1
            drawn[error] = above[depth - 1]
            above[depth:] = [error]
            assert int(found[3] or above[depth - 1].exit_code) == error.exit_code, line
    assert drawn == {e: None if e is errors.EvenerError else e.__bases__[0] for e in error_classes()}


def sections(page: Path) -> dict[str, set[str]]:
    """Heading -> the keys of the table below it."""
    found = re.findall(r"^## (\w+)\n(.*?)(?=^## |\Z)", page.read_text(encoding="utf-8"), re.M | re.S)
    return {name: set(re.findall(r"^\| `(\w+)` \|", text, re.M)) for name, text in found}


def test_every_json_key_is_in_the_reference(reference: ModuleType) -> None:
    written = sections(JSON)
    for record in reference.json_records():
        assert written[record.__name__] == {f.name for f in fields(record)}, record


def test_every_command_with_json_says_which_record_it_prints(reference: ModuleType) -> None:
    printing = {" ".join(path) for path, c in reference.commands() if any("--json" in p.opts for p in c.params)}
    documented = {re.sub(r"( --[a-z-]+| [A-Z]+)*$", "", n) for n in reference.DOCUMENTS if n.startswith("evener ")}
    assert printing == documented


def test_no_word_is_kept_for_a_key_that_is_gone(reference: ModuleType) -> None:
    reference.json_page()
    assert reference.words().keys() - reference.used_words == set()


def test_every_kind_of_fact_is_documented() -> None:
    written = (DOCS / "reference" / "control-socket.md").read_text(encoding="utf-8")
    sources = [p.read_text(encoding="utf-8") for p in (ROOT / "src").rglob("*.py")]
    kinds = {kind for text in sources for kind in re.findall(r"\bfact\(\s*\"([^\"]+)\"", text)}
    assert kinds, "no fact found: has its spelling changed?"
    assert {kind for kind in kinds if f"| `{kind}` |" not in written} == set()
