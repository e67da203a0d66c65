"""Each host: sleep, clocks, settings of others that would change the engine, tools, memory and disk. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from evener.dialects.host_health import Health
from evener.journeys.doctor.seen import Seen
from evener.plan.worker_cache import KNOWS_WEIGHTS, cache_refusal
from evener.records.finding import Finding
from evener.records.rig import Host

GIB = 1 << 30
DISK_FLOOR_BYTES = 5 * GIB
ADDRESS_SPACE_BYTES = 64 * GIB  # an engine with CUDA maps far more than it uses
CLOCK_S = 1.0
SLOW_GOVERNORS = ("powersave", "conservative")
UBATCH = 512  # the engine's default


def sleep(seen: Seen) -> Iterator[Finding]:
    """A machine that falls asleep takes its worker with it, and the head waits for ever."""
    for host, health in seen.healthy():
        if health.sleeps:
            yield Finding(
                check="suspend",
                level="costs",
                where=host.name,
                what=f"will go to sleep: {health.sleeps}",
                why="a sleeping worker answers nothing, and the head waits for it",
                remedy=f"sudo systemctl mask sleep.target suspend.target hibernate.target on {host.name}",
            )


def governor(seen: Seen) -> Iterator[Finding]:
    """On processors that do their own scaling "powersave" is a name like another; it still costs a little."""
    for host, health in seen.healthy():
        if health.governor in SLOW_GOVERNORS:
            yield Finding(
                check="governor",
                level="note",
                where=host.name,
                what=f"its CPU is governed by {health.governor}",
                why="each token wakes the processor several times: slow clocks add to every hop",
                remedy=f"sudo cpupower frequency-set -g performance on {host.name}",
            )
        elif health.governor:
            yield Finding(check="governor", level="fine", where=host.name, what=f"CPU governor {health.governor}")


def clock(seen: Seen) -> Iterator[Finding]:
    """Only logs suffer: nothing that evener measures spans two clocks."""
    for host, _ in seen.machines():
        answers = seen.answers.get(host.name)
        off = answers.off_by_s if answers else None
        if off is not None and abs(off) >= CLOCK_S:
            yield Finding(
                check="clock",
                level="note",
                where=host.name,
                what=f"its clock is {abs(off):.0f} s {'ahead of' if off > 0 else 'behind'} this machine's",
                why="its logs cannot be laid beside ours",
                remedy=f"sudo timedatectl set-ntp true on {host.name}",
            )


def settings(seen: Seen) -> Iterator[Finding]:
    """Files and variables that change an engine without a word on its command line."""
    for host, health in seen.healthy():
        system = [path for path in health.configs if path.startswith("/etc/")]
        kept_away = [path for path in health.configs if path not in system]
        if system:
            yield Finding(
                check="settings",
                level="costs",
                where=host.name,
                what=f"{', '.join(system)} changes engine options that a plan does not set",
                why="the engine reads it whatever its environment says",
                remedy="move it away while evener runs the engine",
            )
        ours = seen.variables if host.connection == "local" else ()
        if names := [*kept_away, *dict.fromkeys([*health.variables, *ours])]:
            yield Finding(
                check="settings",
                level="note",
                where=host.name,
                what=f"set there: {', '.join(names)}",
                why="evener keeps these away from its engines; a worker that is started by hand obeys them",
            )


def tools(seen: Seen) -> Iterator[Finding]:
    """Programs whose absence makes evener blind, or its leash longer."""
    for host, health in seen.healthy():
        if health.programs and "setpriv" not in health.programs:
            yield _missing(host, "setpriv", "a worker outlives its wrapper when that is killed with -9", "util-linux")
        if health.programs and "ss" not in health.programs:
            yield _missing(host, "ss", "who holds a port is not named", "iproute2")


def _missing(host: Host, program: str, why: str, package: str) -> Finding:
    what = f"no {program} there"
    return Finding(check="tools", level="note", where=host.name, what=what, why=why, remedy=f"it is in {package}")


def limits(seen: Seen) -> Iterator[Finding]:
    """Limits of address space and of promises, only where they are near."""
    for host, health in seen.healthy():
        space = health.address_space_bytes
        if space is not None and space < ADDRESS_SPACE_BYTES:
            yield Finding(
                check="limits",
                level="costs",
                where=host.name,
                what=f"ulimit -v lets a process have {space / GIB:.0f} GiB of addresses",
                why="models are mapped whole, and GPU drivers reserve far more than they use",
                remedy="ulimit -v unlimited, or correct /etc/security/limits.conf",
            )
        left, needed = health.commit_left_bytes, seen.weights.largest_tensor_bytes if seen.weights else GIB
        if left is not None and left < needed:
            yield Finding(
                check="limits",
                level="stops",
                where=host.name,
                what=f"vm.overcommit_memory = 2 leaves {left / GIB:.1f} GiB to be promised",
                remedy="sudo sysctl vm.overcommit_memory=0",
            )


def ram(seen: Seen) -> Iterator[Finding]:
    """The head carries every tensor through its main memory, and keeps the token embedding there."""
    if seen.weights is None:
        return
    head = seen.scan.host(seen.rig.head.name)
    available = head.memory_available_bytes if head else None
    needed = max(seen.weights.largest_tensor_bytes, seen.weights.host_bytes)
    if available is not None:
        enough = available >= needed
        yield Finding(
            check="ram",
            level="fine" if enough else "stops",
            where=seen.rig.head.name,
            what=f"{available / GIB:.1f} GiB of RAM available, the largest tensor has {needed / GIB:.2f} GiB",
            remedy=None if enough else "free main memory there",
        )


def disk(seen: Seen) -> Iterator[Finding]:
    """Room for models and engines, and for the model in question where it is not here yet."""
    missing = seen.weights if seen.weights is not None and seen.weights.origin != "file" else None
    for host, at in seen.machines():
        free = at.disk_free_bytes
        if free is None:
            continue
        if missing and host.name == seen.rig.head.name and free < missing.file_bytes:
            yield Finding(
                check="disk",
                level="stops",
                where=host.name,
                what=f"{free / GIB:.1f} GiB of disk free, {missing.name} has {missing.file_bytes / GIB:.1f}",
                remedy="make room, or move the cache: EVENER_CACHE",
            )
        elif free < DISK_FLOOR_BYTES:
            what = f"{free / GIB:.1f} GiB of disk left where models and engines are kept"
            yield Finding(check="disk", level="costs", where=host.name, what=what, remedy="make room there")
        else:
            yield Finding(check="disk", level="fine", where=host.name, what=f"{free / GIB:.0f} GiB of disk free")


def cache(seen: Seen) -> Iterator[Finding]:
    """The folder of `ggml-rpc-server -c` that hand-started workers fill, and never empty."""
    for host, health in seen.healthy():
        if health.cache is None or health.cache_bytes is None:
            continue
        at = seen.scan.host(host.name)
        protocol = at.engine.protocol if at and at.engine else None
        if why := _activations(protocol, seen):
            yield _cache(host, health, why=why, remedy="start workers without -c, and empty that folder")
        elif health.cache_free_bytes is not None and health.cache_free_bytes < DISK_FLOOR_BYTES:
            left = f"{health.cache_free_bytes / GIB:.1f} GiB of disk are left"
            yield _cache(host, health, why=f"{left}: a full disk leaves torn tensors, which are believed", remedy=EMPTY)
        elif seen.weights is not None and health.cache_bytes > seen.weights.file_bytes + DISK_FLOOR_BYTES:
            size = f"the model has {seen.weights.file_bytes / GIB:.1f} GiB"
            yield _cache(host, health, why=f"{size}: the rest is of other models, or is none", remedy=EMPTY)


EMPTY = "empty that folder while no worker runs: the next load fills it again"


def _cache(host: Host, health: Health, *, why: str, remedy: str) -> Finding:
    what = f"worker cache {health.cache} holds {(health.cache_bytes or 0) / GIB:.1f} GiB"
    return Finding(check="cache", level="costs", where=host.name, what=what, why=why, remedy=remedy)


def _activations(protocol: str | None, seen: Seen) -> str | None:
    """Why a worker of this protocol must not cache; without a model, because of any."""
    numbers = [int(part) for part in (protocol or "").split(".") if part.isdigit()]
    if len(numbers) != 3 or numbers[0] >= KNOWS_WEIGHTS:
        return None
    if seen.weights is None:
        return f"RPC {protocol} caches activations too: it grows with every long prompt"
    return cache_refusal((numbers[0], numbers[1], numbers[2]), width=seen.weights.embedding, ubatch=UBATCH)
