"""What a model must remember per token and per sequence, from its header. Pure; knows shapes, never a context size.

Where the engine's cache has no closed form we say so and leave the figure to its dry run.
Source: llama.cpp build 11434, src/llama-model.cpp (create_memory), src/llama-hparams.cpp, src/models/*.cpp.
"""

from __future__ import annotations

from dataclasses import dataclass

from evener.models.keys import Keys
from evener.records.weights import Attention

# They look at all tokens at once and keep nothing.
ENCODERS = frozenset({
    "bert", "modern-bert", "nomic-bert", "nomic-bert-moe", "neo-bert", "jina-bert-v2", "jina-bert-v3", "eurobert",
    "gemma-embedding", "t5encoder", "wavtokenizer-dec", "clef",
})  # fmt: skip
DIFFUSION = frozenset({"dream", "llada", "llada-moe", "rnd1"})
WITHOUT_CACHE = ENCODERS | DIFFUSION
RECURRENT = frozenset({"mamba", "mamba2", "rwkv6", "rwkv6qwen2", "rwkv7", "arwkv7"})
# Hybrids whose recurrent layers are those without KV heads.
RECURRENT_WITHOUT_HEADS = frozenset(
    {"jamba", "plamo2", "granitehybrid", "lfm2", "lfm2moe", "kimi-linear", "bailingmoe3"}
)
# Hybrids that list their recurrent layers, or keep one full layer in so many.
FULL_ATTENTION_INTERVAL = {"qwen3next": 4, "qwen35": 4, "qwen35moe": 4, "minimax-01": 8}
NEMOTRON_HYBRIDS = frozenset({"nemotron_h", "nemotron_h_moe"})

NO_CLOSED_FORM = {
    "deepseek32": "an indexer cache beside the compressed one",
    "glm-dsa": "an indexer cache beside the compressed one",
    "glm5-next": "recurrent layers and an indexer cache",
    "dots3note": "an indexer cache beside windows of compressed keys",
    "minimax-m3": "an indexer cache on its sparse layers",
    "qwen4exp": "an indexer cache and an n-gram history",
    "deepseek4": "compressed caches at several ratios",
    "kimi-k3": "recurrent layers beside attention residuals",
    "dflash": "a draft model's ring",
    "eagle3": "a draft model's cache",
    "gemma4-assistant": "another model's cache, shared",
    "graniteswitch": "an extra router layer",
    "nanbeige": "layers that run more than once",
}
INDEXER_KEYS = ("attention.indexer.top_k", "attention.compress_ratios")


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowRule:
    """An architecture's sliding windows. Layer i is full when i % period is the last of its period, or the first.

    `period` None: the header must list the layers. `window` stands in when the header names none; `fixed_window`
    overrules it.
    """

    period: int | None = None
    full_first: bool = False
    window: int | None = None
    fixed_window: int | None = None


WINDOW_RULES = {
    "gemma2": WindowRule(period=2, window=4096),
    "gemma3": WindowRule(period=6),
    "gemma3n": WindowRule(period=5),
    "gemma4": WindowRule(),
    "gpt-oss": WindowRule(period=2),
    "cohere2": WindowRule(period=4),
    "cohere2moe": WindowRule(period=4, full_first=True),
    "exaone4": WindowRule(period=4, window=4096),
    "exaone-moe": WindowRule(period=4, window=128),
    "llama4": WindowRule(period=4, window=8192, fixed_window=8192),
    "olmo2": WindowRule(period=4),
    "afmoe": WindowRule(period=4),
    "plamo3": WindowRule(period=8),
    "mellum": WindowRule(period=4),
    "muse-glimmer": WindowRule(period=4),
    "laguna": WindowRule(period=4, full_first=True),
    "smallthinker": WindowRule(period=4, full_first=True, fixed_window=4096),
    "granite_swa": WindowRule(),
    "maple": WindowRule(),
    "mimo2": WindowRule(),
    "spark2_5": WindowRule(),
    "step35": WindowRule(),
    "lfm2": WindowRule(period=0),  # every attention layer
}
EXAONE4_WITH_WINDOWS = 64  # blocks; the smaller files have none


