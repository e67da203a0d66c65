"""Command lines of llama.cpp: what we write, and what nobody else may write beside us. Pure text.

Tensor split values are slot counts: integers whose sum is block_count + 1 give exactly those counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from evener.errors import FlagConflict
from evener.records.plan import Workload

WORKER, SERVER, DRY_RUN = "ggml-rpc-server", "llama-server", "llama-fit-params"

# Config files would change any option without a word on the command line; the folder must not exist.
ENGINE_ENVIRONMENT: Mapping[str, str] = {"XDG_CONFIG_HOME": "/nonexistent/evener"}
# nvidia-smi counts by PCI bus id, CUDA by speed unless told otherwise.
CUDA_ENVIRONMENT: Mapping[str, str] = {"CUDA_DEVICE_ORDER": "PCI_BUS_ID"}

# Any tensor override, also one that no tensor's name matches, switches pipeline copies off.
NO_COPIES = ("-ot", "no-pipeline-copies=CPU")

# Decided by the plan, or needed by verify; extra flags after `--` may not touch them.
OURS: Mapping[str, str] = {
    "-m": "MODEL", "--model": "MODEL", "-hf": "MODEL", "--hf-repo": "MODEL", "-mu": "MODEL", "--model-url": "MODEL",
    "--rpc": "--layout", "-dev": "--layout", "--device": "--layout", "-ts": "--layout", "--tensor-split": "--layout",
    "-ngl": "--layout", "--gpu-layers": "--layout", "--n-gpu-layers": "--layout",
    "-sm": "--layout", "--split-mode": "--layout", "-mg": "--layout", "--main-gpu": "--layout",
    "-fit": "--layout", "--fit": "--layout", "--list-devices": "scan",
    "-c": "--context", "--ctx-size": "--context", "-np": "--users", "--parallel": "--users",
    "-kvu": "--users", "--kv-unified": "--users",
    "-ctk": "--kv", "--cache-type-k": "--kv", "-ctv": "--kv", "--cache-type-v": "--kv",
    "--host": "[serve] in rig.toml", "--port": "[serve] in rig.toml",
    "--api-key": "[serve] in rig.toml", "--api-key-file": "[serve] in rig.toml",
    "-lv": "verify", "--verbosity": "verify", "--log-verbosity": "verify", "-v": "verify", "--verbose": "verify",
    "--log-jsonl": "verify", "--log-disable": "verify", "--log-file": "verify", "--metrics": "verify",
}  # fmt: skip


def server_argv(
    binary: str,
    model: str,
    *,
    workload: Workload,
    rpc: Sequence[str],
    devices: Sequence[str],
    counts: Sequence[int],
    threads: int | None,
    listen: tuple[str, int],
) -> tuple[str, ...]:
    """llama-server's argv. No `devices` means the head's own CPU alone.

    `-fit off`: the plan has decided. `-lv 5`: lower levels hide what verify needs. `--cache-ram 0`: the prompt
    cache would pull whole KV states over the network between requests.
    """
    return (
        binary,
        "-m", model,
        *(("--rpc", ",".join(rpc)) if rpc else ()),
        *_placement(devices, counts),
        "-fit", "off",
        "-c", str(workload.context if workload.unified else workload.context * workload.users),
        "-np", str(workload.users),
        *(("-kvu",) if workload.unified else ()),
        "-ctk", workload.kv_type_k, "-ctv", workload.kv_type_v, "-fa", "on",
        *(("-t", str(threads)) if threads else ()),
        "--cache-ram", "0", "--no-mmproj",
        "--host", listen[0], "--port", str(listen[1]),
        "--metrics", "--log-jsonl", "-lv", "5",
    )  # fmt: skip


def _placement(devices: Sequence[str], counts: Sequence[int]) -> tuple[str, ...]:
    if not devices:
        return ("--device", "none", "-ngl", "0")
    split = ("-ts", ",".join(map(str, counts)))
    return ("--device", ",".join(devices), *split, "-ngl", "999", "-sm", "layer")


def dry_run_argv(
    binary: str, model: str, *, workload: Workload, endpoint: str | None, counts: Sequence[int], copies: bool = True
) -> tuple[str, ...]:
    """llama-fit-params' argv: load nothing, print what each device would hold. No `endpoint` means the CPU alone.

    It knows no `-kvu`: a pool is asked for as one sequence. `--no-repack`: repacked weights would not be printed.
    """
    devices = [f"RPC{i}" for i in range(len(counts))]
    return (
        binary,
        "-m", model, "--fit-print", "on",
        *(("--rpc", endpoint) if endpoint else ()),
        *_placement(devices if endpoint else [], counts),
        *(() if copies else NO_COPIES),
        "-c", str(workload.context if workload.unified else workload.context * workload.users),
        "-np", "1" if workload.unified else str(workload.users),
        "-ctk", workload.kv_type_k, "-ctv", workload.kv_type_v, "-fa", "on", "--no-repack",
    )  # fmt: skip


def worker_argv(
    binary: str, *, listen: tuple[str, int], devices: Sequence[str], threads: int | None
) -> tuple[str, ...]:
    """ggml-rpc-server's argv, with its devices named: it would export integrated GPUs too."""
    return (
        binary,
        "-H", listen[0], "-p", str(listen[1]),
        "-d", ",".join(devices),
        *(("-t", str(threads)) if threads else ()),
    )  # fmt: skip


def refuse_conflicts(extra: Sequence[str]) -> None:
    """Raise FlagConflict when a flag after `--` would undo what the plan promised."""
    for word in extra:
        flag = word.partition("=")[0]
        if flag in OURS:
            raise FlagConflict(f"{flag}: evener decides this itself", hint=f"use {OURS[flag]} instead")
