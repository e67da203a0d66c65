"""A llama.cpp command line that somebody else wrote: what it asks for. Pure text; knows no device.

Source: common/arg.cpp of build 11434. `-ts` is split at commas and slashes in llama-server; in llama-bench a comma
starts another test, and only a slash separates devices.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import isfinite

from evener.errors import ConfigurationError

_NAMES = {
    "-ts": "split", "--tensor-split": "split",
    "-dev": "devices", "--device": "devices",
    "--rpc": "rpc", "-rpc": "rpc",
    "-ngl": "gpu_layers", "--gpu-layers": "gpu_layers", "--n-gpu-layers": "gpu_layers",
    "-c": "context", "--ctx-size": "context",
    "-np": "users", "--parallel": "users",
    "-m": "model", "--model": "model",
    "-sm": "split_mode", "--split-mode": "split_mode",
}  # fmt: skip
_SETTING = re.compile(r"[A-Za-z_]\w*=")


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a command line says about placement. None is "not said". `split_text` is the value as it was written."""

    program: str
    split: tuple[float, ...] | None = None
    split_text: str | None = None
    devices: tuple[str, ...] | None = None
    rpc: tuple[str, ...] = ()
    gpu_layers: int | None = None
    model: str | None = None
    split_mode: str | None = None
    context: int | None = None  # of all users together
    users: int | None = None

    @property
    def is_bench(self) -> bool:
        return self.program == "llama-bench"


def read_command(text: str) -> Asked:
    """Read a pasted command, environment settings in front of it and line continuations included.

    Raises ConfigurationError for quotes that do not close, no program, or a split that is no list of numbers.
    """
    try:
        words = shlex.split(text.replace("\\\n", " "))
    except ValueError as error:
        raise ConfigurationError(f"--check: {error}", hint="paste the whole command") from None
    while words and _SETTING.match(words[0]):
        words.pop(0)
    if not words:
        raise ConfigurationError("--check: there is no command", hint='--check "llama-server -m FILE -ts 1,1"')
    said = dict(_options(words[1:]))
    program = words[0].rpartition("/")[2]
    split_text = said.get("split")
    return Asked(
        program=program,
        split=None if split_text is None else _numbers(split_text),
        split_text=split_text,
        devices=_list(said.get("devices")),
        rpc=_list(said.get("rpc")) or (),
        gpu_layers=_whole(said.get("gpu_layers")),
        model=said.get("model"),
        split_mode=said.get("split_mode"),
        context=_whole(said.get("context")),
        users=_whole(said.get("users")),
    )


def _options(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """(what, value) of each option we know; `--rpc` given again adds to the first."""
    rpc: list[str] = []
    for flag, value in pairwise([*words, ""]):
        if (name := flag.partition("=")[0]) != flag and name in _NAMES:
            raise ConfigurationError(
                f"--check: {flag}: llama.cpp wants a space", hint=f"{name} {flag[len(name) + 1 :]}"
            )
        what = _NAMES.get(flag)
        if what == "rpc":
            rpc.append(value)
            yield "rpc", ",".join(rpc)
        elif what is not None:
            yield what, value


def _list(text: str | None) -> tuple[str, ...] | None:
    return None if text is None else tuple(part for part in re.split(r"[,/]+", text) if part)


def _numbers(text: str) -> tuple[float, ...]:
    try:
        numbers = tuple(float(part) for part in re.split(r"[,/]+", text))
    except ValueError:
        raise ConfigurationError(f"--check: -ts {text}: not a list of numbers", hint="e.g. -ts 14,7,7,7,6") from None
    if not all(isfinite(number) and number >= 0 for number in numbers):
        raise ConfigurationError(f"--check: -ts {text}: shares are finite and not negative", hint="e.g. -ts 14,7,7,7,6")
    return numbers


def _whole(text: str | None) -> int | None:
    """A number of layers; "auto" and "all" are all of them, which is also the default."""
    return int(text) if text is not None and re.fullmatch(r"\d+", text) else None
