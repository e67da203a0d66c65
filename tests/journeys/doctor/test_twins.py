"""One machine, one worker, under two names."""

from evener.dialects.host_health import Health
from evener.journeys.doctor import twins
from evener.records.rig import Host
from tests.journeys.doctor.looks import ALPHA, BETA, TUNNEL, host, look, told

AT_HOME = {
    "alpha": Health(addresses=frozenset({"127.0.0.1", "10.0.0.1", "192.168.1.10"})),
    "beta": Health(addresses=frozenset({"127.0.0.1", "10.0.0.2"})),
}


def others(*endpoints, **more):
    windows = Host(name="windows", connection="endpoint", endpoints=endpoints)
    return list(twins.endpoints(look(rig=(ALPHA, BETA, windows), health=AT_HOME, **more)))


def test_a_far_host_that_is_the_head_itself_counts_its_memory_twice():
    (one,) = twins.machines(look(host("alpha", machine_id="m"), host("beta", machine_id="m")))
    assert (one.level, one.where, one.what) == ("costs", "beta", "is the same machine as alpha, the head")


def test_two_loopback_hosts_of_one_machine_are_meant_so():
    here = Host(name="beta", connection="local", address="127.0.0.2")
    seen = look(host("alpha", machine_id="m"), host("beta", machine_id="m"), rig=(ALPHA, here))
    assert [f.level for f in twins.machines(seen)] == ["note"]


def test_two_machines_are_two_machines():
    assert list(twins.machines(look())) == []


def test_case_12_an_endpoint_on_another_address_of_the_head_is_the_head_itself():
    (one,) = others("192.168.1.10:50052")
    assert (one.level, one.what) == ("stops", "192.168.1.10:50052 is on alpha, the head itself")


def test_an_endpoint_on_a_host_that_evener_starts_workers_on_is_one_too_many():
    (one,) = others("box.lan:50052", addresses={"box.lan": "10.0.0.2"})
    assert one.what == "box.lan:50052 is on beta, a host of this rig"


def test_two_names_of_one_worker_would_deadlock_the_engine():
    (one,) = others("10.0.0.3:50052", "box.lan:50052", addresses={"box.lan": "10.0.0.3"})
    assert (one.level, one.what) == ("stops", "box.lan:50052 is 10.0.0.3:50052 by another name")


def test_two_workers_of_one_host_are_two():
    assert others("10.0.0.3:50052", "10.0.0.3:50053") == []


def test_an_address_that_no_interface_has_cannot_be_listened_on():
    wrong = {**AT_HOME, "beta": Health(addresses=frozenset({"127.0.0.1", "10.9.9.9"}))}
    (one,) = twins.addresses(look(health=wrong))
    assert (one.level, one.where) == ("stops", "beta")
    assert one.what == "its address 10.0.0.2 is on none of its interfaces: no worker can listen there"
    assert one.remedy.startswith("it has 10.9.9.9;")


def test_an_address_that_is_there_or_unknown_is_no_finding():
    assert told(twins.addresses(look(health=AT_HOME))) == []
    assert told(twins.addresses(look(health={"beta": Health()}))) == []


def test_a_worker_at_a_tunnels_end_needs_no_address():
    wrong = {"beta": Health(addresses=frozenset({"10.9.9.9"}))}
    assert told(twins.addresses(look(health=wrong, links=(TUNNEL,)))) == []
