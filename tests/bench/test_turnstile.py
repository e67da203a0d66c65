"""Which requests count, walked through by hand."""

from __future__ import annotations

from evener.bench.turnstile import Turnstile


def test_nothing_is_measured_until_everybody_has_warmed_up() -> None:
    here = Turnstile(2, asked=2, cold=(0, 1))
    assert not here.is_measured()
    here.ended(0, measured=False)
    assert not here.is_measured()  # user 0 goes on beside user 1, who is still at it
    here.ended(1, measured=False)
    assert here.is_measured()


def test_it_is_over_when_the_last_measured_request_has_ended_and_not_when_it_was_sent() -> None:
    here = Turnstile(2, asked=2, cold=())
    assert [here.is_measured() for _ in range(3)] == [True, True, False]
    here.ended(0, measured=True)
    here.ended(1, measured=False)
    assert not here.is_over
    here.ended(1, measured=True)
    assert here.is_over
