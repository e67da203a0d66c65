"""llama-server may run on any host: there its cards cost no link, and the others' are behind workers."""

from dataclasses import replace

import pytest

from evener.plan.candidates import Question, make_plan
from evener.plan.chains import chains_of
from evener.plan.commands import Tools
from evener.plan.verdict import best_of
from evener.records.plan import Workload
from evener.records.rig import Host, Link, Rig
from evener.records.weights import Projector
from tests.rigs import GIB, MIB, card, cpu, scan, seen, weights

ALPHA = Host(name="alpha", connection="local", address="10.0.0.1")
BETA = Host(name="beta", connection="ssh", ssh="beta", address="10.0.0.2")
CABLE = Link(name="cable", between=("alpha", "beta"), gbit_per_s=4.7, rtt_us=250)
MODEL = weights(blocks=20, block_bytes=GIB)
TWO = (seen("alpha", card("RTX 5080", 16 * GIB)), seen("beta", card("RTX 5080", 16 * GIB)))


def asked(*there, hosts=(ALPHA, BETA), links=(CABLE,), model=MODEL, tools=None, **more):
    return Question(
        rig=Rig(hosts=hosts, links=links), scan=scan(*(there or TWO)), weights=model,
        workload=Workload(context=1024, **more), tools=tools or Tools(engines={}, ports={}),
    )  # fmt: skip


def planned(*there, layout="auto", **more):
    return make_plan(asked(*there, **more), layout=layout)


def flag(argv, name):
    return argv[argv.index(name) + 1]


def test_the_server_of_another_head_listens_there_and_dials_the_first_host():
    moved = planned().candidate("cluster-on-beta")
    (server,), (worker,) = moved.servers, moved.workers
    assert (server.host, server.listen) == ("beta", "10.0.0.2:8080")
    assert (worker.host, worker.listen) == ("alpha", "10.0.0.1:50052")
    assert flag(server.argv, "--rpc") == "10.0.0.1:50052"
    assert flag(server.argv, "--device") == ",".join(d.device for d in moved.devices)
    assert {(d.host, d.device) for d in moved.devices} == {("alpha", "RPC0"), ("beta", "CUDA0")}
    assert sum(d.layers for d in moved.devices) == 21


def test_a_stated_host_that_is_not_the_first_serves_on_its_own_address():
    stated = tuple(replace(host, connection="stated", ssh=None) for host in (ALPHA, BETA))
    made = planned(hosts=stated)
    assert made.candidate("cluster-on-beta").servers[0].listen == "10.0.0.2:8080"
    assert made.candidate("cluster").servers[0].listen == "127.0.0.1:8080"


def test_a_first_host_without_cards_leaves_the_server_to_who_has_them():
    desk = seen("alpha", cpu())
    box = seen("beta", card("RTX 5090", 32 * GIB), card("RTX 3060", 12 * GIB, device="CUDA1"))
    far = seen("gamma", card("RTX 5090", 32 * GIB))
    slow = [replace(CABLE, name=f"to-{n}", between=("alpha", n), gbit_per_s=0.094) for n in ("beta", "gamma")]
    links = (*slow, replace(CABLE, between=("beta", "gamma"), gbit_per_s=9.4, rtt_us=100))
    gamma = Host(name="gamma", connection="ssh", ssh="gamma", address="10.0.0.3")
    model = weights(blocks=50, block_bytes=GIB, vocabulary=150_000, embedding=4096)
    made = planned(desk, box, far, hosts=(ALPHA, BETA, gamma), links=links, model=model)
    assert made.verdict.choice == "cluster-on-beta"
    assert "; llama-server on beta, " in made.verdict.sentence
    assert made.candidate("cluster-on-beta").hosts == ("beta", "gamma")
    cluster = made.candidate("cluster")
    assert cluster.servers[0].host == "alpha"
    assert "alpha" not in {d.host for d in cluster.devices}, "nobody has measured the desk's CPU, and it is not needed"


def test_each_head_reaches_each_host_by_the_cable_between_these_two():
    gamma = Host(name="gamma", connection="ssh", ssh="gamma", address="10.0.0.3")
    ends = {"ab": ("alpha", "beta"), "ag": ("alpha", "gamma"), "bg": ("beta", "gamma")}
    links = [replace(CABLE, name=name, between=between) for name, between in ends.items()]
    chains = chains_of(
        asked(*TWO, seen("gamma", card("RTX 5080", 16 * GIB)), hosts=(ALPHA, BETA, gamma), links=links)
    ).clusters
    taken = {
        name: {host: link.name for host, link in chain.links.items() if host != chain.head}
        for name, chain in chains.items()
    }
    assert taken == {
        "cluster": {"beta": "ab", "gamma": "ag"},
        "cluster-on-beta": {"alpha": "ab", "gamma": "bg"},
        "cluster-on-gamma": {"alpha": "ag", "beta": "bg"},
    }
    assert {name: chain.hosts[-1] for name, chain in chains.items()} == {
        "cluster": "alpha", "cluster-on-beta": "beta", "cluster-on-gamma": "gamma",
    }  # fmt: skip


