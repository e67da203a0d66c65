from __future__ import annotations

from dataclasses import replace

import pytest
from report_samples import ALONE_STAGE, CLUSTER_STAGE, DEMO, RIG, SCAN, cpu, run, seen

from evener.records.card import Card
from evener.records.rig import Host, Link
from evener.records.run import Run, Stage
from evener.report import picture, rows
from evener.report.picture import Picture


def drawn(of: Run, stage: Stage) -> Picture:
    return picture.draw(of, rows.layouts(of, [stage])[0])


def test_each_card_shows_where_its_layers_lie_in_the_model() -> None:
    alpha, beta = drawn(run(), CLUSTER_STAGE).hosts
    assert alpha.cards[0].layers == "16 of 31 layers"
    assert alpha.cards[0].share == pytest.approx((0, 16 / 31))
    assert beta.cards[0].share == pytest.approx((16 / 31, 15 / 31))
    assert (alpha.role, beta.role) == ("head", "worker")
    assert beta.cards[0].memory == "127 MiB planned, 121 MiB measured"


def test_a_host_that_takes_no_part_is_drawn_and_named_so() -> None:
    found = drawn(run(), ALONE_STAGE)
    assert found.hosts[1].role == "not used"
    assert found.hosts[1].cards[0].share is None
    assert [line.used for line in found.links] == [False]


def test_a_link_carries_what_its_owner_stated() -> None:
    (line,) = drawn(run(), CLUSTER_STAGE).links
    assert (line.label, line.used, line.gutter) == ("loopback, 40 Gbit/s, 50 µs (stated)", True, None)
    assert picture.link_label(Link(name="tb5", between=("a", "b"))) == "tb5 (stated)"


def test_two_cables_between_the_same_hosts_are_one_line_with_both_names() -> None:
    rig = replace(RIG, links=(*RIG.links, Link(name="tb5", between=("beta", "alpha"))))
    (line,) = drawn(run(rig=rig), CLUSTER_STAGE).links
    assert line.label == "loopback, 40 Gbit/s, 50 µs (stated) · tb5 (stated)"


def test_hosts_that_talk_without_a_stated_link_are_joined() -> None:
    (line,) = drawn(run(rig=None), CLUSTER_STAGE).links
    assert (line.label, line.used) == ("link not stated", True)


def test_a_link_that_passes_a_host_goes_round_it() -> None:
    rig = replace(
        RIG,
        hosts=(*RIG.hosts, Host(name="gamma", connection="local")),
        links=(Link(name="long", between=("gamma", "alpha")),),
    )
    found = drawn(run(rig=rig), ALONE_STAGE)
    long = found.links[0]
    assert long.gutter is not None
    assert picture.WIDTH < long.gutter < found.width


def test_boxes_lie_below_each_other_inside_the_picture() -> None:
    gpus = [Card(id=f"GPU-{n}", kind="cuda", name="RTX 5060 Ti") for n in range(3)]
    scan = replace(SCAN, hosts=(SCAN.hosts[0], seen("beta", *gpus, machine="m2"), seen("gamma", machine="m3")))
    for stage in (ALONE_STAGE, CLUSTER_STAGE):
        found = drawn(run(scan=scan), stage)
        below = 0.0
        for host in found.hosts:
            assert host.y > below
            below = host.y
            for card in host.cards:
                assert card.y > below
                below = card.y + card.height
            assert host.y + host.height > below
            below = host.y + host.height
        assert found.height >= below


def test_joined_hosts_leave_room_for_the_words_on_their_link() -> None:
    joined, apart = drawn(run(), ALONE_STAGE).hosts, drawn(run(rig=None), ALONE_STAGE).hosts
    assert joined[1].y - joined[0].y - joined[0].height == 46
    assert apart[1].y - apart[0].y - apart[0].height == 14


def test_an_idle_gpu_is_shown_and_an_idle_processor_beside_it_is_not() -> None:
    gpu = Card(id="GPU-1", kind="cuda", name="RTX 5090", total_bytes=32 << 30)
    scan = replace(SCAN, hosts=(SCAN.hosts[0], seen("beta", cpu(), gpu, machine="m2")))
    assert [card.name for card in drawn(run(scan=scan), ALONE_STAGE).hosts[1].cards] == ["RTX 5090"]


def test_the_picture_is_told_in_words() -> None:
    assert drawn(run(), CLUSTER_STAGE).told == (
        "alpha + beta: AMD Ryzen 7 7700 on alpha holds 16 layers and AMD Ryzen 7 7700 on beta holds 15 layers"
    )


def test_a_run_that_knows_no_hosts_has_an_empty_picture() -> None:
    found = drawn(run(plan=None, rig=None, scan=None), DEMO.stages[0])
    assert (found.hosts, found.height) == ((), 0)
