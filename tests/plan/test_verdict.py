"""Which layout is taken: by speed where it is known, the simpler one where it is too close to call, else by rule."""

from dataclasses import replace

import pytest

from evener.errors import ConfigurationError
from evener.plan.figures import too_close
from evener.plan.verdict import best_of, verdict_for
from evener.records.plan import Candidate, Command, DevicePlan, Predicted, Value, Workload
from tests.rigs import weights


def rate(value, low=None, high=None):
    return Value(value=value, low=low or value * 0.9, high=high or value * 1.1)


def candidate(name, kind="host", *, hosts=("alpha",), speed=None, fits=True, short=0, servers=1):
    one = Command(host=hosts[0], argv=("llama-server",), env={}, listen="127.0.0.1:8080")
    return Candidate(
        name=name, kind=kind, hosts=hosts, fits=fits, short_bytes=short, devices=(), host_bytes={},
        servers=(one,) * servers, workers=(), why_not=None if fits else "too small",
        predicted=None if speed is None else Predicted(decode_tokens_per_s=speed, users_tokens_per_s=speed),
    )  # fmt: skip


BOTH = ("alpha", "beta")


def test_the_fastest_is_taken_where_every_speed_is_known():
    made = [candidate("alpha", speed=rate(20)), candidate("cluster", "cluster", hosts=BOTH, speed=rate(30))]
    assert best_of(made, "latency").name == "cluster"


def test_what_is_too_close_to_call_goes_to_the_fewest_machines():
    made = [candidate("alpha", speed=rate(28)), candidate("cluster", "cluster", hosts=BOTH, speed=rate(30))]
    assert best_of(made, "latency").name == "alpha"
    sentence = verdict_for(made, weights(), Workload()).sentence
    assert "cluster would do 30 (27 to 33) tok/s: too close to call, so the simpler one" in sentence


def test_one_interval_that_holds_the_others_likely_value_is_too_close():
    assert too_close(rate(100, 60, 140), rate(130, 129, 131))
    assert not too_close(rate(100, 90, 110), rate(120, 111, 130))


def test_one_unknown_speed_on_cards_lets_the_rule_decide():
    made = [candidate("alpha"), candidate("cluster", "cluster", hosts=BOTH, speed=rate(900))]
    assert best_of(made, "latency").name == "alpha"


def test_without_speeds_cards_go_before_ram():
    made = [
        candidate("alpha-experts-in-ram", "experts-in-ram"),
        candidate("alpha-partial-offload", "partial-offload"),
        candidate("cluster", "cluster", hosts=BOTH),
    ]
    assert best_of(made, "latency").name == "cluster"
    assert best_of(made[:2][::-1], "latency").name == "alpha-experts-in-ram"


def test_the_split_by_memory_is_shown_and_never_taken():
    naive = candidate("cluster-by-memory", "cluster", hosts=BOTH, speed=rate(99))
    assert best_of([naive], "latency") is None
    assert verdict_for([naive], weights(), Workload(), "cluster-by-memory").choice == "cluster-by-memory"


def test_one_server_takes_no_replicas_and_says_what_runs_now():
    made = [
        candidate("alpha", speed=rate(20)),
        candidate("replicas", "replicas", hosts=BOTH, speed=rate(40), servers=2),
    ]
    crowd = Workload(users=4)
    assert verdict_for(made, weights(), crowd).choice == "replicas"
    assert verdict_for(made, weights(), crowd, one_server=True).choice == "alpha"
    with pytest.raises(ConfigurationError, match="2 servers, and evener up runs one") as caught:
        verdict_for(made, weights(), crowd, "replicas", one_server=True)
    assert caught.value.hint.startswith("--layout alpha is what it would run now; evener plan --commands has ")


def test_the_nearest_layout_on_cards_is_named_with_what_it_lacks():
    made = [candidate("alpha", fits=False, short=3 << 30), candidate("beta", fits=False, short=1 << 30)]
    assert "beta comes nearest and is 1.0 GiB short" in verdict_for(made, weights(), Workload()).sentence


def test_for_the_context_the_layout_that_holds_the_longest_is_taken_and_it_is_said():
    made = [
        replace(candidate("alpha", speed=rate(90)), longest_context=8192),
        replace(candidate("cluster", "cluster", hosts=BOTH, speed=rate(20)), longest_context=30720),
    ]
    verdict = verdict_for(made, weights(), Workload(objective="context"))
    assert verdict.choice == "cluster"
    assert "up to 30720 tokens per user" in verdict.sentence
    assert "alpha would hold 8192 tokens" in verdict.sentence
    assert "alpha: fits, holds up to 8192 tokens per user" in verdict.reasons


