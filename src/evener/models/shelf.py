"""Models at hand: what the models folder holds, and which file a name means. Fetches nothing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from evener.errors import BadHeader, ModelMissing
from evener.models.facts import joined, model_name, quantisation
from evener.models.names import siblings, stem
from evener.models.parts import open_model

DEMO_NAME = "demo"
DEMO_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """One model of the folder. `problem` says why it cannot be used; what it would have said is then None."""

    file: str  # the first part's name, or that of a download's remains
    path: str
    bytes: int
    parts: int = 1
    name: str | None = None
    architecture: str | None = None
    quantisation: str | None = None
    problem: str | None = None


def held(folder: Path) -> tuple[Held, ...]:
    """Every model in the folder, by name. Parts of one model are one entry; unfinished downloads are listed as such."""
    names = {path.name: path for path in folder.glob("*") if path.is_file()} if folder.is_dir() else {}
    firsts = {siblings(name)[0] for name in names if name.lower().endswith(".gguf")}
    models = [_held(folder / first, names) for first in firsts]
    rests = [_rest(path) for name, path in names.items() if name.endswith(".part")]
    return tuple(sorted(models + rests, key=lambda h: h.file.lower()))


def _held(path: Path, names: dict[str, Path]) -> Held:
    parts = siblings(path.name)
    size = sum(names[name].stat().st_size for name in parts if name in names)
    entry = Held(file=path.name, path=str(path), bytes=size, parts=len(parts))
    try:
        opened = open_model(path)
        tensors, metadata = joined(opened.paths, opened.headers), opened.headers[0].metadata
    except (BadHeader, ModelMissing) as error:
        return Held(file=entry.file, path=entry.path, bytes=size, parts=entry.parts, problem=error.message)
    return Held(
        file=entry.file,
        path=entry.path,
        bytes=size,
        parts=entry.parts,
        name=model_name(str(path)),
        architecture=str(metadata.get("general.architecture", "")) or None,
        quantisation=quantisation(metadata, tensors),
    )


def _rest(path: Path) -> Held:
    return Held(file=path.name, path=str(path), bytes=path.stat().st_size, problem="download not finished")


def locate(name: str, folder: Path) -> Path:
    """The file that `name` means: `demo`, a path, or a file of the folder by its name or stem, whatever the case.

    Raises ModelMissing with names that come near.
    """
    if name.lower() == DEMO_NAME:
        return _demo(folder)
    if "://" in name:
        raise ModelMissing(f"{name}: a URL, not a model at hand", hint=f"evener models fetch {name}")
    path = Path(name).expanduser()
    if path.is_file():
        return path.absolute()
    if path.is_dir():
        raise ModelMissing(
            f"{name}: a folder, not a model", hint=_near("", _names(path)) or "name the .gguf file in it"
        )
    if len(siblings(path.name)) > 1 and path.parent.is_dir() and "/" in name:
        return path.absolute()  # a part that is missing: reading the parts names it
    known = _names(folder)
    for file in known:
        if name.lower() in (file.lower(), stem(file).lower()):
            return folder / file
    raise ModelMissing(f"{name}: no such model", hint=_near(name, known) or "evener models list shows what is here")


def _demo(folder: Path) -> Path:
    path = folder / DEMO_FILE
    if not path.is_file():
        raise ModelMissing(f"{path}: the demo model is not here yet", hint="evener models fetch demo")
    return path


def _names(folder: Path) -> list[str]:
    """First parts of the models in a folder."""
    names = (
        {path.name for path in folder.glob("*") if path.name.lower().endswith(".gguf")} if folder.is_dir() else set()
    )
    return sorted({siblings(name)[0] for name in names})


def _near(name: str, known: Iterable[str]) -> str | None:
    """A hint that names up to three models, the nearest first."""
    stems = {stem(file).lower(): stem(file) for file in known}
    close = get_close_matches(name.lower(), stems, n=3, cutoff=0.5)
    holding = [key for key in stems if name.lower() in key and key not in close]
    names = [stems[key] for key in [*close, *holding][:3]]
    return f"did you mean {' or '.join(names)}?" if names else None
