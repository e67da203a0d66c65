"""The queue: bounded, and fair between people whatever one of them piles up."""

from __future__ import annotations

from evener.serve.waiting import Waiting


def everything(_person: str, _request: str) -> bool:
    return True


def drained(waiting: Waiting[str]) -> list[str]:
    """Everything in its order, each in flight for ever."""
    order = []
    while (found := waiting.next(everything)) is not None:
        person, request = found
        waiting.in_flight[person] += 1
        order.append(request)
    return order


def filled(*requests: tuple[str, str], most: int = 100, most_each: int = 100) -> Waiting[str]:
    waiting: Waiting[str] = Waiting(most=most, most_each=most_each)
    for person, request in requests:
        waiting.add(person, request)
    return waiting


def test_a_pile_of_one_person_does_not_hold_up_another() -> None:
    waiting = filled(*(("ann", f"a{n}") for n in range(5)), ("bob", "b0"))
    assert drained(waiting)[:2] == ["a0", "b0"]


def test_among_people_with_as_many_in_flight_it_goes_round() -> None:
    waiting = filled(*(("ann", f"a{n}") for n in range(3)), *(("bob", f"b{n}") for n in range(3)), ("eve", "e0"))
    assert drained(waiting) == ["a0", "b0", "e0", "a1", "b1", "a2", "b2"]


def test_who_has_requests_in_flight_comes_after_who_has_none() -> None:
    waiting = filled(("ann", "a0"), ("bob", "b0"))
    waiting.in_flight["ann"] = 3
    assert drained(waiting) == ["b0", "a0"]


def test_a_request_that_may_not_go_is_passed_over_and_keeps_its_place() -> None:
    waiting = filled(("ann", "big"), ("ann", "small"), ("bob", "big"))
    found = waiting.next(lambda _person, request: request == "small")
    assert found == ("ann", "small")
    assert waiting.by_person() == {"ann": 1, "bob": 1}
    assert waiting.next(lambda _person, _request: False) is None


def test_each_bound_says_why() -> None:
    waiting = filled(("ann", "a0"), ("ann", "a1"), ("bob", "b0"), most=3, most_each=2)
    assert waiting.refusal("ann") == "2 of your requests are waiting already"
    assert waiting.refusal("bob") == "3 requests are waiting already"
    assert filled(most=3, most_each=2).refusal("ann") is None


def test_who_gives_up_waits_no_more() -> None:
    waiting = filled(("ann", "a0"), ("ann", "a1"))
    assert waiting.drop("ann", "a0")
    assert not waiting.drop("ann", "a0")
    assert not waiting.drop("bob", "b0")
    assert drained(waiting) == ["a1"]
    assert len(waiting) == 0
