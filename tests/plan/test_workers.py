"""A worker for each card of a host: micro-batches of a prompt overlap between workers, not between cards of one."""

import re
from dataclasses import replace

import pytest

from evener.errors import NameUnknown
from evener.plan.candidates import Question, make_plan
from evener.plan.chains import chains_of
from evener.plan.commands import Tools
from evener.plan.words import rate
from evener.records.plan import Workload
from evener.records.rig import Host, Link, Rig
from tests.rigs import GIB, card, scan, seen, weights

ALPHA = Host(name="alpha", connection="local", address="10.0.0.1")
BETA = Host(name="beta", connection="ssh", ssh="beta", address="10.0.0.2")
CABLE = Link(name="cable", between=("alpha", "beta"), preset="25gbe")
MODEL = weights(
    blocks=40, block_bytes=GIB, largest_tensor_bytes=GIB, embedding=4096, slot_parameters=(1_700_000_000,) * 41
)
SMALL = seen("alpha", card("RTX 3060", 12 * GIB))
LARGE = seen("beta", card("RTX 5090", 32 * GIB), card("RTX 5090", 32 * GIB, device="CUDA1"))


def asked(*there, aim="prompt", link=CABLE, ports=None, hosts=(ALPHA, BETA)):
    return Question(
        rig=Rig(hosts=hosts, links=(link,)), scan=scan(*(there or (SMALL, LARGE))), weights=MODEL,
        workload=Workload(context=8192, prompt_tokens=6000, objective=aim),
        tools=Tools(engines={}, ports=ports or {}),
    )  # fmt: skip


def planned(*there, layout="auto", **more):
    return make_plan(asked(*there, **more), layout=layout)


def flag(argv, name):
    return argv[argv.index(name) + 1]


def test_two_cards_behind_two_workers_take_prompts_at_one_time():
    made = planned(layout="cluster-per-card")
    one, each = made.candidate("cluster"), made.candidate("cluster-per-card")
    mine, plain = (c.predicted.prefill_tokens_per_s for c in (each, one))
    assert plain.value < mine.value < 2 * plain.value
    assert mine.low < plain.value, "an interval as wide as the cards' compute rates are"
    assert each.predicted.decode_tokens_per_s.value < made.candidate("beta").predicted.decode_tokens_per_s.value
    assert "; a worker for each card on beta, prompts at " in made.verdict.sentence


def test_the_difference_is_said_with_an_interval_of_equal_ends():
    made = planned()
    (line,) = [reason for reason in made.verdict.reasons if reason.startswith("cluster with a worker for each card: ")]
    each, one = (made.candidate(n).predicted.prefill_tokens_per_s for n in ("cluster-per-card", "cluster"))
    assert f"prompts at {rate(each)} instead of {rate(one)}, " in line
    # All that is not known is the cards' rates: a factor at either end differs little from the likely one.
    likely, low, high = (float(word.strip("(")) for word in re.findall(r"[(]?\d[.]\d\d", line)[-3:])
    assert likely == round(each.value / one.value, 2)
    assert low <= likely <= high < low * 1.2
    assert not any("a worker for each card: " in reason for reason in planned(aim="latency").verdict.reasons)


def test_their_command_lines_have_ports_and_devices_of_their_own():
    each = planned(ports={"beta": [50055, 50057, 50058]}).candidate("cluster-per-card")
    first, second = each.workers
    assert [(w.host, w.listen) for w in each.workers] == [("beta", "10.0.0.2:50055"), ("beta", "10.0.0.2:50057")]
    assert sorted(flag(w.argv, "-d") for w in each.workers) == ["CUDA0", "CUDA1"]
    argv = each.servers[0].argv
    assert flag(argv, "--rpc") == f"{first.listen},{second.listen}"
    assert flag(argv, "--device") == ",".join(d.device for d in each.devices) == "RPC0,RPC1"
    assert flag(argv, "-ot") == "no-pipeline-copies=CPU", "behind workers copies bring nothing"
    cards = [d.card for d in each.devices]
    assert cards == [f"GPU-RTX 5090-{flag(w.argv, '-d')}" for w in each.workers]


