"""The machines of case 1 as they would answer: alpha (RTX 5090, RTX 5060 Ti), beta (RTX 5080, two RTX 5060 Ti)."""

from __future__ import annotations

from datetime import UTC, datetime

from evener.records.card import EngineSeen, HostSeen, Scan
from evener.records.rig import Host, Link, Rig
from evener.scan.take import Door, take
from evener.testing.fake_linux import APP_HEADER, GPU_HEADER, FakeProcess, fake_linux
from evener.testing.fake_shell import FakeShell

NOON = datetime(2026, 11, 2, 12, 0, tzinfo=UTC)
MIB, GIB = 1 << 20, 1 << 30

ALPHA_GPUS = f"""{GPU_HEADER}
0, NVIDIA GeForce RTX 5090, GPU-a0, 00000000:01:00.0, 610.57, 32607, 3100, 29006, 43, 575.00, 575.00, 12.0, Disabled
1, NVIDIA GeForce RTX 5060 Ti, GPU-a1, 00000000:02:00.0, 610.57, 16311, 4600, 11400, 39, 180.00, 150.00, 12.0, Enabled
"""
ALPHA_APPS = f"""{APP_HEADER}
GPU-a0, 4321, /opt/llama/llama-server, 2980 MiB
GPU-a1, 777, /usr/bin/python3, 3600 MiB
"""
BETA_GPUS = f"""{GPU_HEADER}
0, NVIDIA GeForce RTX 5060 Ti, GPU-b0, 00000000:2A:00.0, 580.178, 16311, 1, 15900, 33, 180.00, 180.00, 12.0, Disabled
1, NVIDIA GeForce RTX 5080, GPU-b1, 00000000:03:00.0, 580.178, 16303, 1, 15900, 35, 360.00, 360.00, 12.0, Disabled
2, NVIDIA GeForce RTX 5060 Ti, GPU-b2, 00000000:1B:00.0, 580.178, 16311, 1, 15900, 34, 180.00, 180.00, 12.0, Disabled
"""
SERVER = FakeProcess(
    pid=4321, command="/opt/llama/llama-server -m /models/small.gguf --port 9000", rss_kib=900_000, age_s=7300
)
COMFY = FakeProcess(pid=777, command="/usr/bin/python3 /srv/ComfyUI/main.py --listen", uid=0, age_s=200_000)


def alpha_shell() -> FakeShell:
    return fake_linux("alpha", gpus=ALPHA_GPUS, apps=ALPHA_APPS, processes=[SERVER, COMFY])


def beta_shell() -> FakeShell:
    return fake_linux("beta", gpus=BETA_GPUS, total_kib=32 << 20, available_kib=30 << 20)


def engine(*devices: str) -> EngineSeen:
    backends = ("CUDA", "CPU") if devices else ("CPU",)
    return EngineSeen(
        folder="/opt/llama", build=11434, commit="b0a2feb", protocol="7.0.0", backends=backends, devices=devices
    )


def rig(alpha: Host | None = None, beta: Host | None = None) -> Rig:
    return Rig(
        hosts=(
            alpha or Host(name="alpha", connection="local", address="10.0.0.1"),
            beta or Host(name="beta", connection="ssh", ssh="me@beta.lan", address="10.0.0.2"),
        ),
        links=(Link(name="5gbe", between=("alpha", "beta"), gbit_per_s=4.7, rtt_us=250.0),),
        path="rig.toml",
    )


def doors() -> dict[str, Door]:
    return {
        "alpha": Door(shell=alpha_shell(), engine=engine("CUDA0", "CUDA1")),
        "beta": Door(shell=beta_shell(), engine=engine("CUDA0", "CUDA1", "CUDA2")),
    }


async def scan(of: Rig | None = None, through: dict[str, Door] | None = None) -> Scan:
    return await take(of or rig(), doors() if through is None else through, now=NOON)


async def one(host: Host, shell: FakeShell, engine: EngineSeen | None = None) -> HostSeen:
    """A rig of one host, as seen."""
    taken = await take(Rig(hosts=(host,)), {host.name: Door(shell=shell, engine=engine)}, now=NOON)
    return taken.hosts[0]
