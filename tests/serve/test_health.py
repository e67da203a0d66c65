"""Dead although it answers: busy, and nothing moves. How long to wait, and when to go elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from evener.serve.health import BACK_OFF_S, STEADY_S, Death, Deaths, Heart, Pulse, counters, works

HUNG_AFTER_S = 10.0


Pulses = Sequence[tuple[float, bool, tuple[float, ...] | None]]


def hung_at(pulses: Pulses) -> list[float]:
    heart = Heart(hung_after_s=HUNG_AFTER_S)
    return [s for s, busy, counted in pulses if heart.is_hung(Pulse(at_s=s, busy=busy, counters=counted))]


def test_busy_and_still_is_hung_after_the_stated_time_and_not_before() -> None:
    pulses = [(float(s), True, (5.0,)) for s in range(20)]
    assert hung_at(pulses)[0] == 1.0 + HUNG_AFTER_S, "the first pulse is movement: it was not known before"


def test_any_movement_begins_the_time_anew() -> None:
    assert hung_at([(float(s), True, (s // 9,)) for s in range(60)]) == []


def test_idle_is_never_hung_and_the_time_begins_when_somebody_asks() -> None:
    idle: Pulses = [(float(s), False, (5.0,)) for s in range(100)]
    assert hung_at(idle) == []
    busy: Pulses = [(100.0 + s, True, (5.0,)) for s in range(12)]
    assert hung_at([*idle, *busy]) == [110.0, 111.0]


def test_no_answer_is_no_movement() -> None:
    assert hung_at([(float(s), True, None) for s in range(12)]) == [10.0, 11.0]


def slot(**more: Any) -> dict[str, Any]:
    return {"id": 0, "id_task": 3, "n_prompt_tokens_processed": 512, "next_token": [{"n_decoded": 7}], **more}


def test_tokens_read_and_made_and_totals_are_counters_and_rates_are_none() -> None:
    metrics = {"n_decode_total": 4.0, "prompt_tokens_seconds": 17.0}
    assert counters([slot()], metrics) == (4.0, 3.0, 512.0, 7.0)
    assert counters([slot()], metrics) != counters([slot(n_prompt_tokens_processed=1024)], metrics)
    assert counters([slot(next_token={"n_decoded": 8})], metrics)[-1] == 8.0


def test_whatever_slots_say_is_survived() -> None:
    told: list[Any] = [None, {}, "x", [None, 3, {"next_token": []}, {"id_task": "a"}]]
    for strange in told:
        assert all(isinstance(value, float) for value in counters(strange, {}))


def died(host: str | None, *, lived_s: float = 5.0) -> Death:
    return Death(at_s=0.0, lived_s=lived_s, why="it died", host=host)


def test_pauses_grow_and_a_long_life_forgets_them() -> None:
    deaths, pauses = Deaths(), []
    for _ in range(8):
        deaths.add(died(None))
        pauses.append(deaths.pause_s)
    assert pauses == [*BACK_OFF_S, BACK_OFF_S[-1], BACK_OFF_S[-1]]
    deaths.add(died(None, lived_s=STEADY_S))
    assert deaths.pause_s == BACK_OFF_S[0]


def test_a_host_is_hopeless_when_it_dies_three_times_in_a_row() -> None:
    deaths = Deaths()
    for host in ("beta", "beta", "alpha", "beta", "beta"):
        deaths.add(died(host))
        assert deaths.hopeless_host is None
    deaths.add(died("beta"))
    assert deaths.hopeless_host == "beta"


def test_nobody_knows_where_is_no_host() -> None:
    deaths = Deaths()
    for _ in range(5):
        deaths.add(died(None))
    assert deaths.hopeless_host is None


def test_one_that_says_nothing_is_hung_even_while_clients_come_and_go() -> None:
    assert hung_at([(float(s), s % 3 != 0, None) for s in range(12)]) == [10.0, 11.0]
    assert hung_at([(float(s), s % 3 != 0, (5.0,)) for s in range(60)]) == [], "it says that it is idle"


def test_whether_it_works_is_what_it_says_itself() -> None:
    idle, at_work = [{"is_processing": False}], [{"is_processing": False}, {"is_processing": True}]
    assert works(at_work, {})
    assert works(idle, {"requests_deferred": 1.0})
    assert not works(idle, {"requests_processing": 0.0})
    assert works(None, {}), "who says nothing of it is taken at the door's word"
