"""A llama.cpp command line that somebody else wrote: what it asks for. Pure text; knows no device.

Source: common/arg.cpp and tools/llama-bench of build 11434. llama-server splits -ts at commas and slashes alike; in
llama-bench a comma starts another test, and only a slash (or, in -ts, a semicolon) separates devices.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

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
    "-mg": "main_gpu", "--main-gpu": "main_gpu",
    "-ot": "overrides", "--override-tensor": "overrides",
    "-ncmoe": "experts_in_ram", "--n-cpu-moe": "experts_in_ram",
    "-ncffn": "dense_in_ram", "--n-cpu-ffn": "dense_in_ram",
    "-fit": "fit", "--fit": "fit",
}  # fmt: skip
_ALL_EXPERTS = ("-cmoe", "--cpu-moe")
_PROGRAM = re.compile(r"(?:llama-[\w-]+|llama|server|ggml-rpc-server)(?:\.exe)?", re.IGNORECASE)
_SETTING = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
_CONTINUED = re.compile(r"[\\^`]\r?\n")  # sh, cmd, PowerShell
_CONTROL = re.compile(r"[\x00-\x1f\ud800-\udfff]")  # in no name of anything; errors are one line
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_F32_LEAST, _F32_MOST = 1.18e-38, 3.4e38  # normal floats: std::stof refuses what is below or above
_MOST_TOKENS, _MOST_USERS = (1 << 31) - 1, 256  # an int; LLAMA_MAX_SEQ
ALL = ("auto", "all")


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a command line says about placement. None is "not said". `split_text` is the value as it was written.

    Of a llama-bench command that asks for several tests the first is what is here; `tests` says how many there are.
    `gpu_layers` None: all of them, which is the default. `settings` are what stands before the program.
    `device_before_rpc`: a device is named before the workers are.
    """

    program: str
    split: tuple[float, ...] | None = None
    split_text: str | None = None
    devices: tuple[str, ...] | None = None
    rpc: tuple[str, ...] = ()
    gpu_layers: int | None = None
    model: str | None = None
    split_mode: str | None = None
    main_gpu: int | None = None
    context: int | None = None  # of all users together
    users: int | None = None
    overrides: str | None = None  # of -ot, as written
    experts_in_ram: int | None = None  # blocks whose experts stay with the CPU; 0 is none
    all_experts_in_ram: bool = False
    dense_in_ram: int | None = None  # blocks whose dense feed-forward stays with the CPU
    fit: bool = True
    tests: int = 1
    device_before_rpc: bool = False
    settings: dict[str, str] = field(default_factory=dict)

    @property
    def is_bench(self) -> bool:
        return self.program.removesuffix(".exe") == "llama-bench"


def read_command(text: str) -> Asked:
    """Read a pasted command, environment settings in front of it and line continuations included.

    Raises ConfigurationError for quotes that do not close, no program of llama.cpp (another's, e.g. a script's, is read
    where it has options of it), or a value that the engine could not read.
    """
    settings, words = _parted(text)
    program = re.split(r"[/\\]", words[0])[-1]
    bench = program.removesuffix(".exe") == "llama-bench"
    said = dict(_options(words[1:]))
    if not said and not _PROGRAM.fullmatch(program):
        raise ConfigurationError(f"--check: {program} is no program of llama.cpp", hint="paste the whole command")
    cases = {what: _cases(said[what]) if bench else [said[what]] for what in said}
    first = {what: each[0] for what, each in cases.items()}
    rpc = said.get("rpc")
    return Asked(
        program=program,
        split=None if (split := first.get("split")) is None else _shares(split, r"[;/]+" if bench else r"[,/]+"),
        split_text=said.get("split"),
        devices=_list(first.get("devices"), r"/+" if bench else r",+"),
        rpc=_list(rpc, r",+") or (),
        gpu_layers=_layers(first.get("gpu_layers")),
        model=said.get("model"),
        split_mode=_mode(first.get("split_mode")),
        main_gpu=_whole("-mg", first.get("main_gpu"), least=-1),
        context=_whole("-c", first.get("context"), least=0),
        users=_whole("-np", first.get("users"), least=-1, most=_MOST_USERS),
        overrides=said.get("overrides"),
        experts_in_ram=_whole("--n-cpu-moe", first.get("experts_in_ram"), least=0),
        all_experts_in_ram=any(word in _ALL_EXPERTS for word in words),
        dense_in_ram=_whole("--n-cpu-ffn", first.get("dense_in_ram"), least=0),
        fit=not bench and said.get("fit") not in ("off", "0", "false", "disabled"),
        tests=_tests(cases) if bench else 1,
        device_before_rpc="rpc" in said and "devices" in said and [*said].index("devices") < [*said].index("rpc"),
        settings=settings,
    )


