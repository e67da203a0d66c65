"""Of two cables between two hosts the better one is taken, and it is said what the other would give."""

from dataclasses import replace

import pytest

from evener.plan.candidates import Question, make_plan
from evener.plan.chains import chains_of
from evener.plan.commands import Tools
from evener.plan.other_cables import over_others
from evener.plan.words import rate
from evener.records.plan import Workload
from evener.records.rig import Host, Link, Rig
from tests.rigs import GIB, card, scan, seen, weights

HOSTS = tuple(
    Host(name=name, connection="local", address=f"10.0.0.{n}") for n, name in enumerate(("alpha", "beta"), start=1)
)
SLOW = Link(name="5gbe", between=("alpha", "beta"), gbit_per_s=4.7, rtt_us=250)
FAST = Link(name="tb5", between=("beta", "alpha"), gbit_per_s=24, rtt_us=130)
ANOTHER = replace(SLOW, name="wifi", gbit_per_s=0.4, rtt_us=4000)


def question(*links, model=None, hosts=HOSTS, **asked):
    there = scan(seen("alpha", card("RTX 5090", 32 * GIB)), seen("beta", card("RTX 5080", 16 * GIB)))
    return Question(
        rig=Rig(hosts=hosts, links=links), scan=there, weights=model or weights(blocks=40, block_bytes=GIB),
        workload=Workload(context=1024, **asked), tools=Tools(engines={}, ports={}),
    )  # fmt: skip


def planned(*links, advice=True, **asked):
    return make_plan(question(*links, **asked), advice=advice)


def said(plan):
    return [reason for reason in plan.verdict.reasons if reason.startswith("cluster over ")]


@pytest.mark.parametrize(("aim", "figure"), [("latency", "decode_tokens_per_s"), ("prompt", "prefill_tokens_per_s")])
def test_the_cable_that_is_not_taken_is_told_with_the_figures_of_a_rig_that_has_no_other(aim, figure):
    (line,) = said(planned(SLOW, FAST, objective=aim))
    slow, fast = (getattr(planned(link, objective=aim).candidate("cluster").predicted, figure) for link in (SLOW, FAST))
    assert slow.value < fast.value
    assert line == f"cluster over 5gbe: {rate(slow)} instead of {rate(fast)} over tb5, too close to call"


def test_each_cable_has_its_line_and_one_alone_has_none():
    lines = said(planned(SLOW, FAST, ANOTHER))
    assert [line.partition(":")[0] for line in lines] == ["cluster over 5gbe", "cluster over wifi"]
    assert said(planned(FAST)) == []
    assert said(planned()) == []


def test_a_cable_that_makes_a_difference_is_not_called_close():
    line = said(planned(FAST, ANOTHER, model=weights(blocks=40, block_bytes=GIB, embedding=8192), users=64))[0]
    assert line.startswith("cluster over wifi: ")
    assert "too close" not in line


def test_without_advice_nothing_is_tried():
    assert said(planned(SLOW, FAST, advice=False)) == []


def test_with_another_head_the_other_cables_are_that_heads():
    far = [Host(name=n, connection="ssh", ssh=n, address=f"10.0.0.{i}") for i, n in ((2, "beta"), (3, "gamma"))]
    between = {"ab": ("alpha", "beta"), "ag": ("alpha", "gamma"), "bg": ("beta", "gamma"), "slow": ("gamma", "beta")}
    links = [replace(ANOTHER if name == "slow" else FAST, name=name, between=ends) for name, ends in between.items()]
    there = [seen(n, card("RTX 5080", 16 * GIB)) for n in ("alpha", "beta", "gamma")]
    asked = replace(question(*links, hosts=(HOSTS[0], *far)), scan=scan(*there))
    only = [c for c in make_plan(asked).candidates if c.name == "cluster-on-beta"]
    (line,) = over_others(asked, only, chains_of(asked))
    usual = only[0].predicted.decode_tokens_per_s
    assert line.startswith("cluster-on-beta over slow: ")
    assert f" instead of {rate(usual)} over bg" in line
