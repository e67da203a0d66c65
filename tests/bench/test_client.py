"""The load client against real sockets: a fake engine, and servers of a few lines that misbehave."""

from __future__ import annotations

import asyncio
import gzip
import shlex
import shutil
import ssl
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from evener.bench.client import BaseUrl, Line, base_url, trusted
from evener.dialects.openai_stream import read
from evener.errors import ConfigurationError
from evener.testing.fake_engine import FakeEngine, fake_engine

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


@asynccontextmanager
async def server(handler: Handler) -> AsyncIterator[BaseUrl]:
    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await handler(reader, writer)
        finally:
            writer.close()

    listening = await asyncio.start_server(connected, "127.0.0.1", 0)
    async with listening:
        yield base_url(f"127.0.0.1:{listening.sockets[0].getsockname()[1]}")


@pytest.mark.parametrize(
    "text",
    [
        "127.0.0.1:80",
        "http://127.0.0.1",
        "http://127.0.0.1/",
        "http://127.0.0.1/v1/",
        "http://127.0.0.1:80/v1/chat/completions",
    ],
)
def test_what_people_type_names_one_base_url(text: str) -> None:
    assert str(base_url(text)) == "http://127.0.0.1:80"


def test_a_base_url_keeps_its_prefix_and_its_brackets() -> None:
    assert str(base_url("https://[::1]/openai/v1")) == "https://[::1]:443/openai"


