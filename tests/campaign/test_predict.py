"""Minutes of each unit, worked out by hand: 50 tokens a second for one user, 100 for five together, 1000 of prompts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from evener.campaign import predict
from evener.campaign.placement import AS_IT_RUNS
from evener.campaign.predict import Speeds, Suites
from evener.records.campaign import AnswersAsked, ContextAsked, SpeedAsked, Unit, UsersAsked
from tests.campaign.placements import CAMPAIGN, placed

SPEEDS = Speeds(50.0, 100.0, 1000.0, 5)


def test_several_users_get_what_lies_on_the_line_between_one_and_all() -> None:
    assert [SPEEDS.total(n) for n in (1, 3, 5, 9)] == [50.0, 75.0, 100.0, 100.0]
    assert Speeds(50.0, 50.0, 1000.0, 1).total(4) == 50.0


def test_a_load_takes_what_the_plan_says_and_what_goes_on_around_it() -> None:
    assert predict.load_minutes(placed("alpha", "alpha")) == 1.0  # 15 s and 45 s
    assert predict.load_minutes(AS_IT_RUNS) is None


def test_speed_is_each_test_six_times_and_each_depth_filled_once_per_test() -> None:
    # 500 / 1000 + 100 / 50 = 2.5 s; six times at two depths: 30 s. 3000 tokens of depth before two tests: 6 s.
    asked = SpeedAsked(prompts=(500, 0), outputs=(100,), depths=(0, 3000), repetitions=5)
    assert predict.speed(asked, SPEEDS) == pytest.approx(36 / 60)


def test_users_take_their_tokens_at_the_rate_of_so_many() -> None:
    # One: 6 + 2 requests of 100 / 50 + 100 / 1000 = 2.1 s: 16.8 s. Five: 15 + 10 of 100 / 100 + 0.1: 27.5 s.
    asked = UsersAsked(counts=(1, 5), prompt_tokens=100, output_tokens=100)
    assert predict.users(asked, SPEEDS) == pytest.approx((16.8 + 27.5) / 60)


def test_people_who_read_and_think_take_their_time_however_fast_the_server_is() -> None:
    # chat: 2000 in, 350 out, 45 s of thinking. Five of them, 15 + 10 requests: five each of 45 + 7 + 2 = 54 s.
    asked = UsersAsked(counts=(5,), profile="chat")
    assert predict.users(asked, SPEEDS) == pytest.approx(5 * 54 / 60)
    # A server that is slower than they are makes them wait: 25 requests of 350 / 1 + 2000 / 1000.
    assert predict.users(asked, Speeds(1.0, 1.0, 1000.0, 5)) == pytest.approx(25 * 352 / 60)


def test_context_reads_fourteen_new_prompts_of_each_length_that_there_is_room_for() -> None:
    # 14 x 1 s of prompt, 14 x 64 + 99 = 995 tokens at 50: 19.9 s; a length beyond the context is not asked.
    assert predict.context(ContextAsked(lengths=(1000, 8000)), SPEEDS, 4096) == pytest.approx(33.9 / 60)
    # 4096 - 64 = 4032: 1024, 2048, and 4032 itself; 4096 would be more.
    assert predict.context(ContextAsked(), SPEEDS, 4096) == pytest.approx((14 * 7.104 + 3 * 19.9) / 60)

    # 1000 - 64 = 936 have no room for 1024 twice: 256, 512, and 936 itself.
    assert predict.context(ContextAsked(), SPEEDS, 1000) == pytest.approx((14 * 1.704 + 3 * 19.9) / 60)


def test_answers_go_as_fast_as_all_together_and_those_that_think_as_long_as_they_may() -> None:
    asked, suites = AnswersAsked(suites=("x",), most_tokens=1000), Suites(answers=30, answer_tokens=3000.0)
    assert predict.answers(asked, SPEEDS, suites, thinking=False, parallel=5) == pytest.approx(0.5)
    assert predict.answers(asked, SPEEDS, suites, thinking=True, parallel=5) == pytest.approx(5.0)


def test_a_canary_is_asked_one_by_one() -> None:
    assert predict.canary(SPEEDS, Suites(canary_tokens=600.0)) == pytest.approx(0.2)


def test_without_a_speed_nothing_is_predicted() -> None:
    unit = Unit(id="x:speed", measure="speed", name="speed")
    one = placed("alpha", "alpha")

    def minutes(**changes: object) -> float | None:
        changed = replace(one, **changes)  # type: ignore[arg-type]
        return predict.of_unit(unit, CAMPAIGN, changed, Suites(), thinking=False, tokens=4096)

    assert minutes() is not None
    assert minutes(decode=None) is None
    assert minutes(users_tokens_per_s=None) is None
    assert minutes(prefill_tokens_per_s=None) is None
