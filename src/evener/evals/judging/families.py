"""Which models are of one family: a judge does not judge its own. By name only: a reply tells no more. Pure."""

from __future__ import annotations

import re

# Makers whose models share training data and taste; the first name found in a model's id decides.
FAMILIES: dict[str, tuple[str, ...]] = {
    "openai": ("gpt", "o1", "o3", "o4", "chatgpt"),
    "anthropic": ("claude",),
    "google": ("gemma", "gemini"),
    "meta": ("llama",),
    "alibaba": ("qwen", "qwq"),
    "deepseek": ("deepseek",),
    "mistral": ("mistral", "mixtral", "magistral", "devstral", "codestral", "ministral"),
    "microsoft": ("phi",),
    "zhipu": ("glm", "chatglm"),
    "moonshot": ("kimi",),
    "minimax": ("minimax",),
    "cohere": ("command", "aya"),
    "nvidia": ("nemotron",),
    "ibm": ("granite",),
    "huggingface": ("smollm",),
    "xai": ("grok",),
    "01ai": ("yi",),
    "baidu": ("ernie",),
    "bytedance": ("seed", "doubao"),
}
STRANGERS = ("mistral-large", "qwen2.5-72b-instruct")  # of two families, so that one of them is another than any


def family(model: str | None) -> str | None:
    """The family of a model's id or file name; None for one that is not known here.

    A distillation carries several names ("DeepSeek-R1-Distill-Qwen-32B"); the first in the id counts.
    """
    words = re.split(r"[^a-z0-9]+", (model or "").rpartition("/")[2].lower())
    for word in words:
        for name, members in FAMILIES.items():
            if any(re.fullmatch(rf"{member}[0-9.]*[a-z]?", word) for member in members):
                return name
    return None


def stranger(model: str) -> str:
    """The name of a model of another family than this one."""
    return next(name for name in STRANGERS if family(name) != family(model))


def is_related(judge: str | None, candidate: str | None) -> bool | None:
    """Whether a judge and a candidate are one model or one family; None where nobody can tell."""
    if judge and candidate and judge.casefold() == candidate.casefold():
        return True
    a, b = family(judge), family(candidate)
    return None if a is None or b is None else a == b
