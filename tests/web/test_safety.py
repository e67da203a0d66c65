"""Who may talk to the page: other names, other origins, no token, old pages, large bodies, slow ones."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from evener.errors import ConfigurationError, PortTaken
from evener.web import safety
from evener.web.serve import Place, rules_of, serve
from tests.web.conftest import Page, opened

CHANGES = ("/deploy/start", "/deploy/plan", "/live/start", "/review/as", "/deploy/a/stop", "/live/a/cancel")


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1", "localhost:1", "", "0.0.0.0"])
async def test_another_name_is_nobody_here(page: Page, host: str) -> None:
    status, text = await page.get("/", Host=host)
    assert status in (400, 421)
    assert "csrf" not in text.lower()


@pytest.mark.parametrize(
    "headers",
    [{"Origin": "http://evil.example"}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"},
     {"Sec-Fetch-Site": "same-site"}],
)  # fmt: skip
async def test_another_page_may_neither_read_nor_change(page: Page, headers: dict[str, str]) -> None:
    assert (await page.get("/", **headers))[0] == 403
    for path in CHANGES:
        assert (await page.post(path, headers=headers))[0] == 403


@pytest.mark.parametrize("headers", [{"X-CSRF-Token": ""}, {"X-CSRF-Token": "x" * 43}, {"Origin": ""}])
async def test_a_change_needs_what_only_our_page_has(page: Page, headers: dict[str, str]) -> None:
    for path in CHANGES:
        assert (await page.post(path, headers=headers))[0] == 403


async def test_our_own_page_may(page: Page) -> None:
    assert (await page.get("/"))[0] == 200
    assert (await page.post("/review/as", {"reviewer": "Ann"}))[0] == 204


async def test_every_answer_forbids_what_it_does_not_need(page: Page) -> None:
    for path in ("/", "/style.css", "/static/htmx.min.js", "/nothing", "/runs"):
        async with page.session.get(page.url + path) as answer:
            assert answer.headers["X-Content-Type-Options"] == "nosniff"
            assert "default-src 'self'" in answer.headers["Content-Security-Policy"]
            assert "unsafe-eval" not in answer.headers["Content-Security-Policy"]
            assert answer.headers["Referrer-Policy"] == "no-referrer"


# ---- beyond this machine


def test_the_network_needs_encryption_or_an_explicit_word() -> None:
    with pytest.raises(ConfigurationError, match="without encryption"):
        rules_of(Place(host="192.0.2.1"), 8190)
    assert rules_of(Place(host="192.0.2.1", open_in_clear=True), 8190).token is not None
    assert rules_of(Place(), 8190).token is None


async def test_without_the_token_nothing_but_its_question_is_shown(rig: Path) -> None:
    async with opened(rig, host="0.0.0.0", open_in_clear=True, names=("127.0.0.1", "localhost")) as page:
        page.url = page.url.replace("0.0.0.0", "127.0.0.1")
        host = page.url.removeprefix("http://")
        page.session.headers["Host"] = host
        assert (await page.get("/"))[0] == 303
        assert (await page.get("/login"))[0] == 200
        for path in CHANGES:
            assert (await page.post(path))[0] == 401
        assert (await page.post("/login", {"token": "wrong"}))[0] == 401
        assert (await page.get("/runs", Cookie=f"{safety.COOKIE}=wrong"))[0] == 303
        assert page.token is not None
        async with page.session.post(
            page.url + "/login", data={"token": page.token}, headers={"Origin": page.url}, allow_redirects=False
        ) as answer:
            assert answer.status == 303
            cookie = answer.headers["Set-Cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=strict" in cookie
        assert (await page.get("/runs", Cookie=cookie.partition(";")[0]))[0] == 200


# ---- bodies


async def test_a_hundred_megabytes_are_not_taken(page: Page) -> None:
    assert (await page.post("/review/as", b"x" * (safety.MOST_BODY_BYTES + 1)))[0] == 413

    async def endless() -> AsyncIterator[bytes]:
        for _ in range(1600):
            yield b"x" * 65536

    try:
        status, _ = await page.post("/review/as", endless())
    except aiohttp.ClientError:
        status = 413  # the connection was closed in the middle of it
    assert status in (400, 413)
    assert (await page.get("/"))[0] == 200


async def test_slow_clients_hold_up_nobody(page: Page) -> None:
    host, _, port = page.url.removeprefix("http://").partition(":")
    slow = [await asyncio.open_connection(host, int(port)) for _ in range(50)]
    for _, writer in slow:
        writer.write(b"POST /review/as HTTP/1.1\r\nHost: ")
    async with asyncio.timeout(10):
        assert (await page.get("/runs"))[0] == 200
    for _, writer in slow:
        writer.close()


# ---- what is text stays text


@pytest.mark.parametrize("path", ["/runs/..%2f..%2fetc%2fpasswd", "/runs/%2e%2e", "/runs/%2fetc", "/live/..%2f..",
                                  "/review/..%2f..", "/runs/..%2f..%2fetc/report.html", "/static/../app.py",
                                  "/static/%2e%2e/app.py", "/deploy/..%2f..%2fx", "/deploy/%00"])  # fmt: skip
async def test_no_name_leads_out_of_its_folder(page: Page, path: str) -> None:
    page.session.cookie_jar.update_cookies({"evener-reviewer": "Ann"})
    status, text = await page.get(path)
    assert status in (303, 400, 404), status
    assert "root:" not in text
    assert "import" not in text


@pytest.mark.parametrize("model", ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "{{ 7*7 }}", "-rf"])
async def test_a_model_that_is_a_script_is_a_name(page: Page, model: str) -> None:
    for path in ("/plan?model=", "/plan/answer?model=", "/runs?model=", "/deploy?model="):
        async with page.session.get(page.url + path.rstrip("="), params={"model": model}) as answer:
            text = await answer.text()
            assert "<script>alert" not in text
            assert "<img src=x" not in text
            assert "49" not in text.partition(model[:3])[2][:40]


async def test_back_from_the_language_leads_nowhere_else(page: Page) -> None:
    for back in ("//evil.example", "http://evil.example", "/\\evil.example"):
        async with page.session.get(page.url + "/language/zh", params={"back": back}, allow_redirects=False) as answer:
            assert answer.status == 303
            assert "evil" not in answer.headers["Location"] or answer.headers["Location"].startswith("/%5C")


async def test_a_port_that_is_taken_is_one_line(page: Page, rig: Path) -> None:
    port = int(page.url.rpartition(":")[2])
    with pytest.raises(PortTaken, match=str(port)):
        await serve(str(rig), Place(port=port), on_open=lambda _url, _token: None)


def test_a_token_is_compared_in_a_time_that_says_nothing() -> None:
    assert safety.same("a" * 32, "a" * 32)
    assert not safety.same("a" * 32, "a" * 31 + "b")
    assert not safety.same("", "a")
