"""A link with tunnel = true: the worker listens on its own loopback, and the head reaches it through ssh."""

from dataclasses import replace

import pytest

from evener.config import parse_rig
from evener.errors import RigFileError
from evener.plan.candidates import Question, make_plan
from evener.plan.commands import Tools
from evener.plan.routes import route, tunnelled
from evener.records.plan import Workload
from evener.records.rig import Host, Link, Rig
from tests.rigs import GIB, cpu, scan, seen, weights

RIG = Rig(
    hosts=(
        Host(name="alpha", connection="local", address="10.0.0.1"),
        Host(name="beta", connection="ssh", ssh="me@beta.lan", address="10.0.0.2"),
    ),
    links=(Link(name="cable", between=("alpha", "beta"), tunnel=True),),
)


def cluster(rig=RIG, near_ports=None):
    hosts = (seen("alpha", cpu(8 * GIB)), seen("beta", cpu(8 * GIB)))
    tools = Tools(engines={}, ports={"beta": [50055]}, near_ports=near_ports or {"beta": 50059})
    question = Question(rig=rig, scan=scan(*hosts), weights=weights(), workload=Workload(context=1024), tools=tools)
    return make_plan(question, layout="cluster").candidate("cluster")


def test_the_worker_listens_on_its_own_loopback_and_the_head_on_the_tunnels_end():
    made = cluster()
    worker = next(w for w in made.workers if w.host == "beta")
    assert (worker.listen, worker.endpoint) == ("127.0.0.1:50055", "127.0.0.1:50059")
    argv = made.servers[0].argv
    assert "127.0.0.1:50059" in argv[argv.index("--rpc") + 1].split(",")
    assert "10.0.0.2:50055" not in argv[argv.index("--rpc") + 1]


def test_the_tunnel_is_a_process_of_the_head():
    (tunnel,) = cluster().tunnels
    assert (tunnel.host, tunnel.listen) == ("alpha", "127.0.0.1:50059")
    assert tunnel.argv[0] == "ssh"
    assert tunnel.argv[-1] == "me@beta.lan"
    assert "127.0.0.1:50059:127.0.0.1:50055" in tunnel.argv


def test_a_link_without_a_tunnel_starts_none():
    plain = replace(RIG, links=(replace(RIG.links[0], tunnel=False),))
    made = cluster(plain)
    assert made.tunnels == ()
    assert next(w for w in made.workers if w.host == "beta").reached_at == "10.0.0.2:50055"


def test_only_the_local_head_tunnels():
    assert tunnelled(RIG) == ("beta",)
    assert tunnelled(replace(RIG, hosts=tuple(reversed(RIG.hosts)))) == ()


TWO_CABLES = replace(
    RIG,
    links=(
        Link(name="slow", between=("alpha", "beta"), gbit_per_s=0.94, rtt_us=250, tunnel=True),
        Link(
            name="fast", between=("alpha", "beta"), gbit_per_s=40, rtt_us=100,
            addresses=(("alpha", "10.1.0.1"), ("beta", "10.1.0.2")),
        ),
    ),
)  # fmt: skip


def test_of_two_cables_the_faster_is_taken_with_its_own_addresses():
    made = cluster(TWO_CABLES)
    assert next(w for w in made.workers if w.host == "beta").listen == "10.1.0.2:50055"
    assert made.tunnels == (), "the tunnel is on the other cable"


def test_a_chosen_cable_is_the_one_that_is_used():
    slow = replace(TWO_CABLES, links=TWO_CABLES.links[:1])
    assert len(cluster(slow).tunnels) == 1
    hosts = (seen("alpha", cpu(8 * GIB)), seen("beta", cpu(8 * GIB)))
    way = route(TWO_CABLES.hosts[0], TWO_CABLES.hosts[1], TWO_CABLES, scan(*hosts))
    assert (way.link.name, way.address, way.ssh) == ("fast", "10.1.0.2", None)


def test_a_tunnel_to_a_host_without_ssh_is_a_fault_of_the_file():
    text = """
[[hosts]]
name = "alpha"
connection = "local"
address = "127.0.0.1"
[[hosts]]
name = "beta"
connection = "local"
address = "127.0.0.2"
[[links]]
name = "cable"
between = ["alpha", "beta"]
tunnel = true
"""
    with pytest.raises(RigFileError, match=r"links\[0\].tunnel: a tunnel leads from the first host, a local one"):
        parse_rig(text, path="rig.toml")
