"""For how many it is good, with shares whose intervals can be followed with a pencil: n of n has 0.025 ** (1 / n)."""

from __future__ import annotations

import pytest

from evener.bench.limits import comfort, comfortable, meets, requests_needed, share
from evener.records.load import Comfort, Counts, Level, Limits, RequestShare, Spread

LIMITS = Limits(ttft_ms=2000.0, tpot_ms=66.0)
NONE = Spread(n=0, mean=None, p50=None, p90=None, interval=None, unit="ms")


def at(users: int, met: int, of: int, *, people: bool = False, whole: bool = True) -> Level:
    seen = share(met, of)
    return Level(
        users=users,
        people=users if people else None,
        requests=Counts(completed=of, errored=0, invalid=0),
        ttft_ms=NONE,
        tpot_ms=NONE,
        itl_ms=NONE,
        per_user_tokens_per_s=NONE,
        total_tokens_per_s=None,
        prefill_tokens_per_s=None,
        duration_s=1.0,
        within_limits=seen,
        comfort=comfort(seen, 0.9) if whole else None,
    )


def test_a_request_meets_the_limits_when_both_its_times_do() -> None:
    assert meets(LIMITS, ttft_ms=2000.0, tpot_ms=66.0)
    assert not meets(LIMITS, ttft_ms=2000.1, tpot_ms=1.0)
    assert not meets(LIMITS, ttft_ms=1.0, tpot_ms=66.1)
    assert not meets(LIMITS, ttft_ms=None, tpot_ms=None)
    assert meets(LIMITS, ttft_ms=1.0, tpot_ms=None)  # came in one piece


@pytest.mark.parametrize(
    ("met", "of", "told"),
    [
        (36, 36, "yes"),  # 0.025 ** (1/36) = 0.9026: the fewest requests that can show nine in ten
        (35, 35, "unresolved"),  # 0.89998
        (12, 24, "no"),  # 31-69 %
        (33, 36, "unresolved"),  # 78-98 %
        (0, 0, "unresolved"),
    ],
)
def test_a_share_is_comfortable_only_when_its_interval_says_so(met: int, of: int, told: Comfort) -> None:
    assert comfort(share(met, of), 0.9) == told


def test_how_many_requests_would_decide() -> None:
    # With 154 answers and a share of 0.9, P(146 or more are good) first falls below 0.025: 146 = floor(0.95 x 154).
    assert requests_needed(RequestShare(met=6, of=6, interval=None), 0.9) == 36
    assert requests_needed(RequestShare(met=19, of=20, interval=None), 0.9) == 154
    assert requests_needed(RequestShare(met=9, of=10, interval=None), 0.9) is None


def test_it_is_comfortable_for_the_largest_count_below_which_all_hold() -> None:
    levels = [at(1, 40, 40), at(4, 40, 40), at(8, 20, 40), at(12, 40, 40)]
    found = comfortable(levels, LIMITS, 0.9, profile="chat")
    assert found is not None
    assert (found.holds_for, found.fails_at, found.unresolved_at) == (4, 8, None)
    assert found.sentence == (
        "comfortable for 4 users (chat: 90% of requests with TTFT within 2000 ms and 66 ms per token); "
        "with 8 only 20 of 40 (34%-66%)"
    )


def test_what_n_cannot_decide_is_said_with_what_would() -> None:
    found = comfortable([at(1, 40, 40, people=True), at(4, 12, 12, people=True)], LIMITS, 0.9, profile=None)
    assert found is not None
    assert (found.unit, found.holds_for, found.unresolved_at, found.requests_needed) == ("people", 1, 4, 36)
    assert found.sentence.startswith("comfortable for 1 person (")
    assert found.sentence.endswith("4 cannot be decided: 12 of 12 (74%-100%); 36 requests would decide")


def test_nobody_is_comfortable_where_not_even_one_is() -> None:
    found = comfortable([at(1, 0, 6)], LIMITS, 0.9, profile=None)
    assert found is not None
    assert (found.holds_for, found.fails_at) == (None, 1)
    assert found.sentence.startswith("comfortable for nobody (")


def test_a_level_that_was_cut_short_decides_nothing() -> None:
    found = comfortable([at(1, 40, 40), at(2, 5, 5, whole=False)], LIMITS, 0.9, profile=None)
    assert found is not None
    assert (found.holds_for, found.unresolved_at, found.requests_needed) == (1, 2, None)
    assert found.sentence.endswith("2 were measured only in part")


def test_when_all_hold_more_may_too() -> None:
    found = comfortable([at(1, 40, 40), at(2, 40, 40)], LIMITS, 0.9, profile=None)
    assert found is not None
    assert found.holds_for == 2
    assert found.sentence.endswith("the most that were measured")


def test_without_levels_there_is_no_answer() -> None:
    assert comfortable([], LIMITS, 0.9, profile=None) is None
