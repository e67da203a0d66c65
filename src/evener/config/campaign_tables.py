"""The tables of campaign.toml as pydantic models. They know single keys, not how keys go together."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from evener.config.tables import Text
from evener.records.campaign import AnswersAsked, Campaign, Contestant, SpeedAsked, UsersAsked

USERS_WITH_DEFAULTS = UsersAsked()
_DEFAULTS = Campaign(name="", contestants=(Contestant(name=""),))
_SPEED, _ANSWERS = SpeedAsked(), AnswersAsked(suites=())

LABEL = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._+-]*[A-Za-z0-9+])?")
QUANTISATION = re.compile(r"[A-Za-z0-9]+([_-][A-Za-z0-9]+)*")
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
KV = re.compile(r"[a-z0-9_]+(/[a-z0-9_]+)?")
_UNITS = {"d": 86400, "h": 3600, "m": 60, "min": 60, "s": 1}
_BUDGET = re.compile(r"\d+(?:\.\d+)?(?:d|h|min|m|s)")


# ---- fields


def check_label(text: str) -> str:
    if not LABEL.fullmatch(text):
        raise ValueError(f'"{text}" must begin and end with a letter or digit; between them also . _ + and -')
    return text


def check_quantisation(text: str) -> str:
    if not QUANTISATION.fullmatch(text):
        raise ValueError(f'"{text}" is no quantisation, such as "Q4_K_M"')
    return text


def check_budget(text: str) -> str:
    if not re.fullmatch(rf"(?:{_BUDGET.pattern}\s*)+", text) or budget_s(text) <= 0:
        raise ValueError(f'"{text}" is no time, such as "8h", "90m" or "1h30m"')
    return text


def budget_s(text: str) -> float:
    """Seconds of "8h", "90m", "1h30m"."""
    return sum(float(number) * _UNITS[unit] for number, unit in re.findall(r"(\d+(?:\.\d+)?)(d|h|min|m|s)", text))


def check_variable(text: str) -> str:
    """A name of an environment variable. What is none may be the key itself, so it is not said again."""
    if not VARIABLE.fullmatch(text):
        raise ValueError("must be the name of an environment variable; the key itself does not belong in a file")
    return text


def check_url(text: str) -> str:
    found = re.fullmatch(r"https?://([^/\s]+)(/\S*)?", text)
    if not found:
        raise ValueError(f'"{text}" is no URL, such as "http://10.0.0.9:8000"')
    if "@" in found[1]:
        raise ValueError("has a password in it, which does not belong in a file: api_key_env names a variable")
    return text


def check_kv(text: str) -> str:
    if not KV.fullmatch(text):
        raise ValueError(f'"{text}" is no cache type, such as "f16", "q8_0" or "q8_0/q4_0"')
    return text


Label = Annotated[str, AfterValidator(check_label)]
Quantisation = Annotated[str, AfterValidator(check_quantisation)]
Budget = Annotated[str, AfterValidator(check_budget)]
Variable = Annotated[str, AfterValidator(check_variable)]
Url = Annotated[str, AfterValidator(check_url)]
Kv = Annotated[str, AfterValidator(check_kv)]
Thinking = Literal["off", "on", "left"]
Count = Annotated[int, Field(ge=1)]
Tokens = Annotated[int, Field(ge=0)]


# ---- tables


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


class ModelsTable(_Table):
    """One model: a contestant for each of its quantisations and thinking modes."""

    model: Text = Field(description='What `evener plan` takes: a path, "demo", a URL, hf:ORG/REPO:QUANT, or a name.')
    name: Label | None = Field(None, description="What it is called in reports; its own name unless stated.")
    quantisations: list[Quantisation] | None = Field(
        None, description="Which of them take part, for a name that has several. `[]`: only those made here."
    )
    quantise: list[Quantisation] = Field(
        [], description="Made here by llama-quantize: from the first of `quantisations`, else from `model`."
    )
    thinking: Thinking | list[Thinking] = Field(
        "off", description='"off", "on", "left" (as the model does), or several in a list: each is a contestant.'
    )
    mmproj: Text | None = Field(None, description="The projector that it sees or hears with.")
    draft: Text | None = Field(None, description="A smaller model that drafts for it.")
    flags: list[Text] = Field([], description="Flags of the engine, as after `--` of `evener up`.")


class EndpointsTable(_Table):
    """A server that runs already: it is measured as it is, and what nobody knows of it is marked."""

    name: Label = Field(description="What it is called in reports; unique among all contestants.")
    url: Url = Field(description="Base URL of its OpenAI-compatible API.")
    model: Text | None = Field(None, description="Which model to ask it for; the first one it serves unless stated.")
    api_key_env: Variable | None = Field(None, description="Name of the environment variable that holds its key.")
    thinking: Thinking = Field("off", description='"off", "on", or "left" as the server does.')


class SpeedTable(_Table):
    """One sequence at a time, as `evener bench speed` measures it. An empty table measures as usual."""

    prompts: list[Tokens] = Field(list(_SPEED.prompts), description="Prompt lengths in tokens.")
    outputs: list[Tokens] = Field(list(_SPEED.outputs), description="Answer lengths in tokens.")
    depths: list[Tokens] = Field(list(_SPEED.depths), min_length=1, description="Tokens that are in the cache before.")
    repetitions: Count = Field(_SPEED.repetitions, description="How often each test is made.")


class UsersTable(_Table):
    """Many at once, as `evener bench users` measures them; one table per kind of load."""

    counts: list[Count] = Field(
        list(USERS_WITH_DEFAULTS.counts), min_length=1, description="Parallel users; with a profile, people."
    )
    profile: Text | None = Field(
        None, description="What they do: translate, chat, coding or autocomplete: its lengths, pauses and limits."
    )
    prompts: Count | None = Field(None, description="Measured requests per count; as many as usual unless stated.")
    prompt_tokens: Count | None = Field(None, description="Of each prompt; 128 unless a profile says otherwise.")
    output_tokens: Count | None = Field(None, description="Of each answer; 64 unless a profile says otherwise.")


class ContextTable(_Table):
    """Prompts of growing length with questions, as `evener bench context` asks them."""

    lengths: list[Annotated[int, Field(ge=128)]] | None = Field(
        None, min_length=1, description="Prompt lengths in tokens; doubling up to the limit unless stated."
    )


class JudgesTable(_Table):
    """A judge of the answers, as `evener judge` takes it."""

    name: Label = Field(description="What it is called in reports; unique.")
    url: Url | None = Field(None, description='Base URL of its API; required, but for a "local" one.')
    model: Text | None = Field(
        None, description="Which model judges, as its API calls it; a server at home may be asked what it serves."
    )
    api: Literal["openai", "anthropic", "local"] = Field(
        "openai",
        description='Which language it speaks. "local": `model` is loaded on the rig, after everything else.',
    )
    api_key_env: Variable | None = Field(None, description="Name of the environment variable that holds its key.")
    agreed: bool = Field(
        False, description="Required where answers leave this house: where its URL is on no private network."
    )
    suites: list[Text] = Field([], description="What it judges: suites of the campaign; all unless stated.")


class AnswersTable(_Table):
    """Suites of questions, as `evener eval` asks them: once for each contestant, not for each layout."""

    suites: list[Text] = Field(min_length=1, description="Names of our suites, or files of your own.")
    quick: bool = Field(_ANSWERS.quick, description="Only the questions that are marked for a first look.")
    epochs: Count = Field(_ANSWERS.epochs, description="How often each question is asked.")
    arms: list[Literal["single", "vote", "reflection"]] = Field(
        ["single"], min_length=1, description="How an answer is come to: asked once, by vote, or looked at once more."
    )
    k: int = Field(_ANSWERS.k, ge=3, description="Answers per vote.")
    temperature: float = Field(_ANSWERS.temperature, ge=0, description="Sent with every question.")
    max_tokens: Count = Field(_ANSWERS.most_tokens, description="The most that an answer may take, thinking included.")
    judges: list[JudgesTable] = Field([], description="Who judges what code cannot.")


class NotifyTable(_Table):
    """Who is told when it ends, or stops for somebody."""

    command: list[Text] = Field(
        [], description='A command, word by word; `{text}` stands for the news: ["notify-send", "{text}"].'
    )
    url: Url | None = Field(None, description="A URL that the news is posted to.")


class CampaignTable(_Table):
    """campaign.toml: which models, in which layouts, measured how. Each model is measured in each layout, over each
    cable, with each context, `repeats` times, and always on one machine too where it fits one."""

    name: Text = Field(description="What the comparison is called.")
    rig: Text | None = Field(None, description="The rig file; found as by `evener scan` unless stated.")
    layouts: list[Text] = Field(
        list(_DEFAULTS.layouts),
        min_length=1,
        description='"auto", a host, "cluster", "replicas", or any layout that `evener plan` lists. Answers are asked '
        "for in the first.",
    )
    cables: list[Text] = Field([], description="Links of the rig that clusters use; the plan's choice unless stated.")
    contexts: list[Annotated[int, Field(ge=256)]] = Field(
        list(_DEFAULTS.contexts), min_length=1, description="Tokens per user."
    )
    parallel: Annotated[int, Field(ge=1, le=256)] | None = Field(
        None,
        description="Sequences that a load makes room for; unless stated, as many as the largest count of users "
        "without a profile, and at least 4.",
    )
    kv: Kv = Field(_DEFAULTS.kv, description='Cache type: f16, q8_0, ..., or K and V apart: "q8_0/q4_0".')
    repeats: Annotated[int, Field(ge=1, le=50)] = Field(
        _DEFAULTS.repeats, description="Blocks: each holds every visit once, in its own random order."
    )
    seed: Tokens = Field(_DEFAULTS.seed, description="Of the order, and of everything that is asked.")
    a_versus_a: bool = Field(
        _DEFAULTS.a_versus_a, description="Measure the first contestant once more as if it were another: the noise."
    )
    cool: bool = Field(_DEFAULTS.cool, description="Wait between loads until cards are as cool as before the first.")
    budget: Budget | None = Field(
        None, description='The most it may take, such as "8h": what is clearly beaten is dropped early.'
    )
    models: list[ModelsTable] = Field([], description="The models.")
    endpoints: list[EndpointsTable] = Field([], description="Servers that run already.")
    speed: SpeedTable | None = Field(None, description="One sequence at a time.")
    users: list[UsersTable] = Field([], description="Many at once.")
    context: ContextTable | None = Field(None, description="Long prompts.")
    answers: AnswersTable | None = Field(None, description="How well it answers.")
    notify: NotifyTable | None = Field(None, description="Who is told.")
