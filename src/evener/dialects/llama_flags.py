"""Command lines of llama.cpp: what we write, and what nobody else may write beside us. Pure text.

Tensor split values are slot counts: integers whose sum is block_count + 1 give exactly those counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from evener.errors import FlagConflict
from evener.records.plan import Workload

WORKER, SERVER, DRY_RUN, BENCH = "ggml-rpc-server", "llama-server", "llama-fit-params", "llama-bench"

# Config files would change any option without a word on the command line; the folder must not exist.
ENGINE_ENVIRONMENT: Mapping[str, str] = {"XDG_CONFIG_HOME": "/nonexistent/evener"}
# nvidia-smi counts by PCI bus id, CUDA by speed unless told otherwise.
CUDA_ENVIRONMENT: Mapping[str, str] = {"CUDA_DEVICE_ORDER": "PCI_BUS_ID"}

NO_MODEL = "/nonexistent/evener.gguf"

# Any tensor override, also one that no tensor's name matches, switches pipeline copies off.
NO_COPIES = ("-ot", "no-pipeline-copies=CPU")

# Decided by the plan, or needed by verify; extra flags after `--` may not touch them. One line for each of our own
# words: every name that the engine (build 11434) has for the same thing is listed.
_DECIDED: Mapping[str, str] = {
    "MODEL": "-m --model -mu --model-url -hf -hfr --hf-repo -hff --hf-file -dr --docker-repo --models-dir "
    "--models-preset",
    "--mmproj": "-mm --mmproj -mmu --mmproj-url --mmproj-auto --no-mmproj --no-mmproj-auto --mmproj-offload "
    "--no-mmproj-offload -mmdev --mmproj-device",
    "--draft": "-md --model-draft --spec-draft-model --spec-draft-hf -hfd -hfrd --hf-repo-draft --spec-draft-device "
    "-devd --device-draft --spec-draft-ngl -ngld --gpu-layers-draft --n-gpu-layers-draft --spec-draft-type-k -ctkd "
    "--cache-type-k-draft --spec-draft-type-v -ctvd --cache-type-v-draft --spec-draft-override-tensor -otd "
    "--override-tensor-draft --spec-draft-cpu-moe -cmoed --cpu-moe-draft --spec-draft-n-cpu-moe "
    "--spec-draft-ncmoe -ncmoed --n-cpu-moe-draft",
    "--drafts": "--spec-draft-n-max",
    "--layout": "--rpc -rpc -dev --device -ts --tensor-split -ngl --gpu-layers --n-gpu-layers -sm --split-mode "
    "-mg --main-gpu -fit --fit -fitt --fit-target -fitc --fit-ctx -ot --override-tensor -cmoe --cpu-moe "
    "-ncmoe --n-cpu-moe -kvo --kv-offload -nkvo --no-kv-offload --op-offload --no-op-offload --no-host "
    "-b --batch-size -ub --ubatch-size -fa --flash-attn --swa-full",
    "evener scan": "--list-devices",
    "--context": "-c --ctx-size --kv-unified-per-slot",
    "--users": "-np --parallel",
    "--unified": "-kvu --kv-unified -no-kvu --no-kv-unified",
    "--kv": "-ctk --cache-type-k -ctv --cache-type-v",
    "[serve] in rig.toml": "--host --port --reuse-port --api-key --api-key-file --api-prefix --ssl-key-file "
    "--ssl-cert-file",
    "nothing: verify and bench need it": "-lv --verbosity --log-verbosity -v --verbose --log-verbose --log-jsonl "
    "--no-log-jsonl --log-disable --log-file --metrics -cram --cache-ram --sleep-idle-seconds",
    "nothing: prompts are never written to disk": "--log-prompts-dir --slot-save-path",
}
OURS: Mapping[str, str] = {flag: instead for instead, flags in _DECIDED.items() for flag in flags.split()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Offload:
    """What of a model goes to the devices: everything, unless told otherwise.

    `slots` are the last ones, the others stay with the CPU. The experts of the first `experts_in_ram` blocks stay in
    RAM. `copies` False switches pipeline copies off.
    """

    slots: int | None = None
    experts_in_ram: int = 0
    all_experts_in_ram: bool = False
    copies: bool = True

    def argv(self) -> tuple[str, ...]:
        """Beside `-ngl`. Experts in RAM are an override already, and so end the copies by themselves."""
        if self.experts_in_ram:
            return ("-cmoe",) if self.all_experts_in_ram else ("-ncmoe", str(self.experts_in_ram))
        return () if self.copies or self.slots is not None else NO_COPIES


EVERYTHING = Offload()


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """Files that a server loads beside the model, each whole on `device` as the head names it; None: on its CPU."""

    projector: str | None = None
    draft: str | None = None
    device: str | None = None

    def argv(self, *, drafts: int) -> tuple[str, ...]:
        """`drafts` tokens are drafted at a time: by the draft model, else by the model's own MTP blocks."""
        return (*self._projector(), *self._draft(), *self._drafting(drafts))

    def _projector(self) -> tuple[str, ...]:
        """Without a word, the engine would take one that it finds."""
        if self.projector is None:
            return ("--no-mmproj",)
        where = ("--mmproj-device", self.device) if self.device else ("--no-mmproj-offload",)
        return ("--mmproj", self.projector, *where)

    def _draft(self) -> tuple[str, ...]:
        """Without a device of its own a draft model is split over all of the model's, also over the cable."""
        if self.draft is None:
            return ()
        return ("-md", self.draft, "-devd", self.device or "none", "-ngld", "999" if self.device else "0")

    def _drafting(self, drafts: int) -> tuple[str, ...]:
        if not drafts:
            return ()
        return ("--spec-type", "draft-simple" if self.draft else "draft-mtp", "--spec-draft-n-max", str(drafts))


