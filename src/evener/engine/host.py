"""What a host has to build and run an engine with: system, CPU identity, GPUs, toolkits. It decides nothing."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from evener.dialects import nvidia_smi, proc
from evener.errors import HostError
from evener.ports import Shell
from evener.together import together

HERE = "this machine"  # what a shell to it is called where no rig gives it a name
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
    """`cpu` is a digest of processor model and instruction sets. `tools` maps a found program to its path.

    `path` is the PATH that reaches them: a bare one, as ssh gives to a command, plus where toolkits install themselves.
    """

    system: str  # "Linux", "Darwin"
    cpu: str
    gpus: tuple[Gpu, ...]
    tools: dict[str, str]
    machine: str | None = None  # "x86_64", "aarch64"
    instructions: frozenset[str] = frozenset()  # what this processor can execute; empty where nobody said
    glibc: tuple[int, int] | None = None  # None for another C library
    cores: int | None = None
    path: str | None = None
    nvcc_architectures: frozenset[str] = frozenset()  # "12.0"; what this nvcc can build for
    package_manager: str | None = None
    memory_bytes: int | None = None  # available


TOOLS = (
    "cmake", "ninja", "make", "c++", "g++", "clang++", "hipcc", "glslc", "nice", "nvcc", "nvidia-smi", "rocminfo",
)  # fmt: skip
PACKAGE_MANAGERS = ("apt-get", "dnf", "pacman", "zypper", "brew")

# Words for the glob of `sh`. Where programs are that a command over ssh does not find by itself.
_ABOUT = """echo "path=$PATH"; echo "system=$(uname -s)"; echo "machine=$(uname -m)"
echo "libc=$(getconf GNU_LIBC_VERSION 2>/dev/null)"
echo "cores=$(nproc 2>/dev/null || sysctl -n hw.ncpu 2>/dev/null)"
for d in "$HOME/.local/bin" "$HOME/bin" /usr/local/bin /opt/homebrew/bin /usr/local/cuda/bin /usr/local/cuda-*/bin \
    /opt/cuda/bin /usr/lib/cuda/bin /opt/rocm/bin /opt/rocm-*/bin /usr/lib/wsl/lib /snap/bin
do [ -d "$d" ] && echo "folder=$d"; done; :"""
_FIND = 'PATH=$1; shift; for t; do p=$(command -v "$t") && echo "$t=$p"; done; :'


@dataclass(frozen=True, slots=True, kw_only=True)
class _About:
    """The first answers of a host."""

    said: dict[str, str]
    path: str | None


async def look(shell: Shell) -> HostFacts:
    """Ask the host. Costs a few short commands; a tool that is missing or fails says nothing, which is not an error."""
    about = await _about(shell)
    tools = await _tools(shell, about.path)
    cpuinfo = (await shell.read("/proc/cpuinfo") or b"").decode(errors="replace")
    targets = await _output(shell, [tools["nvcc"], "--list-gpu-arch"]) if "nvcc" in tools else ""
    cores = about.said.get("cores", "")
    return HostFacts(
        system=about.said.get("system") or "unknown",
        machine=about.said.get("machine") or None,
        cpu=await cpu_digest(shell),
        instructions=instructions(cpuinfo),
        glibc=glibc(about.said.get("libc", "")),
        cores=int(cores) if cores.isdigit() else None,
        gpus=await _gpus(shell, tools),
        tools={name: path for name, path in tools.items() if name in TOOLS},
        path=about.path,
        nvcc_architectures=nvcc_targets(targets),
        package_manager=next((name for name in PACKAGE_MANAGERS if name in tools), None),
        memory_bytes=proc.memory((await shell.read("/proc/meminfo") or b"").decode()).available_bytes,
    )


async def cuda_architectures(shell: Shell) -> frozenset[str]:
    """Compute capabilities of the host's NVIDIA GPUs: what a build for it must contain."""
    tools = await _tools(shell, (await _about(shell)).path)
    return frozenset(gpu.architecture for gpu in await _nvidia(shell, tools) if gpu.architecture)


async def _about(shell: Shell) -> _About:
    text = await _output(shell, ["sh", "-c", _ABOUT])
    said = dict(re.findall(r"^(path|system|machine|libc|cores)=(.*)$", text, re.MULTILINE))
    folders = newest_first(re.findall(r"^folder=(/.*)$", text, re.MULTILINE))
    known = said.get("path", "").split(":")
    path = ":".join([*known, *(folder for folder in folders if folder not in known)])
    return _About(said=said, path=path if said.get("path") else None)


