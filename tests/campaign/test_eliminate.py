"""Who is dropped after a block, who is not, and what a short budget leaves out before the start."""

from __future__ import annotations

from dataclasses import replace

import pytest

from evener.campaign.eliminate import beaten, fits_budget, noise
from evener.campaign.predict import Suites, hours
from evener.campaign.schedule import schedule
from evener.records.campaign import (
    Campaign,
    CampaignState,
    Contestant,
    ContextAsked,
    Dropped,
    Schedule,
    SpeedAsked,
    Unit,
    UnitEnd,
    UsersAsked,
    Visit,
)
from evener.records.load import ClientCost, Comfort, Counts, Level, Spread, UsersResult
from evener.records.verdicts import DimensionVerdict, Standing
from tests.campaign.placements import CAMPAIGN, SMALL, answered

NAMES = ("good", "bad", "third")


def visit(contestant: str, block: int, layout: str = "alpha", *, again: bool = False) -> Visit:
    id_ = f"{contestant}/{layout}{',again' if again else ''}/{block}"
    return Visit(
        id=id_,
        contestant=contestant,
        block=block,
        role="A again" if again else "asked",
        layout=layout,
        candidate=layout,
        cable=None,
        context=4096,
        units=(Unit(id=f"{id_}:users", measure="users", name="users"),),
    )


def state(
    *visits: Visit, users: UsersAsked | None = None, done: int = 1, budget_s: float | None = 3600
) -> CampaignState:
    """Every unit up to block `done` has ended well."""
    users = users or UsersAsked(counts=(1,))
    campaign = Campaign(
        name="x", contestants=tuple(Contestant(name=n, model=n) for n in NAMES), users=(users,), budget_s=budget_s
    )
    every = visits or tuple(visit(name, block) for block in (1, 2) for name in NAMES)
    ends = {u.id: UnitEnd(unit=u.id, visit=v.id, state="done") for v in every if v.block <= done for u in v.units}
    return CampaignState(
        campaign=campaign,
        schedule=Schedule(visits=every, fetches=(), minutes=None, disk_bytes=None),
        ends=ends,
    )


def spread(middle: float | None) -> Spread:
    return Spread(n=12, mean=None, p50=middle, p90=None, interval=None, unit="")


def level(rate: Spread, ttft: Spread, *, users: int = 1, comfort: Comfort | None = None) -> Level:
    none = spread(None)
    return Level(
        users=users,
        requests=Counts(completed=12, errored=0, invalid=0),
        ttft_ms=ttft,
        tpot_ms=none,
        itl_ms=none,
        per_user_tokens_per_s=rate,
        total_tokens_per_s=None,
        prefill_tokens_per_s=None,
        duration_s=1.0,
        comfort=comfort,
    )


def result(*levels: Level, validity: str = "valid") -> UsersResult:
    return UsersResult(
        url="", model=None, prompt_tokens_asked=1, output_tokens_asked=1, levels=levels, client=ClientCost(cpu_s=0.0),
        validity=validity,
    )  # fmt: skip


SOON = spread(100.0)


def results(**rates: float) -> dict[str, UsersResult]:
    return {f"{name}/alpha/1:users": result(level(spread(rate), SOON)) for name, rate in rates.items()}


def dimension(name: str, order: tuple[str, ...], best: int) -> DimensionVerdict:
    standings = tuple(Standing(candidate=one, mean=0.5, interval=None, n=100, clusters=100) for one in order)
    return DimensionVerdict(
        dimension=name, policy="excluded", standings=standings, pairs=(), best=order[:best], dropped=order[best:],
        groups=(), fragile=None, noise=None, sentence="", design="",
    )  # fmt: skip


TRANSLATION = dimension("translation", ("good", "third", "bad"), 2)
EQUAL = results(good=50.0, bad=50.0, third=50.0)


def names(dropped: tuple[Dropped, ...]) -> list[tuple[str, str]]:
    return [(one.contestant, one.by) for one in dropped]


def test_who_is_ruled_out_on_answers_and_not_faster_is_dropped_with_its_reason() -> None:
    found = beaten(state(), EQUAL, [TRANSLATION], after_block=1)
    assert found == (
        Dropped(
            contestant="bad",
            by="good",
            why="not among those that may answer best (translation, 95 %), where good is, and at no user count faster "
            "than it by more than 5%",
            after_block=1,
        ),
    )


def test_without_a_budget_nobody_is_dropped() -> None:
    assert beaten(state(budget_s=None), EQUAL, [TRANSLATION], after_block=1) == ()


