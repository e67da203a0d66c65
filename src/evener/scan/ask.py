"""Ask one Linux host what it is and who holds its memory. Decides only what to ask next; reads answers by dialect."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass

from evener.dialects import proc
from evener.errors import HostError
from evener.ports import Shell
from evener.scan import mac
from evener.scan.drivers import Drivers, drivers
from evener.together import together

# One cheap walk; a process that ends meanwhile is no error. A constant: nothing of the user's is in it.
WALK = "grep -HsE '^(Name|Uid|VmRSS):' /proc/[0-9]*/status"
BIG_BYTES = 1 << 30
ENGINE_NAMES = ("llama-", "ggml-rpc-server", "rpc-server")
FILES = {
    "boot": "/proc/sys/kernel/random/boot_id",
    "host": "/proc/sys/kernel/hostname",
    "os": "/etc/os-release",
    "cpu": "/proc/cpuinfo",
    "memory": "/proc/meminfo",
    "cgroup": "/proc/self/cgroup",
    "users": "/etc/passwd",
    "uptime": "/proc/uptime",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """Who a process is: what the driver's table does not tell."""

    pid: int
    name: str
    user: str | None
    command: str | None
    age_s: float | None
    rss_bytes: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """Everything one host said. `people` holds the processes worth naming."""

    machine_id: str | None
    system: str | None
    cpu: proc.Cpu
    memory: proc.Memory
    disk_free_bytes: int | None
    drivers: Drivers
    people: tuple[Person, ...]


async def ask(shell: Shell, *, disk: str, within_s: float) -> Answers:
    """Ask `shell`'s host. `disk` is an existing folder whose free space counts; `within_s` bounds each command.

    Nothing is raised for a tool that is absent, slow or broken: that part is unknown, and the faults say why.
    """
    if await shell.which(mac.MARK):
        return await _ask_mac(shell, disk, within_s)
    gpus, walk, df, facts = await asyncio.gather(
        drivers(shell, within_s=within_s),
        _printed(shell, ["sh", "-c", WALK], within_s),
        _printed(shell, ["df", "-Pk", disk], within_s),
        _facts(shell),
    )
    on_gpus = {app.pid for apps in gpus.apps.values() for app in apps}
    wanted = [p for p in proc.processes(walk) if p.pid in on_gpus or holds_main_memory(p.name, p.rss_bytes)]
    return Answers(
        machine_id=_machine_id(facts["boot"], facts["host"]),
        system=proc.system(facts["os"]),
        cpu=proc.cpu(facts["cpu"]),
        memory=await _memory(shell, facts["memory"], facts["cgroup"]),
        disk_free_bytes=proc.disk_free_bytes(df),
        drivers=gpus,
        people=await _people(shell, wanted, users=proc.users(facts["users"]), uptime=facts["uptime"]),
    )


async def _ask_mac(shell: Shell, disk: str, within_s: float) -> Answers:
    said, df = await asyncio.gather(mac.ask(shell, within_s=within_s), _printed(shell, ["df", "-Pk", disk], within_s))
    return Answers(
        machine_id=said.machine_id,
        system=said.system,
        cpu=said.cpu,
        memory=said.memory,
        disk_free_bytes=proc.disk_free_bytes(df),
        drivers=Drivers(cards=said.cards, faults=said.faults),
        people=(),
    )


def holds_main_memory(name: str, rss_bytes: int | None) -> bool:
    """Whether a process is worth a row of main memory: an engine, or whoever is big."""
    return name.startswith(ENGINE_NAMES) or (rss_bytes or 0) >= BIG_BYTES


async def _facts(shell: Shell) -> dict[str, str]:
    texts = await together([_text(shell, path) for path in FILES.values()])
    return dict(zip(FILES, texts, strict=True))


async def _people(
    shell: Shell, wanted: Iterable[proc.Process], *, users: dict[int, str], uptime: str
) -> tuple[Person, ...]:
    async def person(process: proc.Process) -> Person:
        cmdline = await shell.read(f"/proc/{process.pid}/cmdline", most_bytes=1 << 14)
        stat = await _text(shell, f"/proc/{process.pid}/stat")
        uid = process.uid
        return Person(
            pid=process.pid,
            name=process.name,
            user=None if uid is None else users.get(uid, str(uid)),
            command=proc.command(cmdline or b""),
            age_s=proc.age_s(stat, uptime),
            rss_bytes=process.rss_bytes,
        )

    return tuple(await together([person(process) for process in wanted]))


async def _memory(shell: Shell, meminfo: str, cgroup: str) -> proc.Memory:
    memory = proc.memory(meminfo)
    for files in proc.cgroup_files(cgroup):
        limit = await _text(shell, files.limit)
        if limit.strip().isdigit():
            usage, stat = await _text(shell, files.usage), await _text(shell, files.stat)
            memory = proc.within_cgroup(memory, limit=limit, usage=usage, stat=stat)
    return memory


async def _text(shell: Shell, path: str) -> str:
    return (await shell.read(path) or b"").decode(errors="replace")


async def _printed(shell: Shell, argv: Iterable[str], within_s: float) -> str:
    try:
        return (await shell.run(list(argv), within_s=within_s)).stdout
    except HostError:
        return ""


def _machine_id(boot: str, host: str) -> str | None:
    """Two names of one machine share it; a machine that restarts gets another."""
    return f"{boot.strip()}@{host.strip()}" if boot.strip() else None
