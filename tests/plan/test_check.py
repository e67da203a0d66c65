"""`plan --check`: the published mistake, and its kind."""

import pytest

from evener.dialects.llama_command import read_command
from evener.errors import ConfigurationError
from evener.plan.check import Usable, as_connected, check, order_of_use
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
    assert found.warnings == ("no --rpc: without it the engine knows no RPC0",)
    # 0.14 of 45 is 6.3: the nearest whole counts are 24, 15, 6; the engine gives the last device one more
    missed = checked("llama-server -ts 0.53,0.33,0.14 --device CUDA0,CUDA1,RPC0", slots=45)
    assert sum(p.slots for p in missed.places) == 45


def test_named_devices_are_used_in_the_order_named():
    found = checked("llama-server --rpc a:1 --device CUDA0,RPC0 -ts 30,11")
    assert [(p.device, p.slots, p.holds_head) for p in found.places] == [("CUDA0", 30, False), ("RPC0", 11, True)]
    assert found.warnings == ()


def test_layers_kept_on_the_cpu_are_counted():
    found = checked("llama-server --device CUDA0 -ngl 30")
    assert found.cpu_slots == 11
    assert "-ngl 30: the first 11 of 41 layers stay on the head's CPU" in found.warnings


def test_a_comma_in_llama_bench_is_another_test():
    found = checked("llama-bench -m model.gguf -ts 1/3,2/2 -dev CUDA0/CUDA1")
    assert [(p.value, p.slots) for p in found.places] == [(1, 11), (3, 30)]  # slots 0 to 10 are below a quarter of 41
    assert (
        "in llama-bench a comma starts another test: these are 2, the first is shown; separate devices by /"
        in found.warnings
    )
    assert found.ours == "-dev CUDA0/CUDA1 -ts 27/14 -ngl 999"


def test_commas_alone_give_llama_benchs_first_device_everything():
    found = checked("llama-bench -m model.gguf -ts 20,21 -dev CUDA0/CUDA1")
    assert [p.slots for p in found.places] == [41, 0]
    assert "1 value for 2 devices: missing ones are 0, surplus ones are ignored" in found.warnings


def test_llama_server_takes_commas_and_slashes_alike():
    asked = [checked(f"llama-server -ts {split} --device CUDA0,CUDA1") for split in ("20,21", "20/21", "20,21,")]
    assert [[p.slots for p in one.places] for one in asked] == [[20, 21]] * 3


def test_one_device_is_all_that_split_mode_none_uses():
    found = checked("llama-server -sm none -mg 1 --device CUDA0,CUDA1 -ts 1,1")
    assert [(p.device, p.value, p.slots, p.holds_head) for p in found.places] == [("CUDA1", None, 41, True)]
    assert "-sm none uses one device (--main-gpu, else the first) for everything: the split has no effect" in (
        found.warnings
    )


def test_without_main_gpu_split_mode_none_uses_the_first_in_the_order_of_use():
    assert [p.device for p in checked("llama-server --rpc a:1 -sm none").places] == ["RPC0"]


def test_main_gpu_minus_one_is_the_cpu():
    found = checked("llama-server -sm none -mg -1 --device CUDA0,CUDA1")
    assert (found.places, found.cpu_slots) == ((), 41)
    assert "--main-gpu -1: no device is used, all layers stay on the head's CPU" in found.warnings


def test_row_split_says_whose_order_its_shares_have():
    found = checked("llama-server -sm row --device CUDA1,CUDA0 -ts 1,1")
    assert any("by -ts in the order of their CUDA numbers whatever --device says" in w for w in found.warnings)


def test_tensor_split_mode_is_on_every_device():
    found = checked("llama-server -sm tensor --device CUDA0,CUDA1")
    assert [p.slots for p in found.places] == [41, 41]
    assert "-sm tensor puts a part of every layer on every device" in found.warnings


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("-ncmoe 12", "-ncmoe 12: the experts of the first 12 layers stay in the head's RAM, wherever these go"),
        ("--cpu-moe", "-cmoe: all experts stay in the head's RAM, whatever the layers' devices are"),
        (
            "-ncffn 3",
            "-ncffn 3: the dense feed-forwards of the first 3 layers stay in the head's RAM, wherever these go",
        ),
        ("-ot exps=CPU", "-ot: tensors whose names match exps go to CPU, whatever the layers' devices are"),
        ("-ot exps=CPU", "a tensor override switches pipeline copies off"),
        (r"-ot 'output\.weight=CPU'", r"is also found in attn_output.weight of every layer: write ^output\.weight$"),
        ("-ot exps=RPC0", "a worker's buffer is called RPC0[host:port]"),
        ("-ot exps", "-ot exps: the engine wants PATTERN=BUFFER"),
        ("--rpc b:2,a:1", "RPC numbers count through --rpc as it is given: RPC0 is on b:2"),
        ("--rpc a:1 --rpc a:1", "--rpc names a:1 more than once"),
        ("-mg 1", "--main-gpu 1 changes nothing here"),
        ("-ts 1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1", "16 values: the engine takes at most 15 and will not start"),
    ],
)
def test_what_else_moves_layers_is_said(options, said):
    found = checked(f"llama-server --device CUDA0,CUDA1 {options}")
    assert any(said in warning for warning in found.warnings), found.warnings


