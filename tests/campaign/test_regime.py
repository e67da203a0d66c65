"""What has changed under a campaign, what is measured anew for it, and what is only named."""

from __future__ import annotations

from dataclasses import replace

import pytest

from evener.campaign.regime import Made, changes
from evener.records.campaign import Changed
from evener.records.conditions import Conditions
from tests.campaign.journals import visit

CLUSTER = Conditions(
    model_sha256="aa",
    engine_builds={"alpha": "b11434 (b0a2feb) protocol 7.0.0", "beta": "b11434 (b0a2feb) protocol 7.0.0"},
    device_order=("beta/RTX 5080", "alpha/RTX 5090"),
    layers_per_device=(10, 31),
    link="5gbe: 4.63 Gbit/s out, 4.60 back, 210 us (measured 2026-11-30)",
    drivers={"alpha/RTX 5090": "580.65", "beta/RTX 5080": "580.65"},
    power_limits_w={"alpha/RTX 5090": 575.0, "beta/RTX 5080": 360.0},
    temperatures_c={"alpha/RTX 5090": (31.0, 70.0)},
    evener="0.1.0",
)
ALPHA = replace(
    CLUSTER,
    engine_builds={"alpha": "b11434 (b0a2feb) protocol 7.0.0"},
    device_order=("alpha/RTX 5090",),
    layers_per_device=(41,),
    link="none",
    drivers={"alpha/RTX 5090": "580.65"},
    power_limits_w={"alpha/RTX 5090": 575.0},
)


def made(id_: str, conditions: Conditions) -> Made:
    return Made(visit=visit(id_), conditions=conditions)


BEFORE = (
    made("a/cluster/1", CLUSTER),
    made("a/alpha/1", ALPHA),
    made("a/alpha/2", ALPHA),
    made("a/cluster/2", CLUSTER),
    made("b/alpha/2", replace(ALPHA, model_sha256="bb")),
)


def told(now: Made, known: tuple[Changed, ...] = ()) -> dict[str, tuple[str | None, str | None, tuple[str, ...]]]:
    return {one.condition: (one.before, one.now, one.again) for one in changes(now, BEFORE, known)}


def b_cluster(**other: object) -> Made:
    return made("b/cluster/2", replace(CLUSTER, model_sha256="bb", **other))  # type: ignore[arg-type]


def test_the_same_conditions_are_no_change() -> None:
    assert told(b_cluster()) == {}


def test_a_driver_that_changed_is_measured_anew_for_what_of_the_block_used_that_card() -> None:
    found = told(b_cluster(drivers={"alpha/RTX 5090": "580.65", "beta/RTX 5080": "590.10"}))
    assert found == {"driver of beta/RTX 5080": ("580.65", "590.10", ("a/cluster/2",))}
    found = told(b_cluster(drivers={"alpha/RTX 5090": "590.10", "beta/RTX 5080": "580.65"}))
    assert found["driver of alpha/RTX 5090"][2] == ("a/alpha/2", "a/cluster/2", "b/alpha/2")


def test_a_visit_that_was_cut_is_made_anew_from_its_beginning() -> None:
    cut = made("b/cluster/3", replace(CLUSTER, model_sha256="bb"))
    now = made("b/cluster/3", replace(CLUSTER, model_sha256="bb", drivers={"beta/RTX 5080": "590.10"}))
    assert [(one.condition, one.again) for one in changes(now, [*BEFORE, cut])] == [
        ("driver of beta/RTX 5080", ("b/cluster/3",))
    ]
    assert changes(cut, [*BEFORE, cut]) == ()


def test_a_change_between_two_blocks_is_named_and_nothing_is_measured_anew() -> None:
    now = made("a/alpha/3", replace(ALPHA, engine_builds={"alpha": "b11500 (cafe) protocol 7.0.0"}))
    assert told(now) == {
        "build of alpha": ("b11434 (b0a2feb) protocol 7.0.0", "b11500 (cafe) protocol 7.0.0", ()),
    }


def test_another_protocol_and_another_power_limit_are_another_regime() -> None:
    builds = {"alpha": "b11434 (b0a2feb) protocol 7.0.0", "beta": "b11434 (b0a2feb) protocol 8.0.0"}
    assert told(b_cluster(engine_builds=builds))["build of beta"][2] == ("a/cluster/2",)
    limits = {"alpha/RTX 5090": 400.0, "beta/RTX 5080": 360.0}
    assert told(b_cluster(power_limits_w=limits))["power limit of alpha/RTX 5090"] == (
        "575 W", "400 W", ("a/alpha/2", "a/cluster/2", "b/alpha/2"),
    )  # fmt: skip


