"""The published cases, through the planner with models of the catalogue: which layout, how fast, and why."""

from __future__ import annotations

from dataclasses import replace

import pytest

from evener.models.skeletons import alternatives, find, in_steps
from evener.plan.candidates import Question, make_plan
from evener.plan.commands import Tools
from evener.plan.what_if import World, added
from evener.records.plan import Plan, Value, Workload
from evener.records.rig import Host, Link, Rig
from evener.records.speed import DeviceSpeed
from tests.rigs import GIB, card, cpu, scan, seen

HOSTS = tuple(
    Host(name=name, connection="local", address=f"10.0.0.{n}") for n, name in enumerate(("alpha", "beta"), start=1)
)
ALPHA = seen("alpha", card("RTX 5090", 32 * GIB), card("RTX 5060 Ti", 16 * GIB, device="CUDA1"))
BETA = seen(
    "beta",
    card("RTX 5080", 16 * GIB),
    card("RTX 5060 Ti", 16 * GIB, device="CUDA1"),
    card("RTX 5060 Ti", 16 * GIB, device="CUDA2"),
)


def cable(**more) -> Link:
    return Link(name="cable", between=("alpha", "beta"), **more)


FIVE_GBE = cable(gbit_per_s=4.7, rtt_us=250)


def asked(model: str, workload: Workload, *seen_hosts, link: Link = FIVE_GBE, others=()) -> Question:
    hosts = seen_hosts or (ALPHA, BETA)
    return Question(
        rig=Rig(hosts=HOSTS[: len(hosts)], links=(link,)), scan=scan(*hosts), weights=find(model).weights(),
        workload=workload, tools=Tools(engines={}, ports={}), others=others,
    )  # fmt: skip


def plan(*what, **more) -> Plan:
    return make_plan(asked(*what, **more))


def rate(made: Plan, name: str) -> float:
    return made.candidate(name).predicted.decode_tokens_per_s.value


def link_share(made: Plan, name: str) -> float:
    shares = made.candidate(name).predicted.per_token_ms
    return sum(s.ms for s in shares if s.kind == "link") / sum(s.ms for s in shares)


def test_case_2_a_sparse_model_stays_on_one_machine_and_the_usual_split_is_half_as_fast():
    made = plan("qwen3.6-35b-a3b:Q8_0", Workload(context=8192))
    assert made.verdict.choice == "alpha"
    assert 0.35 < rate(made, "cluster-by-memory") / rate(made, "alpha") < 0.6
    assert 0.75 < rate(made, "cluster") / rate(made, "alpha") < 0.95, "few layers, on the card that is faster there"
    assert ". cluster would do " in made.verdict.sentence
    assert "Split by memory over all cards, as most do, it would do " in made.verdict.sentence
    assert link_share(made, "cluster") > 0.2


@pytest.mark.parametrize(
    ("quant", "fits_alone", "low", "high"),
    [("Q4_K_M", True, 10, 12.5), ("Q6_K", False, 7.5, 10), ("Q8_0", False, 5.5, 8)],
)
def test_case_3_a_dense_model_split_by_memory_is_as_slow_as_was_published(quant, fits_alone, low, high):
    made = plan(f"llama-3.3-70b:{quant}", Workload(context=4096))
    assert made.candidate("alpha").fits == fits_alone
    assert low <= rate(made, "cluster-by-memory") <= high
    assert rate(made, "cluster") > rate(made, "cluster-by-memory")
    assert link_share(made, "cluster-by-memory") < 0.1, "the slow cards dominate, not the link"
    if fits_alone:
        assert 15 <= rate(made, "alpha") <= 19


def test_case_3_the_second_machine_buys_speed_where_its_card_is_faster_than_the_second_one_here():
    made = plan("llama-3.3-70b:Q4_K_M", Workload(context=4096))
    best = made.verdict.second_machine[0]
    assert (best.kind, best.layout) == ("speed", "cluster")
    assert {d.card_name for d in made.candidate("cluster").devices} == {"RTX 5090", "RTX 5080"}


def test_case_5_one_plan_in_both_programs_words():
    made = plan("llama-3.3-70b:Q8_0", Workload(context=4096)).candidate("cluster")
    server, bench = made.servers[0].argv, made.bench[0].argv
    devices, counts = server[server.index("--device") + 1], server[server.index("-ts") + 1]
    assert bench[bench.index("-dev") + 1] == devices.replace(",", "/")
    assert bench[bench.index("-ts") + 1] == counts.replace(",", "/")
    assert bench[bench.index("--rpc") + 1] == server[server.index("--rpc") + 1]
    assert bench[0] == "llama-bench"
    assert made.bench[0].listen == ""


