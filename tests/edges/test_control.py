"""A supervisor's socket: followers get everything in order, and none of them can hold the supervisor up."""

from __future__ import annotations

import asyncio
import json
import time

import pytest

from evener.edges.control import MOST_WAITING, Control, ask, borrow
from evener.errors import HostBusy, HostError


@pytest.fixture
def path(tmp_path):
    return tmp_path / ("deep" * 30) / "control.sock"  # longer than the 108 bytes of the kernel


def control(asked=None):
    return Control(status=lambda: {"name": "here"}, on_down=(asked or asyncio.Event()).set)


async def followed(path, what="follow"):
    return [message async for message in ask(path, what)]


async def test_status_is_one_message(path):
    async with control().listening(path):
        assert await followed(path, "status") == [{"deployment": {"name": "here"}}]


async def test_a_follower_gets_everything_in_order_and_then_the_end(path):
    made = control()
    async with made.listening(path):
        follower = asyncio.ensure_future(followed(path))
        await asyncio.sleep(0.1)
        for number in range(100):
            made.publish({"n": number})
    assert [m["n"] for m in (await follower)[1:]] == list(range(100))


async def test_down_is_heard_even_when_the_asker_leaves_at_once(path):
    asked = asyncio.Event()
    async with control(asked).listening(path):
        async for _ in ask(path, "down"):
            break
        await asyncio.wait_for(asked.wait(), 2)


async def test_a_follower_that_does_not_read_cannot_hold_the_supervisor_up(path):
    made = control()
    begun = time.monotonic()
    async with made.listening(path):
        _, writer = await asyncio.open_unix_connection(str(path)) if len(str(path)) < 100 else await _connect(path)
        writer.write(b'{"do": "follow"}\n')
        await asyncio.sleep(0.1)
        for number in range(MOST_WAITING * 3):
            made.publish({"n": number, "text": "x" * 2000})
    assert time.monotonic() - begun < 6
    writer.close()


async def _connect(path):
    import os

    descriptor = os.open(path.parent, os.O_RDONLY)
    try:
        return await asyncio.open_unix_connection(f"/proc/self/fd/{descriptor}/{path.name}")
    finally:
        os.close(descriptor)


@pytest.mark.parametrize("sent", [b"[]\n", b'"x"\n', b"{\n", b"\xff\n", b"\n"])
async def test_nonsense_is_answered_or_dropped_and_harms_nobody(path, sent):
    async with control().listening(path):
        reader, writer = await _connect(path)
        writer.write(sent)
        await asyncio.wait_for(reader.read(), 2)
        writer.close()
        assert json.dumps(await followed(path, "status"))


async def test_nobody_listening_is_no_message(tmp_path):
    assert await followed(tmp_path / "control.sock") == []


async def test_a_folder_that_cannot_be_made_is_one_line(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(HostError, match="cannot write"):
        async with control().listening(tmp_path / "file" / "control.sock"):
            pass


class Lender:
    """Lends when told to; says what happened."""

    def __init__(self, refusal=None):
        self.refusal = refusal
        self.down = asyncio.Event()
        self.happened = []

    async def lend(self):
        if self.refusal is None:
            await self.down.wait()
            self.happened.append("lent")
        return self.refusal

    def give_back(self):
        self.happened.append("given back")


async def borrowed(path):
    async with borrow(path):
        pass


def lending(lender):
    return Control(status=dict, on_down=lambda: None, lender=lender)


async def test_what_is_lent_is_given_back_when_the_block_is_left(path):
    lender = Lender()
    lender.down.set()
    async with lending(lender).listening(path):
        async with borrow(path):
            assert lender.happened == ["lent"]
        await asyncio.sleep(0.1)
        assert lender.happened == ["lent", "given back"]


async def test_a_borrower_who_gives_up_before_anything_was_lent_gives_it_back_too(path):
    lender = Lender()
    async with lending(lender).listening(path):
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(borrowed(path), 0.2)
        await asyncio.sleep(0.1)
        assert lender.happened == ["given back"]


async def test_a_refused_loan_says_why_and_gives_nothing_back(path):
    lender = Lender(refusal="it does not serve now")
    async with lending(lender).listening(path):
        with pytest.raises(HostBusy, match="it does not serve now"):
            await borrowed(path)
    assert lender.happened == []


async def test_nobody_lends_where_nobody_listens(path):
    path.parent.mkdir()
    with pytest.raises(HostBusy, match="does not listen"):
        await borrowed(path)
