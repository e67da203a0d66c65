"""Which load comes when: blocks, baselines, what is the same twice, A again, and what does not fit."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from evener.campaign.predict import Suites
from evener.campaign.schedule import ONCE, schedule, speeds_prove, wishes
from evener.records.campaign import AnswersAsked, Campaign, ContextAsked, Fetch, Schedule, Visit
from tests.campaign.placements import CAMPAIGN, HUGE, LARGE, RUNNING, SMALL, answered


def made(campaign: Campaign = CAMPAIGN) -> Schedule:
    return schedule(campaign, answered(campaign), suites=Suites(answers=10, answer_tokens=900, canary_tokens=100))


def ids(visits: Schedule | list[Visit]) -> set[str]:
    return {visit.id for visit in (visits.visits if isinstance(visits, Schedule) else visits)}


def test_each_load_once_per_block_what_is_the_same_is_one_and_what_does_not_fit_is_told_once() -> None:
    found = made()
    assert ids(found) == {
        "small/alpha/1", "small/alpha/2", "small/cluster/1", "small/cluster/2", "small/alpha,again/1",
        "small/alpha,again/2", "large/cluster/1", "large/cluster/2", "large/alpha/1", "huge/auto/1", "huge/cluster/1",
        "vllm/endpoint/1", "vllm/endpoint/2",
    }  # fmt: skip
    assert [visit.block for visit in found.visits] == sorted(visit.block for visit in found.visits)
    assert len(ids(found)) == len(found.visits)


def test_a_cluster_has_its_single_machine_in_every_block_and_where_there_is_none_the_reason() -> None:
    campaign = replace(CAMPAIGN, layouts=("cluster",), a_versus_a=False)
    found = {visit.id: visit for visit in made(campaign).visits}
    for block in (1, 2):
        assert found[f"small/alpha/{block}"].role == "baseline"
        assert found[f"small/cluster/{block}"].role == "asked"
    none = found["large/alpha/1"]
    assert (none.role, none.candidate, none.units) == ("baseline", None, ())
    assert none.why_not == "needs 40 GiB but alpha offers 31 GiB"


def test_no_cluster_visit_of_any_campaign_is_without_its_baseline() -> None:
    for layouts in (("cluster",), ("auto",), ("auto", "cluster", "beta"), ("replicas", "cluster")):
        for contexts in ((4096,), (4096, 16384)):
            for cables in ((), ("5gbe",), ("5gbe", "tb5")):
                campaign = replace(CAMPAIGN, layouts=layouts, contexts=contexts, cables=cables, repeats=3)
                visits = made(campaign).visits
                for visit in visits:
                    if visit.contestant == "small" and visit.candidate == "cluster":
                        assert any(
                            (other.contestant, other.candidate, other.block, other.context)
                            == ("small", "alpha", visit.block, visit.context)
                            for other in visits
                        )


def test_what_was_asked_for_anyway_is_no_baseline() -> None:
    roles = {visit.id: visit.role for visit in made().visits}
    assert roles["small/alpha/1"] == "asked"
    assert roles["small/alpha,again/1"] == "A again"


def test_the_order_is_by_chance_by_the_seed_and_another_in_each_block() -> None:
    campaign = replace(CAMPAIGN, repeats=6)
    first, again, other = made(campaign), made(campaign), made(replace(campaign, seed=2))
    assert first == again
    assert [v.id for v in first.visits] != [v.id for v in other.visits]
    orders = {tuple(v.key for v in first.visits if v.block == block) for block in range(2, 7)}
    assert len(orders) > 1
    leading = Counter(
        next(v.key for v in made(replace(CAMPAIGN, seed=seed)).visits if v.block == 2) for seed in range(200)
    )
    assert len(leading) == 5  # every load of block 2 comes first now and then
    assert min(leading.values()) > 20


def test_answers_are_asked_for_once_per_contestant_where_its_first_layout_fits_and_once_more_of_a_again() -> None:
    campaign = replace(CAMPAIGN, answers=AnswersAsked(suites=("translation",)))
    asked = [visit.id for visit in made(campaign).visits if any(unit.measure == "answers" for unit in visit.units)]
    assert sorted(asked) == ["large/cluster/1", "small/alpha,again/1", "small/alpha/1", "vllm/endpoint/1"]


def test_every_load_of_ours_begins_with_a_canary_and_then_measures_all_that_is_asked() -> None:
    campaign = replace(CAMPAIGN, context=ContextAsked(), answers=AnswersAsked(suites=("translation",)))
    units = {visit.id: [unit.id.rpartition(":")[2] for unit in visit.units] for visit in made(campaign).visits}
    assert units["small/alpha/1"] == ["canary", "speed", "users", "chat", "context", "answers"]
    assert units["small/cluster/2"] == ["canary", "speed", "users", "chat", "context"]
    assert units["vllm/endpoint/1"] == ["speed", "users", "chat", "context", "answers"]
    assert units["huge/auto/1"] == []
    flat = [unit for visit in made(campaign).visits for unit in visit.units]
    assert len({unit.id for unit in flat}) == len(flat)


def test_the_first_canary_of_each_contestant_is_asked_twice_and_no_other() -> None:
    found = made()
    for contestant, once in (("small", 100 / 50 / 60), ("large", 100 / 20 / 60)):
        canaries = [v.units[0].minutes or 0.0 for v in found.visits if v.contestant == contestant and v.units]
        assert canaries == pytest.approx([2 * once, *[once] * (len(canaries) - 1)])
        assert len(canaries) > 1


def test_cables_are_for_several_machines_and_contexts_for_all() -> None:
    campaign = replace(
        CAMPAIGN, contestants=(SMALL,), cables=("5gbe", "tb5"), contexts=(4096, 16384), repeats=1, a_versus_a=False
    )
    assert ids(made(campaign)) == {
        "small/alpha,4096/1",
        "small/alpha,16384/1",
        "small/cluster@5gbe,4096/1",
        "small/cluster@tb5,4096/1",
        "small/cluster@5gbe,16384/1",
        "small/cluster@tb5,16384/1",
    }
    assert {v.cable for v in made(campaign).visits if v.candidate == "alpha"} == {None}
    assert len(list(wishes(campaign))) == 8


def test_replicas_are_their_copies_each_measured_alone_and_it_is_said() -> None:
    campaign = replace(CAMPAIGN, contestants=(SMALL,), layouts=("replicas",), repeats=1, a_versus_a=False)
    found = made(campaign)
    assert ids(found) == {"small/alpha/1", "small/beta/1"}
    assert any("each copy of replicas is measured alone" in note for note in found.notes)


def test_a_again_is_the_first_that_can_be_measured() -> None:
    found = made(replace(CAMPAIGN, contestants=(HUGE, LARGE)))
    assert "large/cluster,again/1" in ids(found)
    assert "A again is large: huge fits nowhere" in found.notes
    assert "fits nowhere that was asked for: huge" in found.notes
    without = made(replace(CAMPAIGN, contestants=(HUGE, LARGE), a_versus_a=False))
    assert not any(note.startswith("A again") for note in without.notes)
    assert not any(note.startswith("A again") for note in made().notes)
    running = made(replace(CAMPAIGN, contestants=(RUNNING, SMALL)))
    assert "vllm/endpoint,again/2" in ids(running)


def test_a_visit_carries_what_is_known_of_it() -> None:
    visit = next(v for v in made().visits if v.id == "large/cluster/1")
    assert (visit.layout, visit.candidate, visit.context) == ("auto", "cluster", 4096)
    assert (visit.load_minutes, visit.fullest, visit.cards_bytes) == (1.0, 0.9, 1 << 30)
    assert visit.predicted is not None
    assert visit.predicted.value == 20.0


def test_the_whole_is_unknown_where_a_part_of_it_is_and_it_is_said_whose() -> None:
    found = made()
    assert found.minutes is None
    assert "nobody can say beforehand how long these take: vllm" in found.notes
    assert not any("scan --measure" in note for note in found.notes)
    known = made(replace(CAMPAIGN, contestants=(SMALL,)))
    assert known.minutes is not None
    total = sum((v.load_minutes or 0) + sum(u.minutes or 0 for u in v.units) for v in known.visits)
    assert abs(known.minutes - total) < 1e-9


def test_where_the_plan_knows_no_speed_nobody_knows_the_time_and_how_to_learn_it_is_said() -> None:
    campaign = replace(CAMPAIGN, contestants=(SMALL,))
    blind = {wish: replace(one, decode=None, load_s=None) for wish, one in answered(campaign).items()}
    found = schedule(campaign, blind, suites=Suites())
    assert (found.minutes, found.visits[0].load_minutes, found.visits[0].units[0].minutes) == (None, None, None)
    assert "evener scan --measure measures cards whose speed is not known" in found.notes


def test_what_has_to_be_fetched_or_written_is_added_up_and_unknown_where_one_is() -> None:
    here = Fetch(contestant="small", model="small.gguf", bytes=0, how="here")
    far = Fetch(contestant="large", model="large", bytes=40, how="fetch")
    made_here = Fetch(contestant="huge", model="huge", bytes=2, how="quantise")
    campaign = replace(CAMPAIGN, contestants=(SMALL,))

    def disk(*fetches: Fetch) -> int | None:
        return schedule(campaign, answered(campaign), suites=Suites(), fetches=fetches).disk_bytes

    assert disk(here) == 0
    assert disk(here, far, made_here) == 42
    assert disk(far, replace(made_here, bytes=None)) is None
    found = schedule(replace(campaign, cool=False), answered(campaign), suites=Suites(), fetches=(far, made_here))
    assert "not counted: fetching, quantising" in found.notes
    assert "not counted: waiting for cards to cool" in made(campaign).notes


def test_one_block_alone_says_nothing_of_two_loads_of_one_model_and_that_is_noted() -> None:
    assert ONCE in made(replace(CAMPAIGN, repeats=1)).notes
    assert ONCE not in made().notes


def test_what_so_many_blocks_can_prove_of_speeds_is_said_before_they_are_made() -> None:
    assert speeds_prove(made(replace(CAMPAIGN, repeats=1)).visits).startswith("speeds, 1 block: two loads differ only")
    assert "from 6 blocks on" in speeds_prove(made(replace(CAMPAIGN, repeats=5)).visits)
    assert "signed ranks of their blocks say so" in speeds_prove(made(replace(CAMPAIGN, repeats=6)).visits)
