"""The search's seconds are the speed model's, and its choice is the best of all that the speed model could be asked."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import combinations, permutations, product

import pytest

from evener.plan.cards import find
from evener.plan.links import UNKNOWN, link_speed
from evener.plan.placing import Chain, Placed, best_cut, context_held, longest_context, needed, placed, stages
from evener.plan.runs import Load
from evener.plan.seats import Seat
from evener.plan.speed import predict
from evener.plan.speed_devices import device_speed
from evener.records.plan import Workload
from evener.records.rig import Host, Link
from tests.plan.speed_models import gpt_oss, llama_70b, qwen_35b_a3b
from tests.rigs import GIB, card, weights

CARDS = ("RTX 5090", "RTX 5080", "RTX 5060 Ti 16GB", "RTX 3090", "RTX 3060")
HOSTS = ("alpha", "beta", "gamma")


def seat(host, name, free_bytes, number=0):
    one = card(name, free_bytes, device=f"CUDA{number}")
    return Seat(
        host=Host(name=host, connection="local"), card=one, offered_bytes=free_bytes, speed=device_speed(find(name))
    )


def chain(*seats, links=None, head="alpha"):
    return Chain(seats=seats, head=head, links=links or dict.fromkeys(HOSTS, UNKNOWN))


def small(chance):
    """A model of few blocks, some sparse, some with windows or states."""
    blocks = chance.randint(3, 5)
    routed = chance.choice((0, 60))
    return weights(
        blocks=blocks, block_bytes=chance.randint(80, 900) << 20, head_bytes=chance.randint(50, 900) << 20,
        embedding=chance.choice((576, 4096)), vocabulary=chance.choice((5000, 250_000)),
        experts=8 if routed else 0, experts_used=2 if routed else 0,
        slot_expert_bytes=(routed << 20,) * blocks + (0,) if routed else (),
        slot_parameters=(chance.randint(10, 900) * 10**6,) * (blocks + 1),
        slot_expert_parameters=(8 * 10**6,) * blocks + (0,) if routed else (),
        recurrent_bytes_per_sequence=tuple(chance.choice((0, 2 << 20)) for _ in range(blocks)),
    )  # fmt: skip


def every_placing(seats, load):
    """Every set, every order in which a worker's cards stay together, and every cut that fits."""
    workers = sorted({s.worker for s in seats})
    for count in range(1, len(workers) + 1):
        for order in permutations(workers, count):
            mine = [[s for s in seats if s.worker == worker] for worker in order]
            inside = [[o for n in range(1, len(own) + 1) for o in permutations(own, n)] for own in mine]
            for chosen in product(*inside):
                used = [s for own in chosen for s in own]
                for cuts in combinations(range(1, load.slots), len(used) - 1):
                    bounds = (0, *cuts, load.slots)
                    parts = tuple((s, bounds[i + 1] - bounds[i]) for i, s in enumerate(used))
                    if (done := Placed(parts=parts, load=load)).holds():
                        yield done


def rate(one, done, aim):
    found = predict(stages(one, done), done.load.weights, done.load.workload, depth=done.load.depth)
    value = {
        "latency": found.decode_tokens_per_s, "crowd": found.users_tokens_per_s, "prompt": found.prefill_tokens_per_s
    }[aim]  # fmt: skip
    return value.value


def small_case(seed, *, per_card=False):
    """Up to three hosts, any of them the head; with a worker for each card of the others where that is asked."""
    chance = random.Random(seed)
    seats = []
    for host in HOSTS[: chance.randint(1, 3)]:
        seats += [
            seat(host, chance.choice(CARDS), chance.randint(1500, 5000) << 20, number)
            for number in range(chance.choice((1, 1, 2)))
        ]
    rates = [chance.choice((0.094, 0.94, 9.4, 40)) for _ in HOSTS]
    cables = {
        host: link_speed(Link(name=host, between=("alpha", host), gbit_per_s=speed, rtt_us=chance.choice((50, 500))))
        for host, speed in zip(HOSTS, rates, strict=True)
    }
    workload = Workload(context=2048, users=chance.choice((1, 4)), prompt_tokens=chance.choice((300, 4000)))
    load = Load(weights=small(chance), workload=workload)
    head = HOSTS[seed % len({s.host.name for s in seats})]
    if per_card:
        seats = [replace(s, own_worker=s.host.name != head) for s in seats]
    return chain(*seats[::-1], links=cables, head=head), load


@pytest.mark.parametrize("per_card", [False, True])
@pytest.mark.parametrize("aim", ["latency", "crowd", "prompt"])
@pytest.mark.parametrize("seed", range(25))
def test_no_placing_is_predicted_faster_than_the_one_that_is_found(seed, aim, per_card):
    one, load = small_case(seed, per_card=per_card)
    load = Load(weights=load.weights, workload=Workload(
        context=load.workload.context, users=load.workload.users, prompt_tokens=load.workload.prompt_tokens,
        objective=aim,
    ))  # fmt: skip
    needs = min(2, len(one.hosts))
    every = [d for d in every_placing(one.seats, load) if len({s.worker for s, _ in d.parts}) >= needs]
    found = best_cut(one, load)
    if not every:
        return
    assert found is not None
    assert found.holds()
    assert rate(one, found, aim) == pytest.approx(max(rate(one, d, aim) for d in every), rel=1e-9)


