"""The door: one address for everybody, a fair queue, and the deployments behind it. Bytes pass as they are.

Knows HTTP, people and slots. Knows nothing of how a deployment comes up: whoever runs the door says what is ready.
"""

from __future__ import annotations

import asyncio
import errno
import json
import logging
import os
import resource
import ssl
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from math import ceil
from typing import Any, Literal
from urllib.parse import urlsplit

from aiohttp import HttpVersion11, web
from aiohttp.http_exceptions import HttpProcessingError

from evener.errors import HostError, PortTaken
from evener.records.serving import Behind, BehindState, DoorStatus, Person, Used
from evener.serve import counting, people, routing, upstream
from evener.serve.counting import Counted
from evener.serve.limits import Lately
from evener.serve.outlet import Outlet
from evener.serve.upstream import Gone, Upstream
from evener.serve.waiting import Waiting
from evener.together import until

# What a team needs. Whatever shows other people's prompts, or changes the server, is not passed on.
POSTS = (
    "/v1/chat/completions",
    "/v1/completions",
    "/v1/embeddings",
    "/v1/responses",
    "/v1/messages",
    "/infill",
    "/tokenize",
)
NOT_PASSED_ON = frozenset(
    {"host", "authorization", "x-api-key", "connection", "keep-alive", "content-length", "transfer-encoding", "expect",
     "upgrade", "te", "trailer", "proxy-authorization", "accept-encoding", "content-encoding", "cookie"}
)  # fmt: skip
NOT_PASSED_BACK = frozenset(
    {"connection", "keep-alive", "transfer-encoding", "content-length", "server", "date", "set-cookie"}
)
COUNTLESS = frozenset({"/tokenize"})  # no model works for it
CONNECT_WITHIN_S = 5.0
TRIES = 3  # deployments that one request may see die before it has an answer
DIED_PAUSE_S = 0.2
MOST_CONNECTIONS = 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What bounds everything. Seconds, bytes, requests."""

    most_body_bytes: int = 32 << 20
    body_within_s: float = 60.0  # from the head of a request to the end of its body
    wait_within_s: float = 300.0  # in the queue
    answer_within_s: float = 3600.0  # from a slot to the last byte
    write_within_s: float = 60.0  # for a client to take what has been sent to it
    most_waiting: int = 128
    most_waiting_each: int = 16


@dataclass(kw_only=True)
class Place:
    """One deployment behind the door, as it changes."""

    record: Behind
    key: str | None = field(default=None, repr=False)  # of its server
    busy: int = 0
    used: int = 0
    answers: set[Upstream] = field(default_factory=set)  # that are coming

    @property
    def is_open(self) -> bool:
        return self.record.state == "ready" and self.record.url is not None

    def is_now(self, record: Behind) -> None:
        """Whoever stops answers nothing more: where its host is gone, no socket ever says so."""
        self.record = record
        if record.state not in ("ready", "draining"):
            for answer in self.answers:
                answer.cut("it was stopped")


@dataclass(eq=False, kw_only=True)
class _Request:
    """One request that waits for its turn. `parallel` is how many its person may have in flight."""

    asked: str | None  # the model, as the client names it
    marks: tuple[bytes, ...]
    parallel: int | None
    turn: asyncio.Future[Place] = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    died: set[str] = field(default_factory=set)  # deployments that ended before they answered it


@dataclass(kw_only=True)
class _Ticket:
    """What became of one request, for whoever counts. Times are those of `time.monotonic()`."""

    begun_s: float
    person: Person | None = None
    waited_s: float = 0.0
    ending: Literal["answered", "failed", "refused", "left"] = "left"  # the client went away
    counted: Counted | None = None
    pieces: int = 0  # that were passed on, of a stream
    is_uncounted: bool = False  # an engine has worked for it, and did not say how much

    def is_counted(self, counted: Counted | None) -> None:
        if counted is not None:
            self.counted, self.is_uncounted = counted, False

    def used(self, now_s: float) -> Used | None:
        """None for somebody who was not let in."""
        if self.person is None:
            return None
        return Used(
            person=self.person.name,
            day=f"{datetime.now(UTC):%Y-%m-%d}",
            requests=1,
            failures=int(self.ending == "failed"),
            refused=int(self.ending == "refused"),
            prompt_tokens=self.counted.prompt if self.counted else 0,
            output_tokens=self.counted.output if self.counted else self.pieces,
            uncounted=int(self.is_uncounted),
            seconds=now_s - self.begun_s,
            waited_s=self.waited_s,
        )


class Refused(Exception):
    """An answer that is an error: status, OpenAI's type of it, and what the client is told."""

    def __init__(self, status: int, kind: str, message: str, *, retry_after_s: int | None = None) -> None:
        super().__init__(message)
        self.status, self.kind, self.retry_after_s = status, kind, retry_after_s

    def answer(self) -> web.Response:
        headers = {} if self.retry_after_s is None else {"Retry-After": str(self.retry_after_s)}
        if self.status == 401:
            headers["WWW-Authenticate"] = "Bearer"
        answer = web.json_response(error(self.status, self.kind, str(self)), status=self.status, headers=headers)
        if self.status in (408, 413):
            answer.force_close()  # what is still to come of the request is not waited for
        return answer


