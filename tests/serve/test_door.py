"""The door over real sockets, with engines whose token times are known: what passes, who waits, what is refused."""

from __future__ import annotations

import asyncio
import gzip
import json
import re
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import aiohttp
import pytest

from evener.errors import HostError, PortTaken
from evener.records.serving import Behind, Person, PersonLimits, Used
from evener.serve import people
from evener.serve.door import Door, Settings
from evener.testing.fake_engine import FakeEngine, fake_engine

KEYS = {name: f"ev-{name}" for name in ("ann", "bob", "eve")}


def person(name: str, **limits: int) -> Person:
    key = people.hash_of(KEYS[name])
    at = datetime(2026, 1, 2, tzinfo=UTC)
    return Person(name=name, key_sha256=key, key_hint="ev-", added_at=at, limits=PersonLimits(**limits))


def behind(engine: FakeEngine, *, name: str = "a", **more: Any) -> Behind:
    known: dict[str, Any] = {"model": "fake", "layout": "alpha", "hosts": ("alpha",), "state": "ready"}
    known |= {"url": engine.url, "slots": engine.slots, "context": 4096}
    return Behind(name=name, **(known | more))


@dataclass(kw_only=True)
class House:
    """A door, what is behind it, and a client of it."""

    door: Door
    url: str
    session: aiohttp.ClientSession
    engines: list[FakeEngine]
    used: list[Used] = field(default_factory=list)

    async def ask(self, name: str | None = None, *, text: str = "hi", **more: Any) -> aiohttp.ClientResponse:
        """One chat, read to its end."""
        body = {"messages": [{"role": "user", "content": text}], "stream": True, "max_tokens": 6} | more
        return await self.post("/v1/chat/completions", name, json=body)

    async def post(self, path: str, name: str | None = None, **more: Any) -> aiohttp.ClientResponse:
        headers = {"Authorization": f"Bearer {KEYS.get(name, name)}"} if name else {}
        answer = await self.session.post(self.url + path, headers=headers, **more)
        await answer.read()
        return answer

    @property
    def asked(self) -> list[int]:
        """How many requests came to each engine."""
        return [len(engine.seen) for engine in self.engines]


@asynccontextmanager
async def house(
    *engines: FakeEngine,
    welcome: dict[str, Person] | None = None,
    settings: Settings | None = None,
    describe: Callable[[Behind], Behind] = lambda record: record,
) -> AsyncIterator[House]:
    used: list[Used] = []
    door = Door(url="http://door", settings=settings, welcome=lambda: welcome, on_used=used.append)
    async with AsyncExitStack() as stack:
        for number, engine in enumerate(engines):
            await stack.enter_async_context(fake_engine(engine))
            door.place(describe(behind(engine, name="abc"[number])), key="inner")
        port = await stack.enter_async_context(door.open("127.0.0.1", 0))
        session = await stack.enter_async_context(aiohttp.ClientSession(auto_decompress=False))
        yield House(door=door, url=f"http://127.0.0.1:{port}", session=session, engines=list(engines), used=used)


def everybody(*known: Person) -> dict[str, Person]:
    return {one.key_sha256: one for one in known}


async def until_asked(made: House, *counts: int) -> None:
    async with asyncio.timeout(5):
        while made.asked != list(counts):
            await asyncio.sleep(0.005)


def timeless(stream: bytes) -> bytes:
    """Without the seconds that the engine says it took: two answers never take the same."""
    return re.sub(rb"[0-9.e-]+(?=[,}\]])", b"0", stream)


# ---- what passes


@pytest.mark.parametrize("scenario", ["plain", "role-first", "reasoning", "batches", "ping", "progress", "unstreamed"])
async def test_every_byte_is_what_the_engine_sent(scenario: str) -> None:
    async with house(FakeEngine(scenario=scenario)) as made:
        through = await made.ask()
        direct = await made.session.post(
            f"{made.engines[0].url}/v1/chat/completions",
            json={"messages": [{"role": "user", "content": "hi"}], "stream": True, "max_tokens": 6},
        )
        assert timeless(await through.read()) == timeless(await direct.read())
        assert through.headers["Content-Type"].startswith(direct.headers["Content-Type"])
        assert made.engines[0].seen[0].body == made.engines[0].seen[1].body


