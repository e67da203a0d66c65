"""What was answered, how it ended, what it scored, and who judged it. Lines of answers.jsonl and judgements.jsonl."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

Outcome = Literal[
    "ok",
    "empty",
    "reasoning_only",
    "think_unclosed",
    "truncated",
    "abstained",
    "refused",
    "format_invalid",
    "timeout",
    "http_error",
    "server_restarted",
    "prompt_cut",  # the server read less than it was sent
    "judge_unparseable",
    "judge_error",
]
EVIDENCE: tuple[Outcome, ...] = ("ok", "abstained", "format_invalid")  # about the model; the rest is about the run
NO_REPLY: tuple[Outcome, ...] = ("http_error", "server_restarted", "timeout")
# Of 4xx, those that say something of the key, the account, the address or the moment, and nothing of the question.
PASSING = (401, 402, 403, 404, 405, 407, 408, 425, 429)
Arm = Literal["single", "vote", "reflection"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What makes an answer one of its kind: nothing with the same key is asked twice."""

    question: str
    candidate: str  # model, quantisation and mode; an endpoint's label
    arm: Arm = "single"
    epoch: int = 0
    sample: int = 0  # of a vote's k, or the draft (0) and the reflection (1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One reply. `text` is the answer without its thinking; `raw` is the reply as it came, `reasoning` its thinking.

    `thinking_observed` is what the reply shows, whatever was asked. Counts are the server's, None when it gave none.
    """

    asked: Asked
    outcome: Outcome  # how it ended; only "ok", "abstained" and "format_invalid" are evidence about the model
    text: str
    seed: int
    at: datetime
    seconds: float
    raw: str = ""
    reasoning: str | None = None
    finish_reason: str | None = None
    prompt_tokens: int | None = None
    prompt_tokens_sent: int | None = None  # by the server's own tokenizer, before it was asked; None where it has none
    tokens: int | None = None
    cached_tokens: int | None = None
    http_status: int | None = None  # of an answer that is an HTTP error
    thinking_asked: bool | None = None
    thinking_observed: bool | None = None
    tool_calls: tuple[dict[str, Any], ...] = ()
    attempts: int = 1
    detail: str | None = None

    @property
    def is_final(self) -> bool:
        """Whether it stands: nobody is asked again. Not so where nothing answered, or refused whoever asked; a refusal
        of the question itself stands."""
        if self.outcome == "http_error":
            return self.http_status is not None and 400 <= self.http_status < 500 and self.http_status not in PASSING
        return self.outcome != "server_restarted"

    @property
    def is_contaminated(self) -> bool:
        """It thought although thinking was asked to be off: no evidence about a model that does not think."""
        return self.thinking_asked is False and bool(self.thinking_observed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """What an answer is worth, 0 to 1. `value` is None where nothing was scored, and `why` says why: never zero."""

    asked: Asked
    scorer: str  # "tests", "chrF", "judge:<name>"
    value: float | None
    why: str | None = None
    outcome: Outcome | None = None  # what the scorer found the answer to be, where that is more than the asker saw
    details: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeIdentity:
    """A judge as it must be recorded: no equivalence between two of them is ever claimed."""

    provider: str  # host of the API, or "local"
    model: str  # as the reply named it
    prompt_sha256: str  # of the template
    parameters: dict[str, Any] = field(default_factory=dict)

    @property
    def called(self) -> str:
        """The model by its file's name where a server at home tells the whole path; "org/model" stays."""
        is_path = self.model.startswith("/") or self.model[1:3] in (":\\", ":/")
        return self.model.replace("\\", "/").rpartition("/")[2] if is_path else self.model

    @property
    def name(self) -> str:
        return f"{self.called} at {self.provider}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """One reply of a judge about one answer, or about two (`other`), in the order shown. `raw` is kept always."""

    judge: JudgeIdentity
    asked: Asked
    other: Asked | None
    verdict: str | None  # one of the offered set, None when the reply held none
    outcome: Outcome
    raw: str
    at: datetime
    probe: str | None = None  # what it was asked for beside scoring: "known", "retest", "identical", "length", "family"
    details: dict[str, Any] = field(default_factory=dict)
    tokens: int | None = None
    seconds: float | None = None


Pool = Literal["random", "decisive"]
Label = Literal["right", "wrong", "first", "second", "tie", "unsure"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """What a person said of one answer, or of two. A later line about the same thing by the same person replaces it;
    `label` None takes it back. Only labels of the random pool may correct a judge: the other is chosen by its verdicts.
    """

    reviewer: str
    asked: Asked
    other: Asked | None
    label: Label | None
    pool: Pool
    at: datetime
    reason: str | None = None
