"""What is wrong with a campaign.toml, in its owner's words: faults of single keys, and faults between keys."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from pydantic import BaseModel, ValidationError

from evener.config.campaign_tables import (
    AnswersTable,
    CampaignTable,
    ContextTable,
    EndpointsTable,
    JudgesTable,
    ModelsTable,
    NotifyTable,
    SpeedTable,
    UsersTable,
)
from evener.config.reading import Fault, key_of, near, plain_fault, repeated, tables, text, texts

TABLES: dict[str, type[BaseModel]] = {
    "models": ModelsTable,
    "endpoints": EndpointsTable,
    "speed": SpeedTable,
    "users": UsersTable,
    "context": ContextTable,
    "answers": AnswersTable,
    "judges": JudgesTable,
    "notify": NotifyTable,
}
LISTS = ("models", "endpoints", "users", "judges")  # written with two brackets
MEASURED = ("speed", "users", "context", "answers")
BESIDE_A_PROMPT = 64  # tokens of a chat template
SECRET = re.compile(r"(api[-_]?key|authorization|password|passwd|secret|token)$", re.IGNORECASE)
SECRET_FLAGS = ("--api-key", "--hf-token", "-hft")
FILES = (".gguf", ".jsonl", ".csv")


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """Names that other packages know. `profiles` maps each to the tokens of one exchange."""

    suites: Collection[str] = ()
    profiles: Mapping[str, int] = field(default_factory=dict)


def campaign_table(data: dict[str, Any], known: Known) -> tuple[CampaignTable | None, list[Fault]]:
    """The checked tables, or None, and every fault. Tables with faults are not to be used."""
    try:
        table, faults = CampaignTable.model_validate(data), []
    except ValidationError as error:
        table, faults = None, _own_faults(error)
    return table, [*faults, *_cross_faults(data, table, known)]


# ---- faults of one key


def _own_faults(error: ValidationError) -> list[Fault]:
    """One for each key: pydantic tells every branch of "a word or a list of words"."""
    told: dict[str, str] = {}
    for one in error.errors():
        loc = tuple(part for part in one["loc"] if not (isinstance(part, str) and _is_branch(part)))
        told.setdefault(key_of(loc), _fault(one, loc))
    return [(key, what) for key, what in told.items() if not any(other.startswith(f"{key}[") for other in told)]


def _is_branch(part: str) -> bool:
    return part.startswith(("literal[", "list[", "function-after[", "constrained-"))


def _fault(error: Any, loc: Sequence[str | int]) -> str:
    key = str(loc[-1]) if loc else ""
    if error["type"] == "extra_forbidden":
        if SECRET.search(key):
            return "a secret does not belong in a file: api_key_env names the environment variable that holds it"
        return "unknown key" + near(key, _keys_beside(loc))
    if error["type"] == "list_type" and key in LISTS:
        path = key_of(loc).replace("[0]", "")
        return f"must be a list: write [[{path}]], with two brackets"
    if error["type"] == "model_type" and key in TABLES and isinstance(error["input"], list):
        return f"is one table: write [{key}], with one pair of brackets"
    return plain_fault(error)


def _keys_beside(loc: Sequence[str | int]) -> Collection[str]:
    """The keys that could have been meant where `loc` ends."""
    words = [part for part in loc[:-1] if isinstance(part, str)]
    return (TABLES[words[-1]] if words else CampaignTable).model_fields.keys()


# ---- faults between keys


def _cross_faults(data: dict[str, Any], table: CampaignTable | None, known: Known) -> Iterator[Fault]:
    models, endpoints = tables(data.get("models")), tables(data.get("endpoints"))
    if not models and not endpoints:
        yield "models", "nobody takes part: [[models]] with a model, or [[endpoints]] with a URL"
    if not any(key in data for key in MEASURED):
        yield "speed", "nothing is measured: add [speed], [[users]], [context] or [answers]"
    for i, model in enumerate(models):
        yield from _model_faults(f"models[{i}]", model)
    yield from repeated("endpoints", [text(one, "name") for one in endpoints])
    for key in ("layouts", "cables", "contexts"):
        yield from _twice(key, data.get(key))
    yield from _users_faults(tables(data.get("users")), known)
    if isinstance(data.get("answers"), dict):
        yield from _answers_faults(data["answers"], known)
    if isinstance(data.get("notify"), dict) and not (data["notify"].get("command") or data["notify"].get("url")):
        yield "notify", "whom? a command, or a url"
    if table is not None:
        yield from _room_faults(table, known)


def is_file(model: str) -> bool:
    """Whether a model's name is that of one file, which has one quantisation."""
    lower = model.lower()
    if lower.startswith("hf:"):
        return False
    return lower == "demo" or "/" in model or lower.endswith(".gguf")


def _model_faults(key: str, table: Mapping[str, Any]) -> Iterator[Fault]:
    model, kinds = text(table, "model"), table.get("quantisations")
    if model is not None and isinstance(kinds, list) and kinds:
        if is_file(model):
            yield f"{key}.quantisations", f"{model} is one file and has one: quantise makes others of it"
        elif ":" in model.removeprefix("hf:"):
            yield f"{key}.quantisations", f"{model} names one already: write the name alone"
    if kinds == [] and not table.get("quantise"):
        yield f"{key}.quantisations", "none takes part: leave it out, or name some"
    for word in ("quantisations", "quantise", "thinking"):
        yield from _twice(f"{key}.{word}", table.get(word))
    made = [one.upper() for one in texts(table.get("quantise")) if one]
    both = [one for one in texts(kinds) if one and one.upper() in made]
    if both:
        yield f"{key}.quantise", f"{both[0]} is among its quantisations: fetched, or made here?"
    if table.get("thinking") == []:
        yield f"{key}.thinking", 'none takes part: "off", "on" or "left"'
    for flag in texts(table.get("flags")):
        if flag and flag.partition("=")[0] in SECRET_FLAGS:
            yield f"{key}.flags", f"{flag.partition('=')[0]} would put a secret into a file"