@pytest.mark.parametrize("text", ["ftp://a", "http://", "http://a:99999", "http://me:secret@a/v1"])
def test_a_bad_url_is_one_line_without_its_secrets(text: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        base_url(text)
    assert "secret" not in caught.value.message


async def test_a_kept_connection_is_used_again() -> None:
    async with fake_engine(FakeEngine()) as engine, Line(base_url(engine.url)) as line:
        first = await line.get("/health", within_s=5)
        second = await line.get("/health", within_s=5)
    assert (first.status, second.body) == (200, b'{"status": "ok"}')
    assert first.connect_s is not None
    assert second.connect_s is None
    assert engine.connections == 1


async def test_a_reused_connection_that_returned_no_byte_is_tried_once_more_and_counted() -> None:
    async with fake_engine(FakeEngine(hangs_up_on_reuse=True)) as engine, Line(base_url(engine.url)) as line:
        seen = [await line.get("/health", within_s=5) for _ in range(4)]
    assert [one.status for one in seen] == [200] * 4
    assert [one.retried for one in seen] == [False, True, False, False]  # and then it knows this server


async def test_a_first_connection_that_is_closed_is_not_tried_again() -> None:
    async def closes(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        served.append(1)

    served: list[int] = []
    async with server(closes) as url, Line(url) as line:
        answer = await line.get("/", within_s=5)
    assert (answer.ending, answer.retried, len(served)) == ("cut", False, 1)


async def test_a_reused_connection_that_returned_a_byte_is_not_tried_again() -> None:
    async def dies(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(OK)
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTT")

    async with server(dies) as url, Line(url) as line:
        await line.get("/", within_s=5)
        answer = await line.get("/", within_s=5)
    assert (answer.ending, answer.retried) == ("cut", False)


async def test_a_farewell_on_an_idle_connection_is_not_the_next_answer() -> None:
    async def times_out(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(OK)
        await writer.drain()
        await asyncio.sleep(0.05)
        writer.write(b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n")
        await writer.drain()
        await reader.read()

    async with server(times_out) as url, Line(url) as line:
        await line.get("/", within_s=5)
        await asyncio.sleep(0.2)
        assert (await line.get("/", within_s=5)).status == 200


async def test_silence_ends_at_the_deadline_and_the_connection_with_it() -> None:
    async with fake_engine(FakeEngine(scenario="stall")) as engine, Line(base_url(engine.url)) as line:
        answer = await line.post(
            "/v1/chat/completions", b'{"stream": true, "max_tokens": 4, "messages": [{"content": "a"}]}', within_s=0.3
        )
        assert (answer.ending, answer.status) == ("timeout", 200)
        assert answer.pieces
        assert (await line.get("/health", within_s=5)).connect_s is not None


async def test_an_answer_that_is_given_up_keeps_what_came_of_it_and_is_not_asked_for_again() -> None:
    body = b'{"stream": true, "max_tokens": 4, "messages": [{"content": "a"}]}'
    async with fake_engine(FakeEngine(scenario="stall")) as engine, Line(base_url(engine.url)) as line:
        asked = asyncio.ensure_future(line.post("/v1/chat/completions", body, within_s=60))
        while len(line.so_far) < 2:
            await asyncio.sleep(0.01)
        line.give_up("the level is over")
        answer = await asked
        line.give_up("nothing is in flight")
        assert (answer.ending, answer.detail, len(answer.pieces)) == ("timeout", "the level is over", 2)
        assert not answer.retried
        assert (await line.get("/health", within_s=5)).connect_s is not None
    assert len(engine.seen) == 1


async def test_nobody_listening_is_an_answer_and_no_exception(unused_tcp_port: int) -> None:
    async with Line(base_url(f"127.0.0.1:{unused_tcp_port}")) as line:
        answer = await line.get("/", within_s=5)
    assert (answer.ending, answer.sent_ns, answer.detail) == ("unreachable", None, "connection refused")


async def test_another_protocol_on_the_port_is_a_fault() -> None:
    async def greets(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"SSH-2.0-x\r\n\r\n")
        await writer.drain()

    async with server(greets) as url, Line(url) as line:
        answer = await line.get("/", within_s=5)
    assert answer.ending == "cut"
    assert "not HTTP" in (answer.detail or "")


async def test_the_key_goes_out_as_a_bearer_token() -> None:
    async with fake_engine(FakeEngine(api_key="k1")) as engine:
        async with Line(base_url(engine.url), api_key="k1") as line:
            assert (await line.get("/v1/models", within_s=5)).status == 200
        async with Line(base_url(engine.url)) as line:
            assert (await line.get("/v1/models", within_s=5)).status == 401


async def test_sent_is_when_the_last_byte_had_gone_also_for_a_long_prompt() -> None:
    took: list[float] = []

    async def reads_late(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        loop = asyncio.get_running_loop()
        await asyncio.sleep(0.3)  # the socket's buffers fill meanwhile
        head = await reader.readuntil(b"\r\n\r\n")
        await reader.readexactly(int(head.split(b"Content-Length: ")[1].split(b"\r\n")[0]))
        took.append(loop.time())
        writer.write(OK)
        await writer.drain()

    async with server(reads_late) as url, Line(url) as line:
        begun = asyncio.get_running_loop().time()
        answer = await line.post("/", b"x" * (32 << 20), within_s=20)
    assert answer.sent_ns is not None
    assert (answer.end_ns - answer.sent_ns) / 1e9 < (took[0] - begun) / 2  # most of it was sending


async def test_a_cancelled_exchange_closes_its_connection() -> None:
    gone = asyncio.Event()

    async def waits(reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
        await reader.read()
        gone.set()

    async with server(waits) as url, Line(url) as line:
        task = asyncio.ensure_future(line.get("/", within_s=60))
        await asyncio.sleep(0.05)
        task.cancel()
        await asyncio.wait([task])
        async with asyncio.timeout(5):
            await gone.wait()


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """A certificate for 127.0.0.1 with its key, in one file."""
    if shutil.which("openssl") is None:
        pytest.skip("needs openssl")
    where = tmp_path / "server.pem"
    asked = shlex.split("req -x509 -nodes -newkey ec -pkeyopt ec_paramgen_curve:P-256 -days 2 -subj /CN=x -addext")
    subprocess.run(
        ["openssl", *asked, "subjectAltName=IP:127.0.0.1", "-keyout", where, "-out", tmp_path / "cert"],
        capture_output=True,
        check=True,
    )
    where.write_bytes(where.read_bytes() + (tmp_path / "cert").read_bytes())
    return where


@asynccontextmanager
async def secure_server(certificate: Path) -> AsyncIterator[BaseUrl]:
    """Answers in two writes, and hangs up without a word after the second request."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for _ in range(2):
            with suppress(asyncio.IncompleteReadError):
                await reader.readuntil(b"\r\n\r\n")
            writer.write(OK[:-1])
            await asyncio.sleep(0.02)
            writer.write(OK[-1:])
        writer.close()

    listening = await asyncio.start_server(connected, "127.0.0.1", 0, ssl=context)
    async with listening:
        yield base_url(f"https://127.0.0.1:{listening.sockets[0].getsockname()[1]}")


async def test_a_trusted_server_is_spoken_to_in_tls(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    trusted.cache_clear()
    async with secure_server(certificate) as url, Line(url) as line:
        first, second = await line.get("/", within_s=5), await line.get("/", within_s=5)
    trusted.cache_clear()
    assert (first.status, first.body, second.body) == (200, b"ok", b"ok")
    assert first.connect_s is not None
    assert second.connect_s is None
    assert first.sent_ns is not None
    assert first.sent_ns < first.pieces[0][0] < first.pieces[1][0]


async def test_a_server_whose_certificate_nobody_trusts_cannot_be_reached(certificate: Path) -> None:
    async with secure_server(certificate) as url, Line(url) as line:
        answer = await line.get("/", within_s=5)
    assert answer.ending == "unreachable"
    assert "certificate verify failed" in (answer.detail or "")
    assert "\n" not in (answer.detail or "")


async def test_a_compressed_answer_is_read_to_its_end_and_named_as_such() -> None:
    async def compresses(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.readuntil(b"\r\n\r\n"))
        body = gzip.compress(b'data: {"choices": []}\n\n')
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        await writer.drain()

    asked: list[bytes] = []
    async with server(compresses) as url, Line(url) as line:
        answer = await line.get("/", within_s=5)
    assert b"Accept-Encoding: identity\r\n" in asked[0]
    told = read(answer, id=1, users=1, user=0, started_ns=0)
    assert (told.failure, told.detail) == (
        "client_invalid",
        "the answer is compressed (gzip), which was not asked for",
    )