async def test_tokens_arrive_as_they_are_made_and_not_at_the_end() -> None:
    async with house(FakeEngine(ttft_s=0.02, itl_s=0.1)) as made:
        body = {"messages": [{"role": "user", "content": "hi"}], "stream": True, "max_tokens": 6}
        async with made.session.post(f"{made.url}/v1/chat/completions", json=body) as answer:
            begun, first = asyncio.get_running_loop().time(), await answer.content.readany()
            assert b"data:" in first
            assert asyncio.get_running_loop().time() - begun < 0.3, "the whole answer takes half a second"
            await answer.read()


async def test_the_persons_key_never_reaches_the_engine_and_the_engines_own_does() -> None:
    async with house(FakeEngine(api_key="inner"), welcome=everybody(person("ann"))) as made:
        answer = await made.ask("ann")
        assert answer.status == 200
        assert answer.headers["X-Evener-Deployment"] == "a"


async def test_an_error_of_the_engine_is_passed_on_as_it_is() -> None:
    async with house(FakeEngine(scenario="context")) as made:
        answer = await made.ask()
        assert answer.status == 400
        assert json.loads(await answer.read())["error"]["type"] == "exceed_context_size_error"


# ---- who may enter


async def test_without_a_key_or_with_a_wrong_one_nothing_is_said() -> None:
    async with house(FakeEngine(), welcome=everybody(person("ann"))) as made:
        for name in (None, "ev-wrong", "ev-anna", ""):
            answer = await made.ask(name)
            assert answer.status == 401
            assert answer.headers["WWW-Authenticate"] == "Bearer"
        for path in ("/v1/models", "/metrics", "/slots", "/props", "/"):
            assert (await made.session.get(made.url + path)).status == 401
        assert (await made.session.get(f"{made.url}/health")).status == 200
        assert made.asked == [0]
        assert made.used == [], "who was not let in is nobody"
        assert (await made.ask("ann")).status == 200


async def test_when_the_last_key_is_revoked_nobody_enters() -> None:
    async with house(FakeEngine(), welcome={}) as made:
        assert (await made.ask()).status == 401
        assert (await made.ask("ann")).status == 401


async def test_who_is_revoked_is_out_at_once_and_the_stream_ends() -> None:
    welcome = everybody(person("ann"), person("bob"))
    async with house(FakeEngine(itl_s=0.1), welcome=welcome) as made:
        running = asyncio.create_task(made.ask("ann", max_tokens=600))
        await until_asked(made, 1)
        del welcome[people.hash_of(KEYS["ann"])]
        made.door.send_away("ann")
        with pytest.raises(aiohttp.ClientError):
            await running
        assert (await made.ask("ann")).status == 401
        assert (await made.ask("bob")).status == 200


async def test_other_pages_of_the_engine_are_not_behind_the_door() -> None:
    async with house(FakeEngine()) as made:
        for path in ("/slots", "/props", "/v1/../slots", "/completion", "//slots"):
            assert (await made.session.get(made.url + path)).status == 404
        assert (await made.post("/props", json={})).status == 404


# ---- turns


async def test_more_than_the_slots_wait_and_all_are_answered() -> None:
    async with house(FakeEngine(slots=2, itl_s=0.01)) as made:
        most = 0

        async def watch() -> None:
            nonlocal most
            while True:
                most = max(most, made.engines[0].streams)
                await asyncio.sleep(0.002)

        watching = asyncio.create_task(watch())
        answers = await asyncio.gather(*(made.ask() for _ in range(7)))
        watching.cancel()
        assert [answer.status for answer in answers] == [200] * 7
        assert most == 2
        assert made.door.status().waiting == 0
        assert made.door.behind()[0].busy == 0
        assert sum(used.waited_s > 0.02 for used in made.used) == 5


