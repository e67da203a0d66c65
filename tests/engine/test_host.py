from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from evener.edges.local_shell import LocalShell
from evener.engine.host import (
    Gpu,
    cpu_identity,
    cuda_architectures,
    glibc,
    instructions,
    look,
    nvcc_targets,
    rocm_gpus,
)
from evener.ports import Finished
from evener.testing.fake_shell import FakeShell, Reply, prints

from .toys import script

CPUINFO = (
    "processor\t: 0\nmodel name\t: AMD Ryzen 9 9950X 16-Core Processor\ncpu MHz\t\t: {mhz}\nflags\t\t: {flags}\n\n"
    "processor\t: 1\nmodel name\t: AMD Ryzen 9 9950X 16-Core Processor\nflags\t\t: {flags}\n"
)
NVIDIA = (
    "name, pci.bus_id, compute_cap\n"
    "NVIDIA GeForce RTX 5090, 00000000:01:00.0, 12.0\n"
    "NVIDIA GeForce RTX 5060 Ti, 00000000:07:00.0, 12.0\n"
)
# Shortened from the output of rocminfo 6: agents, then two columns.
ROCMINFO = """\
ROCk module is loaded
*******
Agent 1
*******
  Name:                    AMD Ryzen 9 7900X 12-Core Processor
  Marketing Name:          AMD Ryzen 9 7900X 12-Core Processor
  Device Type:             CPU
*******
Agent 2
*******
  Name:                    gfx1100
  Marketing Name:          AMD Radeon RX 7900 XTX
  Device Type:             GPU
  ISA Info:
    ISA 1
      Name:                    amdgcn-amd-amdhsa--gfx1100
"""


def test_cpu_identity_changes_with_instruction_sets_and_not_with_clock_or_order() -> None:
    one = cpu_identity(CPUINFO.format(mhz=4300, flags="avx2 avx512f"))
    assert one == cpu_identity(CPUINFO.format(mhz=600, flags="avx512f avx2"))
    assert one != cpu_identity(CPUINFO.format(mhz=4300, flags="avx2"))


def test_arm_cpu_is_known_by_part_and_features() -> None:
    text = "processor\t: 0\nFeatures\t: fp asimd\nCPU implementer\t: 0x41\nCPU part\t: 0xd40\n"
    assert cpu_identity(text) == "0xd40|asimd fp"


def test_nvcc_listing_becomes_compute_capabilities() -> None:
    assert nvcc_targets("compute_75\ncompute_103\ncompute_120\n") == {"7.5", "10.3", "12.0"}


def test_rocminfo_gives_gpus_and_not_the_processor() -> None:
    assert rocm_gpus(ROCMINFO) == (Gpu(vendor="amd", name="AMD Radeon RX 7900 XTX", architecture="gfx1100"),)


async def test_a_bare_host_has_nothing_and_is_no_error() -> None:
    facts = await look(FakeShell())
    assert (facts.system, facts.gpus, facts.tools) == ("unknown", (), {})


def bare(*folders: str, **tools: str) -> Reply:
    """The `sh` of a host with the bare PATH that ssh gives to a command, toolkits in `folders`, and `tools`."""
    about = "path=/usr/bin:/bin\nsystem=Linux\nmachine=x86_64\nlibc=glibc 2.36\ncores=8\n"

    def reply(argv: Sequence[str], _stdin: bytes) -> Finished:
        if argv[2].startswith("PATH="):
            text = "".join(f"{name.replace('_', '-')}={path}\n" for name, path in tools.items())
        else:
            text = about + "".join(f"folder={folder}\n" for folder in folders)
        return Finished(argv=tuple(argv), code=0, stdout=text, stderr="")

    return reply