def test_of_heads_too_close_to_call_it_is_the_first_host():
    # The faster card is beta's, so with the server there it costs no link: a few per cent.
    there = (seen("alpha", card("RTX 5080", 16 * GIB)), seen("beta", card("RTX 4090", 16 * GIB)))
    made = planned(*there)
    first, moved = (made.candidate(name).predicted.decode_tokens_per_s for name in ("cluster", "cluster-on-beta"))
    assert moved.value != first.value
    assert first.low < moved.value < first.high
    assert made.verdict.choice == "cluster"
    faster = [replace(c, predicted=made.candidate("cluster-on-beta").predicted) for c in made.candidates if c.fits]
    assert best_of(faster, "latency").name == "cluster"


def test_two_names_of_this_machine_have_one_head():
    names = [c.name for c in planned(hosts=(ALPHA, replace(BETA, connection="local", ssh=None))).candidates]
    assert "cluster" in names
    assert "cluster-on-beta" not in names


@pytest.mark.parametrize(
    ("hosts", "links", "tools", "why"),
    [
        ((replace(ALPHA, address=None), BETA), (CABLE,), {}, "alpha has no address in the rig that beta could reach"),
        ((ALPHA, BETA), (replace(CABLE, tunnel=True),), {}, "link cable is a tunnel: it begins on alpha, not on beta"),
        (
            (ALPHA, BETA), (CABLE,), {"models": {"beta": None}},
            "beta has no copy of the model; evener models push /models/tiny.gguf beta brings it there",
        ),
    ],
)  # fmt: skip
def test_a_head_that_could_not_begin_says_why(hosts, links, tools, why):
    made = planned(hosts=hosts, links=links, tools=Tools(engines={}, ports={}, **tools))
    moved = made.candidate("cluster-on-beta")
    assert (moved.fits, moved.why_not) == (False, why)
    assert made.candidate("cluster").fits


def test_a_head_reads_its_own_copies_of_what_stands_beside_the_model():
    drafted = replace(MODEL, draft=weights(blocks=2, block_bytes=MIB, paths=("/models/small.gguf",)))
    there = {"models": {"beta": "/data/tiny.gguf"}}

    def moved(copy):
        tools = Tools(engines={}, ports={}, beside={("beta", "/models/small.gguf"): copy}, **there)
        return planned(model=drafted, tools=tools, drafts=3).candidate("cluster-on-beta")

    assert flag(moved("/data/small.gguf").servers[0].argv, "-md") == "/data/small.gguf"
    assert not any("must be on" in line for line in moved("/data/small.gguf").warnings)
    without = moved(None)
    assert (without.fits, without.why_not) == (
        False, "beta has no copy of small.gguf; evener models push /models/small.gguf beta brings it there",
    )  # fmt: skip


def test_an_address_that_a_stated_host_has_not_got_yet_keeps_no_head_from_being_planned():
    nowhere = tuple(Host(name=name, connection="stated") for name in ("alpha", "beta"))
    moved = planned(hosts=nowhere).candidate("cluster-on-beta")
    assert moved.fits
    assert flag(moved.servers[0].argv, "--rpc") == "ADDRESS-OF-alpha:50052"


def test_where_all_cards_are_too_few_one_refusal_is_enough():
    names = [c.name for c in planned(model=weights(blocks=60, block_bytes=GIB)).candidates]
    assert "cluster" in names
    assert "cluster-on-beta" not in names


def test_where_the_first_hosts_cluster_fits_another_that_does_not_says_by_how_much():
    # What sees images stands whole on a card of the head, and beta's is too small for it.
    eyes = Projector(name="eyes", path="/models/eyes.gguf", weights_bytes=9 * GIB, compute_bytes=0, host_bytes=0)
    there = (seen("alpha", card("RTX 3090", 24 * GIB)), seen("beta", card("RTX 3060", 8 * GIB)))
    made = planned(*there, model=replace(MODEL, projector=eyes))
    assert made.candidate("cluster").fits
    moved = made.candidate("cluster-on-beta")
    assert (moved.fits, moved.short_bytes > 0) == (False, True)


def test_any_head_can_be_asked_for():
    made = planned(layout="cluster-on-beta", users=2)
    assert (made.verdict.choice, made.verdict.kind) == ("cluster-on-beta", "cluster")


def test_where_nothing_is_known_a_heads_processor_takes_its_share():
    # Of the other card nobody knows the speed either: no reason to leave one of them out.
    desk, box = seen("alpha", cpu(16 * GIB)), seen("beta", card("Unheard of", 16 * GIB))
    cluster = planned(desk, box, model=weights(blocks=10, block_bytes=GIB)).candidate("cluster")
    assert {d.host for d in cluster.devices} == {"alpha", "beta"}


def test_a_processor_brings_nothing_near_a_server_where_others_have_cards():
    there = (seen("alpha", card("RTX 5080", 16 * GIB)), seen("beta", cpu(16 * GIB)))
    assert planned(*there).candidate("cluster-on-beta") is None
    both = (seen("alpha", cpu(16 * GIB)), seen("beta", cpu(16 * GIB)))
    assert planned(*both).candidate("cluster-on-beta") is not None
