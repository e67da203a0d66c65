"""The shipped catalogue against figures that others published."""

from dataclasses import replace

import pytest

from evener.errors import NameUnknown
from evener.models import skeletons
from evener.models.skeletons import everything, find

GIB, MIB = 1 << 30, 1 << 20


def header(name):
    return find(name).headers[0]


@pytest.mark.parametrize(
    ("name", "gib"),
    [
        ("gpt-oss-120b:MXFP4", 59.02),  # "print_info: file size = 59.02 GiB", llama.cpp issue 15253
        ("qwen3.6-35b-a3b:Q8_0", 34.4),  # 36.9 GB
        ("llama-3.1-8b:Q4_K_M", 4685 / 1024),  # 4.92 GB
        ("llama-3.3-70b:Q4_K_M", 39.6),  # 42.5 GB
        ("llama-3.3-70b:Q8_0", 69.8),  # 75.0 GB
    ],
)
def test_files_are_as_large_as_published_ones(name, gib):
    assert header(name).file_bytes / GIB == pytest.approx(gib, rel=0.002)


def test_gpt_oss_has_the_tensors_that_its_loader_lists():
    tensors = header("gpt-oss-120b").tensors
    kinds = [t.type for t in tensors]
    assert (kinds.count("F32"), kinds.count("Q8_0"), kinds.count("MXFP4")) == (433, 146, 108)


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("qwen3-next-80b-a3b:q8_0", 79_674_391_296),  # general.parameter_count of a published file
        ("gpt-oss-120b", 116_829_156_672),
        ("smollm2-135m:q8_0", 134_515_008),
        # 35 951 822 704 in a published file with MTP, of which 446 571 248 are for pictures
        ("qwen3.6-35b-a3b-mtp:q8_0", 35_951_822_704 - 446_571_248),
    ],
)
def test_parameters_are_those_of_the_published_models(name, parameters):
    assert find(name).weights().parameters == parameters


def test_of_the_sparse_models_a_token_reads_what_their_names_say():
    assert find("qwen3.6-35b-a3b:q8_0").weights().active_parameters == pytest.approx(3e9, rel=0.05)
    assert find("gpt-oss-120b").weights().active_parameters == pytest.approx(5.1e9, rel=0.02)
    assert find("glm-4.5-air:q8_0").weights().active_parameters == pytest.approx(12e9, rel=0.08)


def test_every_entry_has_a_source_and_makes_weights_in_every_quantisation():
    for skeleton in everything():
        assert all(source.startswith("https://") for source in skeleton.sources)
        sizes = [skeleton.opened(q).weights().file_bytes for q in skeleton.quantisations]
        assert sizes[0] == max(sizes)


def test_a_catalogue_model_is_marked_as_no_file():
    weights = find("Qwen3-0.6B:q8_0").weights()
    assert (weights.origin, weights.estimate) == ("catalogue", None)
    assert weights.name == "Qwen3-0.6B-Q8_0"


def test_a_makers_own_mix_is_an_estimate_by_the_standard_one_of_as_many_bits():
    opened = find("qwen3.6-35b-a3b:UD-Q4_K_XL")
    assert opened.weights().file_bytes == header("qwen3.6-35b-a3b:Q4_K_M").file_bytes
    assert "sizes are those of Q4_K_M" in opened.weights().estimate


def test_a_name_of_nobody_is_not_in_the_catalogue():
    assert find("llama-9-1b:Q4_K_M") is None


@pytest.mark.parametrize(("name", "error"), [("qwen3-0.6b:Q9_9", NameUnknown), ("qwen3-0.6b", NameUnknown)])
def test_without_a_known_quantisation_the_known_ones_are_named(name, error):
    with pytest.raises(error) as caught:
        find(name)
    assert "Q4_K_M, " in caught.value.hint


def test_the_only_quantisation_need_not_be_said():
    assert find("gpt-oss-20b").weights().quantisation == "MXFP4_MOE"


def test_the_q4_mix_gives_the_engines_types_to_the_tensors_it_names():
    types = {t.name: t.type for t in header("qwen3.6-35b-a3b:Q4_K_M").tensors}
    assert types["output.weight"] == "Q6_K"
    assert types["token_embd.weight"] == "Q4_K"
    assert types["blk.0.ffn_down_exps.weight"] == "Q6_K"
    assert types["blk.5.ffn_down_exps.weight"] == "Q4_K"
    assert types["blk.0.ffn_gate_inp.weight"] == "F32"


def test_an_entry_lists_sizes_the_largest_first():
    entry = skeletons.entry(next(s for s in everything() if s.name == "Llama-3.1-8B"))
    assert next(iter(entry.sizes)) == "BF16"
    assert entry.sizes["Q4_K_M"] // MIB == 4685


def test_other_quantisations_of_a_model_have_what_stands_beside_it() -> None:
    small = skeletons.find("llama-3.1-8b:q4_k_m").weights()
    mine = replace(skeletons.find("llama-3.3-70b:q4_k_m").weights(), draft=small)
    drafting = {one.quantisation for one in skeletons.alternatives(mine) if one.draft is not None}
    assert {"Q8_0", "Q2_K"} <= drafting
    assert all(one.layers == mine.layers for one in skeletons.alternatives(mine) if one.draft is not None)
