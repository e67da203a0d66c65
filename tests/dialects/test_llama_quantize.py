"""What llama-quantize prints, captured from build 11434 (Q4_1 to Q8_0 of the demo's model)."""

from __future__ import annotations

from evener.dialects.llama_quantize import complaint, progress, size_bytes

SAID = """\
[   2/ 272] token_embd.weight                    - [   576,  49152,      1,      1], type =   q8_0, size =   28.688 MiB
[   3/ 272] blk.0.attn_k.weight                  - [   576,    192,      1,      1], type =   q4_1, size =     0.07 MiB
llama_model_quantize_impl: model size  =    92.10 MiB (5.74 BPW)
llama_model_quantize_impl: quant size  =   136.40 MiB (8.51 BPW)
""".splitlines()


def test_each_tensor_is_a_step() -> None:
    at = progress(SAID[0], what="quantise")
    assert at is not None
    assert (at.what, at.done, at.of, at.detail) == ("quantise", 2, 272, "token_embd.weight")
    assert progress(SAID[2], what="quantise") is None


def test_the_size_is_announced() -> None:
    assert size_bytes(SAID) == 143_025_766  # 136.40 * 1048576
    assert size_bytes(SAID[:2]) is None


def test_the_line_that_says_why_is_found_among_the_others() -> None:
    failed = [
        SAID[0],
        "llama_model_quantize: failed to quantize: requantizing from type q4_1 is disabled",
        "main: failed",
    ]
    assert complaint(failed) == failed[1]
    assert complaint(["", "  Killed  "]) == "Killed"
    assert complaint([SAID[0]]) is None
