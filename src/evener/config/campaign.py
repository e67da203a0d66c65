"""campaign.toml at the door: every fault at once, each with its key. Whether a model exists is not known here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

from evener.config.campaign_faults import FILES, Known, campaign_table
from evener.config.campaign_tables import (
    AnswersTable,
    CampaignTable,
    ContextTable,
    JudgesTable,
    ModelsTable,
    SpeedTable,
    UsersTable,
    budget_s,
)
from evener.config.reading import text_of, toml_of
from evener.errors import CampaignFileError
from evener.records.campaign import (
    AnswersAsked,
    Campaign,
    Contestant,
    ContextAsked,
    JudgeAsked,
    Notify,
    SpeedAsked,
    UsersAsked,
)

__all__ = ["Known", "campaign_schema", "load_campaign", "parse_campaign"]

THINKING = {"off": False, "on": True, "left": None}
CALLED = {"off": "", "on": "thinking", "left": "as-it-thinks"}
FEWEST_SEQUENCES = 4
EVERY_KEY = "`evener compare --schema` lists every key"


def load_campaign(path: Path, known: Known | None = None) -> Campaign:
    """Read a campaign file. Files that it names beside itself are found from anywhere. Raises CampaignFileError."""
    text = text_of(path, fault=CampaignFileError, hint="`evener compare --init` writes a first one")
    return _placed(parse_campaign(text, path=str(path), known=known), path.parent)


def parse_campaign(text: str, *, path: str, known: Known | None = None) -> Campaign:
    """A campaign from the text of its file; `path` is for messages, and kept. Raises CampaignFileError with every
    fault."""
    table, faults = campaign_table(toml_of(text, path=path, fault=CampaignFileError), known or Known())
    named = [(i, one) for i, model in enumerate(table.models) for one in _contestants(model)] if table else []
    faults += _same_names(named, table)
    if table is None or faults:
        raise CampaignFileError(path, tuple(faults), hint=EVERY_KEY)
    return _campaign(table, tuple(one for _, one in named), path)


def campaign_schema() -> dict[str, Any]:
    """JSON Schema of campaign.toml."""
    return CampaignTable.model_json_schema() | {"title": "campaign.toml"}


def _same_names(named: Sequence[tuple[int, Contestant]], table: CampaignTable | None) -> Iterator[tuple[str, str]]:
    if table is None:
        return
    first: dict[str, str] = {}
    for key, name in [
        *((f"models[{i}]", one.name) for i, one in named),
        *((f"endpoints[{i}]", one.name) for i, one in enumerate(table.endpoints)),
    ]:
        if name in first and first[name] != key:
            yield f"{key}.name", f'"{name}" would be the name of {first[name]} too: give one of them another'
        first.setdefault(name, key)


def _campaign(table: CampaignTable, ours: tuple[Contestant, ...], path: str) -> Campaign:
    users = tuple(map(_users, table.users))
    return Campaign(
        name=table.name,
        contestants=(*ours, *_endpoints(table)),
        layouts=tuple(table.layouts),
        cables=tuple(table.cables),
        contexts=tuple(table.contexts),
        parallel=table.parallel or max([FEWEST_SEQUENCES, *(max(u.counts) for u in users if u.profile is None)]),
        kv=table.kv,
        repeats=table.repeats,
        seed=table.seed,
        a_versus_a=table.a_versus_a,
        speed=_speed(table.speed) if table.speed else None,
        users=users,
        context=_context(table.context) if table.context else None,
        answers=_answers(table.answers) if table.answers else None,
        budget_s=budget_s(table.budget) if table.budget else None,
        cool=table.cool,
        notify=Notify(command=tuple(table.notify.command), url=table.notify.url) if table.notify else None,
        rig=table.rig,
        path=path,
    )


def _contestants(table: ModelsTable) -> Iterator[Contestant]:
    """A contestant for each quantisation, fetched or made here, and each thinking mode."""
    modes = table.thinking if isinstance(table.thinking, list) else [table.thinking]
    kinds = table.quantisations
    files: list[tuple[str, str | None, str]] = [(table.model, None, "")]
    if kinds is not None:
        files = [(f"{table.model}:{kind}", None, kind) for kind in kinds]
    origin, stem = files[0][0] if files else table.model, table.name or _stem(table.model)
    files += [(origin, kind, kind) for kind in table.quantise]
    only = len(files) == 1 and table.name is not None
    for model, quantise, kind in files:
        for mode in modes:
            words = [stem, "" if only else kind, CALLED[mode] if len(modes) > 1 or mode == "on" else ""]
            yield Contestant(
                name="-".join(filter(None, words)),
                model=model,
                quantise=quantise,
                thinking=THINKING[mode],
                mmproj=table.mmproj,
                draft=table.draft,
                flags=tuple(table.flags),
            )


def _stem(model: str) -> str:
    """What a model is called without its folder, its ending, and marks that no name of ours has."""
    last = PurePosixPath(model.partition("?")[0]).name.removesuffix(".gguf")
    plain = "".join(c if c.isalnum() or c in "._+-" else "-" for c in last)
    return plain.strip("._-") or "model"


def _endpoints(table: CampaignTable) -> Iterator[Contestant]:
    for one in table.endpoints:
        yield Contestant(
            name=one.name,
            url=one.url,
            served_model=one.model,
            api_key_env=one.api_key_env,
            thinking=THINKING[one.thinking],
        )


def _users(table: UsersTable) -> UsersAsked:
    usual = UsersAsked()
    return UsersAsked(
        counts=tuple(sorted(table.counts)),
        profile=table.profile,
        prompts=table.prompts,
        prompt_tokens=table.prompt_tokens or usual.prompt_tokens,
        output_tokens=table.output_tokens or usual.output_tokens,
    )


def _speed(table: SpeedTable) -> SpeedAsked:
    return SpeedAsked(
        prompts=tuple(table.prompts),
        outputs=tuple(table.outputs),
        depths=tuple(table.depths),
        repetitions=table.repetitions,
    )


def _context(table: ContextTable) -> ContextAsked:
    return ContextAsked(lengths=tuple(sorted(table.lengths)) if table.lengths else None)


def _judge(table: JudgesTable) -> JudgeAsked:
    return JudgeAsked(
        name=table.name,
        api=table.api,
        url=table.url,
        model=table.model,
        api_key_env=table.api_key_env,
        suites=tuple(table.suites),
    )


def _answers(table: AnswersTable) -> AnswersAsked:
    return AnswersAsked(
        suites=tuple(table.suites),
        quick=table.quick,
        epochs=table.epochs,
        arms=tuple(table.arms),
        k=table.k,
        temperature=table.temperature,
        most_tokens=table.max_tokens,
        judges=tuple(map(_judge, table.judges)),
    )


# ---- files beside the campaign file


def _placed(campaign: Campaign, folder: Path) -> Campaign:
    """The same, each file that lies beside campaign.toml by its whole path."""

    def at(name: str | None) -> str | None:
        if name is None or not (name.lower().endswith((*FILES, ".toml")) or "/" in name):
            return name
        beside = folder / Path(name).expanduser()
        return str(beside.resolve()) if beside.is_file() else name

    def where(name: str) -> str:
        return at(name) or name

    answers = campaign.answers
    if answers is not None:
        judges = tuple(replace(j, suites=tuple(map(where, j.suites))) for j in answers.judges)
        answers = replace(answers, suites=tuple(map(where, answers.suites)), judges=judges)
    return replace(
        campaign,
        contestants=tuple(
            replace(one, model=at(one.model), mmproj=at(one.mmproj), draft=at(one.draft))
            for one in campaign.contestants
        ),
        answers=answers,
        rig=at(campaign.rig),
        path=str(Path(campaign.path).resolve()) if campaign.path else None,
    )
