import re
from pathlib import Path

import pytest

from evener.dialects.llama_flags import OURS, Offload, bench_argv, refuse_conflicts, server_argv
from evener.errors import FlagConflict
from evener.records.plan import Workload


@pytest.mark.parametrize("flag", ["-ts", "--device", "--port", "-c", "--api-key", "-lv", "--ctx-size=4096"])
def test_flags_that_the_plan_decides_are_refused(flag):
    with pytest.raises(FlagConflict, match="evener decides this itself"):
        refuse_conflicts(["--temp", "0.1", flag, "1"])


def test_flags_that_change_nothing_of_the_plan_are_passed():
    refuse_conflicts(["--temp", "0.1", "--jinja", "--reasoning", "off"])


def test_the_hint_names_what_to_use_instead():
    with pytest.raises(FlagConflict) as caught:
        refuse_conflicts(["-ctk", "q8_0"])
    assert caught.value.hint == "use --kv"


HELP = Path(__file__).parent.parent / "captures" / "llama" / "server_help.txt"


def test_every_alias_of_a_refused_flag_is_refused():
    """The engine's own help: the names of one option stand on one line."""
    for line in HELP.read_text().splitlines():
        names = re.findall(r"--?[a-zA-Z][\w-]*", re.match(r"(--?[\w-]+,?\s*)*", line)[0])
        refused = [name for name in names if name in OURS]
        assert not refused or refused == names, line


@pytest.mark.parametrize("flag", ["-ot", "-nkvo", "-ncmoe", "-ub", "--api-prefix", "-cram", "--swa-full"])
def test_flags_that_undo_the_plan_are_refused(flag):
    with pytest.raises(FlagConflict):
        refuse_conflicts([flag, "1"])


def argv(offload):
    return server_argv(
        "llama-server", "m.gguf", workload=Workload(context=512, prompt_tokens=32, output_tokens=4),
        rpc=["10.0.0.2:50052"], devices=["RPC0", "CUDA0"], counts=[11, 9], threads=None, listen=("127.0.0.1", 8080),
        offload=offload,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("offload", "said"),
    [
        (Offload(), "-ngl 999 -sm layer -fit off"),
        (Offload(copies=False), "-ngl 999 -sm layer -ot no-pipeline-copies=CPU -fit off"),
        (Offload(slots=20, copies=False), "-ngl 20 -sm layer -fit off"),
        (Offload(experts_in_ram=3, copies=False), "-ngl 999 -sm layer -ncmoe 3 -fit off"),
        (Offload(experts_in_ram=40, all_experts_in_ram=True), "-ngl 999 -sm layer -cmoe -fit off"),
    ],
)
def test_what_stays_in_ram_is_said_once(offload, said):
    """What the engine itself makes of it was tried: 20 of 31 slots leave 11 to the CPU."""
    assert said in " ".join(argv(offload))


def test_llama_bench_takes_slashes_where_the_server_takes_commas():
    bench = bench_argv("llama-bench", argv(Offload()), workload=Workload(prompt_tokens=32, output_tokens=4))
    assert bench == (
        "llama-bench", "-m", "m.gguf", "--rpc", "10.0.0.2:50052", "-ngl", "999", "-sm", "layer", "-ctk", "f16", "-ctv",
        "f16", "-fa", "on", "-dev", "RPC0/CUDA0", "-ts", "11/9", "-p", "32", "-n", "4",
    )  # fmt: skip


def test_all_experts_in_ram_are_all_blocks_for_llama_bench():
    bench = bench_argv("llama-bench", argv(Offload(experts_in_ram=9, all_experts_in_ram=True)), workload=Workload())
    assert bench[bench.index("-ncmoe") + 1] == "999"
