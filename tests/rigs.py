"""Small rigs, scans and models, worked out by hand, that several tests share."""

from __future__ import annotations

from datetime import UTC, datetime

from evener.records.card import Card, Device, HostSeen, Scan
from evener.records.rig import Host, Rig
from evener.records.weights import Attention, Weights

GIB = 1 << 30
MIB = 1 << 20


def weights(*, blocks: int = 4, block_bytes: int = 100 * MIB, head_bytes: int = 50 * MIB, **more: object) -> Weights:
    """A dense model with one KV head of 64 + 64 elements per block: 256 bytes a cell and block at f16."""
    facts: dict[str, object] = {
        "name": "tiny",
        "paths": ("/models/tiny.gguf",),
        "architecture": "llama",
        "quantisation": "Q4_1",
        "file_bytes": blocks * block_bytes + head_bytes,
        "layers": blocks,
        "mtp_layers": 0,
        "parameters": 1_000_000,
        "active_parameters": 1_000_000,
        "context_train": 8192,
        "vocabulary": 1000,
        "embedding": 64,
        "feed_forward": 128,
        "slot_bytes": (block_bytes,) * blocks + (head_bytes,),
        "host_bytes": head_bytes,
        "tied_head": True,
        "largest_tensor_bytes": head_bytes,
        "attention": Attention(
            kv_heads=(1,) * blocks,
            key_length=64,
            value_length=64,
            window=(None,) * blocks,
            key_length_swa=64,
            value_length_swa=64,
        ),
    }
    return Weights(**(facts | more))  # type: ignore[arg-type]


def card(name: str, free_bytes: int, *, device: str = "CUDA0", kind: str = "cuda", **more: object) -> Card:
    facts: dict[str, object] = {
        "id": f"GPU-{name}-{device}",
        "kind": kind,
        "name": name,
        "device": device,
        "total_bytes": free_bytes,
        "free_bytes": free_bytes,
        "offered_bytes": free_bytes,
        "used_bytes": 0,
        "holders": (),
    }
    return Card(**(facts | more))  # type: ignore[arg-type]


def cpu(free_bytes: int = 8 * GIB, **more: object) -> Card:
    return card("EPYC", free_bytes, device="CPU", kind="cpu", id="cpu", **more)


def seen(name: str, *cards: Card, machine: str | None = None, cores: int = 8) -> HostSeen:
    return HostSeen(
        name=name,
        connection="local",
        machine_id=machine or name,
        cores=cores,
        memory_total_bytes=64 * GIB,
        memory_available_bytes=32 * GIB,
        cards=cards,
    )


def scan(*hosts: HostSeen, devices: tuple[Device, ...] = ()) -> Scan:
    return Scan(taken_at=datetime(2026, 1, 2, tzinfo=UTC), hosts=hosts, devices=devices)


def rig(*names: str) -> Rig:
    """Local hosts at 127.0.0.1, 127.0.0.2, ..."""
    return Rig(
        hosts=tuple(Host(name=n, connection="local", address=f"127.0.0.{i}") for i, n in enumerate(names, start=1))
    )
