"""What the facts of a campaign come to, and how long it still takes."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from evener.campaign.journal import state_of, status_of
from evener.codec import to_data
from evener.errors import RunUnreadable
from evener.records.campaign import CampaignStatus, Changed, Dropped
from tests.campaign.journals import CAMPAIGN, SCHEDULE, Journal, at


def status(journal: Journal, minutes: float, *, is_running: bool = True) -> CampaignStatus:
    return status_of(state_of(journal.facts), journal.facts, id="x", now=at(minutes), is_running=is_running)


def first_visit(journal: Journal) -> Journal:
    """a/alpha/1: three minutes of loading and stopping, where two were predicted; units as predicted twice over."""
    journal.visit(0, "a/alpha/1")
    journal.unit(2, 4, "a/alpha/1:canary")
    journal.unit(4, 12, "a/alpha/1:speed")
    journal.visit_end(13, "a/alpha/1", seconds=13 * 60.0, load_s=120.0)
    return journal


def test_what_has_ended_is_not_left() -> None:
    state = state_of(first_visit(Journal()).facts)
    assert state.campaign == CAMPAIGN
    assert state.schedule == SCHEDULE
    assert list(state.ends) == ["a/alpha/1:canary", "a/alpha/1:speed"]
    assert [v.id for v in state.left] == ["b/alpha/1", "b/cluster/1", "a/alpha/2", "b/alpha/2"]


def test_a_visit_that_was_cut_is_left_and_keeps_the_units_that_it_has() -> None:
    journal = Journal()
    journal.visit(0, "a/alpha/1")
    journal.unit(2, 4, "a/alpha/1:canary")
    journal.say(4, "unit begun", unit="a/alpha/1:speed")
    state = state_of(journal.facts)
    assert state.left[0].id == "a/alpha/1"
    assert list(state.ends) == ["a/alpha/1:canary"]


def test_the_time_between_two_sessions_is_nobodys() -> None:
    journal = first_visit(Journal())
    journal.say(600, "campaign resumed")
    journal.visit(601, "b/alpha/1")
    state = state_of(journal.facts)
    assert state.spent_s == 14 * 60
    assert state.resumed == (at(600),)


def test_a_clock_that_was_set_back_takes_no_time_away() -> None:
    journal = Journal()
    journal.visit(5, "a/alpha/1")
    journal.say(-60, "caution", text="summer time ended")
    journal.say(-50, "caution", text="ten minutes later")
    assert state_of(journal.facts).spent_s == 15 * 60


def test_what_is_measured_anew_is_left_again_and_then_has_its_last_end() -> None:
    journal = first_visit(Journal())
    changed = Changed(visit="b/alpha/1", condition="drivers", before="1", now="2", again=("a/alpha/1",))
    journal.say(14, "changed", changed=to_data(changed))
    state = state_of(journal.facts)
    assert (state.ends, state.visit_ends, state.changed) == ({}, {}, (changed,))
    assert state.left[0].id == "a/alpha/1"
    journal.unit(20, 22, "a/alpha/1:canary", run="second")
    assert state_of(journal.facts).ends["a/alpha/1:canary"].run == "second"


def test_a_dropped_contestant_has_nothing_left_and_its_units_count_as_skipped() -> None:
    journal = first_visit(Journal())
    dropped = Dropped(contestant="b", by="a", why="beaten", after_block=1)
    journal.say(14, "dropped", dropped=to_data(dropped))
    assert [v.id for v in state_of(journal.facts).left] == ["a/alpha/2"]
    found = status(journal, 14)
    assert (found.units, found.done, found.skipped, found.dropped) == (8, 2, 4, (dropped,))
    assert found.last == "b is dropped: beaten"


def test_units_of_a_load_that_failed_were_skipped_and_one_that_failed_is_told_apart() -> None:
    journal = Journal()
    journal.visit(0, "a/alpha/1")
    journal.unit(2, 4, "a/alpha/1:canary", "failed", why="the server went away")
    journal.visit_end(5, "a/alpha/1", "failed", why="the server went away")
    found = status(journal, 5)
    assert (found.done, found.failed, found.skipped) == (0, 1, 1)
    assert (found.visit, found.unit) == (None, None)
    assert found.last == "a/alpha/1: failed: the server went away"


def test_what_was_cut_short_was_measured_and_is_done() -> None:
    journal = Journal()
    journal.visit(0, "a/alpha/1")
    journal.unit(2, 4, "a/alpha/1:canary", "partial", why="the server went away")
    assert (status(journal, 4).done, status(journal, 4).failed) == (1, 0)
    assert status(journal, 4).last == "a/alpha/1:canary: partial: the server went away"


def test_the_last_news_is_told_in_words() -> None:
    journal = Journal()
    assert status(journal, 0).last is None
    journal.visit(0, "a/alpha/1")
    assert status(journal, 0).last == "a/alpha/1: loading"
    journal.say(1, "unit begun", unit="a/alpha/1:canary")
    assert status(journal, 1).last == "a/alpha/1:canary: measuring"
    changed = Changed(visit="a/alpha/1", condition="driver of alpha/RTX 5090", before="580", now=None)
    journal.say(2, "changed", changed=to_data(changed))
    assert status(journal, 2).last == "a/alpha/1: driver of alpha/RTX 5090 is unknown, and was 580"
    journal.say(3, "campaign resumed")
    assert status(journal, 3).last == "resumed"


def test_before_anything_is_measured_the_time_left_is_the_prediction() -> None:
    assert (
        status(Journal(), 0).minutes_left == 28.0
    )  # four loads of 2, four times 1 and 4; what does not fit takes none


def test_time_left_is_what_the_same_load_took_and_else_the_prediction_corrected() -> None:
    # a/alpha/2 as a/alpha/1: 13. b twice: loads of 2 x 3/2, canaries of 1 x 2, speeds of 4 x 2: 13 each.
    assert status(first_visit(Journal()), 13).minutes_left == pytest.approx(39)


def test_what_the_unit_under_way_has_taken_is_not_left() -> None:
    journal = first_visit(Journal())
    journal.visit(13, "b/alpha/1")
    journal.unit(16, 18, "b/alpha/1:canary")
    journal.say(18, "unit begun", unit="b/alpha/1:speed")
    found = status(journal, 23)
    assert (found.visit, found.unit, found.since) == ("b/alpha/1", "b/alpha/1:speed", at(18))
    # 3 of the visit's load, which is only known to be over when the visit is; 8 - 5 of speed; then 13 and 13.
    assert found.minutes_left == pytest.approx(3 + 3 + 26)


def test_a_unit_without_a_prediction_takes_what_its_kind_took_and_nobody_knows_before() -> None:
    unknown = tuple(
        replace(v, units=tuple(replace(u, minutes=None) for u in v.units), load_minutes=None) for v in SCHEDULE.visits
    )
    journal = Journal(schedule=replace(SCHEDULE, visits=unknown))
    assert status(journal, 0).minutes_left is None
    assert status(first_visit(journal), 13).minutes_left == pytest.approx(39)


def test_a_stopped_campaign_says_where_it_was_cut_and_a_complete_one_that_nothing_is_left() -> None:
    journal = first_visit(Journal())
    journal.visit(13, "b/alpha/1")
    found = status(journal, 100, is_running=False)
    assert (found.state, found.visit, found.since) == ("stopped", "b/alpha/1", None)
    for id_ in ("b/alpha/1", "a/alpha/2", "b/alpha/2"):
        journal.visit_end(101, id_)
    journal.visit_end(102, "b/cluster/1", "does not fit", why="needs 90 GiB")
    found = status(journal, 103, is_running=False)
    assert (found.state, found.visit, found.minutes_left) == ("complete", None, 0.0)


def test_a_folder_without_a_campaign_or_a_schedule_says_so() -> None:
    with pytest.raises(RunUnreadable, match="no campaign was begun"):
        state_of([])
    with pytest.raises(RunUnreadable, match="cut before it was planned"):
        state_of(Journal().facts[:1])


def test_cut_anywhere_the_units_that_ended_and_those_that_are_left_are_all_there_are() -> None:
    whole = first_visit(Journal())
    for n, id_ in enumerate(("b/alpha/1", "a/alpha/2", "b/alpha/2")):
        whole.visit(20 + 10 * n, id_)
        whole.unit(21 + 10 * n, 22 + 10 * n, f"{id_}:canary")
        whole.unit(22 + 10 * n, 25 + 10 * n, f"{id_}:speed")
        whole.visit_end(26 + 10 * n, id_)
    every = {u.id for v in SCHEDULE.visits for u in v.units}
    for cut in range(2, len(whole.facts) + 1):
        state = state_of(whole.facts[:cut])
        left = {u.id for v in state.left for u in v.units if u.id not in state.ends}
        assert left | set(state.ends) == every
        assert not left & set(state.ends)


def test_the_same_facts_say_the_same_whatever_stands_between_them() -> None:
    draw = random.Random(7)
    plain, noisy = first_visit(Journal()), first_visit(Journal())
    for _ in range(20):
        place = draw.randrange(1, len(noisy.facts))
        other = replace(noisy.facts[place], kind="caution", data={"text": "warm"})
        noisy.facts.insert(place, other)
    assert state_of(noisy.facts) == state_of(plain.facts)
