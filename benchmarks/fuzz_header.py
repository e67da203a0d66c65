"""Mutate small GGUF headers and read them: only an answer or BadHeader may come back, fast and small.

python benchmarks/fuzz_header.py [COUNT] [SEED]   (200 000 and 1)

Any other exception, a read of more than a second, or more than 100 MB above the start ends it with exit 1 and the
input in hex. What can be read is carried on to the facts a planner takes from it.
"""

from __future__ import annotations

import io
import random
import re
import resource
import struct
import sys
import time
from collections import Counter
from collections.abc import Callable

from evener.dialects.gguf import read_header
from evener.errors import BadHeader
from evener.models.facts import weights_of
from evener.testing.gguf_files import Plain, Shape, gguf_bytes, text

COUNT, SEED = 200_000, 1
SLOWEST_S = 1.0
MOST_GROWTH_BYTES = 100 << 20
DATA_BYTES = 16384  # behind a header, so that its tensors lie within the file

# Values that have broken readers of length-prefixed formats before.
HARD_U32 = (0, 1, 2, 8, 9, 12, 13, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x03000000)
HARD_U64 = (0, 1, 65, 4097, 1 << 20, 1 << 31, 1 << 32, 1 << 50, 1 << 60, (1 << 63) - 1, 1 << 63, (1 << 64) - 1)

LLAMA: dict[str, Plain] = {
    "general.architecture": "llama",
    "general.name": "seed",
    "general.file_type": 15,
    "llama.block_count": 2,
    "llama.context_length": 4096,
    "llama.embedding_length": 256,
    "llama.feed_forward_length": [512, 512],
    "llama.attention.head_count": 4,
    "llama.attention.head_count_kv": [2, 2],
    "llama.rope.freq_base": 1e4,
    "tokenizer.ggml.tokens": [f"t{i}" for i in range(80)],
    "tokenizer.ggml.token_type": [1] * 80,
    "tokenizer.ggml.add_bos_token": True,
}
HYBRID: dict[str, Plain] = {
    "general.architecture": "qwen35moe",
    "general.alignment": 64,
    "qwen35moe.block_count": 5,
    "qwen35moe.nextn_predict_layers": 1,
    "qwen35moe.full_attention_interval": 4,
    "qwen35moe.expert_count": 8,
    "qwen35moe.expert_used_count": 2,
    "qwen35moe.ssm.conv_kernel": 4,
    "qwen35moe.ssm.inner_size": 64,
    "qwen35moe.ssm.state_size": 16,
    "qwen35moe.attention.head_count": 4,
    "split.count": 1,
}
WINDOWS: dict[str, Plain] = {
    "general.architecture": "gemma4",
    "gemma4.block_count": 4,
    "gemma4.attention.head_count": [4, 4, 4, 4],
    "gemma4.attention.head_count_kv": [2, 2, 2, 1],
    "gemma4.attention.sliding_window": 512,
    "gemma4.attention.sliding_window_pattern": [True, True, False, True],
    "gemma4.attention.shared_kv_layers": 1,
}


def _block(index: int) -> list[Shape]:
    names = ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_up_exps")
    return [(f"blk.{index}.{name}.weight", "Q4_K", (256, 8)) for name in names]


def seeds() -> tuple[bytes, ...]:
    """Headers of at most 4 kB, of every shape the reader and the facts know."""
    tensors: list[Shape] = [("token_embd.weight", "Q8_0", (64, 8)), ("output_norm.weight", "F32", (8,))]
    return (
        gguf_bytes(LLAMA, [*tensors, *_block(0), *_block(1)]),
        gguf_bytes(HYBRID, [*tensors, *_block(3)], alignment=64),
        gguf_bytes(WINDOWS, tensors, version=2),
        gguf_bytes({"general.architecture": "clip", "nested": ["a", "b"]}),
        gguf_bytes({}),
    )


