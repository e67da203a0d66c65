"""What another tool measured, as it states it: its conditions are not known here, and it is never ranked."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignRow:
    """One test of llama-bench in tokens per second. `sd` is None where it states none, or none that means anything."""

    test: str  # "pp512", "tg128", "pp512 @ d4096"
    mean: float
    sd: float | None
    n: int | None  # repetitions; None where the file does not say


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignBench:
    """One setting of llama-bench in one file: the rows that share everything but their test.

    `stated` is whatever the file says of the setting, by llama-bench's own names. Nobody here has seen any of it.
    """

    file: str  # its name
    model: str  # its kind and quantisation in llama-bench's words, else the file's name
    build: str | None  # "11434 (b0a2feb)"
    model_bytes: int | None  # of all tensors
    backends: str | None  # what its build can compute on
    rows: tuple[ForeignRow, ...]  # its tests
    stated: dict[str, str] = field(default_factory=dict)
    taken_at: str | None = None  # when its first test began, as written