async def test_a_pile_of_one_person_does_not_hold_up_another() -> None:
    welcome = everybody(person("ann"), person("bob"))
    async with house(FakeEngine(slots=1, itl_s=0.01), welcome=welcome) as made:
        pile = [asyncio.create_task(made.ask("ann")) for _ in range(6)]
        await until_asked(made, 1)
        await made.ask("bob")
        assert sum(one.done() for one in pile) <= 2, "bob was next when the first had ended"
        await asyncio.gather(*pile)


async def test_a_person_has_no_more_in_flight_than_allowed_and_the_rest_wait() -> None:
    async with house(FakeEngine(slots=4, itl_s=0.02), welcome=everybody(person("ann", parallel=1))) as made:
        running = [asyncio.create_task(made.ask("ann")) for _ in range(3)]
        await until_asked(made, 1)
        status = made.door.status()
        assert (status.in_flight_by_person, status.waiting_by_person) == ({"ann": 1}, {"ann": 2})
        await asyncio.gather(*running)


async def test_more_requests_a_minute_than_allowed_are_refused_with_a_time() -> None:
    async with house(FakeEngine(), welcome=everybody(person("ann", requests_per_minute=2), person("bob"))) as made:
        assert [(await made.ask("ann")).status for _ in range(3)] == [200, 200, 429]
        answer = await made.ask("ann")
        assert 1 <= int(answer.headers["Retry-After"]) <= 60
        assert "2 requests a minute" in (await answer.json())["error"]["message"]
        assert (await made.ask("bob")).status == 200
        assert [used.refused for used in made.used] == [0, 0, 1, 1, 0]


async def test_tokens_of_the_day_are_counted_and_then_refused() -> None:
    async with house(FakeEngine(), welcome=everybody(person("ann", tokens_per_day=10))) as made:
        assert [(await made.ask("ann")).status for _ in range(2)] == [200, 429]
        assert made.used[0].output_tokens == 6
        assert made.used[0].prompt_tokens > 0


async def test_a_full_queue_says_so_and_when_to_come_again() -> None:
    settings = Settings(most_waiting=3, most_waiting_each=2)
    welcome = everybody(person("ann"), person("bob"))
    async with house(FakeEngine(slots=1, itl_s=0.05), welcome=welcome, settings=settings) as made:
        running = [asyncio.create_task(made.ask("ann")) for _ in range(3)]
        await until_asked(made, 1)
        await asyncio.sleep(0.05)
        too_many = await made.ask("ann")
        assert too_many.status == 429
        assert int(too_many.headers["Retry-After"]) >= 1
        running.append(asyncio.create_task(made.ask("bob")))
        await asyncio.sleep(0.05)
        assert (await made.ask("bob")).status == 429
        assert [(await one).status for one in running] == [200] * 4


async def test_nobody_waits_for_ever() -> None:
    async with house(FakeEngine(slots=1, itl_s=0.2), settings=Settings(wait_within_s=0.3)) as made:
        running = asyncio.create_task(made.ask())
        await until_asked(made, 1)
        late = await made.ask()
        assert late.status == 503
        assert int(late.headers["Retry-After"]) >= 1
        await running


async def test_who_hangs_up_while_waiting_leaves_the_queue_and_while_served_frees_the_slot() -> None:
    async with house(FakeEngine(slots=1, itl_s=0.05)) as made:
        served, waiting = (asyncio.create_task(made.ask(max_tokens=400)) for _ in range(2))
        await until_asked(made, 1)
        await asyncio.sleep(0.05)
        waiting.cancel()
        async with asyncio.timeout(3):
            while made.door.status().waiting:
                await asyncio.sleep(0.01)
        served.cancel()
        async with asyncio.timeout(3):
            while made.engines[0].streams:
                await asyncio.sleep(0.01)
        assert (await made.ask()).status == 200
        assert made.asked == [2], "nobody asked the engine for who had gone"
        assert made.door.behind()[0].busy == 0