async def _tools(shell: Shell, path: str | None) -> dict[str, str]:
    if path is None:
        return {}
    text = await _output(shell, ["sh", "-c", _FIND, "sh", path, *TOOLS, *PACKAGE_MANAGERS])
    return dict(re.findall(r"^([\w+-]+)=(/.+)$", text, re.MULTILINE))


def newest_first(folders: Sequence[str]) -> list[str]:
    """Folders in the order given, but of those that differ in their version only (cuda-12.4, cuda-13.0) the newest
    first."""

    def version(folder: str) -> list[int]:
        return [-int(part) for part in re.findall(r"\d+", folder)]

    plain = [re.sub(r"\d+(\.\d+)*", "*", folder) for folder in folders]
    return sorted(folders, key=lambda folder: (plain.index(re.sub(r"\d+(\.\d+)*", "*", folder)), version(folder)))


def glibc(said: str) -> tuple[int, int] | None:
    """`getconf GNU_LIBC_VERSION`: "glibc 2.36"."""
    found = re.fullmatch(r"glibc (\d+)\.(\d+)\s*", said)
    return (int(found[1]), int(found[2])) if found else None


async def cpu_digest(shell: Shell) -> str:
    """Eight digits that change with the processor's model or instruction sets: a native build runs on this CPU only."""
    text = (await shell.read("/proc/cpuinfo") or b"").decode(errors="replace")
    said = cpu_identity(text) or (
        await _output(shell, ["uname", "-m"]) + await _output(shell, ["sysctl", "-n", "machdep.cpu.brand_string"])
    )
    return hashlib.sha256(said.encode()).hexdigest()[:8]


def cpu_identity(cpuinfo: str) -> str:
    """Model and sorted instruction sets of the first processor in /proc/cpuinfo; empty when it names none."""
    fields = _first_processor(cpuinfo)
    sets = fields.get("flags") or fields.get("Features") or ""
    model = fields.get("model name") or fields.get("CPU part") or ""
    return f"{model}|{' '.join(sorted(sets.split()))}" if sets else ""


# What a compiler may use of an x86 processor without being asked, in the kernel's words; the rest of its flags is for
# operating systems (constant_tsc, ibrs) and never in a program that was merely compiled.
_X86 = re.compile(
    r"mmx|sse\w*|pni|ssse3|avx\w*|fma4?|xop|f16c|bmi[12]|tbm|abm|popcnt|movbe|lahf_lm|cx16|3dnow\w*|amx_\w+|aes|pclmulqdq"
    r"|vaes|vpclmulqdq|gfni|adx|sha_ni|sha512|sm[34]|rdrand|rdseed"
)
_ARM_SYSTEM = {"evtstrm", "cpuid"}


def instructions(cpuinfo: str) -> frozenset[str]:
    """Instruction sets of the first processor that a program built with GGML_NATIVE may contain; empty: nobody said."""
    fields = _first_processor(cpuinfo)
    if flags := fields.get("flags"):
        return frozenset(flag for flag in flags.split() if _X86.fullmatch(flag))
    return frozenset(fields.get("Features", "").split()) - _ARM_SYSTEM


def _first_processor(cpuinfo: str) -> dict[str, str]:
    first = cpuinfo.split("\n\n", 1)[0]
    return {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in first.splitlines())}


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


async def _gpus(shell: Shell, tools: Mapping[str, str]) -> tuple[Gpu, ...]:
    nvidia = await _nvidia(shell, tools)
    amd = rocm_gpus(await _output(shell, [tools["rocminfo"]])) if "rocminfo" in tools else ()
    spoken_for = {gpu.vendor for gpu in nvidia + amd}
    bus = [gpu for gpu in await together(_on_bus(shell, n) for n in range(8)) if gpu is not None]
    return nvidia + amd + tuple(gpu for gpu in bus if gpu.vendor not in spoken_for)


async def _nvidia(shell: Shell, tools: Mapping[str, str]) -> tuple[Gpu, ...]:
    """What the driver shows. One that is too old for compute_cap refuses the whole question."""
    if (smi := tools.get(nvidia_smi.PROGRAM)) is None:
        return ()
    for fields in (("name", "pci.bus_id", "compute_cap"), ("name", "pci.bus_id")):
        if cards := nvidia_smi.parse_gpus(await _output(shell, [smi, *nvidia_smi.gpu_query(fields)[1:]])):
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


async def _output(shell: Shell, argv: Sequence[str]) -> str:
    """What a command printed; nothing when it is missing or fails."""
    try:
        done = await shell.run(argv, within_s=WITHIN_S)
    except HostError:
        return ""
    return done.stdout if done.code == 0 else ""
