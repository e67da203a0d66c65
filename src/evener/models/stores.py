"""Models in other programs' stores, on any host: found where they are, never copied, never changed.

One walk per host. What a header says is not asked for here: far hosts would have to send megabytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from evener import files
from evener.dialects import ollama
from evener.files import Entry
from evener.models.names import siblings, stem
from evener.ports import Shell

WITHIN_S = 60.0
OWN = "evener"

# For each folder after a word that says what it is: every GGUF (links followed), or Ollama's manifests and blobs.
_WALK = """if stat -c %s / >/dev/null 2>&1; then f=-c; t='%d %i %s %Y %n'; else f=-f; t='%d %i %z %m %N'; fi
tell='for m; do echo "manifest=$m"; tr -d "\\012" <"$m"; echo; done'
while [ $# -gt 1 ]; do
    if [ "$1" = ollama ]; then
        find -L "$2/manifests" -type f -exec sh -c "$tell" sh {} + 2>/dev/null
        find -L "$2/blobs" -type f -name 'sha256-*' -exec stat -L $f "$t" {} + 2>/dev/null
    else
        find -L "$2" -type f '(' -iname '*.gguf' -o -name '*.part' ')' -exec stat -L $f "$t" {} + 2>/dev/null
    fi
    shift 2
done; :"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A folder that may hold models. `store` says whose it is."""

    store: str
    folder: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """One model in a store. `bytes` and `paths` are those of all parts; `missing` counts parts that are not there."""

    name: str  # what people call it: a file's name, or Ollama's name with its tag
    store: str
    paths: tuple[str, ...]
    bytes: int
    missing: int = 0
    unfinished: bool = False  # what an interrupted download has left

    @property
    def path(self) -> str:
        return self.paths[0]


def places(home: str, *, environ: Mapping[str, str], own: Iterable[str]) -> tuple[Place, ...]:
    """Where to look on a host, our own folders first. `environ` is what its user has set, as far as it is known."""
    cache = environ.get("XDG_CACHE_HOME") or f"{home}/.cache"
    hub = environ.get("HF_HUB_CACHE") or f"{environ.get('HF_HOME') or f'{cache}/huggingface'}/hub"
    return (
        *(Place(store=OWN, folder=folder) for folder in dict.fromkeys(own)),
        Place(store="huggingface", folder=hub),
        Place(store="llama.cpp", folder=environ.get("LLAMA_CACHE") or f"{cache}/llama.cpp"),
        Place(store="lmstudio", folder=f"{home}/.lmstudio/models"),
        Place(store="lmstudio", folder=f"{cache}/lm-studio/models"),
        Place(store="ollama", folder=environ.get("OLLAMA_MODELS") or f"{home}/.ollama/models"),
        Place(store="ollama", folder="/usr/share/ollama/.ollama/models"),
    )


async def stored(shell: Shell, where: Sequence[Place]) -> tuple[Stored, ...]:
    """Every model in these places, in their order, then by name. One file under two names is shown once: the first."""
    words = [word for place in where for word in (place.store, place.folder)]
    said = (await files.sh(shell, _WALK, *words, within_s=WITHIN_S)).stdout
    entries = files.read_entries(said)
    found = [model for place in where for model in _in(place, entries, said)]
    return _once(found, entries)


def _in(place: Place, entries: Mapping[str, Entry], said: str) -> list[Stored]:
    if place.store == "ollama":
        return _ollama(place.folder, entries, said)
    inside = [path for path in entries if _is_below(path, place.folder)]
    return [_model(path, place.store, entries) for path in sorted(inside, key=str.lower) if _begins(path, entries)]


def _is_below(path: str, folder: str) -> bool:
    return path.startswith(f"{folder.rstrip('/')}/")


def _begins(path: str, entries: Mapping[str, Entry]) -> bool:
    """Whether a file stands for its model: it is the first of its parts that is there."""
    there = [sibling for sibling in _parts(path) if sibling in entries]
    return not there or there[0] == path


def _parts(path: str) -> list[str]:
    file = PurePosixPath(path)
    return [str(file.with_name(name)) for name in siblings(file.name)]


def _model(path: str, store: str, entries: Mapping[str, Entry]) -> Stored:
    parts = _parts(path)
    return Stored(
        name=PurePosixPath(parts[0]).name,
        store=store,
        paths=tuple(parts),
        bytes=sum(entries[part].bytes for part in parts if part in entries),
        missing=sum(part not in entries for part in parts),
        unfinished=path.endswith(".part"),
    )


def _ollama(folder: str, entries: Mapping[str, Entry], said: str) -> list[Stored]:
    found = []
    for path, text in re.findall(r"^manifest=(.+)\n(.*)$", said, re.MULTILINE):
        if not _is_below(path, f"{folder}/manifests"):
            continue
        blob = entries.get(f"{folder}/blobs/{ollama.model_blob(text)}")
        if blob:
            name = ollama.model_name(path.removeprefix(f"{folder.rstrip('/')}/manifests/"))
            found.append(Stored(name=name, store="ollama", paths=(blob.path,), bytes=blob.bytes))
    return sorted(found, key=lambda model: model.name)


def _once(found: Iterable[Stored], entries: Mapping[str, Entry]) -> tuple[Stored, ...]:
    kept: dict[tuple[int, int] | str, Stored] = {}
    for model in found:
        first = next((entries[path] for path in model.paths if path in entries), None)
        kept.setdefault((first.device, first.inode) if first else model.path, model)
    return tuple(kept.values())


def named(name: str, found: Iterable[Stored]) -> tuple[Stored, ...]:
    """The complete models that a name means: a file's name, its stem, or Ollama's name, whatever the case."""
    wish = name.lower()
    return tuple(
        model
        for model in found
        if not model.missing
        and not model.unfinished
        and wish in (model.name.lower(), stem(model.name).lower(), f"{model.store}:{model.name}".lower())
    )