def test_another_file_is_another_model_and_everything_of_it_is_measured_anew() -> None:
    found = told(made("a/alpha/3", replace(ALPHA, model_sha256="zz")))
    assert found == {"model file": ("aa", "zz", ("a/cluster/1", "a/alpha/1", "a/alpha/2", "a/cluster/2"))}


@pytest.mark.parametrize(
    ("link", "again"),
    [
        ("5gbe: 4.61 Gbit/s out, 4.66 back, 300 us (measured 2026-12-01)", None),  # measured again
        ("5gbe (stated)", None),  # nobody knows better
        ("5gbe: 0.94 Gbit/s out, 0.93 back, 210 us (measured 2026-12-01)", ("a/cluster/2",)),  # a slower port
        ("tb5: 20.10 Gbit/s out, 19.80 back, 90 us (measured 2026-12-01)", None),  # the other cable has its own figures
    ],
)
def test_a_cable_is_another_one_when_it_carries_other_rates(link: str, again: tuple[str, ...] | None) -> None:
    found = told(b_cluster(link=link))
    assert found.get("cable of 5gbe", (None, None, None))[2] == again


def test_layers_temperatures_and_evener_are_named_only() -> None:
    other = replace(CLUSTER, layers_per_device=(9, 32), temperatures_c={"alpha/RTX 5090": (45.0, 80.0)}, evener="0.2.0")
    assert told(made("a/cluster/3", other)) == {
        "layers per device": ("beta/RTX 5080 10, alpha/RTX 5090 31", "beta/RTX 5080 9, alpha/RTX 5090 32", ()),
        "temperature of alpha/RTX 5090": ("31 C", "45 C", ()),
        "evener": ("0.1.0", "0.2.0", ()),
    }
    for least, is_told in ((41.0, False), (42.0, True), (21.0, False), (20.0, True)):
        warmer = replace(CLUSTER, temperatures_c={"alpha/RTX 5090": (least, 80.0)})
        assert bool(told(made("a/cluster/3", warmer))) is is_told


def test_what_is_not_known_has_not_changed() -> None:
    assert told(made("b/cluster/2", Conditions())) == {}
    assert changes(b_cluster(), [made("a/cluster/2", Conditions())]) == ()
    assert changes(b_cluster(), []) == ()


def test_what_a_visit_had_before_it_was_cut_is_measured_anew_with_the_others() -> None:
    cut = made("b/cluster/2", replace(CLUSTER, model_sha256="bb"))
    drivers = {"alpha/RTX 5090": "580.65", "beta/RTX 5080": "590.10"}
    (found,) = changes(b_cluster(drivers=drivers), [*BEFORE, cut])
    assert found.again == ("a/cluster/2", "b/cluster/2")


def test_what_goes_back_and_forth_is_named_and_not_chased() -> None:
    limits = {"alpha/RTX 5090": 400.0, "beta/RTX 5080": 360.0}
    first = changes(b_cluster(power_limits_w=limits), BEFORE)
    assert first[0].again == ("a/alpha/2", "a/cluster/2", "b/alpha/2")
    # a/alpha/2 is made anew, and the limit is 575 W again.
    before = (*BEFORE[:2], b_cluster(power_limits_w=limits))
    second = changes(made("a/alpha/2", ALPHA), before, first)
    assert second[0].again == ("b/cluster/2",)
    # b/cluster/2 is made anew at 400 W: nothing is made a second time.
    before = (*BEFORE[:2], made("a/alpha/2", ALPHA))
    third = changes(b_cluster(power_limits_w=limits), before, (*first, *second))
    assert [(one.condition, one.again) for one in third] == [("power limit of alpha/RTX 5090", ())]


def test_made_anew_the_regime_is_one_again() -> None:
    now = b_cluster(drivers={"alpha/RTX 5090": "590.10", "beta/RTX 5080": "590.10"})
    first = changes(now, BEFORE)
    again = {id_ for one in first for id_ in one.again}
    assert again == {"a/alpha/2", "a/cluster/2", "b/alpha/2"}
    kept = [one for one in BEFORE if one.visit.id not in again]
    new = made("a/alpha/2", replace(ALPHA, drivers={"alpha/RTX 5090": "590.10"}))
    assert changes(new, [*kept, now], first) == ()
