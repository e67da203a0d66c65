"""The cables: the interfaces that both ends really use, and what stands out about them. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from evener.dialects.net_path import LOOPBACK
from evener.journeys.doctor.seen import Path, Seen
from evener.records.finding import Finding
from evener.scan.paths import remarks


def paths(seen: Seen) -> Iterator[Finding]:
    """One line per remark; where there is none, what the interfaces are."""
    for path in seen.paths:
        on_this_machine = any(end.name == LOOPBACK for end in path.interfaces)
        said = [] if on_this_machine else list(remarks(path.between, path.interfaces))
        for what in said:
            yield Finding(
                check="link",
                level="costs",
                where=path.name,
                what=what,
                remedy="evener scan --links measures what it carries",
            )
        if not said and path.interfaces:
            yield Finding(check="link", level="fine", where=path.name, what=_described(path, on_this_machine))


def _described(path: Path, on_this_machine: bool) -> str:
    if on_this_machine:
        return f"{path.between.near.host} and {path.between.far.host} are on this machine: no cable between them"
    rates = {f"{end.mbit_per_s} Mbit/s" for end in path.interfaces if end.mbit_per_s}
    names = ", ".join(f"{end.host} {end.name}" for end in path.interfaces)
    return names + (f" at {' and '.join(sorted(rates))}" if rates else "")
