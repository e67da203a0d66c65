"""Changes of a rig that a plan can be asked about: each leaves what it was given as it is, and returns another."""

from __future__ import annotations

from dataclasses import replace

import pytest

from evener.errors import ConfigurationError, NameUnknown
from evener.plan import what_if
from evener.plan.what_if import Asked, World
from evener.records.link import LinkMeasured
from evener.records.rig import Host, Link, Rig, StatedCard
from tests import rigs

CABLE = Link(name="cable", between=("alpha", "beta"), gbit_per_s=4.7)
SECOND = Link(name="second", between=("alpha", "beta"), preset="thunderbolt5")
FAR = Link(name="far", between=("alpha", "gamma"), preset="1gbe")


def measured(name: str) -> LinkMeasured:
    return LinkMeasured(
        name=name, between=("alpha", "beta"), addresses=(None, "10.0.0.2"), taken_at=rigs.scan().taken_at
    )


def world() -> World:
    rig = replace(rigs.rig("alpha", "beta", "gamma"), links=(CABLE, SECOND, FAR))
    scan = rigs.scan(
        rigs.seen("alpha", rigs.card("RTX 5090", 32 << 30), rigs.cpu()),
        rigs.seen("beta", rigs.card("RTX 5080", 16 << 30), rigs.card("RTX 5060 Ti", 16 << 30, device="CUDA1")),
        rigs.seen("gamma", rigs.card("RTX 5060 Ti", 16 << 30)),
    )
    return World(rig=rig, scan=replace(scan, links=(measured("cable"), measured("second"))))


def cards(world: World, host: str) -> list[tuple[str, bool]]:
    seen = world.scan.host(host)
    assert seen is not None
    return [(card.name, card.excluded) for card in seen.cards]


def test_without_a_host_its_links_are_gone_too() -> None:
    left = what_if.without(world(), "gamma")
    assert [host.name for host in left.rig.hosts] == ["alpha", "beta"]
    assert [link.name for link in left.rig.links] == ["cable", "second"]
    assert left.scan.host("gamma") is None


def test_without_the_head_the_next_host_is_the_head() -> None:
    assert what_if.without(world(), "alpha").rig.head.name == "beta"


def test_without_a_card_every_one_of_that_name_takes_no_part() -> None:
    left = what_if.without(world(), "5060 ti")
    assert cards(left, "beta") == [("RTX 5080", False), ("RTX 5060 Ti", True)]
    assert cards(left, "gamma") == [("RTX 5060 Ti", True)]


def test_one_of_two_equal_cards_is_named_by_host_and_device() -> None:
    left = what_if.without(world(), "beta/CUDA1")
    assert cards(left, "beta") == [("RTX 5080", False), ("RTX 5060 Ti", True)]
    assert cards(left, "gamma") == [("RTX 5060 Ti", False)]


def test_without_something_unknown_says_what_there_is() -> None:
    with pytest.raises(NameUnknown) as told:
        what_if.without(world(), "delta")
    assert "beta/CUDA1" in (told.value.hint or "")


def test_something_must_be_left_that_can_serve() -> None:
    alone = World(rig=rigs.rig("alpha"), scan=rigs.scan(rigs.seen("alpha")))
    with pytest.raises(ConfigurationError, match="no host would be left"):
        what_if.without(alone, "alpha")
    worker = Host(name="box", connection="endpoint", endpoints=("10.0.0.3:50052",))
    beside = World(rig=Rig(hosts=(*rigs.rig("alpha").hosts, worker)), scan=alone.scan)
    with pytest.raises(ConfigurationError, match="no host would be left"):
        what_if.without(beside, "alpha")


def test_a_card_is_added_to_a_host_that_is_there() -> None:
    more = what_if.added(world(), "beta: RTX 5090")
    seen = more.scan.host("beta")
    assert seen is not None
    assert [(card.name, card.device) for card in seen.cards][-1] == ("RTX 5090", "CUDA2")
    assert len(more.rig.hosts) == 3


def test_an_unknown_host_is_a_new_stated_one() -> None:
    more = what_if.added(world(), "delta: 2x RTX 3090")
    assert more.rig.hosts[-1].connection == "stated"
    assert cards(more, "delta") == [("RTX 3090", False)] * 2


@pytest.mark.parametrize("text", ["beta RTX 5090", ": RTX 5090", "beta:", ""])
def test_added_cards_need_a_host_and_a_colon(text: str) -> None:
    with pytest.raises(ConfigurationError, match="not HOST: CARD"):
        what_if.added(world(), text)


def test_nobody_adds_a_card_to_somebody_elses_worker() -> None:
    worker = Host(name="box", connection="endpoint", endpoints=("10.0.0.3:50052",))
    rig = Rig(hosts=(*rigs.rig("alpha").hosts, worker))
    there = World(rig=rig, scan=rigs.scan(rigs.seen("alpha"), rigs.seen("box")))
    with pytest.raises(ConfigurationError, match="somebody else's worker"):
        what_if.added(there, "box: RTX 5090")


def test_instead_leaves_one_host_and_no_link() -> None:
    one = what_if.instead(world(), "RTX PRO 6000 96GB")
    assert [host.stated for host in one.rig.hosts] == [(StatedCard(model="RTX PRO 6000 96GB"),)]
    assert (one.rig.links, one.scan.links, len(one.scan.hosts)) == ((), (), 1)


