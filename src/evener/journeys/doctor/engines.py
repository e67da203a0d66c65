"""Is there an engine everywhere, the same one, and none of an earlier day still running. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from evener.dialects.llama_flags import WORKER
from evener.journeys.doctor.seen import Seen
from evener.records.card import EngineSeen, HostSeen
from evener.records.finding import Finding
from evener.records.rig import Host


def present(seen: Seen) -> Iterator[Finding]:
    """An engine that evener can use; what else a scan found wrong with a host is told here too."""
    for host, at in seen.asked():
        is_head = host.name == seen.rig.head.name
        if at.engine is None:
            yield Finding(
                check="engine",
                level="stops",
                where=host.name,
                what=at.fault or "no llama.cpp engine",
                remedy="evener engine install" if is_head else f"evener engine push {host.name}",
            )
        elif at.fault:
            yield Finding(check="scan", level="costs", where=host.name, what=at.fault, remedy="evener scan")


def same(seen: Seen) -> Iterator[Finding]:
    """A head refuses a worker of another protocol; one of another build nobody has tried with it."""
    built = [(host, at, at.engine) for host, at in seen.asked() if at.engine is not None]
    if not built:
        return
    head, _, ours = built[0]
    differences = [f for host, at, engine in built[1:] for f in _beside(head, ours, host, at, engine)]
    yield from differences
    if not any(f.level == "stops" for f in differences):
        where = head.name if len(built) == 1 else "rig"
        same_on = "" if len(built) == 1 else f", on {len(built)} hosts"
        what = f"llama.cpp {_build(ours)}, RPC {ours.protocol or '?'}{same_on}"
        yield Finding(check="engine", level="fine", where=where, what=what)


def _beside(head: Host, ours: EngineSeen, host: Host, at: HostSeen, theirs: EngineSeen) -> Iterator[Finding]:
    remedy = f"evener engine push {host.name}"
    if theirs.protocol != ours.protocol:
        yield Finding(
            check="engine",
            level="stops",
            where=host.name,
            what=f"its {WORKER} speaks RPC {theirs.protocol or '?'}, the head {head.name} {ours.protocol or '?'}",
            why="the head would end with a version mismatch",
            remedy=remedy,
        )
    elif None in (theirs.build, ours.build):
        what = f"{_build(theirs)} and the head's {_build(ours)} cannot be compared"
        yield Finding(check="engine", level="note", where=host.name, what=what, remedy=remedy)
    elif theirs.build != ours.build:
        what = f"llama.cpp {_build(theirs)}, the head has {_build(ours)}"
        why = "builds may disagree on operations and formats without saying so"
        yield Finding(check="engine", level="stops", where=host.name, what=what, why=why, remedy=remedy)
    elif theirs.commit != ours.commit:
        what = f"llama.cpp {_build(theirs)}, the head has {_build(ours)}: one build number, two marks"
        yield Finding(check="engine", level="note", where=host.name, what=what, remedy="evener engine check")


def stale(seen: Seen) -> Iterator[Finding]:
    """Workers of an earlier day: evener goes round their ports, but their memory is held."""
    for host, _ in seen.asked():
        for problem in seen.ports[host.name].stale if host.name in seen.ports else ():
            what, stop, _ = problem.removeprefix(f"{host.name}: ").partition(": stop it")
            yield Finding(
                check="worker",
                level="costs",
                where=host.name,
                what=what,
                remedy="stop it" if stop else "stop whoever started it, then that process",
            )


def _build(engine: EngineSeen) -> str:
    number = "build ?" if engine.build is None else f"b{engine.build}"
    return f"{number} ({engine.commit})" if engine.commit else number
