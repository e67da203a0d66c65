"""What a host has against a load."""

from dataclasses import replace

import pytest

from evener.dialects.host_health import Health
from evener.journeys.doctor import hosts
from evener.journeys.doctor.seen import HostAnswers
from tests.journeys.doctor.looks import ENGINE, HEALTHY, bad, host, look, told
from tests.rigs import GIB, weights

BIG = weights(largest_tensor_bytes=40 * GIB, file_bytes=200 * GIB, embedding=7168)


def of_beta(check, **health):
    return bad(check(look(health={"beta": replace(HEALTHY, **health)})))


@pytest.mark.parametrize(
    "check", [hosts.sleep, hosts.governor, hosts.clock, hosts.settings, hosts.tools, hosts.limits, hosts.cache]
)
def test_a_host_without_peculiarities_is_silent(check):
    assert of_beta(check) == []


def test_a_host_that_will_sleep_costs():
    (one,) = of_beta(hosts.sleep, sleeps="logind: IdleAction=suspend")
    assert (one.level, one.what) == ("costs", "will go to sleep: logind: IdleAction=suspend")


def test_a_slow_governor_is_noted_and_another_is_fine():
    assert [f.level for f in of_beta(hosts.governor, governor="powersave")] == ["note"]
    assert told(hosts.governor(look(health={"beta": Health(governor="performance")}))) == [
        ("fine", "beta", "CPU governor performance")
    ]


@pytest.mark.parametrize(
    ("off_by_s", "said"),
    [
        (3.4, ["its clock is 3 s ahead of this machine's"]),
        (-90.0, ["its clock is 90 s behind this machine's"]),
        (0.9, []),
        (None, []),
    ],
)
def test_a_clock_that_is_off_is_noted(off_by_s, said):
    seen = replace(look(), answers={"beta": HostAnswers(health=HEALTHY, off_by_s=off_by_s)})
    assert [f.what for f in hosts.clock(seen)] == said


def test_the_systems_config_file_costs_since_nothing_keeps_it_away():
    (one,) = of_beta(hosts.settings, configs=("/etc/llama.cpp/config.ini",))
    assert one.level == "costs"


def test_settings_of_a_user_are_named_as_what_a_hand_started_worker_would_obey():
    (one,) = of_beta(
        hosts.settings, configs=("/home/me/.config/llama.cpp/config.ini",), variables=("LLAMA_ARG_DEVICE",)
    )
    assert (one.level, one.what) == ("note", "set there: /home/me/.config/llama.cpp/config.ini, LLAMA_ARG_DEVICE")


def test_variables_of_this_terminal_are_those_of_the_host_that_evener_runs_on():
    seen = look(health={"alpha": HEALTHY, "beta": HEALTHY}, variables=("CUDA_VISIBLE_DEVICES",))
    assert told(hosts.settings(seen)) == [("note", "alpha", "set there: CUDA_VISIBLE_DEVICES")]


def test_two_hosts_of_one_machine_that_say_the_same_are_told_once():
    hosts_of_one = [host(name, machine_id="m") for name in ("alpha", "beta")]
    odd = replace(HEALTHY, variables=("GGML_X",))
    assert [f.where for f in hosts.settings(look(*hosts_of_one, health={"alpha": odd, "beta": odd}))] == ["alpha"]
    other = replace(odd, variables=("GGML_Y",))  # another user's home, in a container
    both = hosts.settings(look(*hosts_of_one, health={"alpha": odd, "beta": other}))
    assert [f.where for f in both] == ["alpha", "beta"]


def test_missing_tools_are_named_with_their_package():
    found = of_beta(hosts.tools, programs=frozenset({"ip"}))
    assert [(f.what, f.remedy) for f in found] == [
        ("no setpriv there", "it is in util-linux"),
        ("no ss there", "it is in iproute2"),
    ]


def test_limits_are_told_only_where_they_are_near():
    assert [f.level for f in of_beta(hosts.limits, address_space_bytes=8 * GIB)] == ["costs"]
    assert of_beta(hosts.limits, address_space_bytes=1 << 47) == []
    assert [f.level for f in of_beta(hosts.limits, commit_left_bytes=GIB // 2)] == ["stops"]
    assert of_beta(hosts.limits, commit_left_bytes=2 * GIB) == []


def test_the_heads_ram_must_hold_the_largest_tensor():
    (one,) = hosts.ram(look(host("alpha", memory_available_bytes=32 * GIB), weights=BIG))
    assert (one.level, one.where) == ("stops", "alpha")
    assert one.what == "32.0 GiB of RAM available, the largest tensor has 40.00 GiB"
    (one,) = hosts.ram(look(host("alpha", memory_available_bytes=64 * GIB), weights=BIG))
    assert one.level == "fine"
    assert list(hosts.ram(look())) == []


def test_a_disk_that_is_nearly_full_costs():
    found = hosts.disk(look(host("alpha", disk_free_bytes=4 * GIB), host("beta", disk_free_bytes=500 * GIB)))
    assert told(found) == [
        ("costs", "alpha", "4.0 GiB of disk left where models and engines are kept"),
        ("fine", "beta", "500 GiB of disk free"),
    ]


def test_a_model_that_is_not_here_yet_needs_its_room_on_the_head():
    far = replace(BIG, origin="remote", name="big")
    (one,) = bad(hosts.disk(look(host("alpha", disk_free_bytes=100 * GIB), weights=far)))
    assert (one.level, one.what) == ("stops", "100.0 GiB of disk free, big has 200.0")
    assert bad(hosts.disk(look(host("alpha", disk_free_bytes=100 * GIB), weights=BIG))) == []


def cached(protocol, held, *, of=None, left=900 * GIB):
    health = replace(HEALTHY, cache="/home/me/.cache/llama.cpp/rpc", cache_bytes=held, cache_free_bytes=left)
    beta = host("beta", engine=replace(ENGINE, protocol=protocol))
    return list(hosts.cache(look(beta, health={"beta": health}, weights=of)))


def test_case_13_a_cache_larger_than_the_model_and_a_protocol_that_caches_activations():
    (one,) = cached("6.0.0", 400 * GIB, of=BIG)
    assert one.what == "worker cache /home/me/.cache/llama.cpp/rpc holds 400.0 GiB"
    assert "activations, which are 14 MiB here" in one.why
    (one,) = cached("6.0.0", 400 * GIB)
    assert one.why == "RPC 6.0.0 caches activations too: it grows with every long prompt"
    (one,) = cached("7.0.0", 400 * GIB, of=BIG)
    assert one.why == "the model has 200.0 GiB: the rest is of other models, or is none"


def test_a_cache_of_the_models_size_is_what_it_is_for():
    assert cached("7.0.0", 200 * GIB, of=BIG) == []


def test_a_cache_on_a_full_disk_leaves_torn_tensors():
    (one,) = cached("7.0.0", 10 * GIB, left=GIB)
    assert one.why.startswith("1.0 GiB of disk are left: ")
