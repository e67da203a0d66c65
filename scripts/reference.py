"""Write docs/reference and schemas/ from the code. With --check: write nothing, and fail where a page is stale.

python scripts/reference.py [--check]
"""

from __future__ import annotations

import ast
import inspect
import json
import re
import sys
import tomllib
import types
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import typer.main
from typer import rich_utils
from typer.testing import CliRunner

from evener import errors
from evener.api.campaign_plan import schema as campaign_schema
from evener.api.quantising import Quantised
from evener.api.rig import rig_schema
from evener.api.store import Pruned, Tagged
from evener.api.suites import CheckedSuite
from evener.cli.main import app
from evener.config import tables
from evener.dialects import gguf
from evener.edges.run_pack import Packed, Unpacked
from evener.models.push import Pushed
from evener.models.shelf import Held
from evener.models.show import Shown
from evener.models.skeletons import CatalogueEntry
from evener.plan.check import Checked
from evener.records.answers import Answer, Judgement, Review
from evener.records.campaign import Campaign, CampaignStatus, Changed, Dropped, Schedule, UnitEnd, VisitEnd
from evener.records.capability import Built, EngineCheck, FoundEngine, Installed, RigEngines
from evener.records.card import Scan
from evener.records.client import ClientCheck
from evener.records.context_limits import ContextResult
from evener.records.deployment import Deployment
from evener.records.evaluation import EvalPlan, EvalResult
from evener.records.events import Fact, Progress
from evener.records.finding import Examined
from evener.records.judging import JudgeResult
from evener.records.load import Request, TokenTimes, UsersResult
from evener.records.pair import PairResult
from evener.records.questions import Question
from evener.records.run import Run, Summary
from evener.records.serving import DoorStatus, Person, ReadyToUse, RunningNow, Used
from evener.records.speed_rows import SpeedResult
from evener.records.telemetry import Sample
from evener.records.verdicts import Verdicts
from evener.records.whatif import PlanAnswer, WhatIf
from evener.report.against_parts import Against
from evener.report.beside_parts import Beside
from evener.report.campaign.parts import CampaignStory
from evener.report.parts import RunRow, Story

HELP_WIDTH = 80
ROOT = Path(__file__).resolve().parent.parent
# At the end: a page that does not begin with its heading has no title in the site.
GENERATED = "\n<!-- Written by scripts/reference.py (make docs). Do not edit. -->\n"


def main(arguments: list[str]) -> int:
    stale = [path for path, text in pages().items() if not path.is_file() or path.read_text(encoding="utf-8") != text]
    if "--check" in arguments:
        for path in stale:
            print(f"stale: {path.relative_to(ROOT)} (make docs)")
        return 1 if stale else 0
    for path in stale:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(pages()[path], encoding="utf-8")
        print(f"written: {path.relative_to(ROOT)}")
    return 0


@cache
def pages() -> dict[Path, str]:
    """Every generated file with the text it should have."""
    reference = ROOT / "docs" / "reference"
    return {
        reference / "commands.md": commands_page() + GENERATED,
        reference / "rig-toml.md": rig_page() + GENERATED,
        reference / "campaign-toml.md": campaign_page() + GENERATED,
        reference / "errors.md": errors_page() + GENERATED,
        reference / "json.md": json_page() + GENERATED,
        ROOT / "schemas" / "rig.schema.json": json.dumps(rig_schema(), indent=2, ensure_ascii=False) + "\n",
        ROOT / "schemas" / "campaign.schema.json": json.dumps(campaign_schema(), indent=2, ensure_ascii=False) + "\n",
    }


# ---- commands


def commands_page() -> str:
    shown = [f"## {' '.join(path)}\n\n```text\n{help_text(path)}\n```\n" for path, _ in commands()]
    intro = (
        "# Commands\n\nWhat `--help` says, for every command.\n\n"
        "Exit codes everywhere: 0 done · 1 done, and the answer is no · 2 usage or configuration · 3 could not run · "
        "4 the result is invalid. See [errors](errors.md). `--json` documents are described in [JSON](json.md).\n\n"
    )
    return intro + "\n".join(shown)


