"""`plan --check`: the published mistake, and its kind."""

import pytest

from evener.dialects.llama_command import read_command
from evener.errors import ConfigurationError
from evener.plan.check import Usable, check, order_of_use
from tests.rigs import GIB

# Case 1: what --list-devices of the head would print, local devices first.
LISTED = [
    Usable(name="CUDA0", card="alpha/RTX 5090", total_bytes=32 * GIB),
    Usable(name="CUDA1", card="alpha/RTX 5060 Ti", total_bytes=16 * GIB),
    Usable(name="RPC0", card="beta/RTX 5080", total_bytes=16 * GIB),
    Usable(name="RPC1", card="beta/RTX 5060 Ti", total_bytes=16 * GIB),
    Usable(name="RPC2", card="beta/RTX 5060 Ti", total_bytes=16 * GIB),
]


def checked(command, *, slots=41, listed=LISTED):
    return check(read_command(command), order_of_use(listed), slots=slots)


def test_the_32_lands_on_the_5080_and_the_5090_gets_seven_layers():
    found = checked("llama-server -m model.gguf --rpc a:1,b:2 --tensor-split 32,16,16,16,16 -ngl 99")
    assert [(p.card, p.value, p.slots) for p in found.places] == [
        ("beta/RTX 5080", 32, 14),
        ("beta/RTX 5060 Ti", 16, 7),
        ("beta/RTX 5060 Ti", 16, 7),
        ("alpha/RTX 5090", 16, 7),
        ("alpha/RTX 5060 Ti", 16, 6),
    ]
    assert "no --device: remote devices come first, whatever --list-devices shows" in found.warnings


def test_what_we_would_write_names_devices_and_gives_the_5090_its_share():
    found = checked("llama-server --rpc a:1 -ts 32,16,16,16,16")
    assert found.ours == "--device RPC0,RPC1,RPC2,CUDA0,CUDA1 -ts 7,7,7,13,7 -ngl 999"  # 41 slots by 16:16:16:32:16


def test_two_decimal_fractions_that_miss_are_said():
    found = checked("llama-server -ts 0.32,0.34,0.34 --device CUDA0,CUDA1,RPC0", slots=71)
    assert [p.slots for p in found.places] == [23, 24, 24]
    assert found.warnings == ()
    # 0.14 of 45 is 6.3: the nearest whole counts are 24, 15, 6; the engine gives the last device one more
    missed = checked("llama-server -ts 0.53,0.33,0.14 --device CUDA0,CUDA1,RPC0", slots=45)
    assert sum(p.slots for p in missed.places) == 45


def test_named_devices_are_used_in_the_order_named():
    found = checked("llama-server --device CUDA0,RPC0 -ts 30,11")
    assert [(p.device, p.slots, p.holds_head) for p in found.places] == [("CUDA0", 30, False), ("RPC0", 11, True)]
    assert found.warnings == ()


def test_layers_kept_on_the_cpu_are_counted():
    found = checked("llama-server --device CUDA0 -ngl 30")
    assert found.cpu_slots == 11
    assert "-ngl 30: the first 11 of 41 layers stay on the head's CPU" in found.warnings


def test_a_comma_in_llama_bench_is_another_test():
    found = checked("llama-bench -m model.gguf -ts 20,21 -dev CUDA0/CUDA1")
    assert "in llama-bench a comma starts another test: separate devices by /" in found.warnings
    assert found.ours == "-dev CUDA0/CUDA1 -ts 27/14 -ngl 999"


def test_too_few_values_are_said():
    found = checked("llama-server --device CUDA0,CUDA1 -ts 1")
    assert [p.slots for p in found.places] == [41, 0]
    assert "1 values for 2 devices: missing ones are 0, surplus ones are ignored" in found.warnings


def test_without_a_split_free_memory_decides():
    listed = [Usable(name="CUDA0", card="a", free_bytes=30 * GIB), Usable(name="CUDA1", card="b", free_bytes=11 * GIB)]
    assert [p.slots for p in checked("llama-server", listed=listed).places] == [30, 11]


def test_row_split_over_rpc_is_known_to_fail():
    assert any("-sm row" in w for w in checked("llama-server -sm row").warnings)


def test_settings_paths_and_continuations_are_read():
    asked = read_command("CUDA_VISIBLE_DEVICES=0 /opt/llama/llama-server \\\n -m 'my model.gguf' \\\n -ts 1,2")
    assert (asked.program, asked.model, asked.split) == ("llama-server", "my model.gguf", (1.0, 2.0))


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("llama-server -ts a,b", "not a list of numbers"),
        ("llama-server -m 'x", "No closing quotation"),
        ("", "there is no command"),
        ("llama-server -ts -1,2", "shares are finite and not negative"),
        ("llama-server -ts nan,1", "shares are finite and not negative"),
        ("llama-server -ts 1e400,1", "shares are finite and not negative"),
        ("llama-server --tensor-split=1,2", "llama.cpp wants a space"),
        ("llama-server --device CUDA7", "there is no CUDA7"),
    ],
)
def test_what_cannot_be_read_is_one_line(command, said):
    with pytest.raises(ConfigurationError, match=said):
        checked(command)


def test_all_zero_shares_leave_it_to_free_memory():
    found = checked("llama-server --device CUDA0,CUDA1 -ts 0,0")
    assert "-ts 0,0: all zero, so the engine splits by free memory" in found.warnings
    assert sum(p.slots for p in found.places) == 41


def test_no_device_keeps_everything_on_the_cpu():
    found = checked("llama-server --device none")
    assert (found.places, found.cpu_slots, found.ours) == ((), 41, "--device none -ngl 0")


def test_no_layer_offloaded_is_said_once():
    found = checked("llama-server --device CUDA0,CUDA1 -ts 1,1 -ngl 0")
    assert found.warnings == ("-ngl 0: all layers stay on the head's CPU",)
