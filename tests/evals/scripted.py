"""A chat server on loopback whose answers come from a function: real HTTP, no model."""

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from aiohttp import web


@dataclass
class Scripted:
    """`say` maps a request's body to the text of its answer; a number is an HTTP status instead, a dict a whole
    document, with "status" as its HTTP status. None hangs up.

    A word is a token, and `reads` is how many of a prompt it reads: the rest is dropped without a word. Without
    `counts` it has no tokenizer to ask.
    """

    say: object
    slots: int = 2
    down: bool = False
    reads: int = 4096
    counts: bool = True
    slow_s: float = 0.0
    model: str = "scripted"
    running: int = 0
    port: int = 0
    bodies: list = field(default_factory=list)

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    @property
    def asked(self):
        """What was asked by the evaluation, without the probe."""
        return [b for b in self.bodies if not b.get("stream")]


@asynccontextmanager
async def scripted(server):
    async def chat(request):
        body = await request.json()
        server.bodies.append(body)
        if body.get("stream"):
            return await _probe(request)
        server.running += 1
        try:
            await asyncio.sleep(server.slow_s)
            text = None if server.down else server.say(body)
        finally:
            server.running -= 1
        if text is None:
            request.transport.close()
            return web.Response()
        if isinstance(text, dict):
            return web.json_response(text, status=text.pop("status", 200))
        if isinstance(text, int):
            return web.json_response({"error": {"message": "no"}}, status=text)
        return web.json_response(_document(server.model, text, min(len(_rendered(body).split()), server.reads)))

    async def models(request):
        if server.down:
            return web.Response(status=503)
        return web.json_response({"data": [{"id": server.model}]})

    async def props(request):
        return web.json_response(
            {"total_slots": server.slots, "default_generation_settings": {"n_ctx": 4096}, "model_ftype": "Q8_0"}
        )

    async def template(request):
        return web.json_response({"prompt": _rendered(await request.json())})

    async def tokenize(request):
        return web.json_response({"tokens": list(range(len((await request.json())["content"].split())))})

    app = web.Application()
    app.add_routes([web.post("/v1/chat/completions", chat), web.get("/v1/models", models), web.get("/props", props)])
    if server.counts:
        app.add_routes([web.post("/apply-template", template), web.post("/tokenize", tokenize)])
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", server.port)
    await site.start()
    server.port = site._server.sockets[0].getsockname()[1]
    try:
        yield server
    finally:
        await runner.cleanup()


async def _probe(request):
    answer = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await answer.prepare(request)
    await answer.write(b'data: {"choices": [{"index": 0, "delta": {"content": "a b c d e f g h"}}]}\n\n')
    await answer.write(b'data: {"choices": [{"index": 0, "delta": {}, "finish_reason": "length"}]}\n\n')
    await answer.write(b'data: {"choices": [], "usage": {"prompt_tokens": 40, "completion_tokens": 8}}\n\n')
    await answer.write(b"data: [DONE]\n\n")
    return answer


def _rendered(body):
    return " ".join(f"[{one['role']}] {one['content']}" for one in body["messages"]) + " [assistant]"


def _document(model, text, prompt_tokens):
    message = {"role": "assistant", "content": text}
    return {
        "model": model,
        "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
        "usage": {"prompt_tokens": prompt_tokens, "completion_tokens": max(1, len(text.split()))},
    }
