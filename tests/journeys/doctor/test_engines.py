"""The same engine everywhere, none missing, none of an earlier day."""

from dataclasses import replace

from evener.journeys.doctor import engines
from evener.journeys.doctor.seen import Ports
from tests.journeys.doctor.looks import ENGINE, bad, host, look, told


def beside(**other):
    return list(engines.same(look(host("beta", engine=replace(ENGINE, **other)))))


def test_one_engine_on_all_hosts_is_one_line():
    assert told(beside()) == [("fine", "rig", "llama.cpp b11434 (b0a2feb), RPC 7.0.0, on 2 hosts")]


def test_another_protocol_stops_a_load_and_both_versions_are_named():
    (one,) = beside(protocol="5.0.0")
    assert (one.level, one.where) == ("stops", "beta")
    assert one.what == "its ggml-rpc-server speaks RPC 5.0.0, the head alpha 7.0.0"
    assert one.remedy == "evener engine push beta"


def test_another_build_of_the_same_protocol_stops_a_load_too():
    (one,) = beside(build=11000, commit="aaaaaaa")
    assert (one.level, one.what) == ("stops", "llama.cpp b11000 (aaaaaaa), the head has b11434 (b0a2feb)")


def test_one_build_number_with_two_marks_is_a_note():
    assert [f.level for f in beside(commit="aaaaaaa")] == ["note", "fine"]


def test_builds_that_do_not_know_their_number_cannot_be_compared():
    assert beside(build=None)[0].what == "build ? (b0a2feb) and the head's b11434 (b0a2feb) cannot be compared"


def test_a_host_without_an_engine_stops_a_load_and_so_does_one_too_old():
    seen = look(host("alpha", engine=None), host("beta", engine=None, fault="beta: b9000 lacks --log-jsonl"))
    assert [(f.level, f.where, f.what, f.remedy) for f in engines.present(seen)] == [
        ("stops", "alpha", "no llama.cpp engine", "evener engine install"),
        ("stops", "beta", "beta: b9000 lacks --log-jsonl", "evener engine push beta"),
    ]
    assert list(engines.same(seen)) == []


def test_what_a_scan_found_wrong_beside_a_sound_engine_is_told():
    seen = look(host("beta", fault="the engine does not see RTX 5080: was it built for it?"))
    assert told(engines.present(seen)) == [("costs", "beta", "the engine does not see RTX 5080: was it built for it?")]


def test_a_stale_worker_is_named_and_to_be_stopped():
    who = "the worker at 10.0.0.2:50052 (pid 41, /old/ggml-rpc-server)"
    stale = (f"beta: {who} is stale: its binary has been replaced since it started: stop it",)
    (one,) = bad(engines.stale(look(ports={"beta": Ports(stale=stale)})))
    assert (one.level, one.where) == ("costs", "beta")
    assert (one.what, one.remedy) == (f"{who} is stale: its binary has been replaced since it started", "stop it")