def spark(name: str):
    return seen(name, card("NVIDIA GB10", 121 * GIB))


def test_case_7_one_user_stays_on_one_machine_and_eight_get_replicas():
    link = cable(preset="100gbe")
    one = plan("gpt-oss-120b:MXFP4", Workload(context=8192), spark("alpha"), spark("beta"), link=link)
    assert one.verdict.choice == "alpha"
    assert rate(one, "cluster") < rate(one, "alpha")
    eight = plan("gpt-oss-120b:MXFP4", Workload(context=8192, users=8), spark("alpha"), spark("beta"), link=link)
    assert (eight.verdict.choice, eight.verdict.kind) == ("replicas", "replicas")
    assert [s.host for s in eight.candidate("replicas").servers] == ["alpha", "beta"]
    assert eight.verdict.second_machine[0].kind == "replica"


def test_replicas_say_on_which_host_one_user_is_as_fast_as_they_say():
    made = plan("qwen3.6-35b-a3b:Q8_0", Workload(context=4096, users=4))
    assert made.candidate("replicas").predicted.of_host == "alpha"
    assert made.candidate("alpha").predicted.of_host is None
    assert rate(made, "replicas") > rate(made, "beta")
    swapped = plan(
        "qwen3.6-35b-a3b:Q8_0",
        Workload(context=4096, users=4),
        replace(BETA, name="alpha"),
        replace(ALPHA, name="beta"),
    )
    assert swapped.candidate("replicas").predicted.of_host == "beta"


def test_replicas_share_the_users_and_their_memory():
    made = plan("gpt-oss-120b:MXFP4", Workload(context=8192, users=9), spark("alpha"), spark("beta"))
    users = [int(s.argv[s.argv.index("-np") + 1]) for s in made.candidate("replicas").servers]
    assert sorted(users) == [4, 5]


def test_the_slowest_replica_has_one_user_at_least():
    slow = seen("beta", card("RTX 3060", 12 * GIB))
    made = plan("qwen3-0.6b:Q8_0", Workload(users=2, context=4096), ALPHA, slow).candidate("replicas")
    assert [server.argv[server.argv.index("-np") + 1] for server in made.servers] == ["1", "1"]


def test_what_is_left_over_of_the_users_goes_to_the_faster_host_wherever_it_stands():
    slow, fast = seen("alpha", card("RTX 3060", 12 * GIB)), seen("beta", card("RTX 5090", 32 * GIB))
    made = plan("qwen3-0.6b:Q8_0", Workload(users=4, context=4096), slow, fast).candidate("replicas")
    assert [server.argv[server.argv.index("-np") + 1] for server in made.servers] == ["1", "3"]


def test_replicas_hold_the_context_of_the_one_that_holds_least():
    # 112 KiB a token: a card of 4 GiB holds no 40960 of one user, one of 32 GiB does.
    small = seen("beta", card("RTX 3060", 4 * GIB))
    work = Workload(users=2, context=4096, objective="context")
    made = plan("qwen3-0.6b:Q8_0", work, seen("alpha", card("RTX 5090", 32 * GIB)), small)
    assert made.candidate("alpha").longest_context == 40960
    assert 20480 < made.candidate("replicas").longest_context < 32768


def test_case_8_equal_hosts_get_slower_with_each_one_more():
    alone = plan(
        "gpt-oss-120b:MXFP4", Workload(context=8192), spark("alpha"), spark("beta"), link=cable(preset="10gbe")
    )
    assert 0.75 < rate(alone, "cluster") / rate(alone, "alpha") < 0.95  # published: 28.87 of 33.50


def test_case_9_over_a_slow_cable_the_head_keeps_the_output():
    slow = cable(gbit_per_s=0.094, rtt_us=350)
    made = plan("qwen3-0.6b:Q8_0", Workload(context=4096), ALPHA, BETA, link=slow)
    devices = made.candidate("cluster").devices
    assert (devices[0].host, devices[-1].host) == ("beta", "alpha")