# ---- routing


async def test_a_model_is_asked_by_its_name_and_an_unknown_one_is_named() -> None:
    async with house(
        FakeEngine(model="one"),
        FakeEngine(model="two"),
        describe=lambda record: replace(record, model={"a": "one", "b": "two"}[record.name]),
    ) as made:
        for name, asked in (("two", [0, 1]), ("one", [1, 1])):
            assert (await made.ask(model=name)).status == 200
            assert made.asked == asked
        answer = await made.ask(model="three")
        assert answer.status == 404
        assert "there is one, two" in (await answer.json())["error"]["message"]
        listed = await (await made.session.get(f"{made.url}/v1/models")).json()
        assert [row["id"] for row in listed["data"]] == ["one", "two"]


async def test_replicas_share_the_load_and_keep_a_conversation() -> None:
    async with house(FakeEngine(slots=2, itl_s=0.01), FakeEngine(slots=2, itl_s=0.01)) as made:
        await asyncio.gather(*(made.ask(text=f"{n}") for n in range(4)))
        assert made.asked == [2, 2]
        for _ in range(4):
            await made.ask(text="a long story " * 300)
        assert sorted(made.asked) == [2, 6], "who has read the beginning answers"


async def test_what_waits_is_answered_by_who_comes_back() -> None:
    async with house(FakeEngine()) as made:
        made.door.set("a", "restarting")
        waiting = asyncio.create_task(made.ask())
        await asyncio.sleep(0.1)
        assert not waiting.done()
        assert (await made.session.get(f"{made.url}/health")).status == 503
        made.door.set("a", "ready")
        assert (await waiting).status == 200


async def test_what_is_paused_is_refused_at_once_with_its_reason() -> None:
    async with house(FakeEngine()) as made:
        made.door.set("a", "paused", why="somebody renders")
        answer = await made.ask()
        assert answer.status == 503
        assert "somebody renders" in (await answer.json())["error"]["message"]


async def test_draining_takes_no_more_and_waits_for_what_is_in_flight() -> None:
    async with house(FakeEngine(itl_s=0.03)) as made:
        running = asyncio.create_task(made.ask())
        await until_asked(made, 1)
        assert await made.door.drained("a", within_s=5)
        assert (await running).status == 200
        assert made.door.behind()[0].state == "draining"


# ---- death


async def test_a_stream_that_breaks_ends_with_an_error_that_clients_read() -> None:
    async with house(FakeEngine(scenario="cut")) as made:
        text = (await (await made.ask()).read()).decode()
        last = json.loads(text.strip().rpartition("data: ")[2])
        assert last["error"]["code"] == 502
        assert "[DONE]" not in text
        assert made.used[0].failures == 1


async def test_who_is_gone_before_a_byte_is_replaced_by_another_and_nobody_is_answered_twice() -> None:
    async with house(FakeEngine(), FakeEngine()) as made:
        made.door.place(replace(behind(made.engines[0]), url="http://127.0.0.1:1"), key="inner")
        answers = await asyncio.gather(*(made.ask() for _ in range(4)))
        assert [answer.status for answer in answers] == [200] * 4
        assert made.asked == [0, 4]


async def test_where_everybody_is_gone_the_answer_says_so() -> None:
    async with house(FakeEngine()) as made:
        made.door.place(replace(behind(made.engines[0]), url="http://127.0.0.1:1"), key="inner")
        answer = await made.ask()
        assert answer.status == 502
        assert made.used[0].failures == 1


async def test_an_answer_that_never_ends_is_ended() -> None:
    async with house(FakeEngine(scenario="stall"), settings=Settings(answer_within_s=0.5)) as made:
        answer = await made.ask()
        assert b"took too long" in await answer.read()
        assert made.door.behind()[0].busy == 0


# ---- strange requests


