"""A plan: layers per device and the exact command lines. Field names are the JSON contract of `plan --json`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

CandidateKind = Literal[
    "card", "host", "experts-in-ram", "partial-offload", "replicas", "several-models", "cluster", "none"
]
Objective = Literal["latency", "crowd", "prompt", "context"]


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

    `drafts` are the tokens that the model's own MTP blocks, or a draft model, propose at a time; 0 without speculation.
    `objective` is what the layout is chosen for: one user's tokens, all users' tokens, prompts, or the longest
    context. None: latency for one user, crowd for several.
    """

    context: int = 4096
    users: int = 1
    unified: bool = False
    kv_type_k: str = "f16"
    kv_type_v: str = "f16"
    prompt_tokens: int = 512
    output_tokens: int = 128
    drafts: int = 0
    objective: Objective | None = None

    @property
    def aim(self) -> Objective:
        return self.objective or ("latency" if self.users == 1 else "crowd")


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
    `projector_bytes` and `draft_bytes` are what a projector and a draft model take of it beside, whole: weights, caches
    and buffers. `projector_dry_run_bytes` and `draft_dry_run` are the engine's own figures of them, where it was asked.
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
    projector_bytes: int = 0
    projector_dry_run_bytes: int | None = None
    draft_bytes: int = 0
    draft_dry_run: DryRun | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """One process to start. `listen` is "address:port", empty for one that serves nobody. Beside `env` only the
    allow-list is inherited. `endpoint` is where the head reaches a worker, when that is not where it listens: the
    near end of a tunnel."""

    host: str
    argv: tuple[str, ...]
    env: dict[str, str]
    listen: str
    endpoint: str | None = None

    @property
    def reached_at(self) -> str:
        return self.endpoint or self.listen


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """A figure with its interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """One part of a token's time."""

    where: str  # host/device of the candidate's devices (host/CPU: experts in RAM); for a link its name, "to", and that
    kind: Literal["compute", "link", "overhead"]
    ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Predicted:
    """Predicted speed. A member is None until it is modelled.

    `depth` is how many tokens each sequence has seen already, whatever context it may have: longer ones are slower.
    Prompts are the workload's `prompt_tokens`, after as many.
    """

    decode_tokens_per_s: Value | None = None
    prefill_tokens_per_s: Value | None = None
    users_tokens_per_s: Value | None = None
    load_s: Value | None = None
    per_token_ms: tuple[Share, ...] = ()
    depth: int | None = None
    of_host: str | None = None  # of replicas: whose are the figures of one user, of prompts and of a token's time


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One possible plan. `short_bytes` is what is missing on the shortest device, 0 when it fits.

    `bench` is the same placement for llama-bench. `marginal`: it fits only if less than 5 % of a card stays free, which
    is finer than estimates are. `host_dry_run` is what the engine's dry run says of a head's RAM beside its cards:
    without logits, and without the tensor that is on its way to a card.
    """

    name: str
    kind: CandidateKind
    hosts: tuple[str, ...]
    fits: bool
    short_bytes: int
    devices: tuple[DevicePlan, ...]
    host_bytes: dict[str, int]  # RAM beyond the cards, per host
    host_dry_run: dict[str, DryRun] = field(default_factory=dict)
    servers: tuple[Command, ...]
    workers: tuple[Command, ...]
    tunnels: tuple[Command, ...] = ()  # ssh, on the head's host, for links with tunnel = true
    predicted: Predicted | None = None
    why_not: str | None = None  # one line, when it does not fit
    bench: tuple[Command, ...] = ()
    marginal: bool = False
    longest_context: int | None = None  # tokens per user that its cards hold, sought where the aim is the context
    warnings: tuple[str, ...] = ()  # what may go wrong later although it fits, a line each

    @property
    def one_server(self) -> bool:
        """Whether one llama-server is all of it."""
        return self.fits and len(self.servers) == 1


BenefitKind = Literal["this model", "replica", "second model", "context", "bigger model", "speed", "nothing"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Benefit:
    """One thing that the machines beyond the first buy.

    `gain` is how many times as much: tokens per second for a replica and for speed, tokens of context, models, bytes
    of the model: two kinds do not compare. None where there is nothing to compare with. `layout` is the candidate that
    gives it.
    """

    kind: BenefitKind
    sentence: str
    layout: str | None = None
    gain: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Which candidate to take. `kind` is "none" where nothing fits, or not what was asked for.

    `second_machine` is what the machines beyond the first buy, the best first; empty where there is one machine.
    `ways_out` are changes with which the model would fit on cards, where it does not.
    """

    choice: str | None  # a candidate's name
    kind: CandidateKind
    sentence: str
    reasons: tuple[str, ...] = ()
    second_machine: tuple[Benefit, ...] = ()
    ways_out: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Candidates and the verdict: the whole answer of `evener plan`."""

    model: ModelSummary
    workload: Workload
    verdict: Verdict
    candidates: tuple[Candidate, ...]

    def candidate(self, name: str) -> Candidate | None:
        return next((c for c in self.candidates if c.name == name), None)
