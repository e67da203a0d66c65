"""What stands beside the table of `bench users`: who, how long, how many."""

from __future__ import annotations

from dataclasses import replace

from evener.api.bench_users import Measured
from evener.cli.bench_view import remarks
from evener.records.conditions import Conditions
from evener.records.load import OpenLoop, UsersResult
from evener.report.level_columns import who
from tests.bench.test_pair import seen

RESULT = seen(61.0, users=4, total=58.0)
(LEVEL,) = RESULT.levels
CLOCK = OpenLoop(rate_asked_per_s=2.0, rate_per_s=1.9, most_in_flight=64, late=0, latest_s=0.0)


def said(result: UsersResult) -> list[str]:
    return remarks(Measured(result=result, conditions=Conditions(), path=None))


def test_a_note_is_about_users_people_or_the_clock() -> None:
    noted = replace(LEVEL, note="so it is")
    for level, line in (
        (noted, "4 users: so it is"),
        (replace(noted, people=4), "4 people: so it is"),
        (replace(noted, people=1), "1 person: so it is"),
        (replace(noted, open_loop=CLOCK), "by the clock: so it is"),
    ):
        assert said(replace(RESULT, levels=(level,)))[0] == line


def test_one_request_sent_again_is_one() -> None:
    again = replace(RESULT, client=replace(RESULT.client, retries=1))
    assert any(line.endswith(", 1 request sent again on a closed connection") for line in said(again))


def test_recorded_prompts_are_as_long_as_recorded() -> None:
    (asked,) = [line for line in said(RESULT) if line.startswith("n=")]
    (recorded,) = [line for line in said(replace(RESULT, prompt_tokens_asked=None)) if line.startswith("n=")]
    assert f"prompts {RESULT.prompt_tokens_asked}, answers" in asked
    assert "prompts as recorded, answers" in recorded


def test_the_first_column_of_requests_by_the_clock_is_how_many_may_be_in_flight() -> None:
    assert who([LEVEL]) == "users"
    assert who([replace(LEVEL, people=4)]) == "people"
    assert who([replace(LEVEL, open_loop=CLOCK)]) == "at most"
