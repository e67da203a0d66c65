"""Every sentence that a campaign's report can say is in every table, with the same braces, and no table says more."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from string import Formatter
from typing import get_args

import pytest

from evener.records import campaign, context_limits, plan, verdicts, verification
from evener.records.conditions import Conditions
from evener.report import campaign as told
from evener.report import parts, rows
from evener.report.campaign import parts as campaign_parts
from evener.report.language import Say, table

REPORT = Path(told.__file__).parents[1]
SAID = re.compile(r'say\("((?:[^"\\]|\\.)*)"')
COUNTED = re.compile(r'say\.count\([^,]+, "([^"]*)", "([^"]*)"')
# A call's name, and which of its arguments are sentences.
CALLS = {"say": slice(0, 1), "_say": slice(0, 1), "count": slice(1, 3), "reading": slice(0, 1), "Kind": slice(0, 1)}
# What records say in one word, and faces say after them.
WORDS = (
    campaign_parts.Word, campaign_parts.PlaceState, campaign_parts.PairedOutcome, campaign.UnitState, campaign.Measure,
    context_limits.CeilingName, verdicts.Word, verification.CardVerdict, verification.FreedVerdict, parts.RunState,
)  # fmt: skip


def in_code() -> Iterator[str]:
    for path in [*(REPORT / "campaign").glob("*.py"), REPORT / "language.py"]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and (name := called(node.func)) in CALLS:
                yield from (a.value for a in node.args[CALLS[name]] if isinstance(a, ast.Constant) and a.value != "")


def called(function: ast.expr) -> str:
    return (
        function.id if isinstance(function, ast.Name) else function.attr if isinstance(function, ast.Attribute) else ""
    )


def in_templates() -> Iterator[str]:
    for path in (REPORT / "templates").glob("campaign*.j2"):
        text = path.read_text(encoding="utf-8")
        yield from SAID.findall(text)
        yield from (one for pair in COUNTED.findall(text) for one in pair)


def in_records() -> Iterator[str]:
    yield from (word for kind in WORDS for word in get_args(kind))
    yield from (kind for name in ("kind",) for kind in literals(campaign_parts.Trouble, name))
    yield from literals(plan.Share, "kind")
    yield from (rows.condition(one.name) for one in fields(Conditions))


def literals(record: type, field: str) -> tuple[str, ...]:
    from typing import get_type_hints

    return get_args(get_type_hints(record)[field])


def sentences() -> set[str]:
    also = {", ", "{several} and {last}", "unknown", "not checked"}
    found = {one for one in (*in_code(), *in_templates(), *in_records()) if isinstance(one, str)}
    return found | also


def braces(template: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(template) if name is not None}


def test_no_sentence_of_the_report_is_missing_in_chinese() -> None:
    assert sorted(sentences() - set(table("zh"))) == []


def test_no_sentence_in_chinese_is_one_that_nobody_says() -> None:
    assert sorted(set(table("zh")) - sentences()) == []


@pytest.mark.parametrize("template", sorted(table("zh")))
def test_a_sentence_has_the_same_braces_in_chinese(template: str) -> None:
    assert braces(table("zh")[template]) == braces(template)


def test_names_and_numbers_are_put_in_as_they_are() -> None:
    assert Say("zh")("{percent} slower than {name}", percent="31 %", name="{x} & y") == "比 {x} & y 慢 31 %"


def test_lists_are_joined_as_the_language_joins_them() -> None:
    assert Say("en").listed(["a", "b", "c"]) == "a, b and c"
    assert Say("zh").listed(["a", "b", "c"]) == "a、b 和 c"
    assert Say("zh").listed(["a"]) == "a"


def test_one_and_many_are_counted_apart() -> None:
    say = Say("en")
    assert [say.count(n, "{n} user", "{n} users") for n in (1, 2)] == ["1 user", "2 users"]
