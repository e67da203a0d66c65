"""Whether a worker may keep a cache of tensors (`ggml-rpc-server -c`). Pure.

Workers before protocol 7 cannot tell weights from activations: they cache whatever is larger than 10 MiB, so that long
prompts fill their disk with numbers that nobody will ask for again.
"""

from __future__ import annotations

CACHED_FROM_BYTES = 10 << 20  # a tensor larger than this is cached
KNOWS_WEIGHTS = 7  # the first RPC protocol whose buffers say what they are for
F32_BYTES = 4


def cache_refusal(protocol: tuple[int, int, int], *, width: int, ubatch: int) -> str | None:
    """Why a worker must run without `-c`, None when it may have it.

    `width` is the model's embedding length, `ubatch` the tokens of a micro-batch: one activation is width x ubatch F32.
    """
    activation = width * ubatch * F32_BYTES
    if protocol[0] >= KNOWS_WEIGHTS or activation <= CACHED_FROM_BYTES:
        return None
    return (
        f"no worker cache: RPC protocol {protocol[0]} caches everything above {CACHED_FROM_BYTES >> 20} MiB, also "
        f"activations, which are {activation >> 20} MiB here ({ubatch} tokens x {width} x {F32_BYTES} bytes); "
        f"the cache would grow with every prompt. Protocol {KNOWS_WEIGHTS} caches weights alone"
    )
