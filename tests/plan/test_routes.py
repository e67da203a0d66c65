"""Where a worker listens when nobody has said where its host is."""

from evener.plan.candidates import Question, make_plan
from evener.plan.commands import Tools
from evener.records.plan import Workload
from evener.records.rig import Host, Rig
from tests.rigs import GIB, card, scan, seen, weights

LOCAL = Host(name="alpha", connection="local")


def planned(far: Host, *, machine: str | None = None):
    hosts = (
        seen("alpha", card("RTX 5090", 32 * GIB)),
        seen(far.name, card("RTX 3090", 24 * GIB), machine=machine),
    )
    tools = Tools(engines={}, ports={})
    rig = Rig(hosts=(LOCAL, far))
    question = Question(
        rig=rig, scan=scan(*hosts), weights=weights(block_bytes=10 * GIB), workload=Workload(context=1024), tools=tools
    )
    return make_plan(question, layout="cluster")


def test_a_far_host_without_an_address_is_never_dialled_on_the_heads_own_loopback():
    made = planned(Host(name="gamma", connection="stated"))
    cluster = made.candidate("cluster")
    (worker,) = cluster.workers
    assert "ADDRESS-OF-gamma" in worker.argv
    argv = cluster.servers[0].argv
    assert argv[argv.index("--rpc") + 1] == "ADDRESS-OF-gamma:50052"
    reason = "gamma has no address: put it in place of ADDRESS-OF-gamma before you run a command line"
    assert made.verdict.reasons.count(reason) == 1


def test_a_host_on_the_heads_own_machine_needs_no_address():
    for far in (Host(name="beta", connection="local"), Host(name="beta", connection="ssh", ssh="beta")):
        made = planned(far, machine="alpha")
        assert made.candidate("cluster").workers[0].listen == "127.0.0.1:50052"
        assert not any("ADDRESS-OF" in reason for reason in made.verdict.reasons)
