"""Reading all parts of a model from disk. Any part stands for the whole."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from evener.dialects.gguf import Header, read_header
from evener.errors import BadHeader, ModelMissing
from evener.models.facts import weights_of
from evener.models.names import siblings
from evener.records.weights import Origin, Weights


def all_parts(path: Path) -> tuple[Path, ...]:
    """Every part's path, from any one. Raises ModelMissing naming the first that is not there."""
    parts = tuple(path.with_name(name) for name in siblings(path.name))
    for part in parts:
        if not part.is_file():
            hint = f"all {len(parts)} parts belong in one folder" if len(parts) > 1 else None
            raise ModelMissing(f"{part}: no such file", hint=hint)
    return parts


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """A model's parts with their headers, in order. The paths of a model that is not here are mere names.

    `called` is its name where that of the file says nothing.
    """

    paths: tuple[str, ...]
    headers: tuple[Header, ...]
    origin: Origin = "file"
    estimate: str | None = None
    called: str | None = None

    def weights(self) -> Weights:
        """What a planner needs. Raises BadHeader for a GGUF that is no language model."""
        facts = weights_of(self.paths, self.headers)
        return replace(facts, name=self.called or facts.name, origin=self.origin, estimate=self.estimate)


def open_model(path: Path) -> Opened:
    """Read the headers of all parts. Raises ModelMissing, or BadHeader naming the part."""
    parts = all_parts(path)
    return Opened(paths=tuple(map(str, parts)), headers=tuple(map(read_file, parts)))


def read_file(path: Path) -> Header:
    """Read one file's header. Raises BadHeader, also when the disk will not give it."""
    try:
        with path.open("rb") as file:
            return read_header(file, name=str(path))
    except OSError as error:
        raise BadHeader(f"{path}: cannot be read: {error.strerror or error}") from error
