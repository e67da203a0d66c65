"""Models described by hand, as far as speed asks, and the rigs of the cases."""

from __future__ import annotations

from evener.plan.cards import find
from evener.plan.links import link_speed
from evener.plan.speed_devices import device_speed
from evener.plan.speed_stage import Stage
from evener.records.plan import Value
from evener.records.rig import Link
from evener.records.speed import LinkSpeed
from evener.records.weights import Attention, Weights

GB = 10**9


def dense(
    *, layers: int, block_bytes: float, head_bytes: float, parameters: float, embedding: int, vocabulary: int,
    kv_heads: int = 8, head: int = 128, heads: int = 64, tied: bool = False,
) -> Weights:  # fmt: skip
    """Equal blocks of full attention."""
    return Weights(
        name="dense", paths=("dense.gguf",), architecture="llama", quantisation="Q4_K_M",
        file_bytes=int(layers * block_bytes + head_bytes), layers=layers, mtp_layers=0, parameters=int(parameters),
        active_parameters=int(parameters), context_train=131072, vocabulary=vocabulary, embedding=embedding,
        feed_forward=0, slot_bytes=(int(block_bytes),) * layers + (int(head_bytes),), host_bytes=0, tied_head=tied,
        largest_tensor_bytes=int(head_bytes), attention=full_attention(layers, kv_heads, head, heads),
        slot_parameters=(int(parameters / layers),) * layers + (embedding * vocabulary,),
    )  # fmt: skip


def full_attention(layers: int, kv_heads: int, head: int, heads: int, *, every: int = 1) -> Attention:
    has = [(layer + 1) % every == 0 for layer in range(layers)]
    return Attention(
        kv_heads=tuple(kv_heads if full else 0 for full in has), key_length=head, value_length=head,
        window=(None,) * layers, key_length_swa=head, value_length_swa=head,
        heads=tuple(heads if full else 0 for full in has),
    )  # fmt: skip


def llama_70b(total_bytes: float) -> Weights:
    """80 blocks of 8 KV heads of 128; `total_bytes` as on the cards, a 2 % head in it."""
    head = 0.02 * total_bytes
    return dense(
        layers=80, block_bytes=(total_bytes - head) / 80, head_bytes=head, parameters=70e9, embedding=8192,
        vocabulary=128256,
    )  # fmt: skip


def gpt_oss(layers: int, experts: int) -> Weights:
    """F16 but for the experts in MXFP4 (4.25 bits): 3 matrices of 2880 x 2880 each, 4 chosen."""
    routed = experts * 3 * 2880 * 2880
    shared = 2 * 2880 * 4096 + 2 * 2880 * 512
    head = 201088 * 2880
    return Weights(
        name="gpt-oss", paths=("gpt-oss.gguf",), architecture="gpt-oss", quantisation="F16",
        file_bytes=layers * (routed * 17 // 32 + 2 * shared) + 4 * head, layers=layers, mtp_layers=0,
        parameters=layers * (routed + shared) + 2 * head, active_parameters=None, context_train=131072,
        vocabulary=201088, embedding=2880, feed_forward=2880,
        slot_bytes=(routed * 17 // 32 + 2 * shared,) * layers + (2 * head,), host_bytes=2 * head, tied_head=False,
        largest_tensor_bytes=2 * head, attention=full_attention(layers, 8, 64, 64), experts=experts, experts_used=4,
        slot_expert_bytes=(routed * 17 // 32,) * layers + (0,), slot_parameters=(routed + shared,) * layers + (head,),
        slot_expert_parameters=(routed,) * layers + (0,),
    )  # fmt: skip


def qwen_35b_a3b() -> Weights:
    """Q8_0: 40 blocks, 1 in 4 with 2 KV heads of 256, 256 experts of 3 x 2048 x 512, 8 chosen."""
    routed, head = 256 * 3 * 2048 * 512, 248320 * 2048
    shared = 34_000_000
    return Weights(
        name="qwen", paths=("qwen.gguf",), architecture="qwen35moe", quantisation="Q8_0",
        file_bytes=36_900_000_000, layers=40, mtp_layers=0, parameters=34_660_000_000, active_parameters=3_000_000_000,
        context_train=262144, vocabulary=248320, embedding=2048, feed_forward=512,
        slot_bytes=((routed + shared) * 34 // 32,) * 40 + (head * 34 // 32,), host_bytes=head * 34 // 32,
        tied_head=False, largest_tensor_bytes=head * 34 // 32, attention=full_attention(40, 2, 256, 16, every=4),
        recurrent_bytes_per_sequence=tuple(0 if (i + 1) % 4 == 0 else 2195456 for i in range(40)), experts=256,
        experts_used=8, slot_expert_bytes=(routed * 34 // 32,) * 40 + (0,),
        slot_parameters=(routed + shared,) * 40 + (head,), slot_expert_parameters=(routed,) * 40 + (0,),
        position_numbers=4,
    )  # fmt: skip


def smollm2() -> Weights:
    """SmolLM2-135M: 30 blocks, 3 KV heads of 64, width 576, 49152 tokens, tied."""
    return dense(
        layers=30, block_bytes=2_216_448, head_bytes=30_083_328, parameters=106e6, embedding=576, vocabulary=49152,
        kv_heads=3, head=64, heads=9, tied=True,
    )  # fmt: skip


FIVE_GBE = link_speed(Link(name="5gbe", between=("alpha", "beta"), gbit_per_s=4.7, rtt_us=250))


def placed(*parts: tuple[str, str, int], link: LinkSpeed = FIVE_GBE) -> list[Stage]:
    """(host, card, slots) in order. The first letter tells the head's host, alpha, from the others, one worker each."""
    stages, start = [], 0
    for host, card, count in parts:
        away = host != "alpha"
        stages.append(
            Stage(
                host=host, card=card, speed=device_speed(find(card)), start=start, count=count,
                endpoint=f"{host}:50052" if away else None, link=link if away else None,
            )
        )  # fmt: skip
        start += count
    return stages


def likely(value: Value | None) -> float:
    assert value is not None
    assert value.low <= value.value <= value.high
    return value.value
