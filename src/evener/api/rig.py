"""Rig: the one object the faces talk to. It wires the verbs to this machine and keeps nothing but the rig itself."""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evener import config, files, state
from evener.dialects import proc_net
from evener.dialects.ssh_tunnel import LOOPBACK
from evener.edges import deployments, measured
from evener.edges.local_shell import LocalShell
from evener.edges.ssh_shell import SshShell
from evener.errors import ConfigurationError, EngineError, EngineMissing, HostError, HostUnreachable
from evener.ports import Shell
from evener.records import rig as records
from evener.records.card import EngineSeen, HostSeen, Scan
from evener.records.deployment import Deployment
from evener.records.link import LinkMeasured
from evener.records.speed import CardMeasured
from evener.scan.paths import ends
from evener.together import together

if TYPE_CHECKING:
    from evener.scan.endpoints import Visited
    from evener.scan.take import Door
# What scanning, planning and launching need is imported where it is done: a benchmark does none, and starts sooner.

WITHIN_S = 10.0
OUT_OF_REACH_FOR_S = 60.0  # how long a host that could not be reached is not tried again
_EXISTING = 'd=$1; while [ ! -d "$d" ]; do d=$(dirname -- "$d"); done; printf %s "$d"'


class Rig:
    """Hosts and links, as the rig file states them, and what can be done with them."""

    def __init__(self, record: records.Rig) -> None:
        self.record = record
        self._shells = {host.name: shell for host in record.hosts if (shell := _shell(host))}
        self._doors: dict[str, Door] = {}
        self._out_of_reach: dict[str, tuple[HostError, float]] = {}  # host -> why, and until when to believe it
        self._visits: dict[str, Visited] | None = None

    @classmethod
    def open(cls, path: str | None = None) -> Rig:
        """The rig of `path`, $EVENER_RIG, ./rig.toml or the state folder's; this machine alone where there is none.

        Raises RigFileError with every fault of the file.
        """
        found = config.find_rig(path, state=state.state_folder())
        return cls(config.load_rig(found) if found else config.this_machine())

    async def scan(self, *, within_s: float = WITHIN_S) -> Scan:
        """The rig as it is now. `within_s` bounds each question; what did not answer is unknown, with the reason."""
        from evener.scan.take import Known, take

        asked = [host for host in self.record.hosts if host.name in self._shells]
        _, visits = await asyncio.gather(
            together(self._knock(host, within_s) for host in asked), self._visited(within_s)
        )
        known = Known(
            visits=visits,
            pasted=measured.pasted(host.name for host in self.record.hosts),
            links=self.measured_links(),
            out_of_reach={name: _in_one_line(name, error) for name, error in self.out_of_reach().items()},
        )
        seen = await take(self.record, self._doors, now=datetime.now(UTC), within_s=within_s, known=known)
        return replace(seen, speeds=measured_speeds(seen))

    async def _knock(self, host: records.Host, within_s: float) -> None:
        """Leave a door to `host`, or the reason why there is none."""
        if host.name in self._doors or self._is_given_up(host.name):
            return
        try:
            self._doors[host.name] = await _door(host, self._shells[host.name], within_s)
            self._out_of_reach.pop(host.name, None)
        except HostError as error:
            self._out_of_reach[host.name] = (error, time.monotonic() + OUT_OF_REACH_FOR_S)

    def _is_given_up(self, name: str) -> bool:
        return name in self._out_of_reach and self._out_of_reach[name][1] > time.monotonic()

    def visits(self) -> dict[str, Visited]:
        """What the endpoints of the rig said when they were visited."""
        return dict(self._visits or {})

    def out_of_reach(self) -> dict[str, HostError]:
        """Hosts that the last scan found no way to, each with the reason."""
        return {name: error for name, (error, _) in self._out_of_reach.items()}

    def forget_out_of_reach(self) -> None:
        """Try every host anew with the next scan."""
        self._out_of_reach.clear()

    async def _visited(self, within_s: float) -> dict[str, Visited]:
        """Endpoints are visited once: a later scan may look on while one of them serves, and a visit would queue."""
        from evener.edges.rpc_probe import RpcProbe
        from evener.launch.bring_up import foreign_endpoints
        from evener.scan.endpoints import visit

        if self._visits is None:
            serving = {e: d.name for d in self.deployments() for e in foreign_endpoints(d.candidate)}
            self._visits = await visit(self.record, RpcProbe(), in_use=serving, within_s=within_s)
        return self._visits

    def measured_links(self) -> tuple[LinkMeasured, ...]:
        """The last measurement of each link whose addresses are still what they were."""
        now = {link.name: ends(self.record, link) for link in self.record.links}
        known = measured.links((link.name, link.between) for link in self.record.links)
        return tuple(m for m in known if m.addresses == (now[m.name].near.address, now[m.name].far.address))

    def shells(self) -> dict[str, Shell]:
        """A door to each host that commands can be run on."""
        return dict(self._shells)

    async def free_ports(self) -> dict[str, list[int]]:
        """For each host the ports of its range that nobody listens on, for its workers.

        A host whose range is full is left out: its first port is then planned, and found taken before a load.
        """
        free = {host.name: await self.ports_free_on(host) for host in self.record.hosts}
        return {name: ports for name, ports in free.items() if ports}

    async def tunnel_ports(self) -> dict[str, int]:
        """For each host behind a tunnel a free port on this machine's loopback, from the end of the head's range.

        The head's own worker, if it has one, takes the first.
        """
        from evener.plan.routes import tunnelled

        behind = tunnelled(self.record)
        free = await self.ports_free_on(replace(self.record.head, address=LOOPBACK)) if behind else []
        return dict(zip(behind, reversed(free[1:]), strict=False))

    async def ports_free_on(self, host: records.Host) -> list[int]:
        """The ports of `host`'s range that nobody listens on, as far as it can be asked."""
        shell = self._shells.get(host.name)
        reached = shell if host.name not in self._out_of_reach else None
        heard = await heard_on(reached) if reached else frozenset()
        address = host.address or "127.0.0.1"
        return [p for p in range(host.ports[0], host.ports[1] + 1) if not proc_net.is_taken(heard, address, p)]

    def deployments(self) -> tuple[Deployment, ...]:
        """What is running now: deployments whose supervisor lives."""
        return tuple(d for d in deployments.everything() if deployments.is_alive(d))


