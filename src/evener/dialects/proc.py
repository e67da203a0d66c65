"""What a Linux host says of itself in /proc, /etc and `df`. Numbers come out in bytes and seconds; unknown is None."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

KIB = 1 << 10
TICKS_PER_S = 100  # USER_HZ: what the kernel shows to programs, on every common architecture, whatever its own HZ
NOT_LIMITED = 1 << 60  # cgroup v1 writes a number near 2^63 where no limit is set


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    total_bytes: int | None
    available_bytes: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Cpu:
    """`cores` are physical, None where /proc/cpuinfo does not tell them apart (ARM)."""

    model: str | None
    cores: int | None
    threads: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """One process. `name` is cut to 15 characters by the kernel."""

    pid: int
    name: str
    uid: int | None
    rss_bytes: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CgroupFiles:
    """Where one level of a control group tells its memory limit, its usage, and how much of that is idle cache."""

    limit: str
    usage: str
    stat: str


def memory(meminfo: str) -> Memory:
    """/proc/meminfo. MemAvailable is what can be had without swapping; kernels before 3.14 do not say."""
    kib = {key: int(value) for key, value in re.findall(r"^(\w+):\s+(\d+) kB$", meminfo, re.MULTILINE)}
    return Memory(total_bytes=_kib(kib.get("MemTotal")), available_bytes=_kib(kib.get("MemAvailable")))


def cpu(cpuinfo: str) -> Cpu:
    """/proc/cpuinfo."""
    processors = [_fields(block) for block in re.split(r"\n\s*\n", cpuinfo) if "processor" in block]
    cores = {(p.get("physical id"), p["core id"]) for p in processors if "core id" in p}
    names = [fields[key] for fields in processors for key in ("model name", "Processor") if fields.get(key)]
    return Cpu(
        model=re.sub(r"\s+", " ", names[0]) if names else None,
        cores=len(cores) or None,
        threads=len(processors) or None,
    )


def processes(grepped: str) -> tuple[Process, ...]:
    """Name, Uid and VmRSS of many processes: lines of `grep -H` over /proc/*/status. Kernel threads have no VmRSS."""
    found: dict[int, dict[str, str]] = {}
    for pid, key, value in re.findall(r"^/proc/(\d+)/status:(\w+):\t\s*(.*)$", grepped, re.MULTILINE):
        found.setdefault(int(pid), {})[key] = value
    return tuple(_process(pid, fields) for pid, fields in found.items() if "Name" in fields)


def process(pid: int, status: str) -> Process:
    """/proc/PID/status."""
    return _process(pid, _fields(status))


def command(cmdline: bytes) -> str | None:
    """/proc/PID/cmdline: the arguments joined by spaces. A program may have written anything there, also nothing."""
    words = cmdline.rstrip(b"\0").split(b"\0")
    return "".join(c if c.isprintable() else " " for c in b" ".join(words).decode(errors="replace")).strip() or None


def age_s(stat: str, uptime: str) -> float | None:
    """Seconds since the start of a process, from /proc/PID/stat and /proc/uptime. Its name may hold spaces and ")"."""
    after_name = stat.rpartition(")")[2].split()
    try:
        started_s = int(after_name[19]) / TICKS_PER_S  # field 22 of the line
        return max(0.0, float(uptime.split()[0]) - started_s)
    except (IndexError, ValueError):
        return None


def users(passwd: str) -> dict[int, str]:
    """/etc/passwd: names by user id."""
    return {int(uid): name for name, uid in re.findall(r"^([^:\n]+):[^:\n]*:(\d+):", passwd, re.MULTILINE)}


def system(os_release: str) -> str | None:
    """/etc/os-release: the name for people."""
    found = re.search(r'^PRETTY_NAME="?([^"\n]+)"?$', os_release, re.MULTILINE)
    return found[1].strip() if found else None


def disk_free_bytes(df: str) -> int | None:
    """`df -Pk PATH`: the fourth column of the last line."""
    found = re.search(r"^\S.*\s(\d+)\s+(\d+)\s+(-?\d+)\s+\d+%\s+/.*$", df, re.MULTILINE)
    return int(found[3]) * KIB if found else None


def cgroup_files(cgroup: str) -> tuple[CgroupFiles, ...]:
    """/proc/self/cgroup: every level that may limit our memory, ours first. A container may show only the last."""
    groups = [line.split(":", 2) for line in cgroup.splitlines() if line.count(":") >= 2]
    for _, controllers, path in groups:
        if "memory" in controllers.split(","):  # version 1, also where version 2 runs beside it
            return _files("/sys/fs/cgroup/memory", path, "memory.limit_in_bytes", "memory.usage_in_bytes")
    for number, controllers, path in groups:
        if number == "0" and not controllers:
            return _files("/sys/fs/cgroup", path, "memory.max", "memory.current")
    return ()


def within_cgroup(host: Memory, *, limit: str, usage: str, stat: str) -> Memory:
    """Memory under one level's limit: what it leaves of its limit, counting its idle cache as available."""
    if not limit.strip().isdigit() or int(limit) >= NOT_LIMITED:
        return host
    total = min(int(limit), host.total_bytes or int(limit))
    if not usage.strip().isdigit():
        return Memory(total_bytes=total, available_bytes=None)
    idle = re.search(r"^(?:total_)?inactive_file (\d+)$", stat, re.MULTILINE)
    left = max(0, int(limit) - int(usage) + (int(idle[1]) if idle else 0))
    return Memory(total_bytes=total, available_bytes=min(left, total, host.available_bytes or left))


def _files(root: str, path: str, limit: str, usage: str) -> tuple[CgroupFiles, ...]:
    names = [name for name in path.split("/") if name]
    levels = ["/".join([root, *names[:depth]]) for depth in range(len(names), -1, -1)]
    return tuple(CgroupFiles(limit=f"{at}/{limit}", usage=f"{at}/{usage}", stat=f"{at}/memory.stat") for at in levels)


def _fields(block: str) -> dict[str, str]:
    return {
        key.strip(): value.strip()
        for key, colon, value in (line.partition(":") for line in block.splitlines())
        if colon
    }


def _process(pid: int, fields: Mapping[str, str]) -> Process:
    uid, rss = fields.get("Uid", "").split(), fields.get("VmRSS", "").split()
    return Process(
        pid=pid,
        name=fields.get("Name", "?"),
        uid=int(uid[0]) if uid else None,
        rss_bytes=int(rss[0]) * KIB if rss else None,
    )


def _kib(value: int | None) -> int | None:
    return None if value is None else value * KIB
