from __future__ import annotations

import pytest

from evener.engine.choice import choose, demand_tools
from evener.engine.host import Gpu, HostFacts
from evener.errors import EngineError

RTX_5090 = Gpu(vendor="nvidia", name="NVIDIA GeForce RTX 5090", architecture="12.0")
RTX_3090 = Gpu(vendor="nvidia", name="NVIDIA GeForce RTX 3090", architecture="8.6")
RX_7900 = Gpu(vendor="amd", name="AMD Radeon RX 7900 XTX", architecture="gfx1100")
NVCC = {"nvcc": "/usr/local/cuda/bin/nvcc"}
BUILDS = {"cmake": "/usr/bin/cmake", "make": "/usr/bin/make", "c++": "/usr/bin/c++"}


def host(
    *gpus: Gpu, tools: dict[str, str] | None = None, system: str = "Linux", nvcc: frozenset[str] = frozenset()
) -> HostFacts:
    return HostFacts(
        system=system, machine="x86_64", cpu="0" * 8, gpus=gpus, tools=tools or {}, nvcc_architectures=nvcc,
        package_manager="apt-get",
    )  # fmt: skip


def test_no_gpu_means_cpu() -> None:
    assert choose(host()).backend == "cpu"


def test_a_toolkit_without_a_gpu_means_cpu_and_says_so() -> None:
    choice = choose(host(tools=NVCC))
    assert choice.backend == "cpu"
    assert choice.notes == ("nvcc was found and no NVIDIA GPU: building for the CPU",)


def test_nvidia_with_toolkit_is_built_for_each_capability_of_this_host() -> None:
    choice = choose(host(RTX_5090, RTX_3090, RTX_5090, tools=NVCC))
    assert choice.backend == "cuda"
    assert choice.flags == (
        "-DGGML_CUDA=ON",
        "-DCMAKE_CUDA_COMPILER=/usr/local/cuda/bin/nvcc",
        "-DCMAKE_CUDA_ARCHITECTURES=120;86",
    )


def test_a_driver_too_old_to_tell_the_capability_means_native() -> None:
    choice = choose(host(Gpu(vendor="nvidia", name="GTX 1080"), tools=NVCC))
    assert "-DCMAKE_CUDA_ARCHITECTURES=native" in choice.flags


def test_nvidia_without_toolkit_is_told_every_way_out_and_its_price() -> None:
    with pytest.raises(EngineError) as refusal:
        choose(host(RTX_5090))
    assert refusal.value.message == "NVIDIA GeForce RTX 5090: the NVIDIA driver is here, the CUDA toolkit (nvcc) is not"
    hint = refusal.value.hint or ""
    for way in ("--backend cuda", "--backend vulkan", "--backend cpu", "release archive", "GB", "minutes"):
        assert way in hint
    assert (
        "evener engine install --backend vulkan --from official: the release archive, nothing to build "
        "(https://github.com/ggml-org/llama.cpp/releases/download/b11434/llama-b11434-bin-ubuntu-vulkan-x64.tar.gz)"
    ) in hint


def test_a_build_contains_what_the_other_hosts_of_the_rig_need() -> None:
    choice = choose(host(RTX_5090, tools=NVCC), architectures=frozenset({"8.6", "12.0"}))
    assert choice.flags[-1] == "-DCMAKE_CUDA_ARCHITECTURES=120;86"
    assert choice.notes == ()


def test_what_this_toolkit_cannot_build_for_other_hosts_is_left_out_and_said() -> None:
    choice = choose(
        host(RTX_5090, tools=NVCC, nvcc=frozenset({"8.6", "12.0"})), architectures=frozenset({"8.6", "6.1"})
    )
    assert choice.flags[-1] == "-DCMAKE_CUDA_ARCHITECTURES=120;86"
    assert choice.notes == ("this nvcc cannot build for 6.1, which another host of the rig has",)


def test_a_toolkit_too_old_for_the_card_is_refused_before_the_build() -> None:
    with pytest.raises(EngineError, match=r"cannot build for compute capability 12\.0 \(NVIDIA GeForce RTX 5090\)"):
        choose(host(RTX_5090, tools=NVCC, nvcc=frozenset({"8.6", "9.0"})))


def test_nvidia_card_without_driver_is_not_silently_a_cpu_host() -> None:
    with pytest.raises(EngineError, match="its driver is not"):
        choose(host(Gpu(vendor="nvidia", name="NVIDIA GPU", driver=False), tools=NVCC))


def test_amd_needs_rocm_and_is_told_the_choices() -> None:
    with pytest.raises(EngineError, match="ROCm") as refusal:
        choose(host(Gpu(vendor="amd", name="AMD GPU", driver=False)))
    assert "--backend vulkan" in (refusal.value.hint or "")
    assert choose(host(RX_7900, tools={"hipcc": "/opt/rocm/bin/hipcc"})).flags == (
        "-DGGML_HIP=ON",
        "-DGPU_TARGETS=gfx1100",
    )


def test_asked_for_cpu_on_a_gpu_host_it_names_what_stays_idle() -> None:
    choice = choose(host(RTX_5090, RX_7900), asked="cpu")
    assert choice.backend == "cpu"
    assert choice.notes == (
        "built for the CPU as asked: NVIDIA GeForce RTX 5090, AMD Radeon RX 7900 XTX will not be used",
    )


def test_intel_graphics_does_not_stop_a_cpu_build_but_is_mentioned() -> None:
    choice = choose(host(Gpu(vendor="intel", name="Intel GPU", driver=False)))
    assert choice.backend == "cpu"
    assert "--backend vulkan" in choice.notes[0]


def test_vulkan_without_its_compiler_names_the_packages() -> None:
    with pytest.raises(EngineError, match="glslc") as refusal:
        choose(host(RTX_5090), asked="vulkan")
    assert (refusal.value.hint or "").startswith(
        "sudo apt-get install glslc libvulkan-dev spirv-headers; or "
        "evener engine install --backend vulkan --from official"
    )
    assert choose(host(tools={"glslc": "/usr/bin/glslc"}), asked="vulkan").flags == ("-DGGML_VULKAN=ON",)


def test_cuda_without_an_nvidia_gpu_is_refused() -> None:
    with pytest.raises(EngineError, match="no NVIDIA GPU here"):
        choose(host(tools=NVCC), asked="cuda")


def test_a_mac_uses_metal_and_can_be_told_not_to() -> None:
    assert choose(host(system="Darwin")).backend == "metal"
    assert choose(host(system="Darwin"), asked="cpu").flags == ("-DGGML_METAL=OFF",)
    with pytest.raises(EngineError, match="macOS only"):
        choose(host(), asked="metal")


def test_missing_build_tools_are_one_line_with_the_command_that_brings_them() -> None:
    with pytest.raises(EngineError) as refusal:
        demand_tools(host(tools={"cmake": "/usr/bin/cmake"}))
    assert refusal.value.message == "cannot build llama.cpp here: ninja or make, a C++ compiler missing"
    assert refusal.value.hint == "sudo apt-get install cmake ninja-build g++"
    demand_tools(host(tools=BUILDS))
