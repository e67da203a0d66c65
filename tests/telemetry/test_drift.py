"""Sustained load: the curve, the verdict, and the sentence that says what happened together."""

from __future__ import annotations

from evener.records.load import Request
from evener.telemetry.drift import drift, steady, token_events, window_rates
from tests.telemetry.samples import gpu, warming


def request(user: int, sent_s: float, end_s: float | None, *, warm_up: bool = False, **more: object) -> Request:
    facts: dict[str, object] = {"id": 0, "users": 2, "user": user, "sent_s": sent_s, "end_s": end_s, "warm_up": warm_up}
    return Request(**(facts | more))  # type: ignore[arg-type]


def events(first: float, last: float, *, seconds: int = 48) -> list[tuple[float, float]]:
    """Tokens every second, one more and one less in turn; `last` of them in the last third."""
    return [
        (second + 0.5, (last if second >= 2 * seconds // 3 else first) + (1 if second % 2 else -1))
        for second in range(seconds)
    ]


def test_tokens_are_placed_on_the_time_of_the_run_those_of_warm_up_too() -> None:
    requests = [
        request(0, 10.0, 3.0, token_times=((1.0, 2.0), (2.0, 1.0))),
        request(1, 9.0, 1.0, warm_up=True, token_times=((0.5, 4.0),)),
    ]
    assert token_events(requests) == [(9.5, 4.0), (11.0, 2.0), (12.0, 1.0)]


def test_load_is_steady_from_when_all_have_begun_until_the_first_has_ended() -> None:
    requests = [
        request(0, 0.0, 1.0, warm_up=True), request(0, 2.0, 5.0), request(0, 7.0, 5.0),
        request(1, 3.0, 4.0), request(1, 7.0, 3.0),
    ]  # fmt: skip
    assert steady(requests) == (3.0, 10.0)
    assert steady(requests[:1]) is None
    assert steady([request(0, 0.0, 1.0), request(1, 5.0, 1.0)]) is None


def test_windows_count_what_falls_into_them() -> None:
    at = [(9.9, 5.0), (10.0, 2.0), (11.9, 4.0), (12.0, 6.0), (14.0, 9.0)]
    assert window_rates(at, from_s=10.0, window_s=2.0, count=2) == [3.0, 3.0]


def test_a_fall_is_told_with_what_the_card_did_and_no_cause_is_claimed() -> None:
    warm = [61.0] * 16 + [75.0] * 16 + [83.0] * 16
    samples = warming(warm, slowed_from_c=80.0)
    found = drift(events(10, 8), samples, from_s=0.0, to_s=48.0)
    assert found.verdict == "fell"
    assert found.sentence == (
        "tok/s fell 20.0 % (95 % 20.0 to 20.0; 10.0 in the first third, 8.0 in the last), while alpha/RTX 5090 went "
        "from 61 to 83 °C and was held back by heat 33 % of the time (seen together, which proves no cause)"
    )
    assert (found.change_percent, found.interval_percent) == (-20.0, (-20.0, -20.0))
    assert (found.blocks, found.block_s, found.window_s, len(found.curve)) == (4, 4.0, 1.0, 48)
    assert found.curve[:2] == ((0.5, 9.0), (1.5, 11.0))


def test_no_drift_says_how_much_is_excluded() -> None:
    found = drift(events(10, 10), [], from_s=0.0, to_s=48.0)
    assert found.verdict == "no drift"
    assert found.sentence == "no drift beyond 0.0 % (+0.0 %, 95 % +0.0 to +0.0)"


def test_a_rise_is_a_rise() -> None:
    assert drift(events(8, 10), [], from_s=0.0, to_s=48.0).sentence.startswith("tok/s rose 25.0 %")


def test_a_run_that_is_too_short_says_how_long_would_do() -> None:
    found = drift(events(10, 8, seconds=30), [], from_s=0.0, to_s=30.0)
    assert (found.verdict, found.change_percent) == ("unresolved", None)
    assert found.sentence == (
        "drift unresolved: 30 s are too short for a speed that fluctuates like this one; about 48 s would do"
    )
    assert len(found.curve) == 30


def test_a_run_in_which_nothing_came_at_first_is_unresolved() -> None:
    found = drift([(40.0, 5.0)], [], from_s=0.0, to_s=48.0)
    assert (found.verdict, found.why) == ("unresolved", "no token came in the first third")


def test_a_run_without_any_length_is_unresolved() -> None:
    assert drift([], [], from_s=5.0, to_s=5.0).verdict == "unresolved"


def test_windows_of_a_long_run_are_longer_than_a_second() -> None:
    found = drift(events(10, 10, seconds=1800), [], from_s=0.0, to_s=1800.0)
    assert (found.window_s, len(found.curve)) == (5.0, 360)


def test_a_card_that_did_nothing_worth_saying_is_not_in_the_sentence() -> None:
    blips = [gpu(s / 5, host="gamma", slowed_by=("heat",) if s == 7 else ()) for s in range(200)]  # half a percent
    samples = [*warming([60.0, 61.0] * 24), gpu(5.0, host="beta", temperature_c=None), *blips]
    assert "while" not in drift(events(10, 8), samples, from_s=0.0, to_s=48.0).sentence
