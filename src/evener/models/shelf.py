"""Models at hand: what a host holds, and which file a name means. Fetches nothing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from evener.errors import BadHeader, ModelMissing
from evener.models.facts import joined, quantisation
from evener.models.names import siblings, stem
from evener.models.parts import open_model
from evener.models.stores import OWN, Stored

DEMO_NAME = "demo"
DEMO_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """One model of a host. `problem` says why it cannot be used; what it would have said is then None.

    On other hosts no header is read: `architecture` and `quantisation` are None there.
    """

    file: str  # the first part's name, or that of a download's remains, or what Ollama calls it
    path: str
    bytes: int
    parts: int = 1
    host: str | None = None  # None: this machine
    store: str = OWN  # whose folder it is in: evener, huggingface, llama.cpp, lmstudio, ollama
    name: str | None = None
    architecture: str | None = None
    quantisation: str | None = None
    problem: str | None = None


def held_here(found: Iterable[Stored]) -> tuple[Held, ...]:
    """The models of this machine, with what their headers say. Blocking. The rest of a store that is no model is left
    out; in our own folder it is shown with its problem."""
    entries = [_with_header(model) for model in found]
    return tuple(entry for entry in entries if entry.problem is None or entry.store == OWN)


def held_there(host: str, found: Iterable[Stored]) -> tuple[Held, ...]:
    """The models of another host."""
    return tuple(_entry(model, host=host) for model in found)


def _entry(model: Stored, *, host: str | None = None) -> Held:
    missing = f"{model.missing} of {len(model.paths)} parts missing" if model.missing else None
    return Held(
        file=model.name,
        path=model.path,
        bytes=model.bytes,
        parts=len(model.paths),
        host=host,
        store=model.store,
        name=stem(model.name),
        problem="download not finished" if model.unfinished else missing,
    )


def _with_header(model: Stored) -> Held:
    entry = _entry(model)
    if model.unfinished:
        return _spoilt(entry, entry.problem)
    try:
        opened = open_model(Path(model.path))
        tensors, metadata = joined(opened.paths, opened.headers), opened.headers[0].metadata
    except (BadHeader, ModelMissing) as error:
        return _spoilt(entry, error.message)
    return Held(
        file=entry.file,
        path=entry.path,
        bytes=entry.bytes,
        parts=entry.parts,
        store=entry.store,
        name=entry.name,
        architecture=str(metadata.get("general.architecture", "")) or None,
        quantisation=quantisation(metadata, tensors),
    )


def _spoilt(entry: Held, problem: str | None) -> Held:
    return Held(
        file=entry.file, path=entry.path, bytes=entry.bytes, parts=entry.parts, store=entry.store, problem=problem
    )


def locate(name: str, folder: Path) -> Path | None:
    """The file that `name` means: `demo`, a path, or a file of the folder by its name or stem, whatever the case.

    None when no file of the folder is called so. Raises ModelMissing for what can be no name of a model.
    """
    if name.lower() == DEMO_NAME:
        return _demo(folder)
    if "://" in name or name.lower().startswith("hf:"):
        raise ModelMissing(f"{name}: not a model at hand", hint=f"evener models fetch {name}")
    if (path := _typed(name)) is None:
        return None
    if path.is_file():
        return path.absolute()
    if path.is_dir():
        raise ModelMissing(
            f"{name}: a folder, not a model", hint=_near("", _names(path)) or "name the .gguf file in it"
        )
    if len(siblings(path.name)) > 1 and path.parent.is_dir() and "/" in name:
        return path.absolute()  # a part that is missing: reading the parts names it
    called = (file for file in _names(folder) if name.lower() in (file.lower(), stem(file).lower()))
    return next((folder / file for file in called), None)


def _typed(name: str) -> Path | None:
    """The path that was typed; None for a text by which no file can be called."""
    try:
        path = Path(name).expanduser()
        path.exists()
    except (OSError, ValueError, RuntimeError):  # too long; a NUL in it; ~ of nobody
        return None
    return path


def no_such(name: str, known: Iterable[str]) -> ModelMissing:
    """The error for a name that nothing at hand carries; `known` are the names that something does."""
    return ModelMissing(f"{name}: no such model", hint=_near(name, known) or "evener models list shows what is here")


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


def only(name: str, found: tuple[Stored, ...]) -> Stored:
    """The one model among those of a name; copies of one size count as one. Raises ModelMissing when they differ."""
    if len({model.bytes for model in found}) > 1:
        listed = ", ".join(f"{model.path} ({model.bytes} bytes)" for model in found)
        raise ModelMissing(
            f"{name}: {len(found)} different models of that name", hint=f"name one by its path: {listed}"
        )
    return found[0]
