from __future__ import annotations

from dataclasses import replace

from report_samples import level, spread, users_result
from test_terminal import shown

from evener.report import terminal

WIDE = replace(
    level(4, each=25.0, interval=(24.0, 26.0), total=94.0, n=40, ttft=260.0, errored={"timeout": 2}),
    ttft_ms=spread(260.0, (234.0, 286.0), 40, "ms", p90=410.0),
)


def test_columns_go_where_room_is_short_and_the_table_says_which() -> None:
    result = users_result(WIDE)
    assert "no room for" not in shown(terminal.users_table(result), 80)
    narrow = shown(terminal.users_table(result), 60)
    assert "no room for: ITL ms" in narrow
    assert max(map(len, narrow.splitlines())) <= 60
    assert "no room for: ITL ms, of one user's, TTFT p90" in shown(terminal.users_table(result), 44)


def test_a_width_that_is_asked_for_holds_in_a_wider_place() -> None:
    assert "no room for: ITL ms" in shown(terminal.users_table(users_result(WIDE), width=60), 120)


def test_speeds_waits_and_failures_are_never_dropped() -> None:
    words = shown(terminal.users_table(users_result(WIDE)), 44).split()
    assert {"94.0", "25.0", "260", "40", "2"} <= set(words)


def test_what_nobody_knows_takes_no_column() -> None:
    words = shown(terminal.users_table(users_result(level(1, each=61.0, interval=None, total=58.0, n=3))), 120).split()
    assert "p90" not in words


def test_people_are_called_people() -> None:
    heading = shown(terminal.users_table(users_result(replace(WIDE, people=4))), 120)
    assert heading.splitlines()[1].split()[0] == "people"
