"""Time our GGUF header reader against the `gguf` package's GGUFReader, on the same files.

python benchmarks/header.py [MODEL.gguf]   (without it: the demo model in the models folder)

Each file is read by both in turn, ours several times per turn of theirs; medians, their spread, and the ratio.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import gguf
import numpy as np

from evener.dialects.gguf import read_header
from evener.models.shelf import DEMO_FILE
from evener.state import models_folder

ROUNDS = 7
OURS_PER_ROUND = 5
VOCABULARY = 250_000


def ours(path: Path) -> None:
    with path.open("rb") as file:
        read_header(file, name=str(path))


def theirs(path: Path) -> None:
    gguf.GGUFReader(path)


def timed(read: Callable[[Path], None], path: Path) -> float:
    began = time.perf_counter()
    read(path)
    return time.perf_counter() - began


def large_vocabulary(path: Path) -> Path:
    """A model with 250 000 tokens, scores, types and merges, written by the package itself."""
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_block_count(1)
    writer.add_token_list([f"token number {i}" for i in range(VOCABULARY)])
    writer.add_token_scores([float(i) for i in range(VOCABULARY)])
    writer.add_token_types([1] * VOCABULARY)
    writer.add_token_merges([f"tok{i % 1000} en{i}" for i in range(VOCABULARY)])
    writer.add_tensor("token_embd.weight", np.zeros((8, 32), dtype=np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def compare(name: str, path: Path) -> None:
    ours(path)  # both find the file in memory
    mine: list[float] = []
    other: list[float] = []
    for _ in range(ROUNDS):
        mine += [timed(ours, path) for _ in range(OURS_PER_ROUND)]
        other.append(timed(theirs, path))
    for who, times in (("ours", mine), ("gguf package", other)):
        print(
            f"{name}: {who:<13} median {median(times) * 1e3:9.2f} ms"
            f"  ({min(times) * 1e3:.2f} to {max(times) * 1e3:.2f}, n={len(times)})"
        )
    print(f"{name}: {median(other) / median(mine):.0f} times faster")


def main() -> None:
    demo = Path(sys.argv[1]) if len(sys.argv) > 1 else models_folder() / DEMO_FILE
    if not demo.is_file():
        sys.exit(f"{demo}: no such file; evener models fetch demo brings it")
    compare(demo.name, demo)
    with tempfile.TemporaryDirectory() as folder:
        compare("250 k vocabulary", large_vocabulary(Path(folder) / "vocabulary.gguf"))


if __name__ == "__main__":
    main()
