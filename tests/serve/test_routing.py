"""Which deployment answers: prefix, free slots, and when a reader is too busy to be worth it."""

from __future__ import annotations

from typing import Any

from evener.serve import routing
from evener.serve.routing import Open, Readers, choose, marks

LONG = "word " * 500


def chat(*texts: str, **more: Any) -> dict[str, Any]:
    roles = ("user", "assistant")
    return {"messages": [{"role": roles[i % 2], "content": text} for i, text in enumerate(texts)], **more}


def open_(name: str, free: int, *, slots: int = 4, used: int = 0) -> Open:
    return Open(name=name, free=free, slots=slots, used=used)


def test_a_conversation_that_goes_on_begins_with_all_marks_of_what_it_was() -> None:
    first = marks(chat(LONG))
    later = marks(chat(LONG, "an answer", "one more question"))
    assert first
    assert later[: len(first)] == first
    assert len(later) == len(first) + 2


def test_another_beginning_another_model_or_other_tools_have_other_marks() -> None:
    same = marks(chat(LONG))
    others = (chat("x" + LONG), chat(LONG, model="m"), chat(LONG, tools=[{"type": "function"}]))
    assert all(set(marks(other)).isdisjoint(same) for other in others)


def test_a_short_beginning_is_not_worth_a_mark() -> None:
    assert marks(chat("hello")) == ()
    assert marks({"prompt": "hello"}) == ()
    assert marks({"messages": "none"}) == marks({"input": LONG}) == ()


def test_a_plain_prompt_is_marked_by_blocks_and_its_rest_does_not_matter() -> None:
    whole = "abcde" * 2000
    assert len(marks({"prompt": whole})) == len(whole) // routing.BLOCK
    assert marks({"prompt": whole + "tail"}) == marks({"prompt": whole})
    assert marks({"prompt": whole[:-1]}) == marks({"prompt": whole})[:-1]


def test_of_a_very_long_conversation_the_last_beginnings_are_kept() -> None:
    texts = [LONG, *("t" * 10 for _ in range(2 * routing.MOST_EACH))]
    found = marks(chat(*texts))
    assert len(found) == routing.MOST_EACH
    assert marks(chat(*texts[:-1]))[-1] == found[-2]


def test_the_longest_beginning_that_somebody_read_decides_and_what_stopped_is_forgotten() -> None:
    readers, short, long = Readers(), marks(chat(LONG)), marks(chat(LONG, "b", "c"))
    readers.has_read("a", long)
    readers.has_read("b", short)
    assert readers.longest(long) == {"a"}
    assert readers.longest(short) == {"a", "b"}
    readers.forget("a")
    assert readers.longest(long) == {"b"}
    assert readers.longest(()) == frozenset()


def test_the_oldest_marks_are_forgotten_first() -> None:
    readers = Readers()
    every = [n.to_bytes(4, "big") for n in range(routing.MOST_MARKS + 10)]
    readers.has_read("a", every)
    assert readers.longest(every[:10]) == frozenset()
    assert readers.longest(every[10:11]) == {"a"}


def test_without_a_reader_the_freest_is_taken_and_among_equals_who_was_used_longest_ago() -> None:
    assert choose([open_("a", 1), open_("b", 2)], ()) == "b"
    assert choose([open_("a", 2, used=9), open_("b", 2, used=3)], ()) == "b"
    assert choose([open_("a", 2, slots=2), open_("b", 3, slots=8)], ()) == "a", "shares count, not slots"


def test_a_reader_is_kept_until_it_is_much_busier_than_the_others() -> None:
    assert choose([open_("a", 2), open_("b", 4)], {"a"}) == "a"
    assert choose([open_("a", 1), open_("b", 4)], {"a"}) == "b"
    assert choose([open_("a", 0), open_("b", 1)], {"a"}) == "b"
    assert choose([open_("a", 1), open_("b", 4), open_("c", 3)], {"a", "c"}) == "c"


def test_nobody_is_chosen_where_nobody_is_free() -> None:
    assert choose([open_("a", 0)], {"a"}) is None
    assert choose([], ()) is None
