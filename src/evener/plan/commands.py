"""The command lines of a candidate: one worker per served host, one server. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from evener.dialects import llama_flags as flags
from evener.plan.seats import Seat, Used, names_at_head, served_hosts
from evener.records.plan import Command, Workload
from evener.records.rig import Host, Serve
from evener.records.weights import Weights


@dataclass(frozen=True, slots=True, kw_only=True)
class Tools:
    """What command lines need beside the plan itself. A host missing from `engines` gets bare program names."""

    engines: Mapping[str, str]  # host -> folder of its binaries
    ports: Mapping[str, int]  # host -> the port its worker will take
    models: Mapping[str, str | None] = field(
        default_factory=dict
    )  # far host -> its copy of the model, None: it has none


def commands(
    used: Sequence[Used],
    weights: Weights,
    workload: Workload,
    *,
    head: Host,
    serve: Serve,
    tools: Tools,
    experts_in_ram: int = 0,
    begin: int = 0,
    copies: bool = True,
) -> tuple[tuple[Command, ...], Command]:
    """(workers in the order of their endpoints, server on `head`, which may hold no layer itself).

    Somebody else's worker is only named to the server. `experts_in_ram` blocks leave their experts to the head's RAM,
    and the slots before `begin` are its CPU's.
    """
    seats = [u.seat for u in used]
    served = [s for s in seats if s.host.name in served_hosts(seats, head.name)]
    ours = dict.fromkeys(s.host.name for s in served if s.endpoint is None)
    workers = {name: _worker([s for s in seats if s.host.name == name], tools) for name in ours}
    its_seats = [s for s in seats if s.host.name == head.name]
    address = _address(head, serve)
    alone_on_cpu = its_seats == seats and seats[0].card.kind == "cpu"
    argv = flags.server_argv(
        _program(flags.SERVER, head.name, tools),
        tools.models.get(head.name) or weights.paths[0],
        workload=workload,
        rpc=list(dict.fromkeys(s.endpoint or workers[s.host.name].listen for s in served)),
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
    )
    env = _environment(its_seats)
    return tuple(workers.values()), Command(host=head.name, argv=argv, env=env, listen=f"{address}:{serve.port}")


def _blocks_with_experts(weights: Weights) -> int:
    """Up to the last of them; 1 for a model without any."""
    return max((block + 1 for block, size in enumerate(weights.slot_expert_bytes) if size), default=1)


def bench_command(server: Command, workload: Workload) -> Command:
    """The same placement for llama-bench, behind the same workers."""
    program = server.argv[0].removesuffix(flags.SERVER) + flags.BENCH
    return replace(server, argv=flags.bench_argv(program, server.argv, workload=workload), listen="")


def _address(host: Host, serve: Serve) -> str:
    """Where a server on `host` listens. The team's address is the first host's; a far one has only its own."""
    return host.address or serve.host if host.connection == "ssh" else serve.host


def _worker(seats: Sequence[Seat], tools: Tools) -> Command:
    host = seats[0].host
    listen = (host.address or "127.0.0.1", tools.ports.get(host.name, host.ports[0]))
    argv = flags.worker_argv(
        _program(flags.WORKER, host.name, tools),
        listen=listen,
        devices=[s.device for s in seats],
        threads=seats[0].threads,
    )
    return Command(host=host.name, argv=argv, env=_environment(seats), listen=f"{listen[0]}:{listen[1]}")


def _program(program: str, host: str, tools: Tools) -> str:
    folder = tools.engines.get(host)
    return f"{folder}/{program}" if folder else program


def _environment(seats: Sequence[Seat]) -> dict[str, str]:
    cuda = any(s.card.kind == "cuda" for s in seats)
    return dict(flags.ENGINE_ENVIRONMENT) | (dict(flags.CUDA_ENVIRONMENT) if cuda else {})