async def test_strange_bodies_are_refused_in_one_line() -> None:
    async with house(FakeEngine(), settings=Settings(most_body_bytes=10_000)) as made:
        told = {b"{": 400, b"[]": 400, b'"x"': 400, b"\xff\xfe": 400, b"[" * 9000: 400, b" " * 20_000: 413}
        for body, status in told.items():
            answer = await made.post("/v1/chat/completions", data=body)
            assert answer.status == status
            assert "message" in (await answer.json())["error"]
        assert made.asked == [0]


async def raw(url: str, *pieces: bytes, pause_s: float = 0.0, read_s: float = 3.0) -> bytes:
    """What comes back when these bytes are sent."""
    host, _, port = url.removeprefix("http://").partition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    try:
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(pause_s)
        async with asyncio.timeout(read_s):
            return await reader.read()
    finally:
        writer.close()


async def test_a_body_that_does_not_come_is_not_waited_for() -> None:
    async with house(FakeEngine(), settings=Settings(body_within_s=0.3)) as made:
        head = b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\nConnection: close\r\n\r\n"
        assert b" 408 " in await raw(made.url, head, b"{")
        assert (await made.ask()).status == 200


async def test_a_client_that_does_not_read_holds_up_nobody() -> None:
    settings = Settings(write_within_s=0.3)
    async with house(FakeEngine(slots=1, itl_s=0.0), settings=settings) as made:
        body = json.dumps(
            {"messages": [{"role": "user", "content": "x"}], "stream": True, "max_tokens": 200_000}
        ).encode()
        host, _, port = made.url.removeprefix("http://").partition(":")
        _, writer = await asyncio.open_connection(host, int(port), limit=1024)
        writer.write(
            b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)
        )
        await until_asked(made, 1)
        async with asyncio.timeout(20):
            assert (await made.ask()).status == 200
        writer.close()


async def test_pipelined_requests_are_answered_in_their_order() -> None:
    async with house(FakeEngine()) as made:
        one = b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n"
        last = b"GET /nothing HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
        said = await raw(made.url, one + one + last)
        assert [part.split(b" ")[1] for part in said.split(b"HTTP/1.1")[1:] if part] == [b"200", b"200", b"404"] or (
            said.count(b"200 OK") == 2 and said.count(b"404 Not Found") == 1
        )


async def test_ten_thousand_wrong_keys_cost_nothing_but_refusals() -> None:
    async with house(FakeEngine(), welcome=everybody(person("ann"))) as made:
        running = asyncio.create_task(made.ask("ann", max_tokens=300))
        await until_asked(made, 1)
        statuses: set[int] = set()
        for start in range(0, 10_000, 100):
            found = await asyncio.gather(*(made.post("/v1/completions", f"ev-{start + n}") for n in range(100)))
            statuses |= {answer.status for answer in found}
        assert statuses == {401}
        assert (await running).status == 200
        assert made.door.status().refused == 10_000
        assert len(made.used) == 1


async def test_a_port_that_is_taken_is_one_line() -> None:
    async with house(FakeEngine()) as made:
        port = int(made.url.rpartition(":")[2])
        with pytest.raises(PortTaken, match=str(port)):
            async with made.door.open("127.0.0.1", port):
                pass


# ---- proxies, stops, turns that are lost, what nobody waited for


async def until_true(condition: Callable[[], object], within_s: float = 5.0) -> None:
    async with asyncio.timeout(within_s):
        while not condition():
            await asyncio.sleep(0.005)


def posted(body: dict[str, Any], *, version: bytes = b"1.1", headers: bytes = b"", packed: bool = False) -> bytes:
    data = json.dumps(body).encode()
    data = gzip.compress(data) if packed else data
    return b"POST /v1/chat/completions HTTP/%b\r\nHost: x\r\nConnection: close\r\n%bContent-Length: %d\r\n\r\n%b" % (
        version,
        headers,
        len(data),
        data,
    )


@asynccontextmanager
async def silent_server() -> AsyncIterator[str]:
    """It takes connections, and never says a word."""
    async with await asyncio.start_server(lambda _reader, _writer: asyncio.sleep(3600), "127.0.0.1", 0) as server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


