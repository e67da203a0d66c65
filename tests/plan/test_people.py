"""How many people are how many users: a closed loop, by hand."""

from __future__ import annotations

from evener.plan import people
from evener.records.plan import Workload
from evener.records.whatif import Profile


def profile(**more: object) -> Profile:
    """An answer takes 1 + 100 x 0.09 = 10 s at the limits; then 30 s pass: a quarter of the people waits."""
    facts: dict[str, object] = {
        "name": "by hand", "prompt_tokens": 6000, "output_tokens": 100, "shared_prefix_tokens": 1000,
        "think_s": 30.0, "ttft_limit_s": 1.0, "tpot_limit_ms": 90.0, "why": "to be worked out by hand",
    }  # fmt: skip
    return Profile(**(facts | more))  # type: ignore[arg-type]


def test_users_are_the_mean_and_two_standard_deviations() -> None:
    seats = people.seats(profile(), 12)
    # 12 x 1/4 = 3; sqrt(12 x 1/4 x 3/4) = 1.5; 3 + 2 x 1.5 = 6
    assert (seats.answer_s, seats.mean, seats.users) == (10.0, 3.0, 6)


def test_users_are_never_more_than_people() -> None:
    assert people.seats(profile(think_s=0.0), 5).users == 5


def test_one_person_who_hardly_asks_is_one_user() -> None:
    assert people.seats(profile(think_s=100_000.0), 1).users == 1


def test_what_the_server_has_in_its_cache_is_not_read_again() -> None:
    work = people.lengths(profile(), Workload(users=3))
    assert (work.prompt_tokens, work.output_tokens, work.users) == (5000, 100, 3)


def test_the_context_holds_one_exchange_unless_one_was_asked_for() -> None:
    assert people.lengths(profile(), Workload()).context == 6144  # 6100 tokens, in steps of 1024
    assert people.lengths(profile(prompt_tokens=100), Workload()).context == 4096
    assert people.lengths(profile(), Workload(), context=32768).context == 32768
