"""What each card has against a load."""

from dataclasses import replace

from evener.dialects.nvidia_smi import GpuHealth
from evener.journeys.doctor import cards
from evener.journeys.doctor.seen import HostAnswers
from evener.records.card import Holder
from tests.journeys.doctor.looks import ALPHA, BETA, bad, deployment, host, look, told
from tests.rigs import GIB, MIB, card, cpu

SERVER = Holder(kind="process", bytes=3 * GIB, pid=99, user="eve", command="llama-server -m small.gguf", age_s=3600.0)
SOUND = GpuHealth(
    id="GPU-1", idle=False, persistent=True, link_generation=4, link_generation_most=4, link_width=16,
    link_width_most=16, slowed_by=(),
)  # fmt: skip


def gpu(**more):
    return card("RTX 5080", 16 * GIB, id="GPU-1", **more)


def on_beta(*of, **more):
    return look(host("beta", *of), **more)


def state(**health):
    answers = {"beta": HostAnswers(health=None, gpus=(replace(SOUND, **health),))}
    return list(cards.state(replace(on_beta(gpu()), answers=answers)))


def test_memory_held_by_somebody_undeclared_costs():
    (one,) = cards.memory(on_beta(gpu(holders=(SERVER,))))
    assert (one.level, one.where) == ("costs", "beta/RTX 5080")
    assert one.what == "3072 MiB held by llama-server -m small.gguf of eve (pid 99, for 60 min)"


def test_declared_residents_and_trifles_are_fine():
    holders = (replace(SERVER, resident="comfyui", kind="resident"), replace(SERVER, bytes=63 * MIB))
    assert told(cards.memory(on_beta(gpu(holders=holders)))) == [
        ("fine", "beta/RTX 5080", "16.0 GiB free, held by nobody unexpected")
    ]


def test_a_long_command_line_is_cut():
    (one,) = cards.memory(on_beta(gpu(holders=(replace(SERVER, command="llama-server " + "--flag value " * 40),))))
    assert len(one.what) < 180
    assert one.what.endswith("... of eve (pid 99, for 60 min)")


def test_memory_that_nobody_can_measure_costs():
    (one,) = cards.memory(on_beta(replace(gpu(note="a half truth"), free_bytes=None)))
    assert (one.level, one.why) == ("costs", "a half truth")


def test_excluded_cards_are_nobodys_business():
    assert list(cards.memory(on_beta(gpu(holders=(SERVER,), excluded=True)))) == []


def test_main_memory_of_one_machine_is_told_once():
    alpha, beta = (host(name, cpu(holders=(SERVER,)), machine_id="m") for name in ("alpha", "beta"))
    assert [f.where for f in cards.memory(look(alpha, beta))] == ["alpha/EPYC"]


def test_what_our_own_deployment_holds_is_a_note_under_any_name_of_its_machine():
    alpha, beta = (host(name, cpu(holders=(SERVER,)), machine_id="m") for name in ("alpha", "beta"))
    (one,) = cards.memory(look(alpha, beta, deployments=(deployment("beta", 99),)))
    assert (one.level, one.where, one.what[:22]) == ("note", "alpha/EPYC", "deployment demo: 3072 ")
    (one,) = cards.memory(look(alpha, host("beta"), deployments=(deployment("beta", 99),)))
    assert one.level == "costs"


def test_a_driver_that_names_nobody_is_told_as_unknown_never_as_none():
    (one,) = cards.blind(on_beta(gpu(holders=None)))
    assert (one.level, one.what) == ("note", "its driver does not say who holds its memory")
    assert [f.level for f in cards.memory(on_beta(gpu(holders=None)))] == []


def test_a_driver_that_hides_how_much_a_process_holds_is_told():
    (one,) = cards.blind(on_beta(gpu(holders=(replace(SERVER, bytes=None),))))
    assert one.what == "its driver does not say how much of it 1 process holds"
    assert list(cards.blind(on_beta(gpu(holders=(SERVER,))))) == []


def test_a_display_wants_a_reserve():
    (one,) = cards.display(on_beta(gpu(drives_display=True)))
    assert one.remedy == "reserve_mib = 512 for beta in rig.toml"
    reserved = look(host("beta", gpu(drives_display=True)), rig=(ALPHA, replace(BETA, reserve_bytes=512 * MIB)))
    assert list(cards.display(reserved)) == []


def test_a_power_limit_that_does_not_take_costs():
    (one,) = cards.power(on_beta(gpu(power_limit_asked_w=180.0, power_limit_effective_w=150.0)))
    assert (one.level, one.what) == ("costs", "limited to 150 W, though 180 W are asked for")
    assert list(cards.power(on_beta(gpu(power_limit_asked_w=180.0, power_limit_effective_w=180.0)))) == []
    assert list(cards.power(on_beta(gpu(power_limit_asked_w=180.0)))) == []


def test_a_sound_card_is_silent():
    assert state() == []


def test_heat_is_told_while_it_lasts():
    (one,) = state(slowed_by=("heat",))
    assert (one.level, one.what) == ("costs", "slowed down now by heat")
    assert state(slowed_by=None) == []


def test_a_narrow_slot_costs_and_an_idle_link_is_only_a_note():
    assert [(f.level, f.what) for f in state(link_width=4)] == [("costs", "PCIe link at x4 of x16")]
    assert [(f.level, f.what) for f in state(link_width=4, idle=True)] == [
        ("note", "PCIe link at x4 of x16 while it idles")
    ]


def test_an_idle_card_lets_its_link_fall_back_and_that_is_no_fault():
    assert state(link_generation=1, idle=True) == []
    assert [f.what for f in state(link_generation=1)] == ["PCIe link at generation 1 of 4"]


def test_persistence_is_noted_where_no_display_holds_the_driver():
    assert [f.check for f in state(persistent=False)] == ["persistence"]
    assert bad(state(persistent=None)) == []