def test_of_equal_contexts_the_faster_is_taken():
    made = [
        replace(candidate("alpha", speed=rate(90)), longest_context=8192),
        replace(candidate("cluster", "cluster", hosts=BOTH, speed=rate(20)), longest_context=8192),
    ]
    assert best_of(made, "context").name == "alpha"


def test_what_fits_marginally_says_so_where_it_is_chosen():
    made = [replace(candidate("alpha", speed=rate(90)), marginal=True)]
    verdict = verdict_for(made, weights(), Workload())
    assert "; marginal: with 5 % of each card kept free it would not fit" in verdict.sentence
    assert "marginal" not in verdict_for([candidate("alpha")], weights(), Workload()).sentence


def test_what_is_too_close_to_call_goes_to_what_leaves_room_on_its_cards():
    made = [
        replace(candidate("alpha", speed=rate(28)), marginal=True),
        candidate("cluster", "cluster", hosts=BOTH, speed=rate(30)),
    ]
    verdict = verdict_for(made, weights(), Workload())
    assert verdict.choice == "cluster"
    assert "too close to call, so the one that leaves room on its cards" in verdict.sentence
    faster = [made[0], candidate("cluster", "cluster", hosts=BOTH, speed=rate(10))]
    assert verdict_for(faster, weights(), Workload()).choice == "alpha"


def test_of_two_tight_layouts_that_are_too_close_neither_leaves_room():
    made = [
        replace(candidate("alpha", speed=rate(30)), marginal=True),
        replace(candidate("cluster", "cluster", hosts=BOTH, speed=rate(31)), marginal=True),
    ]
    verdict = verdict_for(made, weights(), Workload())
    assert verdict.choice == "alpha"
    assert ": too close to call, so the simpler one" in verdict.sentence


def test_the_fullest_card_is_a_card_and_not_the_heads_processor():
    on_card = DevicePlan(
        host="alpha", card="GPU", card_name="RTX 5090", device="CUDA0", position=0, layers=20, weights_bytes=50,
        kv_bytes=0, compute_bytes=0, overhead_bytes=0, total_bytes=50, free_bytes=100, offered_bytes=100,
    )  # fmt: skip
    left = replace(on_card, card="cpu", device="CPU", position=-1, total_bytes=90)
    one = replace(candidate("alpha-partial-offload", "partial-offload"), devices=(left, on_card))
    assert (
        "alpha-partial-offload: fits, the fullest card takes 50% of what it offers"
        in verdict_for([one], weights(), Workload()).reasons
    )


def test_one_machine_hears_of_the_best_split_and_of_the_usual_one():
    made = [
        candidate("alpha", speed=rate(200)),
        candidate("replicas", "replicas", hosts=BOTH, speed=rate(210), servers=2),
        candidate("cluster", "cluster", hosts=BOTH, speed=rate(160)),
        candidate("cluster-on-beta", "cluster", hosts=BOTH, speed=rate(150)),
        candidate("cluster-by-memory", "cluster", hosts=BOTH, speed=rate(92)),
    ]
    sentence = verdict_for(made, weights(), Workload()).sentence
    assert sentence.endswith(
        ". The best split, cluster, would do 160 (144 to 176) tok/s, 80% of alpha's"
        ". Split by memory over all cards, as most do, it would do 92 (83 to 101) tok/s, 46% of alpha's"
    )


def test_a_best_split_within_the_interval_is_too_close_to_call():
    made = [
        candidate("alpha", speed=rate(200)),
        candidate("replicas", "replicas", hosts=BOTH, speed=rate(215), servers=2),
        candidate("cluster", "cluster", hosts=BOTH, speed=rate(212)),
    ]
    sentence = verdict_for(made, weights(), Workload()).sentence
    assert sentence.endswith(". The best split, cluster, would do 212 (191 to 233) tok/s: too close to call")


def test_a_cluster_hears_of_the_usual_split_only():
    made = [
        candidate("alpha", speed=rate(10)),
        candidate("cluster", "cluster", hosts=BOTH, speed=rate(50)),
        candidate("cluster-on-beta", "cluster", hosts=BOTH, speed=rate(40)),
        candidate("cluster-by-memory", "cluster", hosts=BOTH, speed=rate(25)),
    ]
    sentence = verdict_for(made, weights(), Workload()).sentence
    assert ". alpha would do 10.0 (9.0 to 11.0) tok/s, 20% of the cluster's. Split by memory " in sentence
    assert "The best split" not in sentence


def test_more_workers_per_host_are_taken_only_where_they_are_clearly_faster():
    usual, each = (
        candidate(name, "cluster", hosts=BOTH, speed=rate(speed))
        for name, speed in (("cluster", 30), ("cluster-per-card", 32))
    )
    assert best_of([usual, each], "latency").name == "cluster"
    faster = replace(each, predicted=Predicted(decode_tokens_per_s=rate(40)))
    assert best_of([usual, faster], "latency").name == "cluster-per-card"