@pytest.mark.parametrize(("rate", "stays"), [(52.4, False), (52.6, True)])
def test_five_percent_of_speed_are_the_limit_of_what_does_not_matter(rate: float, stays: bool) -> None:
    # 50 x 1.05 = 52.5 is the most that does not matter.
    assert (beaten(state(), results(good=50.0, bad=rate, third=50.0), [TRANSLATION], after_block=1) == ()) is stays


def test_who_answers_sooner_is_faster_too() -> None:
    seen = EQUAL | {"bad/alpha/1:users": result(level(spread(50.0), spread(90.0)))}
    assert beaten(state(), seen, [TRANSLATION], after_block=1) == ()


def test_without_a_figure_nobody_is_compared() -> None:
    seen = EQUAL | {"bad/alpha/1:users": result(level(spread(None), SOON))}
    assert beaten(state(), seen, [TRANSLATION], after_block=1) == ()


def test_a_load_that_only_one_of_them_has_compares_nothing() -> None:
    two = result(level(spread(50.0), SOON), level(spread(50.0), SOON, users=4))
    assert beaten(state(), EQUAL | {"bad/alpha/1:users": two}, [TRANSLATION], after_block=1) == ()


def test_results_that_must_not_be_used_are_none() -> None:
    invalid = result(level(spread(1.0), SOON), validity="cache hits")
    assert beaten(state(), EQUAL | {"bad/alpha/1:users": invalid}, [TRANSLATION], after_block=1) == ()


def test_one_dimension_in_which_it_may_be_the_best_keeps_it() -> None:
    other = dimension("coding", ("bad", "good", "third"), 3)
    assert beaten(state(), EQUAL, [TRANSLATION, other], after_block=1) == ()
    assert names(beaten(state(), EQUAL, [TRANSLATION, replace(TRANSLATION, dimension="coding")], after_block=1)) == [
        ("bad", "good")
    ]


def test_a_dimension_that_only_the_two_were_asked_counts_as_any_other() -> None:
    two = dimension("recall", ("good", "bad"), 1)
    assert names(beaten(state(), EQUAL, [two], after_block=1)) == [("bad", "good")]
    others = dimension("recall", ("third", "good"), 1)
    assert beaten(state(), results(good=50.0, bad=50.0, third=1.0), [others], after_block=1) == ()


def test_without_answers_nobody_is_beaten_on_them() -> None:
    assert beaten(state(), results(good=90.0, bad=1.0, third=1.0), [], after_block=1) == ()


def test_its_best_layout_counts_and_a_beating_needs_the_worst_block_of_the_other() -> None:
    every = (*state().schedule.visits, visit("bad", 1, "cluster"))
    faster = EQUAL | {"bad/cluster/1:users": result(level(spread(65.0), SOON))}
    assert beaten(state(*every), faster, [TRANSLATION], after_block=1) == ()
    three = tuple(visit(name, block) for block in (1, 2, 3) for name in NAMES)
    slow_once = EQUAL | {
        f"{name}/alpha/2:users": result(level(spread(40.0 if name == "good" else 50.0), SOON)) for name in NAMES
    }
    assert [one.by for one in beaten(state(*three, done=2), slow_once, [TRANSLATION], after_block=2)] == ["third"]


def test_the_noise_of_a_against_a_widens_what_may_be_faster() -> None:
    every = (*state().schedule.visits, visit("good", 1, again=True))
    again = EQUAL | {"good/alpha,again/1:users": result(level(spread(53.0), SOON))}
    assert noise(state(*every), again) == pytest.approx(53 / 50 - 1)
    assert beaten(state(*every), again, [TRANSLATION], after_block=1) == ()  # 50 x 1.06 is more than 50 x 1.05
    still = EQUAL | {"good/alpha,again/1:users": result(level(spread(50.1), SOON))}
    assert names(beaten(state(*every), still, [TRANSLATION], after_block=1)) == [("bad", "good")]
    assert noise(state(), EQUAL) == 0.0


def test_two_always_stay_those_who_answer_best() -> None:
    order = dimension("translation", ("good", "third", "bad"), 1)
    assert names(beaten(state(), EQUAL, [order], after_block=1)) == [("bad", "good")]
    gone = replace(state(), dropped=(Dropped(contestant="bad", by="good", why="", after_block=1),))
    assert beaten(gone, EQUAL, [order], after_block=1) == ()