ALONE = Beside()


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
    offload: Offload = EVERYTHING,
    beside: Beside = ALONE,
) -> tuple[str, ...]:
    """llama-server's argv. No `devices` means the head's own CPU alone.

    `-fit off`: the plan has decided. `-lv 5`: lower levels hide what verify needs. `--cache-ram 0`: the prompt
    cache would pull whole KV states over the network between requests.
    """
    return (
        binary,
        "-m", model,
        *(("--rpc", ",".join(rpc)) if rpc else ()),
        *_placement(devices, counts, offload.slots),
        *offload.argv(),
        "-fit", "off",
        "-c", str(workload.context if workload.unified else workload.context * workload.users),
        "-np", str(workload.users),
        *(("-kvu",) if workload.unified else ()),
        "-ctk", workload.kv_type_k, "-ctv", workload.kv_type_v, "-fa", "on",
        *(("-t", str(threads)) if threads else ()),
        "--cache-ram", "0", *beside.argv(drafts=workload.drafts),
        "--host", listen[0], "--port", str(listen[1]),
        "--metrics", "--log-jsonl", "-lv", "5",
    )  # fmt: skip


def _placement(devices: Sequence[str], counts: Sequence[int], slots: int | None = None) -> tuple[str, ...]:
    if not devices:
        return ("--device", "none", "-ngl", "0")
    split = ("-ts", ",".join(map(str, counts)))
    return ("--device", ",".join(devices), *split, "-ngl", str(slots or 999), "-sm", "layer")


def bench_argv(binary: str, server: Sequence[str], *, workload: Workload) -> tuple[str, ...]:
    """llama-bench's argv for the placement of a `server`'s: there commas part tests, so lists of one test take slashes.

    It measures one sequence: a prompt, and an answer behind it.
    """
    given = dict(pairwise(server))
    slashed = {"--device": "-dev", "-ts": "-ts"}
    kept = ("-m", "--rpc", "-ngl", "-sm", "-ctk", "-ctv", "-fa", "-t", "-ncmoe", "-ot")
    placed = [(flag, given[flag]) for flag in kept if flag in given]
    placed += [(word, given[flag].replace(",", "/")) for flag, word in slashed.items() if flag in given]
    if "-cmoe" in server:
        placed.append(("-ncmoe", "999"))
    sizes = ("-p", str(workload.prompt_tokens), "-n", str(workload.output_tokens))
    return (binary, *(word for pair in placed for word in pair), *sizes)


def dry_run_argv(
    binary: str,
    model: str,
    *,
    workload: Workload,
    endpoint: str | None,
    counts: Sequence[int],
    offload: Offload = EVERYTHING,
) -> tuple[str, ...]:
    """llama-fit-params' argv: load nothing, print what each device would hold. No `endpoint` means the CPU alone.

    It knows no `-kvu`: a pool is asked for as one sequence. `--no-repack`: repacked weights would not be printed.
    """
    devices = [f"RPC{i}" for i in range(len(counts))]
    return (
        binary,
        "-m", model, "--fit-print", "on",
        *(("--rpc", endpoint) if endpoint else ()),
        *_placement(devices if endpoint else [], counts, offload.slots),
        *offload.argv(),
        "-c", str(workload.context if workload.unified else workload.context * workload.users),
        "-np", "1" if workload.unified else str(workload.users),
        "-ctk", workload.kv_type_k, "-ctv", workload.kv_type_v, "-fa", "on", "--no-repack",
    )  # fmt: skip


def projector_argv(binary: str, projector: str, *, endpoint: str, device: str) -> tuple[str, ...]:
    """llama-server's argv for a model that is not there: before it misses that, it says what the projector takes.

    It says so only where it may fit the model to what is left; on a free port of loopback, which nobody asks.
    """
    return (
        binary,
        "-m", NO_MODEL, "--rpc", endpoint, "--mmproj", projector, "--mmproj-device", device, "-fa", "on",
        "-fit", "on", "--host", "127.0.0.1", "--port", "0", "-lv", "5",
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
        if instead := OURS.get(flag):
            raise FlagConflict(f"{flag}: evener decides this itself", hint=f"use {instead}")