def measured_speeds(scan: Scan) -> tuple[CardMeasured, ...]:
    """The last measurement of each card that is still in the machine where it was measured, a CPU's with as many
    threads as a plan would use now."""
    known = measured.cards((seen.name, card.id) for seen in scan.hosts for card in seen.cards)
    return tuple(card for card in known if (seen := scan.host(card.host)) and _still_holds(card, seen, scan))


def _still_holds(card: CardMeasured, seen: HostSeen, scan: Scan) -> bool:
    from evener.plan.seats import cpu_threads

    return card.machine_id == seen.machine_id and card.threads in (None, cpu_threads(seen, scan))


async def heard_on(shell: Shell) -> frozenset[tuple[str, int]]:
    """(address, port) of everything that listens on a host, as far as it tells."""
    return proc_net.listening(*[(await shell.read(path) or b"").decode() for path in proc_net.TABLES])


async def write_first_rig(path: str | None = None, *, force: bool = False) -> Path:
    """Write a rig.toml for this machine to `path` (./rig.toml) and return where it is.

    Raises ConfigurationError when the file exists, unless `force`, or cannot be written.
    """
    from evener.scan.first_rig import first_rig

    target = Path(path or "rig.toml").expanduser()
    seen = (await Rig(config.this_machine()).scan()).hosts[0]
    try:
        await asyncio.to_thread(_land, target, first_rig(seen), force)
    except FileExistsError:
        raise ConfigurationError(f"{target} exists and stays as it is", hint="--force replaces it") from None
    except OSError as error:
        raise ConfigurationError(f"{target}: cannot be written: {error.strerror}") from None
    return target


def rig_schema() -> dict[str, Any]:
    """JSON Schema of rig.toml."""
    return config.rig_schema()


def _in_one_line(name: str, error: HostError) -> str:
    said = error.message.removeprefix(f"{name}: ")
    return f"{said}; {error.hint}" if error.hint else said


def _shell(host: records.Host) -> Shell | None:
    if host.connection == "local":
        return LocalShell(host.name)
    return SshShell(host.name, host.ssh) if host.ssh else None


async def _door(host: records.Host, shell: Shell, within_s: float) -> Door:
    """Raises HostError when the host cannot be reached."""
    from evener.scan.take import Door

    await shell.read("/proc/version")  # a far host's first word: what follows then has its whole time
    engine, fault = await _engine(shell, host.engine, within_s)
    kept = host.models or await _models_folder(shell)
    disk = await files.must(shell, _EXISTING, await files.expanded(shell, kept), what=f"look for {kept}")
    return Door(shell=shell, disk=disk, engine=engine, fault=fault)


async def _models_folder(shell: Shell) -> str:
    if isinstance(shell, LocalShell):
        return str(state.models_folder())
    return f"{await files.cache_folder(shell)}/models"


async def _engine(shell: Shell, asked: str | None, within_s: float) -> tuple[EngineSeen | None, str | None]:
    """The engine of a host, or why it cannot be used. None at all is no fault: it can be installed."""
    from evener.api import engines  # here: 40 ms to import, and most commands never look for one
    from evener.engine import capability

    if not isinstance(shell, LocalShell):
        within_s *= 3  # a dozen short commands, each with the login scripts of that host before it
    try:
        async with asyncio.timeout(within_s):
            folder, able = await engines.find(asked, shell=shell)
            devices = await capability.devices(shell, folder)
    except EngineMissing as error:
        return None, error.message if asked else None
    except HostUnreachable:
        raise
    except (EngineError, HostError) as error:
        return None, error.message
    except TimeoutError:
        return None, f"the engine did not answer within {within_s:g} s"
    names = tuple(device.name for device in devices)
    return EngineSeen(
        folder=str(folder),
        build=able.build,
        commit=able.commit,
        protocol=able.protocol,
        backends=(*dict.fromkeys(name.rstrip("0123456789") for name in names), "CPU"),
        devices=names,
        listed=devices,
    ), None


def _land(target: Path, text: str, force: bool) -> None:
    """Write the whole file or nothing; without `force` never over another, also not one that appears meanwhile."""
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=".rig-", suffix=".toml")
    fresh = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        fresh.chmod(0o644)
        if force:
            fresh.replace(target)
        else:
            target.hardlink_to(fresh)
    finally:
        with suppress(FileNotFoundError):
            fresh.unlink()
