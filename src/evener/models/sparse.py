"""Header-only files for the engine's dry runs: a model's header with holes for data, and no vocabulary. Writes files.

The engine needs the shapes, and a file of the right size: some tens of kB on disk stand for any model.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from evener.dialects.gguf import ArrayOf, LongText, Value
from evener.dialects.gguf_write import Plain, Shape, data_bytes, gguf_bytes
from evener.models.facts import joined
from evener.models.parts import Opened

KEPT = ("general.architecture", "general.file_type", "general.quantization_version")


@dataclass(frozen=True, slots=True, kw_only=True)
class SparseFiles:
    """`full` is the model. `short` is the same with a vocabulary of `short_rows` rows."""

    full: Path
    short: Path
    short_rows: int


def write_sparse(opened: Opened, folder: Path, *, vocabulary: int, short_rows: int) -> SparseFiles:
    """Write both files into `folder`. `vocabulary` is the model's own number of rows. Raises OSError."""
    full, short = folder / "full.gguf", folder / "short.gguf"
    _write(opened, full, vocabulary, rows=vocabulary)
    _write(opened, short, vocabulary, rows=short_rows)
    return SparseFiles(full=full, short=short, short_rows=short_rows)


def _write(opened: Opened, path: Path, vocabulary: int, *, rows: int) -> None:
    shapes = tuple(_shapes(opened, vocabulary, rows))
    header = gguf_bytes(dict(_metadata(opened, rows)), shapes)
    with path.open("wb") as file:
        file.write(header)
        file.truncate(len(header) + data_bytes(shapes))


def _metadata(opened: Opened, rows: int) -> Iterator[tuple[str, Plain]]:
    metadata = opened.headers[0].metadata
    architecture = str(metadata["general.architecture"])
    own = f"{architecture}."
    for key, value in metadata.items():
        if (key in KEPT or key.startswith(own)) and (plain := _plain(value)) is not None:
            yield key, plain
    yield f"{own}vocab_size", rows
    yield "tokenizer.ggml.model", "none"


def _plain(value: Value) -> Plain | None:
    """What can be written back; lists that were not kept (vocabularies) are not missed."""
    if isinstance(value, (ArrayOf, LongText)):
        return None
    if isinstance(value, tuple):
        kept = [item for item in value if not isinstance(item, LongText)]
        return kept if len(kept) == len(value) else None  # type: ignore[return-value]
    return value


def _shapes(opened: Opened, vocabulary: int, rows: int) -> Iterator[Shape]:
    """Every tensor; those with one column per token of the vocabulary get `rows` of them."""
    for tensor in joined(opened.paths, opened.headers):
        per_token = len(tensor.shape) == 2 and tensor.shape[1] == vocabulary and _is_vocabulary(tensor.name)
        yield tensor.name, tensor.type, (tensor.shape[0], rows) if per_token else tensor.shape


def _is_vocabulary(name: str) -> bool:
    return name.endswith(("token_embd.weight", "output.weight", "embed_tokens.weight", "shared_head_head.weight"))
