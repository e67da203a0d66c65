"""The watcher on hardware that this machine does not have: another /sys, in a table of mounts of its own.

Values are those of captures where there are any; the paths are the kernel's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from evener.edges.local_shell import LocalChild, LocalShell
from evener.records.card import Card
from evener.telemetry.watch import Watched, Way, watching

pytestmark = pytest.mark.cluster

CARD = "bus/pci/devices/0000:03:00.0"
FILES = {
    "class/hwmon/hwmon0/name": "nvme",
    "class/hwmon/hwmon0/temp1_input": "30000",
    "class/hwmon/hwmon1/name": "k10temp",
    "class/hwmon/hwmon1/temp1_input": "61500",
    "class/powercap/intel-rapl:0/energy_uj": "1000000",
    "devices/system/cpu/cpu0/thermal_throttle/package_throttle_count": "7",
    "class/net/enp5s0/device/uevent": "DRIVER=r8169",
    "class/net/enp5s0/statistics/rx_bytes": "13309516362",
    "class/net/enp5s0/statistics/tx_bytes": "11363839527",
    "class/net/docker0/statistics/rx_bytes": "5",
    "class/net/docker0/statistics/tx_bytes": "5",
    f"{CARD}/mem_info_vram_total": "12868124672",
    f"{CARD}/mem_info_vram_used": "1091891200",
    f"{CARD}/gpu_busy_percent": "5",
    f"{CARD}/hwmon/hwmon3/power1_average": "28000000",
    f"{CARD}/hwmon/hwmon3/power1_cap": "211000000",
    f"{CARD}/hwmon/hwmon3/temp1_input": "31000",
    f"{CARD}/hwmon/hwmon3/freq1_input": "944000000",
    f"{CARD}/hwmon/hwmon3/freq2_input": "500000000",
    "class/kfd/kfd/topology/nodes/0/gpu_id": "0",
    "class/kfd/kfd/topology/nodes/0/properties": "cpu_cores_count 16",
    "class/kfd/kfd/topology/nodes/1/gpu_id": "19794",
    "class/kfd/kfd/topology/nodes/1/properties": "location_id 768\ndomain 0",
    "class/kfd/kfd/proc/700/vram_19794": "4096",
}


class OtherSys(LocalShell):
    """This machine, with `folder` in the place of /sys for whatever is started."""

    def __init__(self, host: str, folder: Path) -> None:
        super().__init__(host)
        self.folder = folder

    async def start(self, argv: Sequence[str], *, env: Mapping[str, str]) -> LocalChild:
        bound = 'mount --bind "$0" /sys && exec "$@"'
        return await super().start(["unshare", "-m", "sh", "-c", bound, str(self.folder), *argv], env=env)


@pytest.fixture
def sys_folder(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        path = tmp_path / "sys" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")
    return tmp_path / "sys"


async def test_sensors_a_radeon_its_holders_and_the_cable_are_seen(sys_folder: Path) -> None:
    radeon = Card(id="0xabc", kind="rocm", name="RX 6700 XT", bus_id="0000:03:00.0")
    watched = Watched(host="alpha", shell=OtherSys("alpha", sys_folder), cards=(radeon,))
    async with watching([watched], every_s=0.2) as seen:
        _write(sys_folder, "class/powercap/intel-rapl:0/energy_uj", "51000000")
        _write(sys_folder, "devices/system/cpu/cpu0/thermal_throttle/package_throttle_count", "9")
        _write(sys_folder, "class/kfd/kfd/proc/812/vram_19794", "5368709120")
        async with asyncio.timeout(10):
            while not any(sample.joined for sample in seen.samples):
                await asyncio.sleep(0.05)
    first, cpus = seen.samples[0], [sample.cards[0] for sample in seen.samples]
    assert cpus[0].temperature_c == 61.5
    assert [cpu.slowed_by for cpu in cpus[:2]] == [None, ("heat",)]
    passed_s = (seen.samples[1].host_clock_s or 0.0) - (first.host_clock_s or 0.0)
    assert cpus[1].power_w == pytest.approx(50 / passed_s, rel=0.01)
    gpu = first.cards[1]
    assert (gpu.card, gpu.name, gpu.utilisation_percent) == ("0xabc", "RX 6700 XT", 5.0)
    assert (gpu.memory_used_bytes, gpu.memory_total_bytes) == (1091891200, 12868124672)
    assert (gpu.power_w, gpu.power_limit_effective_w, gpu.temperature_c) == (28.0, 211.0, 31.0)
    assert (gpu.clock_mhz, gpu.memory_clock_mhz) == (944.0, 500.0)
    assert [(nic.name, nic.rx_bytes, nic.tx_bytes) for nic in first.nics] == [("enp5s0", 13309516362, 11363839527)]
    joined = [one for sample in seen.samples for one in sample.joined]
    assert [(one.card, one.pid, one.bytes) for one in joined] == [("0xabc", 812, 5368709120)]


async def test_a_virtual_interface_is_seen_where_it_carries_the_link(sys_folder: Path) -> None:
    class Routed(OtherSys):
        async def run(self, argv, **more):  # type: ignore[no-untyped-def]
            return await super().run(["echo", '[{"dev": "docker0"}]'] if argv[0] == "ip" else argv, **more)

    way = Way(link="tb5", own=None, other="10.1.0.2")
    async with watching([Watched(host="alpha", shell=Routed("alpha", sys_folder), ways=(way,))]) as seen:
        pass
    assert {(nic.name, nic.link) for nic in seen.samples[0].nics} == {("docker0", "tb5"), ("enp5s0", None)}


def _write(folder: Path, name: str, text: str) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text + "\n")