def _twice(key: str, values: Any) -> Iterator[Fault]:
    if isinstance(values, list):
        for i, value in enumerate(values):
            if value in values[:i]:
                yield f"{key}[{i}]", f"{value} is named twice"


def _users_faults(users: Sequence[Mapping[str, Any]], known: Known) -> Iterator[Fault]:
    kinds = [text(one, "profile") or "users" for one in users]
    for i, (one, kind) in enumerate(zip(users, kinds, strict=True)):
        yield from _twice(f"users[{i}].counts", one.get("counts"))
        if kind in kinds[:i]:
            other = f"profile {kind}" if text(one, "profile") else "no profile"
            yield f"users[{i}].profile", f"users[{kinds.index(kind)}] has {other} too: one table with all counts"
        if text(one, "profile") is None:
            continue
        if known.profiles and kind not in known.profiles:
            names = ", ".join(known.profiles)
            yield f"users[{i}].profile", f'"{kind}" is none of {names}{near(kind, known.profiles)}'
        for length in ("prompt_tokens", "output_tokens"):
            if length in one:
                yield f"users[{i}].{length}", f"is what the profile {kind} says: leave one of the two out"


def _answers_faults(answers: Mapping[str, Any], known: Known) -> Iterator[Fault]:
    asked = [one for one in texts(answers.get("suites")) if one]
    yield from _twice("answers.suites", answers.get("suites"))
    for i, name in enumerate(asked):
        if known.suites and name not in known.suites and not _is_suite_file(name):
            names = ", ".join(known.suites)
            yield f"answers.suites[{i}]", f'"{name}" is none of {names}, and no file{near(name, known.suites)}'
    arms = texts(answers.get("arms", ["single"]))
    yield from _twice("answers.arms", answers.get("arms"))
    if arms and "single" not in arms:
        yield "answers.arms", 'holds "single" always: the others begin with its answers'
    if "vote" in arms and answers.get("temperature", 0) == 0:
        yield "answers.temperature", "a vote needs some, such as 0.7: at 0 all its answers are one"
    yield from _judge_faults(tables(answers.get("judges")), asked)


def _judge_faults(judges: Sequence[Mapping[str, Any]], asked: Collection[str]) -> Iterator[Fault]:
    yield from repeated("answers.judges", [text(one, "name") for one in judges])
    for i, judge in enumerate(judges):
        for n, suite in enumerate(texts(judge.get("suites"))):
            if suite is not None and suite not in asked:
                yield f"answers.judges[{i}].suites[{n}]", f'"{suite}" is not asked{near(suite, asked)}'
        url, is_local = text(judge, "url"), text(judge, "api") == "local"
        if is_local and "model" not in judge:
            yield f"answers.judges[{i}].model", "is required: a local judge is loaded from it"
        if is_local and "url" in judge:
            yield f"answers.judges[{i}].url", "is none of a local judge, which is loaded on the rig"
        if not is_local and "url" not in judge:
            yield f"answers.judges[{i}].url", 'is required, unless api = "local"'
        if url is None or is_local or _is_at_home(url):
            continue
        if judge.get("agreed") is not True:
            yield f"answers.judges[{i}].agreed", "answers would leave this house: agreed = true if they may"
        if "model" not in judge:
            yield f"answers.judges[{i}].model", "is required: only a server at home is asked what it serves"


def _is_suite_file(name: str) -> bool:
    return "/" in name or name.lower().endswith(FILES)


def _is_at_home(url: str) -> bool:
    try:
        host = urlsplit(url).hostname or ""
        return host == "localhost" or ipaddress.ip_address(host).is_private
    except ValueError:
        return False


def _room_faults(table: CampaignTable, known: Known) -> Iterator[Fault]:
    """What is asked must fit into the smallest context of one user."""
    least = min(table.contexts)
    wanted: list[tuple[str, int]] = []
    if table.speed and (table.speed.prompts or table.speed.outputs):
        longest = max(max(table.speed.prompts, default=0), max(table.speed.outputs, default=0) + 1)
        wanted.append(("speed", max(table.speed.depths) + longest + 1))
    for i, one in enumerate(table.users):
        if one.profile is None:
            lengths = (one.prompt_tokens or 128) + (one.output_tokens or 64)
            wanted.append((f"users[{i}]", lengths + BESIDE_A_PROMPT))
        elif one.profile in known.profiles:
            wanted.append((f"users[{i}]", known.profiles[one.profile]))
    for key, tokens in wanted:
        if tokens > least:
            yield "contexts", f"{least} tokens per user do not hold the {tokens} of {key}"
    if table.context and table.context.lengths and max(table.context.lengths) >= max(table.contexts):
        longest = max(table.context.lengths)
        yield "context.lengths", f"{longest} tokens and an answer fit none of the contexts"
    if table.speed and not any((*table.speed.prompts, *table.speed.outputs)):
        yield "speed", "nothing to measure: neither prompts nor outputs"
