"""What the chat client asks of a server beside answers: a real socket, no model."""

import json
from contextlib import asynccontextmanager

from aiohttp import web

from evener.edges.chat import chat
from tests.evals.scripted import Scripted, scripted

BODY = {"model": "m", "messages": [{"role": "user", "content": "one two three"}], "max_tokens": 5}


@asynccontextmanager
async def answering(**routes):
    """A server whose paths answer with a status and a text; `asked` holds what came."""
    asked = []

    def handler(status, text):
        async def answer(request):
            asked.append((request.path, await request.json(), request.headers.get("Authorization")))
            return web.Response(status=status, text=text, content_type="application/json")

        return answer

    app = web.Application()
    app.add_routes([web.post(f"/{name.replace('_', '-')}", handler(*said)) for name, said in routes.items()])
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield f"http://127.0.0.1:{site._server.sockets[0].getsockname()[1]}", asked
    finally:
        await runner.cleanup()


async def counted(url, body=BODY, within_s=5, **more):
    async with chat(url, **more) as door:
        return await door.prompt_tokens(body, within_s=within_s)


async def test_a_prompt_is_counted_in_the_servers_own_template():
    async with scripted(Scripted(str)) as server:
        assert await counted(server.url) == 5  # [user] one two three [assistant]


async def test_the_template_sees_the_whole_request_and_the_tokenizer_what_it_made_of_it():
    async with answering(apply_template=(200, '{"prompt": "<s> one"}'), tokenize=(200, '{"tokens": [1, 5, 9]}')) as (
        url,
        asked,
    ):
        assert await counted(url, headers={"Authorization": "Bearer the-key-of-the-team"}) == 3
    whole = {"content": "<s> one", "add_special": True, "parse_special": True, "model": "m"}
    assert [(path, body) for path, body, _ in asked] == [("/apply-template", BODY), ("/tokenize", whole)]
    assert {key for _, _, key in asked} == {"Bearer the-key-of-the-team"}


async def test_a_server_without_a_tokenizer_is_not_asked_twice():
    async with answering(apply_template=(404, "no")) as (url, asked), chat(url) as door:
        assert [await door.prompt_tokens(BODY, within_s=5) for _ in range(3)] == [None, None, None]
        assert len(asked) == 1


async def test_what_cannot_be_read_counts_nothing():
    for said in ("[]", "{", '{"prompt": 5}', '{"prompt": "x"}'):
        async with answering(apply_template=(200, said), tokenize=(200, '{"tokens": []}')) as (url, _):
            assert await counted(url) is None
    async with answering(apply_template=(500, "{}")) as (url, _):
        assert await counted(url) is None
    assert await counted("http://127.0.0.1:9", within_s=1) is None


async def test_a_key_is_taken_out_of_replies_however_it_is_written():
    key = "sk/of+the=team"
    masked = json.dumps({"a": key}).replace("/", "\\/")
    headers = {"Authorization": f"Bearer {key}"}
    async with answering(ask=(200, masked)) as (url, _), chat(url, path="/ask", headers=headers) as door:
        reply = await door.ask(BODY, within_s=5)
    assert json.loads(reply.body) == {"a": "(secret)"}