def _flip(data: bytearray, dice: random.Random, header: int) -> None:
    for _ in range(dice.randint(1, 8)):
        data[dice.randrange(header)] ^= 1 << dice.randrange(8)


def _set_u32(data: bytearray, dice: random.Random, header: int) -> None:
    struct.pack_into("<I", data, dice.randrange(header), dice.choice(HARD_U32))


def _set_u64(data: bytearray, dice: random.Random, header: int) -> None:
    struct.pack_into("<Q", data, dice.randrange(header), dice.choice(HARD_U64))


def _cut(data: bytearray, dice: random.Random, header: int) -> None:
    del data[dice.randrange(header) :]


def _repeat(data: bytearray, dice: random.Random, header: int) -> None:
    begin = dice.randrange(header)
    end = begin + dice.randint(1, 64)
    data[begin:begin] = data[begin:end]


def _remove(data: bytearray, dice: random.Random, header: int) -> None:
    begin = dice.randrange(header)
    del data[begin : begin + dice.randint(1, 64)]


def _insert(data: bytearray, dice: random.Random, header: int) -> None:
    begin = dice.randrange(header)
    data[begin:begin] = dice.choice((text("k"), dice.randbytes(dice.randint(1, 32)), bytes(dice.randint(1, 4096))))


def _noise(data: bytearray, dice: random.Random, header: int) -> None:
    begin = dice.randrange(header)
    data[begin : begin + 32] = dice.randbytes(32)


MUTATIONS: tuple[Callable[[bytearray, random.Random, int], None], ...] = (
    _flip, _set_u32, _set_u64, _cut, _repeat, _remove, _insert, _noise,
)  # fmt: skip


def mutated(seed: bytes, dice: random.Random) -> bytes:
    data = bytearray(seed)
    for _ in range(dice.choice((1, 1, 1, 2, 3))):
        if len(data) > 8:
            dice.choice(MUTATIONS)(data, dice, len(data) - 8)
    return bytes(data) + bytes(dice.choice((0, DATA_BYTES, DATA_BYTES, DATA_BYTES)))


def outcome(data: bytes) -> str:
    """A class of answers: read, refused for which reason. Lets every other exception rise."""
    try:
        header = read_header(io.BytesIO(data), name="f")
    except BadHeader as error:
        return "refused: " + _kind(error.message)
    try:
        weights_of(["f"], [header])
    except BadHeader:
        return "read, no model"
    return "read, a model"


def _kind(message: str) -> str:
    """The first words of a reason, names and numbers left out."""
    reason = re.sub(r"b?'.*'|b?\".*\"", "", message.removeprefix("f: "))
    return " ".join([word for word in reason.split() if word[0].isalpha()][:4])


def fuzz(count: int, seed: int) -> Counter[str]:
    """Read `count` mutated headers. Raises whatever is not BadHeader; RuntimeError when one is slow or large."""
    dice, files, classes = random.Random(seed), seeds(), Counter[str]()
    before = peak_bytes()
    for _ in range(count):
        data = mutated(dice.choice(files), dice)
        began = time.perf_counter()
        try:
            classes[outcome(data)] += 1
        except Exception:
            print(f"input: {data.hex()}", file=sys.stderr)
            raise
        if (took := time.perf_counter() - began) > SLOWEST_S:
            raise RuntimeError(f"{took:.1f} s for {data.hex()}")
    if (grown := peak_bytes() - before) > MOST_GROWTH_BYTES:
        raise RuntimeError(f"{grown >> 20} MB more than at the start")
    return classes


def peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else COUNT
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else SEED
    began = time.perf_counter()
    classes = fuzz(count, seed)
    took = time.perf_counter() - began
    print(f"{count} headers in {took:.0f} s ({count / took:.0f}/s), peak {peak_bytes() >> 20} MB, seed {seed}")
    for name, times in classes.most_common():
        print(f"{times:8}  {name}")


if __name__ == "__main__":
    main()
