"""What another machine buys: only what it can be seen to buy, in units that are not compared with each other."""

import pytest

from evener.plan.candidates import Question, make_plan
from evener.plan.commands import Tools
from evener.plan.words import rate
from evener.records.plan import Workload
from evener.records.rig import Host, Rig
from tests.rigs import GIB, card, scan, seen, weights

HOSTS = tuple(
    Host(name=name, connection="local", address=f"10.0.0.{n}") for n, name in enumerate(("alpha", "beta"), start=1)
)
SMALL = weights(name="small", parameters=900)
# The trained context is little, so that both machines together hold no longer one.
MODEL = weights(blocks=8, block_bytes=GIB, context_train=4096)


def planned(model=MODEL, *, others=(), workload=None, cards=("RTX 5090", "RTX 5060 Ti")):
    alpha = seen("alpha", card(cards[0], 32 * GIB))
    beta = seen("beta", card(cards[1], 12 * GIB, device="CUDA1"))
    question = Question(
        rig=Rig(hosts=HOSTS), scan=scan(alpha, beta), weights=model, workload=workload or Workload(context=4096),
        tools=Tools(engines={}, ports={}), others=others,
    )  # fmt: skip
    return make_plan(question)


def test_a_machine_that_makes_nothing_faster_longer_or_bigger_buys_nothing():
    (only,) = planned().verdict.second_machine
    assert (only.kind, only.layout) == ("nothing", "alpha")
    assert "speed: " in only.sentence
    assert only.gain < 1


def test_a_second_model_counts_only_where_one_fits():
    found = planned(others=(SMALL,)).verdict.second_machine
    (second,) = (b for b in found if b.kind == "second model")
    assert (second.gain, "e.g. for small" in second.sentence) == (2.0, True)
    huge = weights(name="huge", blocks=8, block_bytes=40 * GIB)
    assert [b.kind for b in planned(others=(huge,)).verdict.second_machine] == ["nothing"]


def test_a_bigger_model_that_one_machine_holds_needs_no_second_one():
    bigger = weights(name="bigger", blocks=8, block_bytes=2 * GIB, parameters=2_000_000)
    assert "bigger model" not in [b.kind for b in planned(others=(bigger, SMALL)).verdict.second_machine]


def test_gains_of_two_kinds_are_not_compared():
    # Twice as many models is more than 1.1 times the bytes, but the kinds have an order of their own.
    model = weights(blocks=8, block_bytes=3700 << 20, context_train=4096)
    bigger = weights(name="bigger", blocks=8, block_bytes=4 * GIB, parameters=2_000_000)
    found = [b for b in planned(model, others=(bigger, SMALL)).verdict.second_machine if b.kind != "speed"]
    assert [b.kind for b in found] == ["bigger model", "second model"]
    assert 1.05 < found[0].gain < found[1].gain


def test_a_tokens_time_is_told_by_devices_of_the_plan_and_said_by_cards():
    made = planned(weights(blocks=8, block_bytes=4 * GIB))
    cluster = made.candidate("cluster")
    devices = {f"{d.host}/{d.device}" for d in cluster.devices}
    shares = cluster.predicted.per_token_ms
    assert {s.where for s in shares if s.kind != "link"} == devices == {"beta/RPC0", "alpha/CUDA0"}
    assert {s.where.partition(" to ")[2] for s in shares if s.kind == "link"} == {"beta/RPC0"}
    assert "alpha/RTX 5090 " in made.verdict.second_machine[0].sentence


AIMS = (
    ("crowd", "all users together ", "users_tokens_per_s"),
    ("prompt", "prompts at ", "prefill_tokens_per_s"),
    ("latency", "", "decode_tokens_per_s"),
)


def test_one_machine_that_holds_the_context_tightly_is_not_said_to_hold_less():
    work = Workload(context=32768, users=8)
    # 29.5 GiB of weights and 0.5 GiB of caches on 32 GiB, less the driver: it fits, and not with 5 % kept free.
    made = planned(weights(blocks=8, block_bytes=59 * GIB // 16, context_train=131072), workload=work)
    assert (made.candidate("alpha").fits, made.candidate("alpha").marginal) == (True, True)
    (longer,) = (b for b in made.verdict.second_machine if b.kind == "context")
    assert longer.sentence == "longer context: 131072 tokens for each of 8 instead of 32768"


@pytest.mark.parametrize(("aim", "whose", "figure"), AIMS)
def test_speeds_are_those_of_the_aim_and_say_whose_they_are(aim, whose, figure):
    work = Workload(context=4096, users=4, objective=aim)
    made = planned(weights(blocks=8, block_bytes=4 * GIB), workload=work)
    value = getattr(made.candidate("cluster").predicted, figure)
    (at_all,) = made.verdict.second_machine
    assert f"no machine's cards hold it alone, {whose}{rate(value)}; of one user's token, " in at_all.sentence


@pytest.mark.parametrize(("aim", "whose", "figure"), [AIMS[1], AIMS[2]])
def test_speed_against_one_machine_says_whose_it_is(aim, whose, figure):
    made = planned(workload=Workload(context=4096, users=4, objective=aim))
    mine, theirs = (rate(getattr(made.candidate(n).predicted, figure)) for n in ("alpha", "cluster"))
    (only,) = made.verdict.second_machine
    assert f" {whose}{theirs} against {mine} alone; of one user's token, " in only.sentence
