"""Streams as the WHATWG standard's section 9.2.6 describes them; expected events worked out by hand."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evener.dialects.sse import Event, SseParser

CAPTURES = Path(__file__).parent.parent / "captures" / "sse"


def events(*pieces: bytes) -> list[Event]:
    parser = SseParser()
    return [event for piece in pieces for event in parser.feed(piece)]


def message(data: str) -> Event:
    return Event("message", data)


@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"])
def test_every_line_ending_of_the_standard_ends_a_line(end: bytes) -> None:
    assert events(b"data: a" + end + end + b"data: b" + end + end) == [message("a"), message("b")]


def test_a_cr_lf_cut_between_its_bytes_is_one_line_end() -> None:
    assert events(b"data: a\r", b"\ndata: b\r", b"\n\r", b"\n") == [message("a\nb")]


def test_a_lone_cr_at_the_end_of_a_read_dispatches_at_once() -> None:
    parser = SseParser()
    assert parser.feed(b"data: a\r\r") == [message("a")]


def test_data_lines_of_one_event_are_joined_by_newlines() -> None:
    assert events(b"data: YHOO\ndata: +2\ndata: 10\n\n") == [message("YHOO\n+2\n10")]


def test_only_one_space_after_the_colon_is_taken_away() -> None:
    assert events(b"data:a\n\ndata:  b\n\n") == [message("a"), message(" b")]


def test_data_without_a_value_is_an_event_with_empty_data() -> None:
    assert events(b"data\n\n", b"data:\ndata\n\n") == [message(""), message("\n")]


def test_comments_and_other_fields_are_no_events() -> None:
    assert events(b": ping\n\nid: 7\nretry: 10\nfoo: bar\n\nevent: lonely\n\n") == []


def test_a_type_belongs_to_its_own_event_only() -> None:
    assert events(b"event: error\ndata: a\n\ndata: b\n\n") == [Event("error", "a"), message("b")]


def test_a_byte_order_mark_is_dropped_at_the_start_and_nowhere_else() -> None:
    assert events(b"\xef", b"\xbb\xbfdata: a\n\n") == [message("a")]
    assert events(b"data: a\n\n\xef\xbb\xbfdata: b\n\n") == [message("a")]


def test_a_field_named_error_is_an_error_though_the_standard_knows_none() -> None:
    assert events(b'data: a\n\nerror: {"code":500}\n\n') == [message("a"), Event("error", '{"code":500}')]


def test_a_line_that_begins_with_a_brace_is_told_at_its_end_and_belongs_to_no_event() -> None:
    assert events(b'data: a\n{"error":"b:c"}\ndata: d\n\n') == [Event("", '{"error":"b:c"}'), message("a\nd")]


def test_a_line_without_its_end_is_unfinished() -> None:
    parser = SseParser()
    parser.feed(b'data: a\n\n{"err')
    assert parser.unfinished == '{"err'


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        # The examples of the standard's section 9.2.6, as they stand there.
        (b"data: YHOO\ndata: +2\ndata: 10\n\n", [message("YHOO\n+2\n10")]),
        (
            b": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n",
            [message("first event"), message("second event")],
        ),
        (b"data\n\ndata\ndata\n\ndata:\n", [message(""), message("\n")]),
        (b"data:test\n\ndata: test\n\n", [message("test"), message("test")]),
    ],
)
def test_the_examples_of_the_standard(raw: bytes, expected: list[Event]) -> None:
    assert events(raw) == expected


def test_a_field_name_with_a_space_before_its_colon_is_another_field() -> None:
    assert events(b"data : a\n\n Data: b\n\nDATA: c\n\n") == []


def test_bytes_that_are_no_utf8_are_replaced_also_where_a_read_cuts_them() -> None:
    assert events(b"data: \xff\xe2\x82", b"\n\n") == [message("��")]


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        ((b":\n", b"data: a\n\n", b"data: b\n\n"), [message("a"), message("b")]),
        ((b":\nda", b"data: a\n\n"), []),  # the field "dadata"
        ((b"data: a\n", b"data: b\n\n"), [message("a\nb")]),
        ((b"event: x\n", b"data: b\n\n"), [Event("x", "b")]),
        ((b":\n", b"data: a\rdata: b\n\n"), [message("a\nb")]),
        ((b":\n", b"data: a\n\ndata: b\n\n"), [message("a"), message("b")]),
        ((b":\n", b"data: a\n", b"\n"), [message("a")]),
        ((b"data: a\n\n", b"\xef\xbb\xbfdata: b\n\n"), [message("a")]),
        ((b":\n", b"data: \n\n", b"data:  \xff\n\n"), [message(""), message(" �")]),
    ],
)
def test_a_read_that_looks_like_a_whole_event_belongs_to_what_came_before(
    pieces: tuple[bytes, ...], expected: list[Event]
) -> None:
    assert events(*pieces) == expected == events(b"".join(pieces))


def test_an_event_that_the_end_cuts_off_is_discarded() -> None:
    assert events(b"data: a\n\ndata: b\n") == [message("a")]


def test_a_character_cut_in_two_reads_is_whole() -> None:
    assert events(b"data: \xc3", b"\xa9\n\n") == [message("é")]


@pytest.mark.parametrize("path", sorted(CAPTURES.glob("*.http")), ids=lambda path: path.stem)
def test_a_captured_stream_cut_in_two_at_any_byte_is_the_same_stream(path: Path) -> None:
    raw = path.read_bytes()
    whole = events(raw)
    for at in range(len(raw) + 1):
        assert events(raw[:at], raw[at:]) == whole, at


LINES = b"data: a|data|:|event: x||\xef\xbb\xbfdata: b|data:\xe2\x82|id: 1|error: e|{}|data:  b:c".split(b"|")


@settings(deadline=None)
@given(
    lines=st.lists(st.sampled_from(LINES), max_size=12),
    ends=st.lists(st.sampled_from([b"\n", b"\r", b"\r\n"]), min_size=12, max_size=12),
    cuts=st.lists(st.integers(0, 150), max_size=8),
)
def test_no_cut_changes_what_any_stream_says(lines: list[bytes], ends: list[bytes], cuts: list[int]) -> None:
    raw = b"".join(line + end for line, end in zip(lines, ends, strict=False))
    places = sorted({0, len(raw), *(min(cut, len(raw)) for cut in cuts)})
    assert events(*(raw[a:b] for a, b in pairwise(places))) == events(raw)
