"""Ask a server what it is before loading it: up, speaking OpenAI, which model, which fields, how it counts.

One request of eight tokens, and for llama-server its own tokenizer. Decides nothing about speed.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from evener.bench.client import BaseUrl, Line
from evener.bench.load import WORDS, Load, optional_fields, prompt_text, request_body, without_refused
from evener.dialects.http1 import Exchange
from evener.dialects.openai_errors import error_text
from evener.dialects.openai_stream import read
from evener.errors import CannotRun, ConfigurationError, EvenerError, HostError, NameUnknown
from evener.records.load import Request

CHAT = "/v1/chat/completions"
PROBE_TOKENS = 8
PROBE_WORDS = 32
ANSWER_WITHIN_S = 30.0
FEWEST_WORDS = 16  # below that many one-token words, the tokenizer's verdict is not used


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """What the probe found. `template_tokens` is what a prompt has beside its words, None when nobody counted.

    `slots` and `context` (per slot) are llama-server's. `thinking` is what the probe's answer began with. `fields` are
    the optional ones it accepts.
    """

    url: BaseUrl
    api_key: str | None = field(default=None, repr=False)
    model: str | None = None
    fields: dict[str, Any]
    words: tuple[str, ...] = WORDS
    template_tokens: int | None = None
    llama: bool = False
    slots: int | None = None
    context: int | None = None
    quantisation: str | None = None
    thinking: str | None = None
    notes: tuple[str, ...] = ()

    def line(self) -> Line:
        return Line(self.url, api_key=self.api_key)

    def request(self, load: Load, messages: Sequence[dict[str, Any]], *, tokens: int) -> bytes:
        """The bytes of a chat request as this server takes it."""
        return request_body(self.fields, model=self.model, messages=messages, tokens=tokens, extra=load.extra)


async def probe(url: BaseUrl, load: Load, *, api_key: str | None = None) -> Server:
    """Find out what listens at `url`.

    Raises HostError when nobody does or it is no OpenAI-compatible server, ConfigurationError when it wants another
    key or its slots are too short for the load, NameUnknown for a model it does not have, CannotRun when it answers and
    cannot generate.
    """
    server = Server(url=url, api_key=api_key, model=load.model, fields=optional_fields(load))
    async with server.line() as line:
        models = await _models(line, url)
        server = replace(server, model=load.model or (models[0] if models else None))
        server = await _llama(line, server)
        server, seen = await _eight_tokens(line, server, load, models)
    _require_room(server, load)
    return _with_lengths(server, load, seen)


async def _models(line: Line, url: BaseUrl) -> list[str]:
    """Ids of the models it serves; empty when it does not say."""
    answer = await line.get("/v1/models", within_s=ANSWER_WITHIN_S)
    if answer.status is None:
        raise _silent(url, answer)
    if answer.status in (401, 403) or _is_loading(answer):
        raise _refusal(url, answer, [], None)
    data = _json(answer).get("data")
    return [str(m["id"]) for m in data if isinstance(m, dict) and "id" in m] if isinstance(data, list) else []


async def _llama(line: Line, server: Server) -> Server:
    """What only llama-server tells: slots, context per slot, and how its tokenizer sees our words."""
    props = _json(await line.get("/props", within_s=ANSWER_WITHIN_S))
    settings = props.get("default_generation_settings")
    if not isinstance(settings, dict):
        return server
    server = replace(
        server,
        llama=True,
        slots=_whole(props.get("total_slots")),
        context=_whole(settings.get("n_ctx")),
        quantisation=props.get("model_ftype") if isinstance(props.get("model_ftype"), str) else None,
    )
    words = one_token_words(await _tokens(line, " " + " ".join(WORDS), with_pieces=True))
    if words is None:
        return server
    text = prompt_text(words, PROBE_WORDS, seed=0, number=0)
    rendered = _json(await _post(line, "/apply-template", {"messages": [{"role": "user", "content": text}]}))
    tokens = await _tokens(line, str(rendered.get("prompt", "")), add_special=True, parse_special=True)
    beside = len(tokens) - PROBE_WORDS if "prompt" in rendered else -1
    return replace(server, words=words, template_tokens=beside) if beside >= 0 else server


def one_token_words(tokens: Sequence[Any]) -> tuple[str, ...] | None:
    """Of the words that were tokenised, those that are one token with the space before them; None when too few are."""
    pieces = {t.get("piece") for t in tokens if isinstance(t, dict) and isinstance(t.get("piece"), str)}
    words = tuple(word for word in WORDS if f" {word}" in pieces)
    return words if len(words) >= FEWEST_WORDS else None


async def _eight_tokens(line: Line, server: Server, load: Load, models: list[str]) -> tuple[Server, Request]:
    """Generate a little, giving up one refused field after the other."""
    for _ in range(len(server.fields) + 1):
        text = prompt_text(server.words, PROBE_WORDS, seed=load.seed, number=-1)
        body = server.request(load, [{"role": "user", "content": text}], tokens=PROBE_TOKENS)
        exchange = await line.post(CHAT, body, within_s=load.timeout_s)
        if exchange.status == 200:
            seen = read(exchange, id=-1, users=1, user=0, started_ns=exchange.sent_ns or 0)
            if seen.failure:
                raise CannotRun(f"{server.url}: the first answer failed: {seen.failure}: {seen.detail}")
            return server, seen
        if exchange.status is None:
            raise _silent(server.url, exchange)
        fields = without_refused(server.fields, exchange.body) if exchange.status in (400, 422) else None
        if fields is None:
            raise _refusal(server.url, exchange, models, server.model)
        server = replace(server, fields=fields)
    raise CannotRun(f"{server.url}: every request was refused")


def _require_room(server: Server, load: Load) -> None:
    """Raises ConfigurationError for requests that every slot would refuse."""
    if server.context is None or load.replay or not load.users:
        return
    needed = load.shared_prefix_tokens + load.turns * (load.prompt_tokens + load.output_tokens)
    if needed > server.context:
        what = f"{load.turns} turns of " if load.turns > 1 else ""
        raise ConfigurationError(
            f"{what}prompts and answers of {needed} tokens do not fit into the server's {server.context} per slot",
            hint="ask for shorter ones (--isl, --osl), or give the server a larger context",
        )


def _with_lengths(server: Server, load: Load, seen: Request) -> Server:
    """Take from the probe's answer how prompts are counted, and what cannot be relied on."""
    notes = [
        f"refused by the server and not sent: {name}" for name in optional_fields(load) if name not in server.fields
    ]
    beside = server.template_tokens
    if beside is None and seen.prompt_tokens is not None and seen.prompt_tokens >= PROBE_WORDS:
        beside = seen.prompt_tokens - PROBE_WORDS
    if beside is None:
        notes.append("prompt lengths are approximate: the server counts no prompt tokens")
    elif beside >= load.prompt_tokens:
        notes.append(
            f"the chat template alone takes {beside} tokens: prompts are longer than the {load.prompt_tokens} asked"
        )
    if seen.tokens is not None and seen.tokens > PROBE_TOKENS:
        notes.append(f"the limit of {PROBE_TOKENS} tokens was ignored: {seen.tokens} came")
    if seen.tokens is not None and seen.tokens < PROBE_TOKENS and seen.finish_reason == "stop":
        notes.append("answers may end before the length asked: the server stops at the end of the text")
    thinking = "on" if seen.reasoning_chunks else "off"
    return replace(server, template_tokens=beside, thinking=thinking, notes=tuple(notes))


