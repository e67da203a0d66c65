"""Ask one Linux host what it is and who holds its memory. Decides only what to ask next; reads answers by dialect."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass

from evener.dialects import nvidia_smi, proc
from evener.errors import HostError
from evener.ports import Shell
from evener.records.card import Card
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
Gpus = tuple[tuple[Card, ...], tuple[nvidia_smi.GpuProcess, ...] | None, tuple[str, ...]]


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
    """Everything one host said. `apps` is None where nobody could look, `people` holds those worth naming."""

    machine_id: str | None
    system: str | None
    cpu: proc.Cpu
    memory: proc.Memory
    disk_free_bytes: int | None
    gpus: tuple[Card, ...]
    apps: tuple[nvidia_smi.GpuProcess, ...] | None
    people: tuple[Person, ...]
    faults: tuple[str, ...]


async def ask(shell: Shell, *, disk: str, within_s: float) -> Answers:
    """Ask `shell`'s host. `disk` is an existing folder whose free space counts; `within_s` bounds each command.

    Nothing is raised for a tool that is absent, slow or broken: that part is unknown, and `faults` says why.
    """
    (gpus, apps, faults), walk, df, facts = await asyncio.gather(
        _gpus(shell, within_s),
        _printed(shell, ["sh", "-c", WALK], within_s),
        _printed(shell, ["df", "-Pk", disk], within_s),
        _facts(shell),
    )
    on_gpus = {app.pid for app in apps or ()}
    wanted = [p for p in proc.processes(walk) if p.pid in on_gpus or holds_main_memory(p.name, p.rss_bytes)]
    return Answers(
        machine_id=_machine_id(facts["boot"], facts["host"]),
        system=proc.system(facts["os"]),
        cpu=proc.cpu(facts["cpu"]),
        memory=await _memory(shell, facts["memory"], facts["cgroup"]),
        disk_free_bytes=proc.disk_free_bytes(df),
        gpus=gpus,
        apps=apps,
        people=await _people(shell, wanted, users=proc.users(facts["users"]), uptime=facts["uptime"]),
        faults=faults,
    )


def holds_main_memory(name: str, rss_bytes: int | None) -> bool:
    """Whether a process is worth a row of main memory: an engine, or whoever is big."""
    return name.startswith(ENGINE_NAMES) or (rss_bytes or 0) >= BIG_BYTES


async def _facts(shell: Shell) -> dict[str, str]:
    texts = await together([_text(shell, path) for path in FILES.values()])
    return dict(zip(FILES, texts, strict=True))


async def _gpus(shell: Shell, within_s: float) -> Gpus:
    if await shell.which(nvidia_smi.PROGRAM) is None:
        return (), None, ()
    (cards, fault), apps = await asyncio.gather(_cards(shell, within_s), _apps(shell, within_s))
    return cards, apps, (fault,) if fault else ()


async def _cards(shell: Shell, within_s: float) -> tuple[tuple[Card, ...], str | None]:
    fields = list(nvidia_smi.GPU_FIELDS)
    try:
        while True:
            done = await shell.run(nvidia_smi.gpu_query(fields), within_s=within_s)
            refused = nvidia_smi.refused_field(done.stdout + done.stderr)
            if refused not in fields:
                break
            fields.remove(refused)  # an older driver: ask again for what it knows
    except HostError as error:
        return (), error.message
    said = _first_line(done.stdout + done.stderr) or f"exit {done.code}"
    return nvidia_smi.parse_gpus(done.stdout), None if done.code == 0 else f"nvidia-smi: {said}"


async def _apps(shell: Shell, within_s: float) -> tuple[nvidia_smi.GpuProcess, ...] | None:
    try:
        done = await shell.run(nvidia_smi.app_query(), within_s=within_s)
    except HostError:
        return None
    return nvidia_smi.parse_apps(done.stdout) if done.code == 0 else None


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


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "")