@dataclass(frozen=True, slots=True, kw_only=True)
class Caches:
    """One architecture's memory: per token (`attention`), per sequence (`recurrent_bytes`, one entry per layer)."""

    attention: Attention | None
    recurrent_bytes: tuple[int, ...]
    unknown: str | None


def caches(keys: Keys, *, layers: int, mtp_layers: int) -> Caches:
    """The caches of the main context, in which MTP blocks hold nothing. Raises BadHeader for impossible shapes."""
    if unknown := _no_closed_form(keys):
        return Caches(attention=None, recurrent_bytes=(), unknown=unknown)
    heads = keys.per_layer("attention.head_count", layers)
    kv_heads = keys.per_layer("attention.head_count_kv", layers) if "attention.head_count_kv" in keys else heads
    trunk = layers - mtp_layers
    recurrent = _recurrent_layers(keys, kv_heads, layers=layers, trunk=trunk)
    attending = _attending_layers(keys, recurrent, layers=layers, trunk=trunk)
    state_bytes = _state_bytes(keys, heads[0] if heads else 0)
    return Caches(
        attention=_attention(
            keys,
            heads=heads,
            kv_heads=tuple(kv if attends else 0 for kv, attends in zip(kv_heads, attending, strict=True)),
            mtp_kv_heads=kv_heads[trunk] if mtp_layers else 0,
            trunk=trunk,
        ),
        recurrent_bytes=tuple(state_bytes if is_recurrent else 0 for is_recurrent in recurrent),
        unknown=None,
    )


def _no_closed_form(keys: Keys) -> str | None:
    what = NO_CLOSED_FORM.get(keys.architecture)
    if what is None and any(keys.get(key) not in (None, 0) for key in INDEXER_KEYS):
        what = "an indexer or compressed cache"
    return f"{keys.architecture} keeps {what}: only the engine's dry run knows its size" if what else None


def _recurrent_layers(keys: Keys, kv_heads: tuple[int, ...], *, layers: int, trunk: int) -> tuple[bool, ...]:
    architecture = keys.architecture
    if architecture in RECURRENT or architecture == "falcon-h1":
        return (True,) * layers
    if architecture in RECURRENT_WITHOUT_HEADS:
        return tuple(kv == 0 and i < trunk for i, kv in enumerate(kv_heads))
    if architecture in NEMOTRON_HYBRIDS:
        feed_forward = keys.per_layer("feed_forward_length", layers)
        return tuple(kv_heads[i] == 0 and feed_forward[i] == 0 and i < trunk for i in range(layers))
    if architecture in FULL_ATTENTION_INTERVAL:
        return _by_interval(keys, layers=layers, trunk=trunk)
    return (False,) * layers


def _by_interval(keys: Keys, *, layers: int, trunk: int) -> tuple[bool, ...]:
    if "attention.recurrent_layers" in keys:
        return tuple(flag > 0 for flag in keys.per_layer("attention.recurrent_layers", layers))
    interval = keys.number("full_attention_interval", FULL_ATTENTION_INTERVAL[keys.architecture])
    if interval == 0:
        keys.fault("full_attention_interval", "is 0")
    return tuple(i < trunk and (i + 1) % interval != 0 for i in range(layers))


def _attending_layers(keys: Keys, recurrent: tuple[bool, ...], *, layers: int, trunk: int) -> tuple[bool, ...]:
    """Which layers own a KV cache."""
    architecture = keys.architecture
    if architecture in WITHOUT_CACHE or architecture in RECURRENT:
        return (False,) * layers
    if architecture == "falcon-h1":  # every layer is both
        return (True,) * layers
    if architecture in RECURRENT_WITHOUT_HEADS:
        return tuple(not is_recurrent for is_recurrent in recurrent)
    if architecture in NEMOTRON_HYBRIDS:
        feed_forward = keys.per_layer("feed_forward_length", layers)
        return tuple(not recurrent[i] and feed_forward[i] == 0 for i in range(layers))
    owners = _owners(keys, layers)
    return tuple(i < min(trunk, owners) and not recurrent[i] for i in range(layers))


