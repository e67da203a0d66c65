"""Which backend an engine is built for on a host, and what each choice costs. Pure.

A GPU never gets a CPU build without being asked: on a host with a GPU and no toolkit for it there is no default.
"""

from __future__ import annotations

from dataclasses import dataclass

from evener.engine.host import Gpu, HostFacts
from evener.engine.release import official
from evener.engine.source import PIN
from evener.errors import EngineError
from evener.records.capability import Backend

# Measured for cpu (2 cores, without ggml's GPU kernels); the others are estimates and are worded as such.
CPU_COST = "3 to 11 minutes on 2 cores, 1 GB of disk while it builds"
VULKAN_COST = (
    "glslc, the Vulkan and the SPIR-V headers; about 10 to 25 minutes on 2 cores; usually slower than the vendor's own"
)
CUDA_COST = (
    "the CUDA toolkit (3 GB to download, 6 GB on disk), then about 20 to 60 minutes on 2 to 8 cores; the fastest"
)
ROCM_COST = "ROCm with hipcc (several GB), then about 20 to 60 minutes on 2 to 8 cores; the fastest"


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A backend, the configure flags it adds, and what its user should know."""

    backend: Backend
    flags: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def choose(facts: HostFacts, *, asked: Backend | None = None, architectures: frozenset[str] = frozenset()) -> Choice:
    """The backend to build. `architectures` are the compute capabilities of the rig's other NVIDIA GPUs.

    Raises EngineError where the host lacks what it takes, with every way out and its price.
    """
    if asked is not None:
        return _asked(facts, asked, architectures)
    if facts.system == "Darwin":
        return _metal(facts)
    nvidia, amd, intel = (_of(facts, vendor) for vendor in ("nvidia", "amd", "intel"))
    if nvidia:
        return _cuda(facts, architectures)
    if amd:
        return _rocm(facts)
    toolkit = ("nvcc was found and no NVIDIA GPU: building for the CPU",) if "nvcc" in facts.tools else ()
    unused = ("Intel graphics is not used; --backend vulkan builds for it",) if intel else ()
    return Choice(backend="cpu", notes=toolkit + unused)


def _asked(facts: HostFacts, asked: Backend, architectures: frozenset[str]) -> Choice:
    if asked == "cpu":
        idle = _names(facts.gpus)
        off = ("-DGGML_METAL=OFF",) if facts.system == "Darwin" else ()
        return Choice(
            backend="cpu", flags=off, notes=(f"built for the CPU as asked: {idle} will not be used",) if idle else ()
        )
    if asked == "cuda":
        return _cuda(facts, architectures)
    return {"rocm": _rocm, "vulkan": _vulkan, "metal": _metal}[asked](facts)


def _cuda(facts: HostFacts, others: frozenset[str]) -> Choice:
    gpus = _of(facts, "nvidia")
    if not gpus:
        raise EngineError("no NVIDIA GPU here to build for", hint="evener engine install --backend cpu")
    if not all(gpu.driver for gpu in gpus):
        raise EngineError(
            "an NVIDIA GPU is in this host and its driver is not (nvidia-smi shows nothing)",
            hint="install NVIDIA's driver; or, without the GPU: evener engine install --backend cpu",
        )
    if "nvcc" not in facts.tools:
        raise EngineError(
            f"{_names(gpus)}: the NVIDIA driver is here, the CUDA toolkit (nvcc) is not",
            hint=_ways_out(facts, "cuda", CUDA_COST),
        )
    own = {gpu.architecture for gpu in gpus if gpu.architecture}
    known = facts.nvcc_architectures
    if too_new := sorted(own - known) if known else []:
        raise EngineError(
            f"{facts.tools['nvcc']} cannot build for compute capability {', '.join(too_new)} ({_names(gpus)})",
            hint="install a CUDA toolkit that knows it (12.8 or newer for 12.0), or choose --backend vulkan",
        )
    left_out = sorted(others - own - known) if known else []
    union = sorted(own | others - set(left_out)) if own else []  # a driver too old to say: whatever is here
    targets = ";".join(a.replace(".", "") for a in union) or "native"
    flags = (f"-DCMAKE_CUDA_COMPILER={facts.tools['nvcc']}", f"-DCMAKE_CUDA_ARCHITECTURES={targets}")
    note = f"this nvcc cannot build for {', '.join(left_out)}, which another host of the rig has"
    return Choice(backend="cuda", flags=("-DGGML_CUDA=ON", *flags), notes=(note,) if left_out else ())


def _rocm(facts: HostFacts) -> Choice:
    gpus = _of(facts, "amd")
    if not gpus:
        raise EngineError("no AMD GPU here to build for", hint="evener engine install --backend cpu")
    targets = sorted({gpu.architecture for gpu in gpus if gpu.architecture})
    if "hipcc" not in facts.tools or not targets:
        raise EngineError(
            f"{_names(gpus)}: ROCm (hipcc, rocminfo) is not here", hint=_ways_out(facts, "rocm", ROCM_COST)
        )
    return Choice(backend="rocm", flags=("-DGGML_HIP=ON", f"-DGPU_TARGETS={';'.join(targets)}"))


def _vulkan(facts: HostFacts) -> Choice:
    if "glslc" not in facts.tools:
        raise EngineError(
            "a Vulkan build needs glslc, the Vulkan headers and the SPIR-V headers",
            hint="; or ".join([_install(facts, VULKAN_PACKAGES), *_archive(facts, "vulkan")]),
        )
    return Choice(backend="vulkan", flags=("-DGGML_VULKAN=ON",))


def _metal(facts: HostFacts) -> Choice:
    if facts.system != "Darwin":
        raise EngineError("Metal exists on macOS only", hint="evener engine install")
    return Choice(backend="metal", flags=("-DGGML_METAL=ON",))


def _ways_out(facts: HostFacts, backend: Backend, cost: str) -> str:
    ways = [
        *_archive(facts, backend),
        *_archive(facts, "vulkan"),
        f"--backend {backend}: needs {cost}",
        f"--backend vulkan: needs {VULKAN_COST}",
        f"--backend cpu: {CPU_COST}, and the GPU stays idle",
    ]
    return "choose: " + "; ".join(f"({number}) {way}" for number, way in enumerate(ways, 1))


def _archive(facts: HostFacts, backend: Backend) -> list[str]:
    """An official release archive, where there is one for this system and machine, and the command that fetches it."""
    try:
        urls = official(backend, system=facts.system, machine=facts.machine, build=PIN.build)
    except EngineError:
        return []
    command = f"evener engine install --backend {backend} --from official"
    return [f"{command}: the release archive, nothing to build ({' and '.join(urls)})"]


def _of(facts: HostFacts, vendor: str) -> tuple[Gpu, ...]:
    return tuple(gpu for gpu in facts.gpus if gpu.vendor == vendor)


def _names(gpus: tuple[Gpu, ...]) -> str:
    return ", ".join(gpu.name for gpu in gpus)


BUILD_PACKAGES = {
    "apt-get": "sudo apt-get install cmake ninja-build g++",
    "dnf": "sudo dnf install cmake ninja-build gcc-c++",
    "pacman": "sudo pacman -S cmake ninja gcc",
    "zypper": "sudo zypper install cmake ninja gcc-c++",
    "brew": "brew install cmake ninja (and xcode-select --install)",
}
VULKAN_PACKAGES = {
    "apt-get": "sudo apt-get install glslc libvulkan-dev spirv-headers",
    "dnf": "sudo dnf install glslc vulkan-loader-devel spirv-headers-devel",
    "pacman": "sudo pacman -S shaderc vulkan-headers spirv-headers",
    "zypper": "sudo zypper install shaderc vulkan-devel spirv-headers",
}


def missing_tools(facts: HostFacts) -> tuple[str, ...]:
    """Build tools that this host lacks, in words; empty when an engine can be compiled."""
    needed = (
        ("cmake", ("cmake",)),
        ("ninja or make", ("ninja", "make")),
        ("a C++ compiler", ("c++", "g++", "clang++")),
    )
    return tuple(name for name, programs in needed if not any(p in facts.tools for p in programs))


def demand_tools(facts: HostFacts) -> None:
    """Raises EngineError in one line when something to build with is missing."""
    if missing := missing_tools(facts):
        raise EngineError(
            f"cannot build llama.cpp here: {', '.join(missing)} missing", hint=_install(facts, BUILD_PACKAGES)
        )


def _install(facts: HostFacts, packages: dict[str, str]) -> str:
    command = packages.get(facts.package_manager or "")
    return command or f"install them, e.g. {packages['apt-get']}"
