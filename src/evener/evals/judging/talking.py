"""One request to a judge and its reply, in the words of its API. Pure; the conversation itself goes through `Chat`."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal

from evener.evals import outcomes
from evener.evals.judging import parsing
from evener.evals.judging.tasks import Task
from evener.evals.judging.templates import disarmed
from evener.ports import ChatReply
from evener.records.answers import JudgeIdentity, Judgement

Api = Literal["openai", "anthropic"]
PATHS: Mapping[Api, str] = {"openai": "/v1/chat/completions", "anthropic": "/v1/messages"}
ANTHROPIC_VERSION = "2023-06-01"
SEVERITY_DETAIL = "flaws"


@dataclass(frozen=True, slots=True, kw_only=True)
class Judge:
    """A judge as it is asked. `provider` is the host of its API at `url`; parameters are sent with every request."""

    provider: str
    url: str
    model: str
    api: Api = "openai"
    parameters: dict[str, Any] = field(default_factory=lambda: {"temperature": 0, "max_tokens": 1024}, hash=False)

    def identity(self, task: Task, *, model: str | None = None) -> JudgeIdentity:
        """As it is recorded; `model` is what the reply calls it."""
        return JudgeIdentity(
            provider=self.provider,
            model=model or self.model,
            prompt_sha256=task.template.sha256,
            parameters=self.parameters,
        )


def request(judge: Judge, task: Task) -> dict[str, Any]:
    """The same shape for both APIs: one message of a user."""
    return {"model": judge.model, "messages": [{"role": "user", "content": task.text}], **judge.parameters}


def cache_key(judge: Judge, task: Task) -> str:
    """Everything that decides a reply: who is asked, with which parameters, and every word of the question."""
    whole = [judge.provider, judge.url, judge.api, request(judge, task), task.template.sha256]
    return hashlib.sha256(json.dumps(whole, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def judgement(judge: Judge, task: Task, reply: ChatReply, *, at: datetime | None = None) -> Judgement:
    """What a reply says. One that cannot be read is unparseable, one that did not come is an error: no verdict."""
    read = outcomes.read(reply) if judge.api == "openai" else outcomes.read(_as_openai(reply))
    said, details = None, dict[str, Any]()
    if read.outcome in ("ok", "truncated"):
        # A verdict is the last line: a reply that was cut short has none.
        said, details = _said(task, read.text) if read.outcome == "ok" else (None, {})
    failed = read.outcome in ("http_error", "timeout")
    return Judgement(
        judge=judge.identity(task, model=read.model),
        asked=task.asked,
        other=task.other,
        verdict=said,
        outcome="judge_error" if failed else "ok" if said is not None else "judge_unparseable",
        raw=reply.body.decode(errors="replace"),
        at=at or datetime.now(UTC),
        probe=task.probe,
        details=details
        | ({"swapped": True} if task.swapped else {})
        | ({"truth": task.truth} if task.truth else {})
        | ({"why": read.detail} if read.detail else {})
        | {"template": task.template.name},
        tokens=read.tokens,
        seconds=reply.seconds,
    )


def _said(task: Task, text: str) -> tuple[str | None, dict[str, Any]]:
    if task.template.offered:
        return parsing.verdict(text, task.template.offered), {}
    translation = task.parts["translation"]
    found = parsing.flaws(text, f"{translation}\n{disarmed(translation)}")  # a quote is of one line
    if found is None:
        return None, {}
    listed = [{"severity": f.severity, "category": f.category, "span": f.span} for f in found.found]
    return str(len(found.found)), {SEVERITY_DETAIL: listed, "invented": found.invented}


def _as_openai(reply: ChatReply) -> ChatReply:
    """An Anthropic message in the shape of a chat completion; errors are left as they are."""
    try:
        data = json.loads(reply.body)
    except (ValueError, RecursionError):
        return reply
    if not isinstance(data, dict) or not isinstance(data.get("content"), list):
        return reply
    text = "".join(str(part.get("text", "")) for part in data["content"] if isinstance(part, dict))
    usage = data.get("usage") if isinstance(data.get("usage"), dict) else {}
    document = {
        "model": data.get("model"),
        "choices": [
            {
                "finish_reason": "length" if data.get("stop_reason") == "max_tokens" else "stop",
                "message": {"content": text},
            }
        ],
        "usage": {
            "prompt_tokens": (usage or {}).get("input_tokens"),
            "completion_tokens": (usage or {}).get("output_tokens"),
        },
    }
    return ChatReply(
        ending=reply.ending,
        seconds=reply.seconds,
        status=reply.status,
        body=json.dumps(document).encode(),
        detail=reply.detail,
    )