def test_a_device_before_its_workers_is_not_known_yet():
    found = checked("llama-server --device RPC0 --rpc a:1 -ts 1")
    assert any("--device stands before --rpc" in warning for warning in found.warnings)
    assert not any("stands before" in w for w in checked("llama-server --rpc a:1 --device RPC0 -ts 1").warnings)


def test_settings_that_renumber_cards_or_are_options_are_said():
    found = checked("CUDA_VISIBLE_DEVICES=1,0 LLAMA_ARG_TENSOR_SPLIT=1,1 FOO=1 llama-server --device CUDA0")
    assert any(w.startswith("CUDA_VISIBLE_DEVICES=1,0 hides and renumbers") for w in found.warnings)
    assert any(w.startswith("LLAMA_ARG_TENSOR_SPLIT is an option too") for w in found.warnings)
    assert not any("FOO" in w for w in found.warnings)


def test_nothing_said_leaves_it_to_the_engines_own_fit():
    said = "neither -ts nor -ngl: the engine's own --fit may move layers until they fit; -fit off stops that"
    assert said in checked("llama-server --device CUDA0").warnings
    assert said not in checked("llama-server --device CUDA0 -fit off").warnings
    assert said not in checked("llama-bench -dev CUDA0").warnings


def test_workers_are_numbered_as_the_command_names_them():
    listed = [
        Usable(name="CUDA0", card="alpha"),
        Usable(name="RPC0", card="beta", address="10.0.0.2"),
        Usable(name="RPC1", card="gamma", address="10.0.0.3"),
    ]
    found = as_connected(listed, ("10.0.0.3:50052", "10.0.0.2:50052"))
    assert [(d.name, d.card) for d in found] == [("RPC0", "gamma"), ("RPC1", "beta"), ("CUDA0", "alpha")]
    assert [d.card for d in as_connected(listed, ("10.0.0.3:50052",))] == ["gamma", "alpha"]
    assert as_connected(listed, ("elsewhere:1",)) == tuple(listed)
    assert as_connected(listed, ()) == tuple(listed)


def test_too_few_values_are_said():
    found = checked("llama-server --device CUDA0,CUDA1 -ts 1")
    assert [p.slots for p in found.places] == [41, 0]
    assert "1 value for 2 devices: missing ones are 0, surplus ones are ignored" in found.warnings


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
        ("ls -la", "ls is no program of llama.cpp"),
        ("llama-server -ts -1,2", "shares are finite and not negative"),
        ("llama-server -ts nan,1", "not a list of numbers"),
        ("llama-server -ts 1e400,1", "shares are finite and not negative"),
        ("llama-server --tensor-split=1,2", "llama.cpp wants a space"),
        ("llama-server --device CUDA7", "there is no CUDA7"),
        ("llama-server -ts 3e38,3e38", "shares are finite and not negative"),
        ("llama-server -ts 1e-60,1", "too small for a share"),
        ("llama-server -ts 1_0,1", "not a list of numbers"),
        ("llama-server -ngl abc", "-ngl abc: not a number of layers"),
        ("llama-server -ngl", "-ngl : not a number of layers"),
        ("llama-server -sm rows", "-sm rows: no such split"),
        ("llama-server -sm none -mg 5", "--main-gpu 5: there are 5 devices"),
        ("llama-server -c 99999999999999999999", "-c 99999999999999999999: the engine takes a whole number"),
        ("llama-server -np 257", "-np 257: the engine takes a whole number from -1 to 256"),
    ],
)
def test_what_cannot_be_read_is_one_line(command, said):
    with pytest.raises(ConfigurationError, match=said):
        checked(command)


@pytest.mark.parametrize("layers", ["auto", "all", "-1", "99", "99999999999999999999"])
def test_every_way_to_say_all_layers_is_all_layers(layers):
    assert checked(f"llama-server --device CUDA0 -ngl {layers}").cpu_slots == 0


@pytest.mark.parametrize(
    "before",
    ["sudo -u me", "env X=1", "numactl -N 0", "docker run --gpus all image", "nohup ./build/bin/../", r"C:\\x\\"],
)
def test_what_starts_the_program_is_passed_over(before):
    glue = "" if before.endswith(("/", "\\")) else " "
    asked = read_command(f"{before}{glue}llama-server -ts 1,2")
    assert (asked.program, asked.split) == ("llama-server", (1.0, 2.0))


def test_a_script_with_options_of_llama_server_is_read():
    assert read_command("./serve.sh -ts 1,2").split == (1.0, 2.0)


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
