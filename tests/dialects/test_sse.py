"""Streams as the WHATWG standard's section 9.2.6 describes them; expected events worked out by hand."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
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


@given(
    lines=st.lists(
        st.sampled_from([b"data: a", b"data", b": c", b"event: x", b"", b"\xef\xbb\xbfdata: b"]), max_size=12
    ),
    ends=st.lists(st.sampled_from([b"\n", b"\r", b"\r\n"]), min_size=12, max_size=12),
    cuts=st.lists(st.integers(0, 150), max_size=8),
)
def test_no_cut_changes_what_any_stream_says(lines: list[bytes], ends: list[bytes], cuts: list[int]) -> None:
    raw = b"".join(line + end for line, end in zip(lines, ends, strict=False))
    places = sorted({0, len(raw), *(min(cut, len(raw)) for cut in cuts)})
    assert events(*(raw[a:b] for a, b in pairwise(places))) == events(raw)