@pytest.mark.parametrize(
    ("users", "context", "kv", "fits", "marginal"),
    [(12, 32768, "f16", True, False), (15, 32768, "f16", True, True), (12, 65536, "f16", False, False),
     (12, 65536, "q8_0", True, False)],
)  # fmt: skip
def test_case_21_people_and_context_on_one_machine(users, context, kv, fits, marginal):
    workload = Workload(users=users, context=context, kv_type_k=kv, kv_type_v=kv)
    made = plan("qwen3.6-35b-a3b:Q8_0", workload, ALPHA).candidate("alpha")
    assert (made.fits, made.marginal) == (fits, marginal)


def test_case_21_what_does_not_fit_on_cards_says_three_ways_out():
    made = plan("qwen3.6-35b-a3b:Q8_0", Workload(users=12, context=65536), ALPHA, others=in_steps())
    assert made.verdict.kind == "experts-in-ram"
    ways = made.verdict.ways_out
    assert ways[0].startswith("--kv q8_0 takes 7.0 GiB less and fits on alpha")  # half of 15 GiB less 1/16 of it
    assert any(way.startswith("--context ") for way in ways)
    assert any(way.startswith("--users ") for way in ways)
    assert any(way.startswith("Q6_K ") for way in ways)


@pytest.mark.parametrize(
    ("cards", "quant", "way"),
    [
        ((("RTX 5090", 32),), "Q6_K", '--add "alpha: RTX 5090" fits on alpha'),
        ((("RTX 5090", 32),), "Q8_0", '--add "alpha: 2x RTX 5090" fits on alpha'),
        ((("RTX 3080", 12), ("RTX 3080", 12)), "Q4_K_M", '--add "alpha: 2x RTX 3080 12GB" fits on alpha'),
    ],
)
def test_where_little_else_helps_it_is_said_how_many_more_of_its_cards_would_hold_it(cards, quant, way):
    there = [card(name, size * GIB * 98 // 100, device=f"CUDA{i}") for i, (name, size) in enumerate(cards)]
    question = asked(f"llama-3.3-70b:{quant}", Workload(context=1024, users=1), seen("alpha", *there))
    assert way in make_plan(question).verdict.ways_out
    world = added(World(rig=question.rig, scan=question.scan), way.split('"')[1])
    made = make_plan(replace(question, rig=world.rig, scan=world.scan))
    assert made.candidate("alpha").fits
    assert not any("--add" in line for line in made.verdict.ways_out)


def test_cards_that_cannot_be_added_are_no_way_out():
    work = Workload(context=1024, users=1)
    for name, kind in (("Unheard of", "cuda"), ("M4 Max", "metal"), ("RTX 3080", "unknown")):
        one = seen("alpha", card(name, 12 * GIB, kind=kind))
        made = plan("llama-3.3-70b:Q8_0", work, one)
        assert made.verdict.ways_out
        assert not any("--add" in line for line in made.verdict.ways_out)


def test_a_refused_layout_says_what_fits_there_and_which_layouts_fit_as_they_are():
    weights = find("llama-3.3-70b:Q4_K_M").weights()
    question = Question(
        rig=Rig(hosts=HOSTS, links=(FIVE_GBE,)), scan=scan(ALPHA, BETA), weights=weights,
        workload=Workload(context=8192), tools=Tools(engines={}, ports={}), others=alternatives(weights),
    )  # fmt: skip
    made = make_plan(question, layout="alpha/CUDA0")
    ways = made.verdict.ways_out
    assert made.candidate("alpha").fits
    assert "--layout alpha fits as it is" in ways
    assert "--layout cluster fits as it is" in ways
    assert not any(way.endswith("fits on alpha") or "fits on the cluster" in way for way in ways)
    least = made.candidate("alpha/CUDA0").short_bytes
    assert ways[-1] == f"{least / GIB:.1f} GiB more of card memory"
    (smaller,) = (way for way in ways if way.startswith("Q"))
    assert smaller.endswith("fits on alpha/CUDA0")


def test_quantisations_between_the_steps_are_ways_out_too():
    weights = find("llama-3.3-70b:Q8_0").weights()
    names = {w.quantisation for w in alternatives(weights) if w.parameters == weights.parameters}
    assert {"Q8_0", "Q6_K", "Q5_K_M", "Q4_K_M"} <= names
    assert len(alternatives(weights)) > len(in_steps())


def test_experts_in_ram_leave_as_few_as_possible_there():
    made = plan("qwen3.6-35b-a3b:Q8_0", Workload(users=12, context=65536), ALPHA).candidate("alpha-experts-in-ram")
    argv = made.servers[0].argv
    count = int(argv[argv.index("-ncmoe") + 1])
    assert sum(d.layers for d in made.devices) == 41
    weights = find("qwen3.6-35b-a3b:Q8_0").weights()
    moved = sum(weights.slot_expert_bytes[:count])
    assert sum(d.weights_bytes for d in made.devices) == sum(weights.slot_bytes_gpu) - moved
    assert made.host_bytes["alpha"] > moved
    assert made.predicted is None, "nobody has measured the RAM"


def test_layers_that_no_card_has_room_for_are_left_to_the_cpu():
    made = plan("llama-3.3-70b:Q6_K", Workload(), ALPHA).candidate("alpha-partial-offload")
    left, *cards = made.devices
    assert (left.device, left.position) == ("CPU", -1)
    argv = made.servers[0].argv
    assert int(argv[argv.index("-ngl") + 1]) == sum(d.layers for d in cards) == 81 - left.layers


def test_a_bigger_quantisation_is_what_two_machines_hold():
    made = plan("llama-3.3-70b:Q4_K_M", Workload(context=4096), others=in_steps())
    bigger = next(b for b in made.verdict.second_machine if b.kind == "bigger model")
    assert "Llama-3.3-70B-Q8_0" in bigger.sentence


def test_one_machine_has_no_second_one():
    assert plan("llama-3.1-8b:Q8_0", Workload(), ALPHA).verdict.second_machine == ()


def test_two_names_of_one_machine_are_no_second_machine():
    twin = replace(BETA, machine_id=ALPHA.machine_id)
    made = plan("llama-3.1-8b:Q8_0", Workload(users=4), ALPHA, twin)
    assert made.verdict.second_machine == ()
    assert made.candidate("replicas") is None


@pytest.mark.parametrize("model", ["qwen3.6-35b-a3b:Q8_0", "llama-3.3-70b:Q6_K", "gemma-3-27b:Q8_0", "qwen3-0.6b:Q8_0"])
@pytest.mark.parametrize("objective", ["latency", "crowd", "prompt", "context"])
def test_every_layout_that_fits_places_every_slot_once_within_what_each_card_offers(model, objective):
    made = plan(model, Workload(users=3, context=8192, objective=objective))
    slots = made.model.layers + 1
    for one in made.candidates:
        if not one.fits:
            assert one.why_not
            assert one.short_bytes > 0
            continue
        for server in one.servers:
            held = [d for d in one.devices if len(one.servers) == 1 or d.host == server.host]
            assert sum(d.layers for d in held) == slots
            counts = [int(n) for n in server.argv[server.argv.index("-ts") + 1].split(",")]
            assert counts == [d.layers for d in held if d.position >= 0]
        for device in one.devices:
            assert device.layers > 0
            parts = device.weights_bytes + device.kv_bytes + device.compute_bytes + device.overhead_bytes
            assert device.total_bytes == parts
            assert device.position < 0 or device.total_bytes <= device.offered_bytes
        shares = one.predicted.per_token_ms if one.predicted else ()
        if shares and one.kind != "replicas":
            assert sum(s.ms for s in shares) == pytest.approx(1000 / one.predicted.decode_tokens_per_s.value)


def test_a_tokens_time_in_ram_is_the_hosts_processor_which_is_no_device_of_the_layout():
    there = seen("alpha", card("RTX 5090", 32 * GIB), card("RTX 5060 Ti", 16 * GIB, device="CUDA1"), cpu(64 * GIB))
    measured = DeviceSpeed(source="measured", weights_bytes_per_s=Value(value=5e10, low=4e10, high=6e10))
    question = Question(
        rig=Rig(hosts=HOSTS[:1]), scan=scan(there), weights=find("qwen3.6-35b-a3b:Q8_0").weights(),
        workload=Workload(users=12, context=65536), tools=Tools(engines={}, ports={}),
        measured={("alpha", "cpu"): measured},
    )  # fmt: skip
    made = make_plan(question).candidate("alpha-experts-in-ram")
    places = [share.where for share in made.predicted.per_token_ms]
    assert places[0] == "alpha/CPU"
    assert set(places) - {f"{d.host}/{d.device}" for d in made.devices} == {"alpha/CPU"}