_SOMEBODY = Person(name=people.NOBODY, key_sha256="", key_hint="", added_at=datetime.min.replace(tzinfo=UTC))


def error(status: int, kind: str, message: str) -> dict[str, Any]:
    """An error as OpenAI's clients read it."""
    return {"error": {"message": message, "type": kind, "code": status}}


class Door:
    """Who may enter is asked of `welcome` at each request: hash of a key -> person. None lets everybody in.

    `on_used` is told of each request that has ended. `metrics` adds what the door does not know to `/metrics`.
    """

    def __init__(
        self,
        *,
        url: str,
        settings: Settings | None = None,
        welcome: Callable[[], Mapping[str, Person] | None] = lambda: None,
        on_used: Callable[[Used], None] = lambda _used: None,
        tokens_today: Callable[[str], int] = lambda _person: 0,
        metrics: Callable[[], str] = str,
    ) -> None:
        self._url = url
        self._settings = settings or Settings()
        self._welcome = welcome
        self._on_used = on_used
        self._tokens_today = tokens_today
        self._metrics = metrics
        self._places: dict[str, Place] = {}
        self._readers = routing.Readers()
        self._waiting: Waiting[_Request] = Waiting(
            most=self._settings.most_waiting, most_each=self._settings.most_waiting_each
        )
        self._lately: dict[str, Lately] = {}
        self._tasks: dict[str, set[asyncio.Task[Any]]] = {}
        self._ended: Counter[str] = Counter()
        self._since = datetime.now(UTC)
        self._count = 0
        self._takes_s = 1.0  # a request, lately
        self._is_closing = False

    # ---- what is behind it

    def place(self, record: Behind, *, key: str | None = None) -> None:
        """A deployment as it is now: a new one, or one that has changed. What waits for it goes when it is ready."""
        known = self._places.get(record.name)
        if known is None:
            self._places[record.name] = Place(record=record, key=key)
        else:
            if known.record.url != record.url:
                self._readers.forget(record.name)
            known.key = key
            known.is_now(replace(record, why=record.why or known.record.why))
        self._settle()

    def set(self, name: str, state: BehindState, *, why: str | None = None) -> None:
        """Another state of a deployment; `why` is kept until the next reason."""
        place = self._places[name]
        place.is_now(replace(place.record, state=state, since=datetime.now(UTC), why=why or place.record.why))
        self._settle()

    def close(self) -> None:
        """Nobody is answered any more: whoever waits is told so, and whoever comes."""
        self._is_closing = True
        self._settle()

    async def drained(self, name: str, *, within_s: float) -> bool:
        """Take no more requests for it, and wait until none is in flight; False when some still are at the deadline."""
        self.set(name, "draining")

        async def is_idle() -> bool | None:
            return None if self._places[name].busy else True

        return bool(await until(is_idle, within_s=within_s))

    def behind(self) -> tuple[Behind, ...]:
        return tuple(replace(place.record, busy=place.busy) for place in self._places.values())

    def send_away(self, person: str) -> None:
        """End everything of a person who may not enter any more."""
        for task in tuple(self._tasks.get(person, ())):
            task.cancel("the key was revoked")

    def status(self) -> DoorStatus:
        behind = self.behind()
        return DoorStatus(
            url=self._url,
            since=self._since,
            behind=behind,
            waiting=len(self._waiting),
            waiting_by_person=self._waiting.by_person(),
            in_flight_by_person=dict(+self._waiting.in_flight),
            answered=self._ended["answered"],
            failed=self._ended["failed"],
            refused=self._ended["refused"],
            people=len(self._welcome() or ()),
            restarts=sum(one.restarts for one in behind),
        )

    # ---- HTTP

    @asynccontextmanager
    async def open(self, host: str, port: int, *, tls: ssl.SSLContext | None = None) -> AsyncIterator[int]:
        """Listen while in the block; yields the port. Raises PortTaken. On leaving, whatever is in flight is ended."""
        _make_room()
        app = web.Application(client_max_size=self._settings.most_body_bytes)
        for path in POSTS:
            app.router.add_post(path, self._post)
        app.router.add_get("/v1/models", self._models)
        app.router.add_get("/health", self._health)
        app.router.add_get("/metrics", self._metrics_page)
        app.router.add_route("*", "/{rest:.*}", self._nothing_here)
        app.on_response_prepare.append(_named)
        runner = web.AppRunner(
            app, handler_cancellation=True, access_log=None, logger=_LOG, shutdown_timeout=1.0, lingering_time=1.0
        )
        await runner.setup()
        try:
            site = web.TCPSite(runner, host, port, ssl_context=tls, backlog=1024)
            try:
                await site.start()
            except OSError as fault:
                raise _not_listening(host, port, fault) from None
            yield runner.addresses[0][1]
        finally:
            await runner.cleanup()

    async def _post(self, request: web.Request) -> web.StreamResponse:
        ticket = _Ticket(begun_s=time.monotonic())
        try:
            ticket.person = self._person(request)
            with self._counted_in(ticket.person):
                return await self._answered(request, ticket.person, ticket)
        except Refused as refused:
            ticket.ending = "failed" if refused.status in (502, 504) else "refused"
            return refused.answer()
        finally:
            self._told(ticket)

    def _told(self, ticket: _Ticket) -> None:
        self._ended[ticket.ending] += 1
        now_s = time.monotonic()
        if ticket.ending == "answered":
            self._takes_s += 0.1 * (now_s - ticket.begun_s - ticket.waited_s - self._takes_s)
        if used := ticket.used(now_s):
            self._lately_of(used.person).used(used.prompt_tokens + used.output_tokens, day=used.day)
            self._on_used(used)

    def _lately_of(self, name: str) -> Lately:
        if name not in self._lately:
            self._lately[name] = Lately(day=f"{datetime.now(UTC):%Y-%m-%d}", tokens=self._tokens_today(name))
        return self._lately[name]

    def _person(self, request: web.Request) -> Person:
        """Who asks. Raises Refused."""
        welcome = self._welcome()
        if welcome is None:
            return _SOMEBODY
        key = people.key_in([(name.lower(), value) for name, value in request.headers.items()])
        found = welcome.get(people.hash_of(key)) if key else None
        if found is None:
            why = "this is no key that opens" if key else "a key is needed: Authorization: Bearer KEY"
            raise Refused(401, "authentication_error", why)
        return found

    @contextmanager
    def _counted_in(self, person: Person) -> Iterator[None]:
        task = asyncio.current_task()
        assert task is not None
        mine = self._tasks.setdefault(person.name, set())
        mine.add(task)
        try:
            yield
        finally:
            mine.discard(task)

    async def _answered(self, request: web.Request, person: Person, ticket: _Ticket) -> web.StreamResponse:
        body, model, marks = await self._body(request)
        self._require_within_limits(person)
        waits = _Request(asked=model, marks=marks, parallel=person.limits.parallel)
        for tries_left in reversed(range(TRIES)):
            place = await self._turn(person, waits, ticket)
            try:
                return await self._through(request, body, place, ticket)
            except Gone as gone:
                if not tries_left:
                    why = f"{place.record.name} ended before it answered: {gone}"
                    raise Refused(502, "server_error", why) from None
                waits = replace(waits, turn=asyncio.get_running_loop().create_future())
                waits.died.add(place.record.name)
                await asyncio.sleep(DIED_PAUSE_S)  # until whoever watches it has seen it, too
            finally:
                self._leave(place, person)
        raise AssertionError("unreachable")

    async def _body(self, request: web.Request) -> tuple[bytes, str | None, tuple[bytes, ...]]:
        """The bytes, the model they name, and the marks of what they begin with. Raises Refused."""
        try:
            async with asyncio.timeout(self._settings.body_within_s):
                body = await request.read()
        except TimeoutError:
            raise Refused(408, "invalid_request_error", "the request did not arrive in time") from None
        except web.HTTPRequestEntityTooLarge:
            most = self._settings.most_body_bytes >> 20
            raise Refused(413, "invalid_request_error", f"a request has at most {most} MiB") from None
        try:
            data = json.loads(body)
            marks = routing.marks(data) if isinstance(data, dict) else None
        except (ValueError, RecursionError):
            raise Refused(400, "invalid_request_error", "the body is not JSON") from None
        if marks is None:
            raise Refused(400, "invalid_request_error", "the body is not a JSON object")
        model = data.get("model")
        return body, model if isinstance(model, str) else None, marks

    def _require_within_limits(self, person: Person) -> None:
        now, now_s = datetime.now(UTC), time.monotonic()
        midnight = (now + timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0)
        lately = self._lately_of(person.name)
        left_s = (midnight - now).total_seconds()
        too_much = lately.refusal(person.limits, now_s=now_s, day=f"{now:%Y-%m-%d}", seconds_left_of_day=left_s)
        if too_much:
            raise Refused(429, "rate_limit_error", too_much.why, retry_after_s=too_much.retry_after_s)
        lately.began(now_s)

    def _model(self, asked: str | None) -> str | None:
        """The model that is meant: the one that is named; without such a name the only one, None where there are more.

        Clients send all kinds of names to a server with one model, and llama-server takes any.
        """
        models = {place.record.model for place in self._places.values()}
        return asked if asked in models else next(iter(models)) if len(models) == 1 else None

    def _hopeless(self, asked: str | None) -> Refused | None:
        """Why nobody is going to answer a request for this model; None while somebody may."""
        if self._is_closing:
            return Refused(503, "unavailable_error", "the door is closing", retry_after_s=30)
        if not self._places:
            return Refused(503, "unavailable_error", "nothing is served yet", retry_after_s=30)
        model = self._model(asked)
        if model is None:
            known = ", ".join(dict.fromkeys(place.record.model for place in self._places.values()))
            return Refused(404, "invalid_request_error", f"no model {asked!r}; there is {known}")
        there = [place.record for place in self._places.values() if place.record.model == model]
        if any(record.state != "paused" for record in there):
            return None
        why = next((f": {record.why}" for record in there if record.why), "")
        return Refused(503, "unavailable_error", f"{model} is paused{why}", retry_after_s=60)

    # ---- turns

    async def _turn(self, person: Person, request: _Request, ticket: _Ticket) -> Place:
        """A slot of a deployment that has its model. Raises Refused when there is none in time.

        What had its turn and lost it is next of that person's, however many wait by now.
        """
        if (hopeless := self._hopeless(request.asked)) is not None:
            raise hopeless
        full = None if request.died else self._waiting.refusal(person.name)
        wait = self._waiting.put_back if request.died else self._waiting.add
        wait(person.name, request)
        self._pump()
        begun_s = time.monotonic()
        try:
            if full and not request.turn.done():
                raise Refused(429, "rate_limit_error", full, retry_after_s=self._retry_after_s())
            async with asyncio.timeout(max(0.0, self._settings.wait_within_s - ticket.waited_s)):
                return await request.turn
        except BaseException as ended:
            self._waiting.drop(person.name, request)
            if _has_turn(request):  # it came just as the request gave up
                self._leave(request.turn.result(), person)
            if isinstance(ended, TimeoutError):
                why = f"no slot was free within {self._settings.wait_within_s:.0f} s"
                raise Refused(503, "unavailable_error", why, retry_after_s=self._retry_after_s()) from None
            raise
        finally:
            ticket.waited_s += time.monotonic() - begun_s

    def _settle(self) -> None:
        """Something is otherwise: whoever waits in vain is told, whoever can go goes."""
        for request in self._waiting:
            if not request.turn.done() and (hopeless := self._hopeless(request.asked)) is not None:
                request.turn.set_exception(hopeless)
        self._pump()

    def _pump(self) -> None:
        """Give every free slot to whose turn it is."""

        def may(person: str, request: _Request) -> bool:
            most = request.parallel
            has_room = most is None or self._waiting.in_flight[person] < most
            return has_room and not request.turn.done() and self._free(request) is not None

        while (found := self._waiting.next(may)) is not None:
            person, request = found
            place = self._free(request)
            assert place is not None
            self._count += 1
            place.busy, place.used = place.busy + 1, self._count
            self._waiting.in_flight[person] += 1
            self._readers.has_read(place.record.name, request.marks)
            request.turn.set_result(place)

    def _free(self, request: _Request) -> Place | None:
        """Where it can go now. Not to whom it has seen die, while there is another: the dead look free."""
        model = self._model(request.asked)
        open_ones = [
            routing.Open(name=name, free=place.record.slots - place.busy, slots=place.record.slots, used=place.used)
            for name, place in self._places.items()
            if place.is_open and place.record.model == model
        ]
        there = [one for one in open_ones if one.name not in request.died] or open_ones
        chosen = routing.choose(there, self._readers.longest(request.marks) if len(there) > 1 else ())
        return self._places[chosen] if chosen else None

    def _leave(self, place: Place, person: Person) -> None:
        place.busy -= 1
        self._waiting.in_flight[person.name] -= 1
        self._pump()

    def _retry_after_s(self) -> int:
        """When a slot may be free for one more: what requests take, by how many wait for each slot."""
        slots = sum(place.record.slots for place in self._places.values()) or 1
        return max(1, min(300, ceil(self._takes_s * (len(self._waiting) + 1) / slots)))

    # ---- through

    async def _through(self, request: web.Request, body: bytes, place: Place, ticket: _Ticket) -> web.StreamResponse:
        """The answer of one deployment, as it comes. Raises Gone while nothing of it has been passed on."""
        headers = [(n, v) for n, v in request.headers.items() if n.lower() not in NOT_PASSED_ON]
        headers += [("Authorization", f"Bearer {place.key}")] if place.key else []
        at = urlsplit(place.record.url or "")
        deadline = asyncio.get_running_loop().time() + self._settings.answer_within_s
        async with upstream.asked(
            at.hostname or "", at.port or 80, request.raw_path, headers, body, within_s=CONNECT_WITHIN_S
        ) as answer:
            place.answers.add(answer)
            ticket.is_uncounted = request.path not in COUNTLESS
            try:
                async with asyncio.timeout_at(deadline):
                    status, said = await answer.head()
                    ticket.is_uncounted &= status < 400
                    is_stream = said.get("content-type", "").startswith("text/event-stream")
                    whole = None if is_stream else await answer.whole()
                if whole is None:
                    return await self._streamed(request, answer, place, ticket, deadline)
            except TimeoutError:
                why = f"there was no answer within {self._settings.answer_within_s:.0f} s"
                raise Refused(504, "server_error", why) from None
            finally:
                place.answers.discard(answer)
        ticket.is_counted(counting.in_whole(whole))
        ticket.ending = "failed" if status >= 500 else "answered"
        return web.Response(status=status, body=whole, headers=_passed_back(said, place))

    async def _streamed(
        self, request: web.Request, answer: Upstream, place: Place, ticket: _Ticket, deadline: float
    ) -> web.StreamResponse:
        """Every byte as it arrives. A deployment that dies is told in the stream: half an answer is no whole one.

        Raises nothing but being cancelled.
        """
        status, said = await answer.head()
        response = web.StreamResponse(status=status, headers=_passed_back(said, place))
        if request.version >= HttpVersion11:
            response.enable_chunked_encoding()
        outlet = Outlet(request, response, answer, write_within_s=self._settings.write_within_s)
        try:
            await response.prepare(request)
            fault = await outlet.passed(until=deadline)
            if fault:
                broken = f"{place.record.name} ended in the middle of this answer"
                await outlet.write(_broken(fault if fault == Outlet.LATE else broken))
            await response.write_eof()
        except (OSError, TimeoutError):  # the client has gone, or takes nothing
            if request.transport is not None:
                request.transport.abort()
            return response
        finally:
            ticket.pieces = outlet.pieces
            ticket.is_counted(counting.in_stream(outlet.head, bytes(outlet.tail)))
        ticket.ending = "failed" if fault or status >= 500 else "answered"
        return response

    # ---- other pages

    async def _models(self, request: web.Request) -> web.StreamResponse:
        with _answering_refusals() as said:
            self._person(request)
            there: dict[str, int] = {}
            for place in self._places.values():
                there[place.record.model] = max(place.record.context, there.get(place.record.model, 0))
            created = int(self._since.timestamp())
            rows = [
                {"id": name, "object": "model", "owned_by": "evener", "created": created, "context_length": context}
                for name, context in there.items()
            ]
            said.append(web.json_response({"object": "list", "data": rows}))
        return said[0]

    async def _metrics_page(self, request: web.Request) -> web.StreamResponse:
        with _answering_refusals() as said:
            self._person(request)
            said.append(web.Response(text=self._metrics(), content_type="text/plain"))
        return said[0]

    async def _health(self, _request: web.Request) -> web.StreamResponse:
        """200 while anything is ready. Open to all: it says nothing else."""
        is_open = any(place.is_open for place in self._places.values())
        return web.json_response({"status": "ok" if is_open else "not ready"}, status=200 if is_open else 503)

    async def _nothing_here(self, request: web.Request) -> web.StreamResponse:
        with _answering_refusals() as said:
            self._person(request)
            raise Refused(404, "invalid_request_error", f"nothing is at {request.method} {request.path}")
        return said[0]


