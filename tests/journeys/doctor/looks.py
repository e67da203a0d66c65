"""What a preflight has seen, worked out by hand: alpha is the head, here; beta is behind ssh."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from evener.dialects.host_health import Health
from evener.journeys.doctor.seen import HostAnswers, Seen
from evener.records.card import Card, EngineSeen, HostSeen
from evener.records.deployment import Deployment, Process
from evener.records.finding import Finding
from evener.records.rig import Host, Link, Rig
from tests import rigs
from tests.verify.test_loaded import CANDIDATE

ALPHA = Host(name="alpha", connection="local", address="10.0.0.1")
BETA = Host(name="beta", connection="ssh", ssh="me@beta.lan", address="10.0.0.2")
ENGINE = EngineSeen(folder="/opt/llama", build=11434, commit="b0a2feb", protocol="7.0.0")
TUNNEL = Link(name="over ssh", between=("alpha", "beta"), tunnel=True)
HEALTHY = Health(programs=frozenset({"ss", "setpriv"}))


def host(name: str, *cards: Card, engine: EngineSeen | None = ENGINE, **more: object) -> HostSeen:
    return replace(rigs.seen(name, *cards), engine=engine, **more)  # type: ignore[arg-type]


def look(
    *hosts: HostSeen,
    rig: tuple[Host, ...] = (ALPHA, BETA),
    links: tuple[Link, ...] = (),
    health: dict | None = None,
    **more: object,
) -> Seen:
    """`health` is by host; hosts that are not given answered and have nothing special."""
    given = {h.name: h for h in hosts}
    asked = [h.name for h in rig if h.connection in ("local", "ssh")]
    return Seen(
        rig=Rig(hosts=rig, links=links),
        scan=rigs.scan(*[given.get(name) or host(name) for name in asked]),
        answers={name: HostAnswers(health=one) for name, one in (health or {}).items()},
        **more,  # type: ignore[arg-type]
    )


def deployment(host: str, pid: int, listen: str = "10.0.0.2:50052") -> Deployment:
    """One that runs one worker."""
    process = Process(role="worker", host=host, pid=pid, listen=listen, argv=("/opt/llama/ggml-rpc-server",))
    return Deployment(
        name="demo", state="ready", since=datetime(2026, 1, 2, tzinfo=UTC), supervisor_pid=7, model="demo",
        model_path="/demo.gguf", candidate=CANDIDATE, users=1, context=4096, processes=(process,),
    )  # fmt: skip


def told(found: object) -> list[tuple[str, str, str]]:
    return [(f.level, f.where, f.what) for f in found]  # type: ignore[attr-defined]


def bad(found: object) -> list[Finding]:
    """What is not fine."""
    return [f for f in found if f.level != "fine"]  # type: ignore[attr-defined]