CHAT = {"messages": [{"role": "user", "content": "hi"}], "max_tokens": 6, "stream": True}


async def test_http_1_0_as_proxies_speak_it_gets_the_stream_unframed() -> None:
    async with house(FakeEngine()) as made:
        head, _, body = (await raw(made.url, posted(CHAT, version=b"1.0"))).partition(b"\r\n\r\n")
        assert b" 200 " in head
        assert b"chunked" not in head
        assert body.startswith(b"data: {")
        assert body.endswith(b"data: [DONE]\n\n")


async def test_a_packed_body_is_unpacked_and_no_longer_called_packed() -> None:
    async with house(FakeEngine(), settings=Settings(most_body_bytes=100_000)) as made:
        headers = b"Content-Encoding: gzip\r\n"
        assert b" 200 " in await raw(made.url, posted(CHAT, headers=headers, packed=True))
        assert made.engines[0].seen[0].body == CHAT
        bomb = CHAT | {"messages": [{"role": "user", "content": "a" * 5_000_000}]}
        assert b" 413 " in await raw(made.url, posted(bomb, headers=headers, packed=True))


async def test_a_key_in_a_request_that_is_no_http_is_in_no_log(caplog: pytest.LogCaptureFixture) -> None:
    async with house(FakeEngine(), welcome=everybody(person("ann"))) as made:
        for line in (b"Authorization: Bearer ev-a\x01nn", b"Authorization : Bearer ev-ann"):
            with suppress(ConnectionError):
                assert b" 400 " in await raw(made.url, posted(CHAT, headers=line + b"\r\n"))
    assert "ev-a" not in caplog.text


async def test_when_a_deployment_is_stopped_its_silent_answers_end_and_what_had_no_byte_goes_elsewhere() -> None:
    async with house(FakeEngine(scenario="stall", slots=1), FakeEngine(slots=1)) as made:
        stalled = asyncio.create_task(made.ask())
        await until_asked(made, 1, 0)
        await asyncio.sleep(0.2)
        made.door.set("a", "restarting")
        async with asyncio.timeout(2):
            assert b"ended in the middle" in await (await stalled).read()
    async with silent_server() as url, house(FakeEngine(slots=1), FakeEngine(slots=1)) as made:
        made.door.place(replace(behind(made.engines[0]), url=url), key="inner")
        waiting = asyncio.create_task(made.ask())
        await until_true(lambda: made.door.behind()[0].busy)
        await asyncio.sleep(0.1)
        made.door.set("a", "restarting")
        async with asyncio.timeout(2):
            assert (await waiting).headers["X-Evener-Deployment"] == "b"
        assert (made.used[0].requests, made.used[0].uncounted) == (1, 0)


async def test_a_dead_replica_that_looks_free_is_not_asked_again_by_who_saw_it_die() -> None:
    async with house(FakeEngine(slots=4), FakeEngine(slots=1, itl_s=0.2)) as made:
        made.door.place(replace(behind(made.engines[0]), url="http://127.0.0.1:1"), key="inner")
        answers = await asyncio.gather(*(made.ask() for _ in range(2)))
        assert [answer.status for answer in answers] == [200, 200], "the second waited longer than three tries take"


async def test_what_lost_its_turn_is_next_and_never_refused_for_a_full_queue() -> None:
    settings = Settings(most_waiting=2, most_waiting_each=2)
    async with house(FakeEngine(slots=1, ttft_s=0.1), settings=settings) as made:
        good = made.door.behind()[0]
        made.door.place(replace(good, url="http://127.0.0.1:1"), key="inner")
        first = asyncio.create_task(made.ask(text="first"))
        await until_true(lambda: made.door.behind()[0].busy == 1)
        made.door.set("a", "restarting")
        others = [asyncio.create_task(made.ask(text=f"{n}")) for n in range(2)]
        await until_true(lambda: made.door.status().waiting == 3)
        made.door.place(replace(good, state="ready"), key="inner")
        assert [(await one).status for one in (first, *others)] == [200] * 3
        assert made.engines[0].seen[0].body["messages"][0]["content"] == "first"
        mine = next(used for used in made.used if used.waited_s < used.seconds - 0.2)
        assert mine.requests == 1