def test_who_has_a_unit_that_did_not_end_well_is_not_judged_and_judges_nobody() -> None:
    failed = state()
    failed.ends["bad/alpha/1:users"] = replace(failed.ends["bad/alpha/1:users"], state="failed")
    assert beaten(failed, EQUAL, [TRANSLATION], after_block=1) == ()
    del failed.ends["bad/alpha/1:users"]  # an endpoint that nobody reached
    assert beaten(failed, EQUAL, [TRANSLATION], after_block=1) == ()
    failed = state()
    failed.ends["good/alpha/1:users"] = replace(failed.ends["good/alpha/1:users"], state="partial")
    assert names(beaten(failed, EQUAL, [TRANSLATION], after_block=1)) == [("bad", "third")]


def test_after_the_last_block_there_is_nothing_to_spare() -> None:
    assert beaten(state(done=2), EQUAL, [TRANSLATION], after_block=2) == ()


CHAT = UsersAsked(counts=(1, 8), profile="chat")


def comfortable(**said: Comfort) -> tuple[CampaignState, dict[str, UsersResult]]:
    every = tuple(
        replace(v, units=(Unit(id=f"{v.id}:chat", measure="users", name="chat"),)) for v in state().schedule.visits
    )
    rate = spread(50.0)
    seen = {
        f"{name}/alpha/1:chat": result(level(rate, SOON, comfort=word), level(rate, SOON, users=8, comfort="no"))
        for name, word in said.items()
    }
    return state(*every, users=CHAT), seen


def test_who_keeps_the_limits_of_no_profile_is_dropped_where_another_does() -> None:
    found = beaten(*comfortable(good="yes", bad="no", third="unresolved"), [], after_block=1)
    assert found == (
        Dropped(
            contestant="bad",
            by="good",
            why="keeps the limits of no profile in any layout (chat for 1, 95 %), and good keeps them",
            after_block=1,
        ),
    )


def test_where_nobody_keeps_the_limits_or_nobody_knows_nobody_is_dropped() -> None:
    assert beaten(*comfortable(good="unresolved", bad="no", third="no"), [], after_block=1) == ()
    assert beaten(*comfortable(good="yes", bad="unresolved", third="yes"), [], after_block=1) == ()


# ---- before the start

PLANNED = replace(CAMPAIGN, contestants=(SMALL,), repeats=3, context=ContextAsked(), speed=SpeedAsked(), users=())


def planned() -> Schedule:
    return schedule(PLANNED, answered(PLANNED), suites=Suites(canary_tokens=100))


def test_a_budget_with_room_for_everything_leaves_nothing_out() -> None:
    whole = planned()
    assert whole.minutes is not None
    assert fits_budget(whole, whole.minutes * 60 + 1) == whole
    even = replace(whole, visits=tuple(replace(v, load_minutes=1.0, units=()) for v in whole.visits if v.block == 1))
    assert fits_budget(even, 60.0 * len(even.visits)).visits == even.visits
    assert fits_budget(even, 60.0 * len(even.visits)).notes == even.notes
    long = (Unit(id="x:context", measure="context", name="context", minutes=0.0),)
    with_context = replace(even, visits=tuple(replace(visit, units=long) for visit in even.visits))
    assert fits_budget(with_context, 60.0 * len(even.visits)).visits == with_context.visits


def test_repeats_are_left_out_first_then_the_context_and_never_a_baseline_or_a_again() -> None:
    whole = planned()
    assert whole.minutes is not None
    two = fits_budget(whole, whole.minutes * 60 * 0.7)
    assert {v.block for v in two.visits} == {1, 2}
    assert two.notes[-1].endswith("repeats, 2 of 3 are made")
    kept = [visit for visit in whole.visits if visit.block <= 2]
    loads, units = (visit.load_minutes or 0.0 for visit in kept), (u.minutes or 0.0 for v in kept for u in v.units)
    assert two.minutes == pytest.approx(sum(loads) + sum(units))
    one = fits_budget(whole, whole.minutes * 60 * 0.3)
    assert {v.block for v in one.visits} == {1}
    assert {u.measure for v in one.visits for u in v.units} == {"canary", "speed"}
    assert one.notes[-1].endswith("the context")
    assert one.notes[-2].startswith("measured once")
    assert {v.id for v in one.visits} == {"small/alpha/1", "small/cluster/1", "small/alpha,again/1"}


def test_what_is_still_too_much_is_said() -> None:
    tight = fits_budget(planned(), 60)
    assert tight.notes[-1].startswith("the budget of 1 min is too short for the ")
    assert {v.id for v in tight.visits} == {"small/alpha/1", "small/cluster/1", "small/alpha,again/1"}


def test_hours_are_told_as_people_tell_them() -> None:
    assert [hours(n) for n in (0.6, 45, 60, 200)] == ["1 min", "45 min", "1 h", "3 h 20 min"]