async def _tokens(line: Line, text: str, **options: bool) -> list[Any]:
    tokens = _json(await _post(line, "/tokenize", {"content": text, **options})).get("tokens")
    return tokens if isinstance(tokens, list) else []


async def _post(line: Line, path: str, body: dict[str, Any]) -> Exchange:
    return await line.post(path, json.dumps(body).encode(), within_s=ANSWER_WITHIN_S)


def _json(answer: Exchange) -> dict[str, Any]:
    """The document of a good answer; empty for every other one."""
    if answer.status != 200:
        return {}
    try:
        data = json.loads(answer.body)
    except (ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}


def _silent(url: BaseUrl, answer: Exchange) -> HostError:
    if answer.ending == "unreachable":
        return HostError(
            f"nothing answers at {url}: {answer.detail}", hint="is the server up, and is it the right port?"
        )
    if answer.ending == "timeout":
        return HostError(f"{url} takes connections and does not answer: {answer.detail}", hint="is it busy or stuck?")
    return HostError(f"{url} is no HTTP server: {answer.detail}", hint="check host, port, and http or https")


def _refusal(url: BaseUrl, answer: Exchange, models: list[str], model: str | None) -> EvenerError:
    """The error for an answer that is not 200, by what its reader can do about it."""
    text = error_text(_any_json(answer.body))
    if answer.status in (401, 403):
        return ConfigurationError(
            f"{url} refuses the API key (HTTP {answer.status})" + (f": {text}" if text else ""),
            hint="put the key in a variable and name it: --api-key-env NAME",
        )
    if _is_loading(answer):
        return HostError(f"{url} still loads its model", hint="try again when its /health says ok")
    if answer.status == 404 and (model not in models if models else "model" in text.lower()):
        known = ", ".join(models) if models else "what it does not say"
        return NameUnknown(f"{url} has no model {model!r}", hint=f"it serves {known}")
    if answer.status in (404, 405, 501):
        return HostError(
            f"{url} is no OpenAI-compatible server: {CHAT} gives HTTP {answer.status}",
            hint="give the base URL, e.g. http://127.0.0.1:8080",
        )
    if 300 <= (answer.status or 0) < 400:
        return HostError(f"{url} redirects to {answer.headers.get('location', '?')}", hint="give that address")
    return CannotRun(f"{url} refuses to generate: HTTP {answer.status}" + (f": {text}" if text else ""))


def _is_loading(answer: Exchange) -> bool:
    return answer.status == 503 and b"oading" in answer.body


def _any_json(body: bytes) -> object:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
