"""A Linux host that exists in memory: what `scan` asks one for, as the real tools would print it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evener.dialects import host_health
from evener.ports import Finished
from evener.testing.fake_shell import FakeShell, Reply, prints

GPU_HEADER = (
    "index, name, uuid, pci.bus_id, driver_version, memory.total [MiB], memory.used [MiB], memory.free [MiB], "
    "temperature.gpu, power.limit [W], enforced.power.limit [W], compute_cap, display_active"
)
APP_HEADER = "gpu_uuid, pid, process_name, used_gpu_memory [MiB]"
NO_APPS = APP_HEADER + "\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class FakeProcess:
    """A process as /proc shows it. It started `age_s` before now."""

    pid: int
    command: str
    uid: int = 1000
    rss_kib: int = 4096
    age_s: int = 60

    @property
    def name(self) -> str:
        return self.command.split()[0].rsplit("/", 1)[-1][:15]


def fake_linux(
    host: str,
    *,
    gpus: str | None = None,
    apps: str = NO_APPS,
    kfd: str | None = None,
    gpu_health: str | None = None,
    health: str = "",
    processes: Sequence[FakeProcess] = (),
    total_kib: int = 64 << 20,
    available_kib: int = 60 << 20,
    boot_id: str | None = None,
    files: Mapping[str, bytes] | None = None,
    programs: Mapping[str, Reply] | None = None,
) -> FakeShell:
    """`gpus` and `apps` are nvidia-smi's CSV with their headers; None means that there is no nvidia-smi.

    `kfd` is what the kernel tells of AMD processes' memory (lines of grep); None means that it tells nothing.
    `gpu_health` is what nvidia-smi says of clocks and links, None where it does not know such fields; `health` are
    lines of what the host says of itself (`dialects.host_health`).

    Hosts with one `boot_id` and one kernel host name are one machine.
    """
    walk = "".join(
        f"/proc/{p.pid}/status:Name:\t{p.name}\n"
        f"/proc/{p.pid}/status:Uid:\t{p.uid}\t{p.uid}\t{p.uid}\t{p.uid}\n"
        f"/proc/{p.pid}/status:VmRSS:\t{p.rss_kib:8} kB\n"
        for p in processes
    )
    df = "Filesystem 1024-blocks Used Available Capacity Mounted on\n/dev/nvme0n1p2 976762584 1000000 524288000 1% /\n"
    said: dict[str, Reply] = {"sh": _scripts(walk, kfd, health), "df": prints(df)}
    if gpus is not None:
        said["nvidia-smi"] = smi(gpus, apps, gpu_health)
    return FakeShell(
        host=host,
        programs={**said, **(programs or {})},
        files={**_files(boot_id or f"boot-of-{host}", processes, total_kib, available_kib), **(files or {})},
    )


def _scripts(walk: str, kfd: str | None, health: str) -> Reply:
    """A shell that knows the scripts of a scan and of a preflight by what they read."""

    def reply(argv: Sequence[str], _stdin: bytes) -> Finished:
        text = walk
        if "/sys/class/kfd" in argv[2]:
            text = "" if kfd is None else f"{kfd}looked\n"
        elif argv[2] == host_health.SCRIPT:
            text = f"{health}\nend of it\n"
        return Finished(argv=tuple(argv), code=0, stdout=text, stderr="")

    return reply


def smi(gpus: str, apps: str, health: str | None = None) -> Reply:
    """An nvidia-smi that answers each query, whatever columns were asked for."""

    def reply(argv: Sequence[str], _stdin: bytes) -> Finished:
        asked = next((word for word in argv if word.startswith("--query-")), "")
        text = gpus if asked.startswith("--query-gpu") else apps
        if "persistence_mode" in asked:
            text = health or ""
        return Finished(argv=tuple(argv), code=0, stdout=text, stderr="")

    return reply


def _files(boot_id: str, processes: Sequence[FakeProcess], total_kib: int, available_kib: int) -> dict[str, bytes]:
    uptime_s = 100_000
    cpuinfo = "".join(
        f"processor\t: {thread}\nmodel name\t: Example CPU 8-Core\nphysical id\t: 0\ncore id\t: {thread % 8}\n\n"
        for thread in range(16)
    )
    texts = {
        "/proc/sys/kernel/random/boot_id": f"{boot_id}\n",
        "/proc/sys/kernel/hostname": "box\n",
        "/etc/os-release": 'NAME="Example"\nPRETTY_NAME="Example Linux 42"\n',
        "/proc/cpuinfo": cpuinfo,
        "/proc/meminfo": f"MemTotal: {total_kib} kB\nMemFree: 1024 kB\nMemAvailable: {available_kib} kB\n",
        "/proc/uptime": f"{uptime_s}.00 90000.00\n",
        "/etc/passwd": "root:x:0:0:root:/root:/bin/sh\nanna:x:1000:1000::/home/anna:/bin/sh\n",
    }
    for p in processes:
        ticks = (uptime_s - p.age_s) * 100
        texts[f"/proc/{p.pid}/stat"] = f"{p.pid} ({p.name}) S " + " ".join(["0"] * 18) + f" {ticks} 0 0\n"
        texts[f"/proc/{p.pid}/cmdline"] = p.command.replace(" ", "\0") + "\0"
    return {path: text.encode() for path, text in texts.items()}