def commands() -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every visible command with its path, groups before their members."""

    def walk(path: tuple[str, ...], command: Any) -> Iterator[tuple[tuple[str, ...], Any]]:
        yield path, command
        for name, member in getattr(command, "commands", {}).items():
            if not member.hidden:
                yield from walk((*path, name), member)

    yield from walk(("evener",), typer.main.get_command(app))


def help_text(path: tuple[str, ...]) -> str:
    # Typer takes these from the environment when it is imported: a page must not depend on anybody's terminal.
    rich_utils.MAX_WIDTH, rich_utils.FORCE_TERMINAL, rich_utils.COLOR_SYSTEM = HELP_WIDTH, False, None
    shown = CliRunner().invoke(app, [*path[1:], "--help"], prog_name="evener", color=False).output
    return "\n".join(line.rstrip() for line in shown.splitlines()).strip()


# ---- rig.toml


def rig_page() -> str:
    schema = rig_schema()
    tables = schema["$defs"]
    kinds = {
        kind: tables[_ref(ref)]
        for kind, ref in schema["properties"]["hosts"]["items"]["discriminator"]["mapping"].items()
    }
    about = "\n".join(f"- `{kind}`: {table['description']}" for kind, table in kinds.items())
    return "\n".join([
        "# rig.toml\n",
        f"{schema['description']}\n",
        "`evener rig check FILE` says whether a file is sound; all faults are shown at once. Unknown keys are refused. "
        "Editors that know JSON Schema can use `schemas/rig.schema.json` (`evener rig schema` prints it). "
        "[How to write one](../how-to/write-a-rig.md).\n",
        "`local` and `ssh` hosts run things, an `endpoint` serves what somebody else started there, and `stated` hosts "
        "are planned only.\n",
        "Found in this order: `--rig FILE`, `$EVENER_RIG`, `./rig.toml`, `rig.toml` in the state folder; without any, "
        "this machine alone.\n",
        "## [serve]\n", _keys(tables["ServeTable"]),
        "## [[hosts]]\n", f"`connection` says how evener reaches the host:\n\n{about}\n", _host_keys(kinds),
        "## residents of a host\n", f"{tables['ResidentTable']['description']}\n", _keys(tables["ResidentTable"]),
        "## cards of a host (local, ssh)\n", f"{tables['CardsTable']['description']}\n", _keys(tables["CardsTable"]),
        "## cards of a stated host\n", "Cards that need not exist.\n", _keys(tables["StatedCardTable"]),
        "## [[links]]\n", f"{tables['LinkTable']['description']}\n", _keys(tables["LinkTable"]),
        "## [money]\n", f"{tables['MoneyTable']['description']}\n", _keys(tables["MoneyTable"]),
    ])  # fmt: skip


def _keys(table: dict[str, Any]) -> str:
    rows = ["| key | type | default | meaning |", "| --- | --- | --- | --- |"]
    rows += [_key_row(key, value, key in table.get("required", ())) for key, value in table["properties"].items()]
    return "\n".join(rows) + "\n"


def _host_keys(kinds: dict[str, dict[str, Any]]) -> str:
    """One row per key; `for` names the connections that know it."""
    owners: dict[str, list[str]] = {}
    for kind, table in kinds.items():
        for key, value in table["properties"].items():
            if key != "connection":
                owners.setdefault(_key_row(key, value, key in table.get("required", ())), []).append(kind)
    rows = ["| key | type | default | meaning | for |", "| --- | --- | --- | --- | --- |"]
    rows.append(f"| `connection` | {', '.join(f'`{kind}`' for kind in kinds)} | required | How to reach it. | all |")
    for row, those in owners.items():
        rows.append(f"{row} {'all' if len(those) == len(kinds) else ', '.join(those)} |")
    return "\n".join(rows) + "\n"


def _key_row(key: str, value: dict[str, Any], required: bool) -> str:
    default = "required" if required else _default(value.get("default"))
    return f"| `{key}` | {_schema_type(value)} | {default} | {_cell(value['description'])} |"


def _default(value: Any) -> str:
    return "-" if value in (None, [], {}) else f"`{json.dumps(value)}`"


def _schema_type(value: dict[str, Any]) -> str:
    if "anyOf" in value:
        return " or ".join(_schema_type(part) for part in value["anyOf"] if part.get("type") != "null")
    if "$ref" in value:
        return "table"
    if "enum" in value:
        return ", ".join(f'`"{one}"`' for one in value["enum"])
    kind: str = value.get("type", "table")
    if kind == "array":
        return f"list of {_schema_type(value['items'])}"
    if kind == "object" and isinstance(value.get("additionalProperties"), dict):
        return f"table of {_schema_type(value['additionalProperties'])}"
    return {"string": "text", "object": "table", "boolean": "true, false"}.get(kind, kind)


def _ref(reference: str) -> str:
    return reference.rsplit("/", 1)[-1]


# ---- campaign.toml

CAMPAIGN_TABLES = {
    "[[models]]": "ModelsTable",
    "[[endpoints]]": "EndpointsTable",
    "[speed]": "SpeedTable",
    "[[users]]": "UsersTable",
    "[context]": "ContextTable",
    "[answers]": "AnswersTable",
    "[[answers.judges]]": "JudgesTable",
    "[notify]": "NotifyTable",
}


def campaign_page() -> str:
    schema = campaign_schema()
    tables = schema["$defs"]
    plain = {key: value for key, value in schema["properties"].items() if f"[{key}]" not in _headings()}
    sections = [
        f"## {head}\n\n{tables[name]['description']}\n\n{_keys(tables[name])}" for head, name in CAMPAIGN_TABLES.items()
    ]
    return "\n".join([
        "# campaign.toml\n",
        f"{schema['description']}\n",
        "All faults are shown at once; unknown keys are refused, and so are secrets. Editors that know JSON Schema can "
        "use `schemas/campaign.schema.json` (`evener compare --schema` prints it). A file that it names may lie beside "
        "it. [How to write one](../how-to/compare-models.md).\n",
        "## Before the first table\n", _keys(schema | {"properties": plain}),
        *sections,
    ])  # fmt: skip


def _headings() -> set[str]:
    return {f"[{head.strip('[]')}]" for head in CAMPAIGN_TABLES}


# ---- errors


def errors_page() -> str:
    tree = (errors.__doc__ or "").split("\n\n", 1)[1].rstrip()
    rows = ["| error | exit code | is a | what it means |", "| --- | --- | --- | --- |"]
    for error in error_classes():
        parent = error.__mro__[1].__name__ if error is not errors.EvenerError else "-"
        rows.append(f"| `{error.__name__}` | {error.exit_code} | {parent} | {_cell(error.__doc__ or '')} |")
    return (
        "# Errors\n\nEvery failure is one line on standard error, `error: ...`, mostly with a second one, `hint: ...`; "
        "never a traceback. What to do about each: "
        "[when something goes wrong](../how-to/when-something-goes-wrong.md).\n\n"
        "| exit code | meaning |\n| --- | --- |\n| 0 | done |\n"
        "| 1 | done, and the answer is no: it does not fit, a card is over its promise, memory was not given back |\n"
        "| 2 | usage or configuration |\n| 3 | could not run: host, engine or model |\n"
        "| 4 | the result is invalid or partial |\n\n"
        f"```text\n{tree}\n```\n\n" + "\n".join(rows) + "\n"
    )


def error_classes() -> list[type[errors.EvenerError]]:
    """Every class of the tree, as errors.py defines them."""
    return [c for c in vars(errors).values() if isinstance(c, type) and issubclass(c, errors.EvenerError)]


# ---- JSON

MESSAGES_EACH = "one [message](control-socket.md) a line, without progress"
# What each document holds. A list stands for a JSON array.
DOCUMENTS: dict[str, tuple[str, Any]] = {
    "evener scan --json": ("the rig as it is", Scan),
    "evener doctor --json": ("every finding, the worst first", Examined),
    "evener plan MODEL --json": ("candidates and verdict, and what was asked around them", PlanAnswer),
    "evener plan --json": ("without a model, with `--sweep`, `--grid` or `--quant any`: a row per question", WhatIf),
    "evener plan --check COMMAND --json": ("where each value of a command's -ts lands", Checked),
    "evener status --json": ("the door, and every deployment on record", RunningNow),
    "evener bench users --json": (
        "the result, and beside its keys `conditions` ([Conditions](#conditions)), `telemetry` "
        "([Telemetry](#telemetry)), `drift` ([Drift](#drift), with --duration) and `run` (the run folder, or null)",
        UsersResult,
    ),
    "evener bench pair --json": ("the verdict and the pairs, and beside its keys `run` (the run folder)", PairResult),
    "evener bench self-test --json": ('`{"checks": [...]}`: one per user count', list[ClientCheck]),
    "evener bench speed --json": (
        "the rows, and beside its keys `conditions` ([Conditions](#conditions)), `telemetry` "
        "([Telemetry](#telemetry), or null) and `run` (the run folder, or null)",
        SpeedResult,
    ),
    "evener bench context --json": (
        "the ceilings and lengths, and beside its keys `conditions`, `telemetry` and `run`, as above",
        ContextResult,
    ),
    "evener eval --json": (
        "the scores, and beside its keys `conditions` ([Conditions](#conditions)) and `run` (the run folder)",
        EvalResult,
    ),
    "evener eval --plan --json": ("what suites can prove, before anybody is asked", EvalPlan),
    "evener verdict --json": ("what evaluations of several candidates prove", Verdicts),
    "evener models quantise --json": ("what was made, or was there", Quantised),
    "evener compare --json": (MESSAGES_EACH, None),
    "evener compare --status --json": ("where a campaign stands; with --watch, a line each time", CampaignStatus),
    "evener compare FILE --dry-run --json": ("every step of a campaign in order, before it begins", Schedule),
    "evener judge --json": ("what a judge found, and its passport", JudgeResult),
    "evener suite list --json": ("our suites", list[CheckedSuite]),
    "evener suite check --json": ("a suite, and what could be made of it", CheckedSuite),
    "evener suite show --json": ("questions", list[Question]),
    "evener engine install --json": ("what was installed", Installed),
    "evener engine push --json": ("what is there now", Installed),
    "evener engine list --json": ("every engine in sight", list[FoundEngine]),
    "evener engine check --json": ("every host's engine, and running workers", RigEngines),
    "evener engine check FOLDER --json": ("what the check of one engine found", EngineCheck),
    "evener models fetch --json": ('`{"path": ...}`: the (first) file', None),
    "evener models catalogue --json": ("models that can be planned without a file", list[CatalogueEntry]),
    "evener models list --json": ("models that are here, or on hosts of the rig", list[Held]),
    "evener models push --json": ("where the model is now", Pushed),
    "evener models show --json": ("what a header says", Shown),
    "evener report --json": ("the report", Story),
    "evener report CAMPAIGN --json": ("the report of a comparison", CampaignStory),
    "evener report RUN OTHER --json": ("two runs side by side", Against),
    "evener report RUN OTHER THIRD --json": ("any number of runs, and foreign figures, side by side", Beside),
    "evener runs --json": ("every run folder, newest first", list[RunRow]),
    "evener runs tag --json": ("the tags that a run has now", Tagged),
    "evener runs untag --json": ("the tags that are left", Tagged),
    "evener runs prune --json": ("what went, or with --dry-run what would go", Pruned),
    "evener runs pack --json": ("the file that was written", Packed),
    "evener runs open --json": ("the runs that came out of a pack", Unpacked),
    "evener people list --json": ('`{"people": [...]}`: [Person](#person) without `key_sha256`', None),
    "evener people usage --json": ('`{"usage": [...]}`: [Used](#used), of each person all days together', None),
    "evener people add --json": ('`{"name": ..., "key": ...}`: the key is shown this once', None),
    "evener people new-key --json": ("the same", None),
    "evener serve --json": (MESSAGES_EACH, None),
    "evener pause --json": ("the door, when it is done", DoorStatus),
    "evener continue --json": ("the door, when it is done", DoorStatus),
    "evener switch --json": ("the door, when it is done", DoorStatus),
    "evener up --json": (MESSAGES_EACH, None),
    "evener down --json": (MESSAGES_EACH, None),
    "evener demo --json": (MESSAGES_EACH, None),
    "run.json": ("in a run folder: written first", Run),
    "events.jsonl": ("in a run folder: a fact a line", Fact),
    "requests.jsonl": ("in a run folder: a request a line, but for `token_times`", Request),
    "token_times.jsonl": ("in a run folder: when the tokens of a request came, a line", TokenTimes),
    "answers.jsonl": ("in a run folder: a reply to a question a line", Answer),
    "judgements.jsonl": ("in a run folder: a reply of a judge a line", Judgement),
    "reviews.jsonl": ("in a run folder: what a person said of an answer, a line", Review),
    "telemetry.jsonl": ("in a run folder: what one host said at one moment, a line", Sample),
    "summary.json": ("in a run folder: written last", Summary),
    "deployment.json": ("in the state folder, per deployment", Deployment),
    "people.json": ("in the state folder: who was ever given a key", list[Person]),
    "usage/DAY.json": ("in the state folder: what each person used that day", list[Used]),
    "engine.json": ("in the cache, per engine", Built),
}
FACTS = (Campaign, UnitEnd, VisitEnd, Changed, Dropped)  # of a campaign's journal
MESSAGES = (Progress, ReadyToUse, *FACTS)  # only ever sent, or facts, see control-socket.md
RIG_TABLES = {"Host": "SshTable", "Resident": "ResidentTable", "CardRules": "CardsTable"}
JSON_WORDS = {"None": "null", "True": "true", "False": "false"}
used_words: set[str] = set()  # of json_words.toml


def json_page() -> str:
    rows = ["| document | holds | record |", "| --- | --- | --- |"]
    for name, (holds, kind) in DOCUMENTS.items():
        rows.append(f"| `{name}` | {holds} | {_type_text(kind) if kind else '-'} |")
    sections = [_record_section(record) for record in json_records()]
    intro = (
        "# JSON\n\nKeys are stable: one may be added, none changes its meaning within a schema version. Every key is "
        "always there; null means unknown, never zero. Sizes are in bytes and times in UTC (ISO 8601); other units "
        "stand in the names (`_s`, `_ms`, `_mib`, `_w`).\n\n"
    )
    return intro + "\n".join(rows) + "\n\n" + "\n".join(sections)


def json_records() -> list[Any]:
    """Every record that a document holds, each after the one that led to it."""
    found: dict[Any, None] = {}

    def visit(kind: Any) -> None:
        for part in get_args(kind):
            visit(part)
        if is_dataclass(kind) and kind not in found and kind.__module__ != gguf.__name__:
            found[kind] = None
            for hint in get_type_hints(kind).values():
                visit(hint)

    for _, kind in DOCUMENTS.values():
        visit(kind)
    for kind in MESSAGES:
        visit(kind)
    return list(found)


def _record_section(record: Any) -> str:
    if (record.__doc__ or "").startswith(f"{record.__name__}("):
        raise LookupError(f"{record.__module__}.{record.__name__}: no docstring")
    general, meanings = described(record)
    hints = get_type_hints(record)
    rows = ["| key | type | meaning |", "| --- | --- | --- |"]
    rows += [f"| `{f.name}` | {_type_text(hints[f.name])} | {_cell(meanings[f.name])} |" for f in fields(record)]
    return f"## {record.__name__}\n\n{general}\n\n" + "\n".join(rows) + "\n"


def described(record: Any) -> tuple[str, dict[str, str]]:
    """A record's docstring without the sentences about single fields; and what is said about each field.

    A field's meaning is the comment behind it, and every sentence of the docstring that names it in backticks; else
    what rig.toml's table or json_words.toml says. Raises LookupError where nobody says anything.
    """
    names = [f.name for f in fields(record)]
    general: list[str] = []
    about: dict[str, list[str]] = {name: [text] for name, text in comments(record).items()}
    for sentence in re.split(r"(?<=[.;])\s+(?=[A-Z`])", " ".join((inspect.getdoc(record) or "").split())):
        named = [name for name in names if re.search(rf"`{name}(\[i\])?`", sentence)]
        for name in named:
            about.setdefault(name, []).append(_as_sentence(sentence))
        if not named:
            general.append(sentence)
    return _as_sentence(" ".join(general)), {
        name: _own_word(record, name) or " ".join(about.get(name, ())) or _looked_up(record, name) for name in names
    }


@cache
def words() -> dict[str, str]:
    return tomllib.loads((ROOT / "scripts" / "json_words.toml").read_text(encoding="utf-8"))


def _own_word(record: Any, name: str) -> str | None:
    return _word(f"{record.__name__}.{name}")


def _looked_up(record: Any, name: str) -> str:
    table = getattr(tables, RIG_TABLES.get(record.__name__, f"{record.__name__}Table"), None)
    if table and name in table.model_fields and (said := table.model_fields[name].description):
        return str(said)
    if (said := _word(name)) is None:
        raise LookupError(f"{record.__name__}.{name}: no comment, not in the docstring, no word in json_words.toml")
    return said


def _word(key: str) -> str | None:
    if key in words():
        used_words.add(key)
    return words().get(key)


@cache
def comments(record: Any) -> dict[str, str]:
    """The comments behind a record's fields."""
    source = inspect.getsource(record)
    lines = source.splitlines()
    body = ast.parse(source).body[0]
    assert isinstance(body, ast.ClassDef)
    said: dict[str, str] = {}
    for node in body.body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.end_col_offset is not None:
            assert node.end_lineno is not None
            rest = lines[node.end_lineno - 1].encode()[node.end_col_offset :].decode().strip()
            if rest.startswith("#"):
                said[node.target.id] = _as_sentence(rest.lstrip("# "))
    return said


