from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evener.dialects.http1 import LONGEST_BODY_BYTES, LONGEST_HEAD_BYTES, ResponseReader

CHUNKED = (
    b"HTTP/1.1 100 Continue\r\n\r\n"
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"5\r\nhello\r\n"
    b"00A;why=not\r\n\r\n\r\n0\r\n\r\n!\r\n"  # a chunk that looks like the end of a body
    b"0\r\nTrailer: x\r\n\r\n"
)
BODY = b"hello\r\n\r\n0\r\n\r\n!"
SIZED = b"HTTP/1.1 404 Not Found\r\ncontent-length: 3\r\nConnection: keep-alive\r\n\r\nno!"


def read(*pieces: bytes) -> ResponseReader:
    reader = ResponseReader()
    for at_ns, piece in enumerate(pieces):
        reader.feed(at_ns, piece)
    return reader


def body(reader: ResponseReader) -> bytes:
    return b"".join(piece for _, piece in reader.pieces)


@pytest.mark.parametrize(("raw", "status", "expected"), [(CHUNKED, 200, BODY), (SIZED, 404, b"no!")])
def test_an_answer_cut_at_any_byte_is_complete_with_its_last_byte_only(
    raw: bytes, status: int, expected: bytes
) -> None:
    for at in range(len(raw)):
        reader = read(raw[:at])
        assert not reader.complete, at
        reader.feed(1, raw[at:])
        assert (reader.complete, reader.status, body(reader), reader.fault) == (True, status, expected, None), at
        assert reader.keep_alive


def test_an_answer_byte_by_byte_is_the_same_answer() -> None:
    assert body(read(*(CHUNKED[at : at + 1] for at in range(len(CHUNKED))))) == BODY


def test_each_piece_carries_the_time_of_its_own_read() -> None:
    head, rest = CHUNKED.split(b"5\r\nhel")
    assert read(head, b"5\r\nhel", rest).pieces[:2] == [(1, b"hel"), (2, b"lo")]


def test_without_a_length_the_body_ends_with_the_connection() -> None:
    reader = read(b"HTTP/1.1 200 OK\r\n\r\nab", b"cd")
    assert not reader.complete
    reader.end()
    assert (reader.complete, body(reader), reader.keep_alive) == (True, b"abcd", False)


def test_a_chunked_body_without_its_end_is_not_complete_when_the_connection_ends() -> None:
    reader = read(CHUNKED[:-2])
    reader.end()
    assert not reader.complete


@pytest.mark.parametrize(
    ("head", "kept"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", True),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: Close\r\n\r\n", False),
        (b"HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n", False),
        (b"HTTP/1.0 200 OK\r\nContent-Length: 0\r\nConnection: keep-alive\r\n\r\n", True),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nsurplus", False),
    ],
)
def test_a_connection_is_kept_only_when_both_sides_may_use_it_again(head: bytes, kept: bool) -> None:
    reader = read(head)
    assert reader.complete
    assert reader.keep_alive is kept


@pytest.mark.parametrize(
    "raw",
    [
        b"SSH-2.0-OpenSSH_9.2\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: -3\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-5\r\nhello\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 3, 4\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: " + b"9" * 5000 + b"\r\n\r\n",
        b"HTTP/1.1 \xb2\xb2\xb2 OK\r\n\r\n",
        b"HTTP/1.1 20\r\n\r\n",
        b"HTTP/2 200\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0x5\r\nhello\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhelloxx0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"0" * (LONGEST_HEAD_BYTES + 1),
        b"x" * (LONGEST_HEAD_BYTES + 1),
    ],
)
def test_bytes_that_are_not_http_are_a_fault_in_one_line(raw: bytes) -> None:
    reader = read(raw)
    assert reader.fault is not None
    assert "\n" not in reader.fault
    assert not reader.complete


def test_an_answer_without_end_is_a_fault_and_not_the_end_of_our_memory() -> None:
    reader = read(b"HTTP/1.1 200 OK\r\n\r\n")
    for _ in range(LONGEST_BODY_BYTES // (1 << 20)):
        reader.feed(1, b"x" * (1 << 20))
    assert reader.fault is None
    reader.feed(1, b"x")
    assert reader.fault == "the answer is longer than 64 MiB"
    reader.end()
    assert not reader.complete


def test_several_informational_answers_come_before_the_answer() -> None:
    early = b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n"
    assert read(early + SIZED).status == 404


def test_an_answer_without_a_body_is_complete_with_its_head() -> None:
    for status in (204, 304):
        assert read(b"HTTP/1.1 %d X\r\n\r\n" % status).complete


@settings(deadline=None)
@given(cuts=st.lists(st.integers(0, len(CHUNKED)), max_size=12))
def test_no_cut_changes_an_answer(cuts: list[int]) -> None:
    places = sorted({0, len(CHUNKED), *cuts})
    reader = read(*(CHUNKED[a:b] for a, b in pairwise(places)))
    assert (reader.complete, reader.keep_alive, body(reader)) == (True, True, BODY)


@settings(deadline=None)
@given(raw=st.binary(max_size=300), start=st.sampled_from([b"", b"HTTP/1.1 ", CHUNKED[:30], CHUNKED[:112]]))
def test_no_bytes_at_all_make_the_reader_raise(raw: bytes, start: bytes) -> None:
    read(start, raw).end()


HEAD = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    ("read_at_once", "content"),
    [
        (b"5\r\nhello\r\n", b"hello"),
        (b"7\r\nhel\r\nlo\r\n", b"hel\r\nlo"),
        (b"5\r\nhello\r\n5\r\nagain\r\n", b"helloagain"),
        (b"5\r\nhello\r\n6\r\nagai\r\n", b"helloagai\r\n"),  # a chunk that is not whole, though it looks so
        (b"0\r\n\r\n", b""),
    ],
)
def test_what_one_read_brings_is_read_whether_it_is_one_chunk_or_not(read_at_once: bytes, content: bytes) -> None:
    reader = read(HEAD, read_at_once)
    assert (body(reader), reader.fault, reader.complete) == (content, None, content == b"")


@pytest.mark.parametrize("no_size", [b"zz\r\nhello\r\n", b"+5\r\nhello\r\n", b"1_0\r\nhello\r\n"])
def test_what_is_no_chunk_size_is_a_fault_also_in_a_read_that_looks_like_one_chunk(no_size: bytes) -> None:
    assert read(HEAD, no_size).fault is not None


def test_an_answer_that_is_too_long_is_a_fault_also_in_whole_chunks() -> None:
    piece = b"100000\r\n" + b"x" * (1 << 20) + b"\r\n"
    reader = read(HEAD, *[piece] * ((LONGEST_BODY_BYTES >> 20) + 1))
    assert reader.fault is not None
    assert len(reader.pieces) == LONGEST_BODY_BYTES >> 20
