"""The command lines of a candidate: a worker per served host, or per card there, and one server. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from evener.dialects import llama_flags as flags
from evener.dialects.ssh_tunnel import LOOPBACK, tunnel_argv
from evener.plan.routes import Route
from evener.plan.seats import Seat, Used, names_at_head, served_hosts
from evener.records.plan import Command, Workload
from evener.records.rig import Host, Serve
from evener.records.weights import Weights


@dataclass(frozen=True, slots=True, kw_only=True)
class Tools:
    """What command lines need beside the plan itself. A host missing from `engines` gets bare program names."""

    engines: Mapping[str, str]  # host -> folder of its binaries
    ports: Mapping[str, Sequence[int]]  # host -> ports that its workers may take, in order
    models: Mapping[str, str | None] = field(default_factory=dict)  # far host -> its copy of the model, or None
    beside: Mapping[tuple[str, str], str | None] = field(default_factory=dict)  # (far host, file here) -> its copy
    near_ports: Mapping[str, int] = field(default_factory=dict)  # far host -> where its tunnel begins on the head

    def copy_beside(self, host: str, path: str) -> str:
        """Where `host` has a file that stands beside the model; at the same path where nobody has looked."""
        return self.beside.get((host, path)) or path


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A candidate's command lines: workers and tunnels in the order of their endpoints."""

    workers: tuple[Command, ...]
    tunnels: tuple[Command, ...]
    server: Command


def commands(
    used: Sequence[Used],
    weights: Weights,
    workload: Workload,
    *,
    head: Host,
    serve: Serve,
    tools: Tools,
    routes: Mapping[str, Route],
    experts_in_ram: int = 0,
    begin: int = 0,
    copies: bool = True,
    is_first: bool = True,
    beside_on: str | None = None,
) -> Written:
    """Workers, tunnels, and the server on `head`, which may hold no layer itself, and need not be the rig's first host.

    `routes` says where each host's worker listens, or that it is reached through ssh: then it listens on its own
    loopback. Somebody else's worker is only named to the server. `experts_in_ram` blocks leave their experts
    to the head's RAM, and the slots before `begin` are its CPU's. A projector and a draft model are on the seat called
    `beside_on`, else on the head's CPU.
    """
    seats = [u.seat for u in used]
    served = [s for s in seats if s.host.name in served_hosts(seats, head.name)]
    workers = _workers([s for s in served if s.endpoint is None], tools, routes)
    tunnels = tuple(_tunnel(head, ssh, worker) for worker in workers.values() if (ssh := routes[worker.host].ssh))
    its_seats = [s for s in seats if s.host.name == head.name]
    address = _address(head, serve, is_first=is_first)
    alone_on_cpu = its_seats == seats and seats[0].card.kind == "cpu"
    argv = flags.server_argv(
        _program(flags.SERVER, head.name, tools),
        tools.models.get(head.name) or weights.paths[0],
        workload=workload,
        rpc=list(dict.fromkeys(s.endpoint or workers[s.worker].reached_at for s in served)),
        devices=[] if alone_on_cpu else names_at_head(seats, head.name),
        counts=[u.slots for u in used],
        threads=next((s.threads for s in its_seats), None),
        listen=(address, serve.port),
        offload=flags.Offload(
            slots=weights.layers + 1 - begin if begin else None,
            experts_in_ram=experts_in_ram,
            all_experts_in_ram=experts_in_ram >= _blocks_with_experts(weights),
            copies=copies,
        ),
        beside=flags.Beside(
            projector=tools.copy_beside(head.name, weights.projector.path) if weights.projector else None,
            draft=tools.copy_beside(head.name, weights.draft.paths[0]) if weights.draft else None,
            device=dict(zip((s.name for s in seats), names_at_head(seats, head.name), strict=True)).get(
                beside_on or ""
            ),
        ),
    )
    env = _environment(its_seats)
    server = Command(host=head.name, argv=argv, env=env, listen=f"{address}:{serve.port}")
    return Written(workers=tuple(workers.values()), tunnels=tunnels, server=server)


def _blocks_with_experts(weights: Weights) -> int:
    """Up to the last of them; 1 for a model without any."""
    return max((block + 1 for block, size in enumerate(weights.slot_expert_bytes) if size), default=1)


def bench_command(server: Command, workload: Workload) -> Command:
    """The same placement for llama-bench, behind the same workers."""
    program = server.argv[0].removesuffix(flags.SERVER) + flags.BENCH
    return replace(server, argv=flags.bench_argv(program, server.argv, workload=workload), listen="")


def _address(host: Host, serve: Serve, *, is_first: bool) -> str:
    """Where a server on `host` listens. The team's address is the first host's; a far one has only its own."""
    far = host.connection == "ssh" or (host.connection == "stated" and not is_first)
    return host.address or serve.host if far else serve.host


def _workers(served: Sequence[Seat], tools: Tools, routes: Mapping[str, Route]) -> dict[str, Command]:
    """The command of each worker, in the order in which their first seats come."""
    seats: dict[str, list[Seat]] = {}
    for seat in served:
        seats.setdefault(seat.worker, []).append(seat)
    found: dict[str, Command] = {}
    for worker, its in seats.items():
        host = its[0].host
        taken = sum(command.host == host.name for command in found.values())
        found[worker] = _worker(its, tools, routes[host.name], port=ports_of(host, tools)[taken])
    return found


def ports_of(host: Host, tools: Tools) -> Sequence[int]:
    """The ports that workers of a host may take, in order; its whole range where nobody has looked."""
    return tools.ports.get(host.name) or range(host.ports[0], host.ports[1] + 1)


def _worker(seats: Sequence[Seat], tools: Tools, way: Route, *, port: int) -> Command:
    host = seats[0].host
    listen = (way.address or LOOPBACK, port)
    near = f"{LOOPBACK}:{tools.near_ports.get(host.name, port)}" if way.ssh else None
    argv = flags.worker_argv(
        _program(flags.WORKER, host.name, tools),
        listen=listen,
        devices=[s.device for s in seats],
        threads=seats[0].threads,
    )
    return Command(host=host.name, argv=argv, env=_environment(seats), listen=f"{listen[0]}:{listen[1]}", endpoint=near)


def _tunnel(head: Host, destination: str, worker: Command) -> Command:
    port, near = (int(end.rpartition(":")[2]) for end in (worker.listen, worker.reached_at))
    argv = tunnel_argv(destination, port=port, local_port=near)
    return Command(host=head.name, argv=argv, env={}, listen=worker.reached_at)


def _program(program: str, host: str, tools: Tools) -> str:
    folder = tools.engines.get(host)
    return f"{folder}/{program}" if folder else program


def _environment(seats: Sequence[Seat]) -> dict[str, str]:
    cuda = any(s.card.kind == "cuda" for s in seats)
    return dict(flags.ENGINE_ENVIRONMENT) | (dict(flags.CUDA_ENVIRONMENT) if cuda else {})
