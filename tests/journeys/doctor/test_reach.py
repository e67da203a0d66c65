"""Hosts, endpoints, firewalls and ports: what is told of each way not to get there."""

from dataclasses import replace

from evener.errors import (
    EndpointBusy,
    EndpointRefused,
    EndpointTimedOut,
    EndpointWrongProtocol,
    HostLogin,
)
from evener.journeys.doctor import reach
from evener.journeys.doctor.seen import HostAnswers, Ports
from evener.ports import WorkerSeen
from evener.records.capability import WorkerFound
from evener.records.rig import Host
from tests.journeys.doctor.looks import ALPHA, HEALTHY, TUNNEL, bad, deployment, look, told

WINDOWS = Host(name="windows", connection="endpoint", endpoints=("10.0.0.3:50052",))


def tried(error, *ports):
    return {"beta": Ports(tried={port: error(f"10.0.0.2:{port}", "what it says") for port in ports})}


def found(port=50052, pid=41, path="/opt/llama/ggml-rpc-server", answer="RPC 7.0.0, 1 devices"):
    return WorkerFound(host="beta", endpoint=f"10.0.0.2:{port}", answer=answer, pid=pid, path=path)


def test_a_host_that_ssh_cannot_enter_stops_a_load_and_says_what_helps():
    error = HostLogin("beta: the host key of me@beta.lan is not known yet", hint="run ssh me@beta.lan once")
    (one,) = reach.hosts(look(out_of_reach={"beta": error}))
    assert (one.level, one.where, one.what) == ("stops", "beta", "the host key of me@beta.lan is not known yet")
    assert one.remedy == "run ssh me@beta.lan once"


def test_a_host_that_ssh_enters_is_fine():
    assert told(reach.hosts(look(health={"beta": HEALTHY}))) == [
        ("fine", "beta", "ssh me@beta.lan works without a question")
    ]


def test_a_host_whose_health_did_not_come_is_known_to_be_unknown():
    answers = {"beta": HostAnswers(health=None, fault="sh did not end within 8 s")}
    assert [f.what for f in bad(reach.hosts(replace(look(), answers=answers)))] == [
        "its health could not be asked: sh did not end within 8 s"
    ]


def test_an_endpoint_is_told_with_its_own_error_or_what_it_serves_with():
    seen = look(rig=(ALPHA, WINDOWS), endpoints={"10.0.0.3:50052": EndpointBusy("10.0.0.3:50052", "no answer")})
    assert told(reach.endpoints(seen)) == [("stops", "windows", "10.0.0.3:50052: no answer")]
    worker = WorkerSeen(endpoint="10.0.0.3:50052", protocol="7.0.0", devices=((1, 2),))
    assert told(reach.endpoints(look(rig=(ALPHA, WINDOWS), endpoints={"10.0.0.3:50052": worker}))) == [
        ("fine", "windows", "10.0.0.3:50052: RPC 7.0.0, devices: 1")
    ]


def test_an_endpoint_that_serves_our_own_deployment_is_no_fault():
    seen = look(rig=(ALPHA, WINDOWS), endpoints={"10.0.0.3:50052": "serves smollm2 and is left alone"})
    assert [f.level for f in reach.endpoints(seen)] == ["note"]


def test_case_10_a_worker_of_another_protocol_stops_a_load():
    error = EndpointWrongProtocol("10.0.0.3:50052", "speaks RPC 5.0.0, our engine 7.0.0", hint="same build")
    seen = look(rig=(ALPHA, WINDOWS), endpoints={"10.0.0.3:50052": error})
    assert [(f.level, f.what, f.remedy) for f in reach.endpoints(seen)] == [
        ("stops", "10.0.0.3:50052: speaks RPC 5.0.0, our engine 7.0.0", "same build")
    ]


def test_ports_that_refuse_at_once_are_open_to_a_worker():
    (one,) = reach.firewall(look(ports=tried(EndpointRefused, 50052, 50053)))
    assert (one.level, one.what) == ("fine", "ports 50052-50059 can be reached from alpha")


def test_ports_that_say_nothing_are_behind_a_firewall():
    (one,) = reach.firewall(look(ports=tried(EndpointTimedOut, 50052, 50053)))
    assert (one.level, one.where) == ("stops", "beta")
    assert one.what == "alpha cannot connect to 10.0.0.2 on any of ports 50052-50059: what it says"
    assert one.remedy.endswith("sudo ufw allow from 10.0.0.1 to any port 50052:50059 proto tcp")


def test_a_single_filtered_port_is_named():
    ports = Ports(tried={50052: EndpointRefused("e", "nobody"), 50053: EndpointTimedOut("e", "silent")})
    (one,) = reach.firewall(look(ports={"beta": ports}))
    assert "on port 50053: " in one.what


def test_ports_that_were_not_tried_are_neither_open_nor_closed():
    assert list(reach.firewall(look(ports={"beta": Ports()}))) == []


def test_through_a_tunnel_no_port_need_be_open():
    (one,) = reach.firewall(look(links=(TUNNEL,), ports=tried(EndpointTimedOut, 50052)))
    assert (one.level, one.what) == ("fine", "RPC goes through ssh: none of its ports need be open")


def test_who_listens_in_the_range_is_named():
    assert told(reach.ports(look(ports={"beta": Ports(found=(found(),))}))) == [
        ("note", "beta", "port 50052 is taken by pid 41 (/opt/llama/ggml-rpc-server): RPC 7.0.0, 1 devices")
    ]


def test_a_range_without_a_free_port_stops_a_load():
    taken = Ports(found=tuple(found(port, pid=None) for port in range(50052, 50060)))
    assert bad(reach.ports(look(ports={"beta": taken})))[0].what == "every port of 50052-50059 is taken"


def test_the_port_to_serve_on_must_be_free():
    (one,) = reach.ports(look(serving="127.0.0.1:8080 is taken by python3 (pid 9)"))
    assert (one.level, one.where, one.what) == ("stops", "alpha", "127.0.0.1:8080 is taken by python3 (pid 9)")
    assert list(reach.ports(look())) == []


def test_ports_of_our_own_deployment_are_named_by_it():
    ours = (deployment("beta", 41, listen="127.0.0.1:8080"),)
    seen = look(ports={"beta": Ports(found=(found(),))}, serving="127.0.0.1:8080 is taken", deployments=ours)
    assert told(reach.ports(seen)) == [
        ("note", "beta", "port 50052 is taken by deployment demo: RPC 7.0.0, 1 devices"),
        ("note", "alpha", "127.0.0.1:8080 serves deployment demo"),
    ]