def test_the_heads_own_cards_need_no_worker_and_stay_together():
    pair = seen("alpha", card("RTX 3060", 12 * GIB), card("RTX 3060", 12 * GIB, device="CUDA1"))
    chains = chains_of(asked(pair, LARGE)).clusters
    assert list(chains) == ["cluster", "cluster-per-card", "cluster-on-beta", "cluster-on-beta-per-card"]
    each = {name: {s.name: s.worker for s in chain.seats} for name, chain in chains.items()}
    assert each["cluster-per-card"] == {
        "beta/CUDA0": "beta/CUDA0", "beta/CUDA1": "beta/CUDA1", "alpha/CUDA0": "alpha", "alpha/CUDA1": "alpha",
    }  # fmt: skip
    assert each["cluster-on-beta-per-card"] == {
        "alpha/CUDA0": "alpha/CUDA0", "alpha/CUDA1": "alpha/CUDA1", "beta/CUDA0": "beta", "beta/CUDA1": "beta",
    }  # fmt: skip
    assert list(chains_of(asked(pair, seen("beta", card("RTX 5090", 32 * GIB)))).clusters) == [
        "cluster", "cluster-on-beta", "cluster-on-beta-per-card",
    ]  # fmt: skip


def test_each_worker_buffers_a_tensor_and_holds_a_card():
    made = planned()
    one, each = made.candidate("cluster"), made.candidate("cluster-per-card")
    assert (one.host_bytes["beta"], each.host_bytes["beta"]) == (GIB, 2 * GIB)
    assert [d.overhead_bytes for d in each.devices] == [450 << 20] * 2


@pytest.mark.parametrize("aim", ["latency", "crowd", "context"])
def test_for_anything_but_prompts_more_workers_are_more_hops_and_no_layout(aim):
    assert planned(aim=aim).candidate("cluster-per-card") is None


def test_who_asks_for_it_with_another_aim_hears_which_aim_has_it():
    with pytest.raises(NameUnknown, match="--layout cluster-per-card: no such layout") as caught:
        planned(aim="crowd", layout="cluster-per-card")
    assert caught.value.hint.endswith("; a worker for each card is one --for prompt, where it is faster")


def test_what_is_not_faster_is_no_layout():
    # One card of beta's is enough, and a second worker would have nothing to do.
    lone = seen("beta", card("RTX 5090", 48 * GIB), card("RTX 3060", 4 * GIB, device="CUDA1"))
    assert planned(SMALL, lone).candidate("cluster-per-card") is None
    assert planned(SMALL, seen("beta", card("RTX 5090", 48 * GIB))).candidate("cluster-per-card") is None


def test_a_host_without_a_port_for_each_says_so():
    narrow = planned(hosts=(ALPHA, replace(BETA, ports=(50052, 50052))))
    for made in (planned(ports={"beta": [50052]}), narrow):
        each = made.candidate("cluster-per-card")
        why = "beta has free ports for 1 of 2 workers; widen its ports in rig.toml"
        assert (each.fits, each.why_not) == (False, why)
        assert made.candidate("cluster").fits


def test_more_workers_than_can_be_searched_in_a_moment_are_no_layout():
    many = [card("RTX 5090", 32 * GIB, device=f"CUDA{n}") for n in range(8)]
    small = seen("alpha", card("RTX 3060", 12 * GIB))
    assert planned(small, seen("beta", *many[:7])).candidate("cluster-per-card") is not None
    assert planned(small, seen("beta", *many)).candidate("cluster-per-card") is None


def test_a_tunnel_leads_to_one_worker():
    assert planned(link=replace(CABLE, tunnel=True)).candidate("cluster-per-card") is None
