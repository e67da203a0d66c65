from __future__ import annotations

from pathlib import Path

from gguf import GGUFReader

from evener.engine.tiny_model import tiny_model


def test_the_reference_reader_agrees_with_every_byte(tmp_path: Path) -> None:
    path = tmp_path / "tiny.gguf"
    path.write_bytes(tiny_model())
    reader = GGUFReader(path)
    assert len(reader.tensors) == 12
    last = reader.tensors[-1]
    assert (last.name, list(last.shape)) == ("output.weight", [64, 32])
    assert last.data_offset + last.n_bytes == path.stat().st_size
    assert all(abs(tensor.data).max() <= 0.1 for tensor in reader.tensors)


def test_it_is_small_and_always_the_same() -> None:
    assert len(tiny_model()) < 200_000
    assert tiny_model() == tiny_model()