async def test_nvidia_gpus_come_from_the_driver_and_its_tool_from_wherever_it_is() -> None:
    shell = FakeShell(programs={"nvidia-smi": prints(NVIDIA), "sh": bare(nvidia_smi="/usr/lib/wsl/lib/nvidia-smi")})
    facts = await look(shell)
    assert [(gpu.name, gpu.architecture) for gpu in facts.gpus] == [
        ("NVIDIA GeForce RTX 5090", "12.0"),
        ("NVIDIA GeForce RTX 5060 Ti", "12.0"),
    ]
    assert ("/usr/lib/wsl/lib/nvidia-smi", "--query-gpu=name,pci.bus_id,compute_cap") in [
        argv[:2] for argv in shell.ran
    ]
    assert await cuda_architectures(shell) == {"12.0"}


async def test_a_bare_path_is_completed_by_the_places_of_toolkits_the_newest_first() -> None:
    shell = FakeShell(
        programs={
            "sh": bare("/usr/local/bin", "/usr/local/cuda-12.4/bin", "/usr/local/cuda-13.0/bin", "/opt/rocm-6.4.1/bin"),
        }
    )
    facts = await look(shell)
    assert facts.path == (
        "/usr/bin:/bin:/usr/local/bin:/usr/local/cuda-13.0/bin:/usr/local/cuda-12.4/bin:/opt/rocm-6.4.1/bin"
    )
    assert (facts.system, facts.machine, facts.glibc, facts.cores) == ("Linux", "x86_64", (2, 36), 8)


async def test_tools_are_really_found_where_no_path_leads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script(tmp_path / ".local/bin/hipcc", "true")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    facts = await look(LocalShell("here"))
    assert facts.tools["hipcc"] == f"{tmp_path}/.local/bin/hipcc"
    assert (facts.path or "").startswith("/usr/bin:/bin:")


@pytest.mark.parametrize(("said", "version"), [("glibc 2.36", (2, 36)), ("", None), ("glibc two", None)])
def test_another_c_library_is_no_glibc(said: str, version: tuple[int, int] | None) -> None:
    assert glibc(said) == version


def test_instructions_are_what_a_compiler_may_use() -> None:
    text = CPUINFO.format(mhz=1, flags="fpu constant_tsc ibrs sse4_2 avx2 avx512f avx_vnni bmi2 sha_ni hypervisor")
    assert instructions(text) == {"sse4_2", "avx2", "avx512f", "avx_vnni", "bmi2", "sha_ni"}
    arm = "processor\t: 0\nFeatures\t: fp asimd evtstrm cpuid sve\nCPU part\t: 0xd40\n"
    assert instructions(arm) == {"fp", "asimd", "sve"}
    assert instructions("") == frozenset()


async def test_an_old_driver_that_refuses_the_question_is_asked_a_smaller_one() -> None:
    def old(argv: Sequence[str], _stdin: bytes) -> Finished:
        if "compute_cap" in argv[1]:
            return Finished(argv=tuple(argv), code=2, stdout='Field "compute_cap" is not a valid field', stderr="")
        stdout = "name, pci.bus_id\nNVIDIA GeForce GTX 1080, 00000000:01:00.0\n"
        return Finished(argv=tuple(argv), code=0, stdout=stdout, stderr="")

    facts = await look(FakeShell(programs={"nvidia-smi": old, "sh": bare(nvidia_smi="/usr/bin/nvidia-smi")}))
    assert facts.gpus == (Gpu(vendor="nvidia", name="NVIDIA GeForce GTX 1080", architecture=None),)


async def test_a_card_without_its_driver_is_seen_on_the_bus() -> None:
    facts = await look(FakeShell(files={"/sys/class/drm/card1/device/vendor": b"0x10de\n"}))
    assert facts.gpus == (Gpu(vendor="nvidia", name="NVIDIA GPU", driver=False),)


async def test_a_processors_own_amd_graphics_is_no_card_and_a_large_one_is() -> None:
    small = {
        "/sys/class/drm/card0/device/vendor": b"0x1002\n",
        "/sys/class/drm/card0/device/mem_info_vram_total": b"536870912\n",
    }
    large = small | {"/sys/class/drm/card0/device/mem_info_vram_total": b"25753026560\n"}
    assert (await look(FakeShell(files=small))).gpus == ()
    assert [gpu.vendor for gpu in (await look(FakeShell(files=large))).gpus] == ["amd"]