async def test_who_waits_for_what_is_paused_is_told_and_who_waits_for_a_restart_waits() -> None:
    async with house(FakeEngine()) as made:
        made.door.set("a", "restarting")
        waiting = asyncio.create_task(made.ask())
        await until_true(lambda: made.door.status().waiting)
        made.door.set("a", "draining")
        await asyncio.sleep(0.05)
        assert not waiting.done()
        made.door.set("a", "paused", why="somebody renders")
        assert (await waiting).status == 503
        assert made.door.status().waiting == 0


async def test_who_waits_while_the_only_model_becomes_another_is_answered_by_that_one() -> None:
    async with house(FakeEngine()) as made:
        made.door.set("a", "restarting")
        waiting = asyncio.create_task(made.ask(model="fake"))
        await until_true(lambda: made.door.status().waiting)
        made.door.place(behind(made.engines[0], model="another"), key="inner")
        assert (await waiting).status == 200


async def test_of_several_models_one_that_goes_away_is_told_to_who_waits_for_it() -> None:
    async with house(
        FakeEngine(), FakeEngine(), describe=lambda record: replace(record, model=f"model-{record.name}")
    ) as made:
        made.door.set("a", "restarting")
        waiting = asyncio.create_task(made.ask(model="model-a"))
        await until_true(lambda: made.door.status().waiting)
        made.door.place(behind(made.engines[0], model="another"), key="inner")
        assert (await waiting).status == 404


async def test_a_door_that_closes_tells_who_waits_and_who_comes() -> None:
    async with house(FakeEngine()) as made:
        made.door.set("a", "restarting")
        waiting = asyncio.create_task(made.ask())
        await until_true(lambda: made.door.status().waiting)
        made.door.close()
        for answer in (await waiting, await made.ask()):
            assert answer.status == 503
            assert "closing" in (await answer.json())["error"]["message"]


async def test_an_answer_that_nobody_waited_for_is_counted_as_far_as_it_came() -> None:
    async with house(FakeEngine(itl_s=0.02), welcome=everybody(person("ann", tokens_per_day=5))) as made:
        headers = {"Authorization": "Bearer ev-ann"}
        body = CHAT | {"max_tokens": 1000}
        async with made.session.post(f"{made.url}/v1/chat/completions", json=body, headers=headers) as answer:
            for _ in range(16):
                await answer.content.readline()
        await until_true(lambda: made.used)
        assert made.used[0].uncounted == 1
        assert 5 <= made.used[0].output_tokens <= 60
        assert (await made.ask("ann")).status == 429, "hanging up does not make it free"


async def test_what_the_engine_refuses_is_not_called_uncounted() -> None:
    async with house(FakeEngine(scenario="context")) as made:
        await made.ask()
        assert (made.used[0].uncounted, made.used[0].failures) == (0, 0)
    async with house(FakeEngine(scenario="no-usage")) as made:
        await made.ask()
        assert made.used[0].uncounted == 1


async def test_an_address_that_is_not_ours_is_told_as_that() -> None:
    door = Door(url="http://door")
    with pytest.raises(HostError, match=r"192\.0\.2\.1:\d+: cannot listen there") as told:
        async with door.open("192.0.2.1", 8080):
            pass
    assert not isinstance(told.value, PortTaken)


async def test_a_thousand_connections_that_say_nothing_keep_nobody_out() -> None:
    async with house(FakeEngine()) as made:
        host, _, port = made.url.removeprefix("http://").partition(":")
        silent = [await asyncio.open_connection(host, int(port)) for _ in range(1100)]
        try:
            assert (await made.ask()).status == 200
        finally:
            for _, writer in silent:
                writer.close()
