"""The same layout at another context, worked out by hand for a tiny model: 256 bytes a cell and block."""

from __future__ import annotations

from dataclasses import replace

import pytest

from evener.errors import ModelError
from evener.plan.room import at_context, longest_held
from evener.records.plan import Candidate, Command, DevicePlan, Workload
from tests.rigs import GIB, MIB, weights

MODEL = weights()  # 4 blocks of 100 MiB, a head of 50, trained for 8192
NOW = Workload(context=4096, users=2)
# Two users of 4096 tokens: 8192 cells x 256 bytes in each block.
KV_PER_BLOCK = 2 * MIB


def device(position: int, layers: int, *, blocks: int, offered_bytes: int, device: str = "CUDA0") -> DevicePlan:
    weights_bytes, kv = blocks * 100 * MIB + (50 * MIB if layers > blocks else 0), blocks * KV_PER_BLOCK
    return DevicePlan(
        host="alpha", card=f"card{position}", card_name="X", device=device, position=position, layers=layers,
        weights_bytes=weights_bytes, kv_bytes=kv, compute_bytes=30 * MIB, overhead_bytes=0,
        total_bytes=weights_bytes + kv + 30 * MIB, free_bytes=offered_bytes, offered_bytes=offered_bytes,
    )  # fmt: skip


def candidate(*devices: DevicePlan) -> Candidate:
    argv = ("llama-server", "-m", "x.gguf", "-c", "8192", "-np", "2")
    return Candidate(
        name="alpha", kind="host", hosts=("alpha",), fits=True, short_bytes=0, devices=devices, host_bytes={},
        servers=(Command(host="alpha", argv=argv, env={}, listen="127.0.0.1:1"),), workers=(),
    )  # fmt: skip


def test_caches_grow_with_the_context_and_weights_do_not() -> None:
    two = candidate(device(0, 2, blocks=2, offered_bytes=GIB), device(1, 3, blocks=2, offered_bytes=GIB))
    longer = at_context(two, MODEL, NOW, 8192)
    assert [d.kv_bytes for d in longer.devices] == [2 * 2 * KV_PER_BLOCK] * 2
    assert [d.weights_bytes for d in longer.devices] == [200 * MIB, 250 * MIB]
    for before, after in zip(two.devices, longer.devices, strict=True):
        # With two devices the F16 mask of 512 x 4096 more cells is kept four times.
        assert after.compute_bytes - before.compute_bytes == 2 * 512 * 4096 * 4
        assert after.total_bytes - before.total_bytes == 2 * KV_PER_BLOCK + 16 * MIB
    assert longer.servers[0].argv[-4:] == ("-c", "16384", "-np", "2")


def test_the_same_context_changes_nothing() -> None:
    alone = candidate(device(0, 5, blocks=4, offered_bytes=GIB))
    assert at_context(alone, MODEL, NOW, 4096) == alone


def test_a_pool_of_all_users_is_the_context_itself() -> None:
    pool = replace(NOW, unified=True)
    made = at_context(candidate(device(0, 5, blocks=4, offered_bytes=GIB)), MODEL, pool, 8192)
    assert made.servers[0].argv[-4:] == ("-c", "8192", "-np", "2")


def test_the_longest_context_is_where_the_first_card_is_full() -> None:
    alone = device(0, 5, blocks=4, offered_bytes=0)
    # 256 tokens more: 4 blocks x 2 users x 256 x 256 bytes of cache, and a mask of 2 x 512 x 256 bytes.
    step = 4 * 2 * 256 * 256 + 2 * 512 * 256
    room = replace(alone, offered_bytes=alone.total_bytes + 3 * step + step // 2)
    assert longest_held(candidate(room), MODEL, NOW) == 4096 + 3 * 256


def test_nothing_beyond_the_trained_window_is_looked_for() -> None:
    assert longest_held(candidate(device(0, 5, blocks=4, offered_bytes=64 * GIB)), MODEL, NOW) == 8192


def test_what_nobody_knows_is_unknown() -> None:
    unknown = replace(device(0, 5, blocks=4, offered_bytes=GIB), offered_bytes=None)
    assert longest_held(candidate(unknown), MODEL, NOW) is None
    measured = weights(slot_cache_bytes=(1,) * 5)
    assert longest_held(candidate(device(0, 5, blocks=4, offered_bytes=GIB)), measured, NOW) is None
    with pytest.raises(ModelError):
        longest_held(candidate(device(0, 5, blocks=4, offered_bytes=GIB)), weights(attention=None), NOW)


def test_layers_left_to_the_processor_have_caches_there_and_no_compute_buffer() -> None:
    on_cpu = replace(device(-1, 1, blocks=1, offered_bytes=GIB, device="CPU"), compute_bytes=0)
    made = at_context(candidate(on_cpu, device(0, 4, blocks=3, offered_bytes=GIB)), MODEL, NOW, 8192)
    assert [d.kv_bytes for d in made.devices] == [2 * KV_PER_BLOCK, 6 * KV_PER_BLOCK]
    assert made.devices[0].compute_bytes == 0


def test_a_draft_model_has_the_longer_context_too() -> None:
    helped = replace(device(0, 5, blocks=4, offered_bytes=GIB), draft_bytes=250 * MIB)
    drafted = replace(MODEL, draft=weights(blocks=2))
    alone, longer = (at_context(candidate(helped), one, NOW, 8192).devices[0] for one in (MODEL, drafted))
    # Two users of 4096 more cells in two blocks, and an F16 mask of 512 x 4096.
    assert longer.draft_bytes == (250 + 4 + 4) * MIB
    assert longer.total_bytes - alone.total_bytes == 8 * MIB
