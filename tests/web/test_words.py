"""The page's Chinese is whole: every sentence has one, with the same names in it, and none is left over."""

from __future__ import annotations

import re
import string
from importlib.resources import files
from pathlib import Path
from typing import get_args

from evener.records.deployment import State
from evener.records.finding import Level
from evener.records.serving import BehindState
from evener.records.verification import CardVerdict, FreedVerdict
from evener.report.language import table
from evener.report.parts import RunState
from evener.web import app
from evener.web.pages import review

SAID = re.compile(r"""\bsay\(\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)')""")
WEB = Path(str(files("evener.web")))


def said() -> set[str]:
    """Every template that a page says, the words that only a record holds included."""
    sources = [*WEB.glob("templates/*.j2"), *WEB.glob("**/*.py")]
    found = {one or other for source in sources for one, other in SAID.findall(source.read_text(encoding="utf-8"))}
    keys = {what for _, what in (*review.KEYS_ALONE, *review.KEYS_PAIR)}
    kinds = {"weights", "kv", "compute", "overhead"}
    states = {
        *get_args(State),
        *get_args(CardVerdict),
        *get_args(FreedVerdict),
        *get_args(RunState),
        "gone",
        "?",
    }
    levels = {*get_args(Level), *get_args(BehindState)}
    faults = {"there is no such page", "this request makes no sense"}
    return found | keys | kinds | levels | states | faults | {name for name, _ in app.PAGES}


def names(template: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(template) if name}


def test_everything_that_is_said_is_said_in_chinese() -> None:
    assert said() - set(table("zh", "evener.web")) == set()


def test_nothing_is_translated_that_nobody_says() -> None:
    assert set(table("zh", "evener.web")) - said() == set()


def test_both_languages_name_the_same() -> None:
    assert {en: zh for en, zh in table("zh", "evener.web").items() if names(en) != names(zh)} == {}