def _type_text(hint: Any) -> str:
    """A type in JSON's words; records are links to their section."""
    if hint == gguf.Value:
        return "any"
    plain: dict[Any, str] = {
        str: "text", int: "integer", float: "number", bool: "true, false", datetime: "time", Any: "any",
        type(None): "null",
    }  # fmt: skip
    if hint in plain:
        return plain[hint]
    if is_dataclass(hint):
        return f"[{hint.__name__}](#{hint.__name__.lower()})"  # type: ignore[union-attr]
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Literal:
        return ", ".join(f"`{part}`" for part in parts)
    if origin in (Union, types.UnionType):
        return " or ".join(_type_text(part) for part in parts)
    if origin is list or (origin is tuple and parts[-1] is Ellipsis):
        return f"list of {_type_text(parts[0])}"
    if origin is tuple:
        return f"[{', '.join(_type_text(part) for part in parts)}]"
    if origin is dict:
        return f"object: name to {_type_text(parts[1])}"
    raise TypeError(f"no words for {hint!r}")


def _as_sentence(text: str) -> str:
    text = text.rstrip(";")
    text = text[:1].upper() + text[1:]
    text = re.sub(r"\b(None|True|False)\b", lambda found: JSON_WORDS[found[0]], text)
    return text if text.endswith((".", "?", "!")) else f"{text}."


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