def _has_turn(request: _Request) -> bool:
    turn = request.turn
    return turn.done() and not turn.cancelled() and turn.exception() is None


def _make_room() -> None:
    """Connections that say nothing cost a descriptor each, and the usual thousand is soon used up by one client."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_CONNECTIONS if hard == resource.RLIM_INFINITY else min(hard, MOST_CONNECTIONS)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _not_listening(host: str, port: int, fault: OSError) -> HostError:
    if fault.errno == errno.EADDRINUSE:
        return PortTaken(f"{host}:{port}: somebody listens there already", hint="[serve] names another port")
    why = os.strerror(fault.errno) if fault.errno else str(fault)
    return HostError(f"{host}:{port}: cannot listen there: {why}", hint="[serve] host is an address of this machine")


def _quotes_nothing(record: logging.LogRecord) -> bool:
    """Whether it is ours to know. What is said of a request that is no HTTP quotes it, and a key may be in it."""
    return not (record.exc_info and isinstance(record.exc_info[1], HttpProcessingError))


_LOG = logging.getLogger("evener.door")
_LOG.addFilter(_quotes_nothing)


def _broken(fault: str | None) -> bytes:
    """An error inside a stream: as a line of its own, whatever came last."""
    return f"\n\ndata: {json.dumps(error(502, 'server_error', fault or ''))}\n\n".encode()


async def _named(_request: web.Request, response: web.StreamResponse) -> None:
    response.headers["Server"] = "evener"  # and not which libraries, of which versions


def _passed_back(headers: Mapping[str, str], place: Place) -> list[tuple[str, str]]:
    kept = [(name, value) for name, value in headers.items() if name not in NOT_PASSED_BACK]
    return [*kept, ("X-Evener-Deployment", place.record.name)]


@contextmanager
def _answering_refusals() -> Iterator[list[web.StreamResponse]]:
    """The block appends its answer; a refusal in it is the answer instead."""
    said: list[web.StreamResponse] = []
    try:
        yield said
    except Refused as refused:
        said[:] = [refused.answer()]
