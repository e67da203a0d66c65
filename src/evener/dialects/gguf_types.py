"""The numbers GGUF uses for types: metadata values, tensors, whole files. A table, and no reading."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorType:
    """A tensor element type. `block` elements share `block_bytes` bytes; a row is a whole number of blocks."""

    name: str
    block: int
    block_bytes: int


def _type(name: str, block: int, block_bytes: int) -> TensorType:
    return TensorType(name=name, block=block, block_bytes=block_bytes)


# ggml/include/ggml.h (enum ggml_type) and ggml/src/ggml-common.h (the blocks), build 11434.
TENSOR_TYPES: dict[int, TensorType] = {
    0: _type("F32", 1, 4),
    1: _type("F16", 1, 2),
    2: _type("Q4_0", 32, 18),
    3: _type("Q4_1", 32, 20),
    6: _type("Q5_0", 32, 22),
    7: _type("Q5_1", 32, 24),
    8: _type("Q8_0", 32, 34),
    9: _type("Q8_1", 32, 40),
    10: _type("Q2_K", 256, 84),
    11: _type("Q3_K", 256, 110),
    12: _type("Q4_K", 256, 144),
    13: _type("Q5_K", 256, 176),
    14: _type("Q6_K", 256, 210),
    15: _type("Q8_K", 256, 292),
    16: _type("IQ2_XXS", 256, 66),
    17: _type("IQ2_XS", 256, 74),
    18: _type("IQ3_XXS", 256, 98),
    19: _type("IQ1_S", 256, 50),
    20: _type("IQ4_NL", 32, 18),
    21: _type("IQ3_S", 256, 110),
    22: _type("IQ2_S", 256, 82),
    23: _type("IQ4_XS", 256, 136),
    24: _type("I8", 1, 1),
    25: _type("I16", 1, 2),
    26: _type("I32", 1, 4),
    27: _type("I64", 1, 8),
    28: _type("F64", 1, 8),
    29: _type("IQ1_M", 256, 56),
    30: _type("BF16", 1, 2),
    34: _type("TQ1_0", 256, 54),
    35: _type("TQ2_0", 256, 66),
    39: _type("MXFP4", 32, 17),
    40: _type("NVFP4", 64, 36),
    41: _type("Q1_0", 128, 18),
    42: _type("Q2_0", 64, 18),
}

TYPES_BY_NAME = {kind.name: kind for kind in TENSOR_TYPES.values()}

# Once written into files, no longer readable by any engine we could start.
REMOVED_TENSOR_TYPES = frozenset({4, 5, 31, 32, 33, 36, 37, 38})

# include/llama.h (enum llama_ftype), without the prefix that all but F32 carry.
FILE_TYPES: dict[int, str] = {
    0: "F32",
    1: "F16",
    2: "Q4_0",
    3: "Q4_1",
    7: "Q8_0",
    8: "Q5_0",
    9: "Q5_1",
    10: "Q2_K",
    11: "Q3_K_S",
    12: "Q3_K_M",
    13: "Q3_K_L",
    14: "Q4_K_S",
    15: "Q4_K_M",
    16: "Q5_K_S",
    17: "Q5_K_M",
    18: "Q6_K",
    19: "IQ2_XXS",
    20: "IQ2_XS",
    21: "Q2_K_S",
    22: "IQ3_XS",
    23: "IQ3_XXS",
    24: "IQ1_S",
    25: "IQ4_NL",
    26: "IQ3_S",
    27: "IQ3_M",
    28: "IQ2_S",
    29: "IQ2_M",
    30: "IQ4_XS",
    31: "IQ1_M",
    32: "BF16",
    36: "TQ1_0",
    37: "TQ2_0",
    38: "MXFP4_MOE",
    39: "NVFP4",
    40: "Q1_0",
    41: "Q2_0",
}
GUESSED = 1024  # added to a file type that its writer only guessed

STRING, ARRAY = 8, 9

# Metadata value types: number -> (name, struct code). Strings and arrays have no code.
VALUE_TYPES: dict[int, tuple[str, str]] = {
    0: ("u8", "B"),
    1: ("i8", "b"),
    2: ("u16", "H"),
    3: ("i16", "h"),
    4: ("u32", "I"),
    5: ("i32", "i"),
    6: ("f32", "f"),
    7: ("bool", "B"),
    STRING: ("string", ""),
    ARRAY: ("array", ""),
    10: ("u64", "Q"),
    11: ("i64", "q"),
    12: ("f64", "d"),
}
