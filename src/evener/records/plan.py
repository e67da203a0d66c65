"""A plan: layers per device and the exact command lines. Field names are the JSON contract of `plan --json`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

CandidateKind = Literal["card", "host", "experts-in-ram", "replicas", "several-models", "cluster", "none"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSummary:
    """The model, as its header describes it."""

    name: str
    architecture: str
    quantisation: str
    file_bytes: int
    layers: int
    parameters: int
    active_parameters: int | None
    context_train: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """What the plan is for. `context` is tokens per user; `users` are parallel sequences.

    `drafts` are the tokens that the model's own MTP blocks propose at a time, 0 without that speculation.
    """

    context: int = 4096
    users: int = 1
    unified: bool = False
    kv_type_k: str = "f16"
    kv_type_v: str = "f16"
    prompt_tokens: int = 512
    output_tokens: int = 128
    drafts: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class DryRun:
    """What the engine's own no-alloc dry run says for one device, in bytes of whole MiB."""

    weights_bytes: int
    kv_bytes: int
    compute_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DevicePlan:
    """What one device will hold. `layers` counts slots (the output head is one). `device` is the head's name for it.

    `compute_bytes` is what llama-server will allocate; `compute_estimated` is True until a dry run has said so.
    """

    host: str
    card: str  # card id
    card_name: str
    device: str
    position: int
    layers: int
    weights_bytes: int
    kv_bytes: int
    compute_bytes: int
    overhead_bytes: int
    total_bytes: int
    free_bytes: int | None
    offered_bytes: int | None = None  # of the free memory, what the rig's rules let a plan use
    compute_estimated: bool = True
    dry_run: DryRun | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """One process to start. `listen` is "address:port". Beside `env` only the allow-list is inherited."""

    host: str
    argv: tuple[str, ...]
    env: dict[str, str]
    listen: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """A figure with its interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """One part of a token's time."""

    where: str
    kind: Literal["compute", "link", "overhead"]
    ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Predicted:
    """Predicted speed. A member is None until it is modelled."""

    decode_tokens_per_s: Value | None = None
    prefill_tokens_per_s: Value | None = None
    users_tokens_per_s: Value | None = None
    load_s: Value | None = None
    per_token_ms: tuple[Share, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One possible plan. `short_bytes` is what is missing on the shortest device, 0 when it fits."""

    name: str
    kind: CandidateKind
    hosts: tuple[str, ...]
    fits: bool
    short_bytes: int
    devices: tuple[DevicePlan, ...]
    host_bytes: dict[str, int]  # RAM beyond the cards, per host
    servers: tuple[Command, ...]
    workers: tuple[Command, ...]
    predicted: Predicted | None = None
    why_not: str | None = None  # one line, when it does not fit


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Which candidate to take. `kind` is "none" where nothing fits, or not what was asked for."""

    choice: str | None  # a candidate's name
    kind: CandidateKind
    sentence: str
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Candidates and the verdict: the whole answer of `evener plan`."""

    model: ModelSummary
    workload: Workload
    verdict: Verdict
    candidates: tuple[Candidate, ...]

    def candidate(self, name: str) -> Candidate | None:
        return next((c for c in self.candidates if c.name == name), None)
