"""Make another quantisation of a model that is here, by the engine's own llama-quantize. Whole or not at all."""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from evener import files
from evener.dialects import llama_quantize
from evener.errors import EngineError, HostError, ModelMissing, NameUnknown
from evener.models.names import stem
from evener.models.parts import read_file
from evener.ports import Report, Shell
from evener.records.events import Progress
from evener.together import to_the_end

DRY_RUN_WITHIN_S = 120.0
HASH_DIGITS = 8
LAST_LINES = 40
_ENDING = re.compile(rf"[-._](?:{'|'.join(sorted(llama_quantize.TYPES, key=len, reverse=True))}|FP16)$", re.IGNORECASE)


def require_type(text: str) -> str:
    """The type as llama-quantize calls it. Raises NameUnknown."""
    if text.upper() not in llama_quantize.TYPES:
        raise NameUnknown(
            f"{text}: llama-quantize makes no such type", hint=f"one of {', '.join(llama_quantize.TYPES)}"
        )
    return text.upper()


def file_name(source: str, kind: str, *, sha256: str) -> str:
    """What the result is called: the model, its type, and which file it was made of.

    >>> file_name("SmolLM2-135M-Instruct.Q4_1.gguf", "Q8_0", sha256="b179c9523d0e")
    'SmolLM2-135M-Instruct-Q8_0.b179c952.gguf'
    """
    return f"{_ENDING.sub('', stem(source))}-{kind}.{sha256[:HASH_DIGITS]}.gguf"


async def quantised_bytes(shell: Shell, program: str, source: Path, kind: str) -> int:
    """How large the tensors become, as the engine says before it begins. Raises EngineError."""
    done = await shell.run(llama_quantize.dry_run_argv(program, str(source), kind), within_s=DRY_RUN_WITHIN_S, env={})
    lines = [*done.stdout.splitlines(), *done.stderr.splitlines()]
    size = llama_quantize.size_bytes(lines)
    if done.code != 0 or size is None:
        raise EngineError(_failed(source, kind, lines, done.code))
    return size


async def quantise(
    shell: Shell, program: str, parts: Sequence[Path], kind: str, *, sha256: str, folder: Path, report: Report
) -> Path:
    """The model in `parts` as `kind`, one file in `folder`; at once when it is there. `sha256` is the model's identity.

    Interrupted, nothing of it stays. Raises EngineError, HostError (no room), ModelMissing (being made elsewhere).
    """
    source = parts[0]
    target = folder / file_name(source.name, kind, sha256=sha256)
    if target.is_file():
        return target
    needed = await quantised_bytes(shell, program, source, kind)
    await files.demand_room(shell, str(folder), needed_bytes=needed, what=target.name)
    folder.mkdir(parents=True, exist_ok=True)
    with _part_of(target) as part:
        if target.is_file():  # made by somebody else meanwhile
            return target
        await _write(shell, llama_quantize.argv(program, str(source), str(part), kind), source, kind, report)
        read_file(part)
        _land(part, target)
    return target


async def _write(shell: Shell, argv: Sequence[str], source: Path, kind: str, report: Report) -> None:
    what = f"quantise {stem(source.name)} to {kind}"
    report(Progress(what=what))
    child = await shell.start(argv, env={})
    said: list[str] = []
    try:
        async for line in child.lines():
            said = [*said[-LAST_LINES:], line]
            if at := llama_quantize.progress(line, what=what):
                report(at)
        code = await child.wait()
    finally:
        await to_the_end(child.stop())
    if code != 0:
        raise EngineError(_failed(source, kind, said, code))


def _failed(source: Path, kind: str, said: Sequence[str], code: int) -> str:
    return f"{source.name} cannot be quantised to {kind}: {llama_quantize.complaint(said) or f'it ended with {code}'}"


@contextmanager
def _part_of(target: Path) -> Iterator[Path]:
    """Where the file is written: ours alone, and gone afterwards unless it got its name."""
    part = target.with_name(f"{target.name}.part")
    try:
        file = part.open("ab")
    except OSError as error:
        raise HostError(f"cannot write {part}: {error.strerror or error}") from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ModelMissing(
                f"{target.name}: another evener is making it", hint="wait for it, then run the same command again"
            ) from None
        try:
            yield part
        finally:
            part.unlink(missing_ok=True)


def _land(part: Path, target: Path) -> None:
    try:
        with part.open("rb") as file:
            os.fsync(file.fileno())
        part.rename(target)
    except OSError as error:
        raise HostError(f"cannot write {target}: {error.strerror or error}") from error