@pytest.mark.parametrize("model", [llama_70b(42.5e9), qwen_35b_a3b(), gpt_oss(36, 128)])
@pytest.mark.parametrize("aim", ["latency", "crowd", "prompt"])
def test_seconds_of_runs_are_those_of_the_speed_model(model, aim):
    one = chain(
        seat("beta", "RTX 5080", 16 * GIB),
        seat("beta", "RTX 5060 Ti", 16 * GIB, 1),
        seat("alpha", "RTX 5090", 96 * GIB),
    )
    load = Load(weights=model, workload=Workload(context=8192, users=6, prompt_tokens=2048, objective=aim))
    middle = load.slots // 2
    done = Placed(parts=tuple(zip(one.seats, (3, middle, load.slots - 3 - middle), strict=True)), load=load)
    link = UNKNOWN
    (a, b, c), sides = one.seats, [*done.runs()]
    seconds = [
        load.seconds(a, aim, link=link, copied=False)[sides[0][1], sides[0][2]],
        load.seconds(b, aim, link=link, copied=True)[sides[1][1], sides[1][2]] + load.leaving_seconds(aim, link),
        load.seconds(c, aim, link=None, copied=False)[sides[2][1], sides[2][2]],
    ]
    if aim == "prompt":
        earlier, last = seconds[0] + seconds[1], seconds[2]
        whole = load.workload.prompt_tokens / (load.batches * max(earlier, last) + min(earlier, last))
    else:
        whole = (6 if aim == "crowd" else 1) / sum(seconds)
    assert whole == pytest.approx(rate(one, done, aim), rel=1e-9)


@pytest.mark.parametrize(
    "change",
    [
        {"experts_in_ram": 20}, {"begin": 3}, {"weights": llama_70b(42.5e9)},
        {"workload": Workload(context=8192, users=6, kv_type_k="q8_0", kv_type_v="q8_0")},
        {"workload": Workload(context=512, users=6)}, {"workload": Workload(context=8192, users=2)},
        {"workload": Workload(context=8192, users=6, prompt_tokens=90)},
    ],
)  # fmt: skip
@pytest.mark.parametrize("aim", ["latency", "crowd", "prompt"])
def test_a_load_made_of_another_has_figures_of_its_own(aim, change):
    one = seat("alpha", "RTX 5090", 96 * GIB)
    load = Load(weights=qwen_35b_a3b(), workload=Workload(context=8192, users=6))
    load.seconds(one, aim, link=None, copied=False)  # known by now
    made = replace(load, **change)
    fresh = Load(weights=made.weights, workload=made.workload, experts_in_ram=made.experts_in_ram, begin=made.begin)
    found, expected = (x.seconds(one, aim, link=None, copied=False) for x in (made, fresh))
    assert (found == expected).all()


@pytest.mark.parametrize("copies", [True, False])
@pytest.mark.parametrize("seed", range(15))
def test_a_run_fits_exactly_where_what_it_needs_is_within_the_room(seed, copies):
    one, load = small_case(seed)
    load = Load(weights=load.weights, workload=load.workload, copies=copies)
    for seat_ in one.seats:
        fits = load.fits(seat_)
        for start in range(load.slots):
            for stop in range(start + 1, load.slots + 1):
                assert fits[start, stop] == (needed(load, seat_, start, stop) <= seat_.room_bytes)


def test_the_longest_context_fits_and_one_step_more_does_not():
    one = chain(seat("alpha", "RTX 5090", 2 * GIB), links={})
    load = Load(weights=weights(blocks=10, context_train=1 << 20), workload=Workload(users=2))
    found = longest_context(one, load)
    context = found.load.workload.context
    assert found.holds()
    further = Load(weights=load.weights, workload=Workload(users=2, context=context + 256))
    assert needed(further, one.seats[0], 0, 11) > one.seats[0].room_bytes


def test_a_cut_for_the_context_holds_the_longest_of_its_chain():
    one = chain(seat("alpha", "RTX 5090", 2 * GIB), seat("alpha", "RTX 5080", 1 * GIB, 1), links={})
    load = Load(weights=weights(blocks=10, context_train=1 << 20), workload=Workload(users=2, objective="context"))
    done = best_cut(one, load)
    assert context_held(done) == longest_context(one, load).load.workload.context
    short = replace(load, weights=replace(load.weights, context_train=8192))
    assert context_held(best_cut(one, short)) == 8192


def test_some_of_each_card_stays_free_where_it_can():
    one = chain(seat("alpha", "RTX 5090", 2 * GIB), seat("alpha", "RTX 5080", 2 * GIB, 1), links={})
    roomy, full = (Load(weights=weights(blocks=n), workload=Workload(context=1024)) for n in (26, 30))
    assert placed(one, roomy).load.spare == 0.05
    assert placed(one, full).load.spare == 0.0
