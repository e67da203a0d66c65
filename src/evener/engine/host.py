"""What a host has to build and run an engine with: system, CPU identity, GPUs, toolkits. It decides nothing."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from evener.dialects import nvidia_smi, proc
from evener.errors import HostError
from evener.ports import Shell
from evener.together import together

WITHIN_S = 20.0
VENDORS = {"0x10de": "nvidia", "0x1002": "amd", "0x8086": "intel"}
# An AMD processor's own graphics shows less video memory than this; it is no card to serve models from.
SMALLEST_AMD_BYTES = 3 << 30

Vendor = Literal["nvidia", "amd", "intel"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Gpu:
    """A GPU as its driver names it. `architecture` is "12.0" (NVIDIA) or "gfx1100" (AMD), None where nobody said.

    `driver` is False for a card that the bus shows and no driver tool does.
    """

    vendor: Vendor
    name: str
    architecture: str | None = None
    driver: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class HostFacts:
    """`cpu` is a digest of processor model and instruction sets. `tools` maps a found program to its path."""

    system: str  # "Linux", "Darwin"
    cpu: str
    gpus: tuple[Gpu, ...]
    tools: dict[str, str]
    nvcc_architectures: frozenset[str] = frozenset()  # "12.0"; what this nvcc can build for
    package_manager: str | None = None
    memory_bytes: int | None = None  # available


TOOLS = ("cmake", "ninja", "make", "c++", "g++", "clang++", "hipcc", "glslc", "nice")
PACKAGE_MANAGERS = ("apt-get", "dnf", "pacman", "zypper", "brew")


async def look(shell: Shell) -> HostFacts:
    """Ask the host. Costs a few short commands; a tool that is missing or fails says nothing, which is not an error."""
    system = (await _output(shell, ["uname", "-s"])).strip() or "unknown"
    tools = {name: path for name in TOOLS if (path := await shell.which(name))}
    if nvcc := await _nvcc(shell):
        tools["nvcc"] = nvcc
    managers = [name for name in PACKAGE_MANAGERS if await shell.which(name)]
    return HostFacts(
        system=system,
        cpu=await cpu_digest(shell),
        gpus=await _gpus(shell),
        tools=tools,
        nvcc_architectures=nvcc_targets(await _output(shell, [nvcc, "--list-gpu-arch"])) if nvcc else frozenset(),
        package_manager=managers[0] if managers else None,
        memory_bytes=proc.memory((await shell.read("/proc/meminfo") or b"").decode()).available_bytes,
    )


async def cpu_digest(shell: Shell) -> str:
    """Eight digits that change with the processor's model or instruction sets: a native build runs on this CPU only."""
    text = (await shell.read("/proc/cpuinfo") or b"").decode(errors="replace")
    said = cpu_identity(text) or (
        await _output(shell, ["uname", "-m"]) + await _output(shell, ["sysctl", "-n", "machdep.cpu.brand_string"])
    )
    return hashlib.sha256(said.encode()).hexdigest()[:8]


def cpu_identity(cpuinfo: str) -> str:
    """Model and sorted instruction sets of the first processor in /proc/cpuinfo; empty when it names none."""
    first = cpuinfo.split("\n\n", 1)[0]
    fields = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in first.splitlines())}
    sets = fields.get("flags") or fields.get("Features") or ""
    model = fields.get("model name") or fields.get("CPU part") or ""
    return f"{model}|{' '.join(sorted(sets.split()))}" if sets else ""


def nvcc_targets(listing: str) -> frozenset[str]:
    """`nvcc --list-gpu-arch`: "compute_120" is "12.0"."""
    return frozenset(f"{digits[:-1]}.{digits[-1]}" for digits in re.findall(r"compute_(\d{2,3})", listing))


def rocm_gpus(listing: str) -> tuple[Gpu, ...]:
    """`rocminfo`: one agent per processor; a GPU's agent is named after its architecture and has a marketing name."""
    found = []
    for agent in re.split(r"^Agent \d+\s*$", listing, flags=re.MULTILINE)[1:]:
        fields = dict(re.findall(r"^  (Name|Marketing Name|Device Type):\s+(.+?)\s*$", agent, re.MULTILINE))
        if fields.get("Device Type") == "GPU":
            name = fields.get("Name")
            found.append(Gpu(vendor="amd", name=fields.get("Marketing Name") or name or "AMD GPU", architecture=name))
    return tuple(found)


async def _gpus(shell: Shell) -> tuple[Gpu, ...]:
    nvidia = await _nvidia(shell)
    amd = rocm_gpus(await _output(shell, ["rocminfo"]))
    spoken_for = {gpu.vendor for gpu in nvidia + amd}
    bus = [gpu for gpu in await together(_on_bus(shell, n) for n in range(8)) if gpu is not None]
    return nvidia + amd + tuple(gpu for gpu in bus if gpu.vendor not in spoken_for)


async def _nvidia(shell: Shell) -> tuple[Gpu, ...]:
    """What the driver shows. One that is too old for compute_cap refuses the whole question."""
    for fields in (("name", "pci.bus_id", "compute_cap"), ("name", "pci.bus_id")):
        if cards := nvidia_smi.parse_gpus(await _output(shell, nvidia_smi.gpu_query(fields))):
            return tuple(Gpu(vendor="nvidia", name=c.name, architecture=c.compute_capability) for c in cards)
    return ()


async def _on_bus(shell: Shell, number: int) -> Gpu | None:
    """The card behind /dev/dri/cardN, seen without any tool of its vendor."""
    device = f"/sys/class/drm/card{number}/device"
    vendor = VENDORS.get((await shell.read(f"{device}/vendor") or b"").decode().strip())
    if vendor == "nvidia":
        return Gpu(vendor="nvidia", name="NVIDIA GPU", driver=False)
    if vendor == "amd":
        memory = (await shell.read(f"{device}/mem_info_vram_total") or b"0").decode().strip()
        large = memory.isdigit() and int(memory) >= SMALLEST_AMD_BYTES
        return Gpu(vendor="amd", name="AMD GPU", driver=False) if large else None
    return Gpu(vendor="intel", name="Intel GPU", driver=False) if vendor == "intel" else None


async def _nvcc(shell: Shell) -> str | None:
    """nvcc is often installed and not on PATH: /usr/local/cuda is where NVIDIA's packages put it."""
    if found := await shell.which("nvcc"):
        return found
    for folder in ("/usr/local/cuda", "/opt/cuda", *await _versioned_toolkits(shell)):
        if await shell.read(f"{folder}/bin/nvcc", most_bytes=1) is not None:
            return f"{folder}/bin/nvcc"
    return None


async def _versioned_toolkits(shell: Shell) -> Sequence[str]:
    """/usr/local/cuda-13.0 and its like, newest first."""
    names = [n for n in (await _output(shell, ["ls", "/usr/local"])).split() if re.fullmatch(r"cuda-\d+\.\d+", n)]
    newest_first = sorted(names, key=lambda n: [int(part) for part in n[5:].split(".")], reverse=True)
    return [f"/usr/local/{name}" for name in newest_first]


async def _output(shell: Shell, argv: Sequence[str]) -> str:
    """What a command printed; nothing when it is missing or fails."""
    try:
        done = await shell.run(argv, within_s=WITHIN_S)
    except HostError:
        return ""
    return done.stdout if done.code == 0 else ""
