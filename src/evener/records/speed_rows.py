"""What `bench speed` measured: one row per test, named as llama-bench names it, in up to three views side by side."""

from __future__ import annotations

from dataclasses import dataclass, field

from evener.records.load import ClientCost


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeated:
    """One figure measured several times. `sd` is the sample's standard deviation, None below n = 2."""

    n: int
    mean: float | None
    sd: float | None
    unit: str
    values: tuple[float, ...] = ()  # one per repetition, in the order measured


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeedRow:
    """One test: a prompt of `prompt_tokens`, or `output_tokens` one by one, or both, after `depth` tokens.

    `client` is what the client's clock says, `server` what the server's `timings` say (None where it sends none),
    `llama_bench` what llama-bench says of the same plan (None where it did not run).
    """

    test: str  # "pp512", "tg128", "pp512 @ d4096"
    prompt_tokens: int
    output_tokens: int
    depth: int
    client: Repeated
    server: Repeated | None
    llama_bench: Repeated | None = None
    ttft_ms: Repeated | None = None
    by_class: dict[str, int] = field(default_factory=dict)
    excluded: int = 0  # requests left out because the cache had not held exactly what was meant
    processed_tokens: tuple[int, int] | None = None  # prompt tokens that the server worked on: least and most
    note: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeedResult:
    """The answer of `bench speed`. `validity` is "valid" or the reason why the figures must not be used."""

    url: str
    model: str | None
    repetitions: int  # asked for, per row; one more comes first and is dropped
    rows: tuple[SpeedRow, ...]  # in the order measured: by depth, then prompts, answers, both
    rtt_ms: float | None  # median time of a small question on an open connection; taken off each TTFT
    gaps: str  # why client, server and llama-bench differ, in one sentence or two
    client: ClientCost
    label: str | None = None  # the layout that was measured
    llama_bench_argv: tuple[str, ...] = ()  # how llama-bench was run, when it was
    validity: str = "valid"
    partial: str | None = None  # why rows or repetitions are missing
    notes: tuple[str, ...] = ()