def _parted(text: str) -> tuple[dict[str, str], list[str]]:
    """(settings, words from the program on). What starts it (sudo, env, numactl, a container) is passed over."""
    try:
        words = [_CONTROL.sub(" ", word) for word in shlex.split(_CONTINUED.sub(" ", text))]
    except ValueError as error:
        raise ConfigurationError(f"--check: {error}", hint="paste the whole command") from None
    names = [re.split(r"[/\\]", word)[-1] for word in words]
    start = next((i for i, name in enumerate(names) if _PROGRAM.fullmatch(name)), None)
    if start is None:
        start = next((i for i, word in enumerate(words) if not _SETTING.fullmatch(word)), len(words))
    if start == len(words):
        raise ConfigurationError("--check: there is no command", hint='--check "llama-server -m FILE -ts 1,1"')
    found = (_SETTING.fullmatch(word) for word in words[:start])
    return {setting[1]: setting[2] for setting in found if setting}, words[start:]


def _options(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """(what, value) of each option we know, in the order given; `--rpc` given again adds to the first."""
    rpc: list[str] = []
    value_before = False
    for flag, value in pairwise([*words, ""]):
        if value_before:
            value_before = False
            continue
        if (name := flag.partition("=")[0]) != flag and name in _NAMES:
            raise ConfigurationError(
                f"--check: {flag}: llama.cpp wants a space", hint=f"{name} {flag[len(name) + 1 :]}"
            )
        what = _NAMES.get(flag)
        value_before = what is not None
        if what == "rpc":
            rpc.append(value)
            yield "rpc", ",".join(rpc)
        elif what is not None:
            yield what, value


def _cases(text: str) -> list[str]:
    """What llama-bench makes of a list: one test for each."""
    return text.split(",")


def _tests(cases: dict[str, list[str]]) -> int:
    """How many placements a llama-bench command asks for. Workers and the model are no such list here."""
    most = 1
    for what in ("split", "devices", "gpu_layers", "split_mode", "experts_in_ram"):
        most *= len(cases.get(what, [""]))
    return most


def _list(text: str | None, separator: str) -> tuple[str, ...] | None:
    return None if text is None else tuple(part for part in re.split(separator, text) if part)


def _shares(text: str, separator: str) -> tuple[float, ...]:
    parts = re.split(separator, text)
    if len(parts) > 1 and not parts[-1]:  # the engine does not see an empty end
        parts.pop()
    if not all(_NUMBER.fullmatch(part.strip()) for part in parts):
        raise ConfigurationError(f"--check: -ts {text}: not a list of numbers", hint="e.g. -ts 14,7,7,7,6")
    numbers = tuple(float(part) for part in parts)
    if any(number < 0 for number in numbers) or sum(numbers) > _F32_MOST:
        raise ConfigurationError(f"--check: -ts {text}: shares are finite and not negative", hint="e.g. -ts 14,7,7,7,6")
    if any(0 < number < _F32_LEAST for number in numbers):
        raise ConfigurationError(f"--check: -ts {text}: too small for a share", hint="e.g. -ts 14,7,7,7,6")
    return numbers


def _layers(text: str | None) -> int | None:
    """A number of layers; "auto", "all" and negative numbers are all of them."""
    if text is None or text in ALL:
        return None
    if not re.fullmatch(r"[+-]?\d+", text, re.ASCII):
        raise ConfigurationError(f"--check: -ngl {text}: not a number of layers", hint="a number, auto or all")
    return None if text.startswith("-") else min(int(text[:19]), _MOST_TOKENS)


def _whole(flag: str, text: str | None, *, least: int, most: int = _MOST_TOKENS) -> int | None:
    if text is None:
        return None
    if not re.fullmatch(r"[+-]?\d{1,18}", text, re.ASCII) or not least <= int(text) <= most:
        raise ConfigurationError(
            f"--check: {flag} {text or '(nothing)'}: the engine takes a whole number from {least} to {most}"
        )
    return int(text)


def _mode(text: str | None) -> str | None:
    if text not in (None, "none", "layer", "row", "tensor"):
        raise ConfigurationError(f"--check: -sm {text}: no such split", hint="one of none, layer, row, tensor")
    return text