def test_an_unknown_card_instead_names_the_option() -> None:
    with pytest.raises(ConfigurationError, match='--instead RTX 9999: no card called "RTX 9999"'):
        what_if.instead(world(), "RTX 9999")


def test_a_link_of_the_rig_replaces_its_neighbours_and_keeps_its_measurement() -> None:
    other = what_if.linked(world(), "second")
    assert [link.name for link in other.rig.links] == ["second", "far"]
    assert [link.name for link in other.scan.links] == ["second"]


def test_a_kind_of_link_joins_every_two_hosts_and_what_was_measured_is_forgotten() -> None:
    other = what_if.linked(world(), "10GbE")
    assert [set(link.between) for link in other.rig.links] == [
        {"alpha", "beta"},
        {"alpha", "gamma"},
        {"beta", "gamma"},
    ]
    assert {link.preset for link in other.rig.links} == {"10GbE"}
    assert len({link.name for link in other.rig.links}) == 3
    assert other.scan.links == ()


def test_a_link_of_the_rig_goes_before_a_kind_of_the_same_name() -> None:
    named = replace(CABLE, name="5gbe")
    there = World(rig=replace(world().rig, links=(named,)), scan=world().scan)
    assert what_if.linked(there, "5gbe").rig.links == (named,)


def test_an_unknown_link_says_what_comes_near() -> None:
    with pytest.raises(NameUnknown, match='no such link or kind of link; did you mean "5gbe"'):
        what_if.linked(world(), "4gbe")


def test_added_hosts_get_the_link_that_was_asked_for() -> None:
    asked = Asked(add=("delta: RTX 3090",), link="25gbe")
    assert {"alpha", "delta"} in [set(link.between) for link in asked.changed(world()).rig.links]


def test_people_and_users_cannot_both_be_given() -> None:
    with pytest.raises(ConfigurationError, match="which of the two"):
        Asked(people=12, users=4).workload()


def test_people_alone_chat() -> None:
    work, seats = Asked(people=12).workload()
    assert seats is not None
    assert (seats.profile.name, work.users) == ("chat", seats.users)


def test_a_profile_without_people_gives_lengths_only() -> None:
    work, seats = Asked(profile="coding", users=3).workload()
    assert (seats, work.users, work.output_tokens) == (None, 3, 700)


def test_types_of_k_and_v_may_differ() -> None:
    work, _ = Asked(kv="q8_0/q4_0").workload()
    assert (work.kv_type_k, work.kv_type_v) == ("q8_0", "q4_0")


def test_the_layout_is_chosen_for_what_was_asked() -> None:
    assert Asked(aim="prompt").workload()[0].aim == "prompt"
    assert Asked(users=1).workload()[0].aim == "latency"
    assert Asked(users=8).workload()[0].aim == "crowd"


def test_an_axis_has_a_name_and_values() -> None:
    assert what_if.axis("context=4096, 8k") == ("context", ("4096", "8k"))
    assert what_if.axis("add=beta: RTX 5090, RTX 5080; gamma: RTX 3090") == (
        "add",
        ("beta: RTX 5090, RTX 5080", "gamma: RTX 3090"),
    )


@pytest.mark.parametrize("text", ["context", "temperature=1,2", "context=", "=1,2", "context=,"])
def test_what_is_no_axis_is_refused(text: str) -> None:
    with pytest.raises(ConfigurationError, match="--sweep"):
        what_if.axis(text)


@pytest.mark.parametrize("text", ["many", "0", "-1", "4.5", "k", "²"])
def test_what_is_no_number_is_refused(text: str) -> None:
    with pytest.raises(ConfigurationError, match="not a whole number"):
        what_if.varied(Asked(), {"users": text})


def test_a_point_replaces_options_and_leaves_the_rest() -> None:
    one = what_if.varied(Asked(kv="q8_0", users=4), {"context": "8k", "without": "beta"})
    assert one == Asked(kv="q8_0", users=4, context=8192, without=("beta",))


def test_varied_users_take_the_place_of_people_and_the_other_way_round() -> None:
    assert what_if.varied(Asked(people=12), {"users": "4"}) == Asked(users=4)
    assert what_if.varied(Asked(users=4), {"people": "12"}) == Asked(people=12)


def test_as_it_is_changes_nothing() -> None:
    assert what_if.varied(Asked(link="5gbe"), {"link": "as it is"}) == Asked(link="5gbe")


def test_combinations_count_the_last_axis_first_and_end_somewhere() -> None:
    every = what_if.combinations_of({"users": ("1", "2"), "kv": ("f16", "q8_0")})
    assert [tuple(one.values()) for one in every] == [("1", "f16"), ("1", "q8_0"), ("2", "f16"), ("2", "q8_0")]
    with pytest.raises(ConfigurationError, match="600 points"):
        what_if.combinations_of({"users": ["1"] * 20, "context": ["1"] * 30})


def test_drafts_are_asked_of_the_model_itself() -> None:
    workload, _ = Asked(drafts=3).workload()
    assert (workload.drafts, Asked().workload()[0].drafts) == (3, 0)