def _owners(keys: Keys, layers: int) -> int:
    """How many layers, from the first, have a cache of their own; the rest look into those."""
    if keys.architecture == "gemma3n":
        return 20
    if keys.architecture == "gemma4":
        return layers - keys.number("attention.shared_kv_layers")
    return layers


def _attention(
    keys: Keys, *, heads: tuple[int, ...], kv_heads: tuple[int, ...], mtp_kv_heads: int, trunk: int
) -> Attention:
    by_width = keys.number("embedding_length") // heads[0] if heads and heads[0] else 0
    key_length = keys.number("attention.key_length", by_width)
    value_length = keys.number("attention.value_length", by_width)
    return Attention(
        kv_heads=kv_heads,
        key_length=key_length,
        value_length=value_length,
        window=_windows(keys, kv_heads, trunk=trunk),
        key_length_swa=keys.number("attention.key_length_swa", key_length),
        value_length_swa=keys.number("attention.value_length_swa", value_length),
        mla=bool(keys.number("attention.key_length_mla") and keys.number("attention.value_length_mla")),
        mtp_kv_heads=mtp_kv_heads,
        heads=tuple(count if kv else 0 for count, kv in zip(heads, kv_heads, strict=True)),
    )


def _windows(keys: Keys, kv_heads: tuple[int, ...], *, trunk: int) -> tuple[int | None, ...]:
    window = _window(keys, trunk)
    if not window:
        return (None,) * len(kv_heads)
    slides = _sliding_layers(keys, len(kv_heads), trunk=trunk)
    return tuple(window if kv and slide else None for kv, slide in zip(kv_heads, slides, strict=True))


def _window(keys: Keys, trunk: int) -> int:
    """The window in tokens, 0 for none. Architectures without a rule ignore the key, as the engine does."""
    rule = WINDOW_RULES.get(keys.architecture)
    if rule is None or (keys.architecture == "exaone4" and trunk != EXAONE4_WITH_WINDOWS):
        return 0
    window = keys.number("attention.sliding_window", rule.window or 0)
    return rule.fixed_window if window and rule.fixed_window else window


def _sliding_layers(keys: Keys, layers: int, *, trunk: int) -> tuple[bool, ...]:
    rule, key = WINDOW_RULES[keys.architecture], "attention.sliding_window_pattern"
    if (flags := keys.flags(key)) is not None:
        return (flags + (False,) * layers)[:layers]
    if rule.period is None:
        keys.fault(key, "is missing: which layers slide is unknown")
    period = keys.number(key, rule.period)
    if period == 0:
        return (True,) * layers
    full = 0 if rule.full_first else period - 1
    return tuple(i < trunk and i % period != full for i in range(layers))


def _state_bytes(keys: Keys, heads: int) -> int:
    """Recurrent state of one layer and one sequence: (n_embd_r + n_embd_s) F32 numbers (llama-hparams.cpp)."""
    width, kernel = keys.number("embedding_length"), keys.number("ssm.conv_kernel")
    if wkv := keys.number("wkv.head_size"):
        return 4 * (keys.number("token_shift_count", 2) * width + width * wkv)
    if history := keys.number("shortconv.l_cache"):
        return 4 * width * (history - 1)
    if head := keys.number("kda.head_dim"):
        return 4 * (3 * (kernel - 1 if kernel else 3) * heads * head + head * head * heads)
    if keys.architecture == "minimax-01":
        head = keys.number("attention.key_length", width // heads if heads else 0)
        return 4 * head * head * heads
    inner, state = keys.number("ssm.inner_size"), keys.number("ssm.state_size")
    convolution = max(kernel - 1, 0) * (inner + 2 * keys.number("ssm.group_count") * state)
    return 4 * (convolution + state * inner)
