import pytest

from evener.evals.judging.families import family, is_related, stranger


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("gpt-oss-120b", "openai"),
        ("Qwen3.6-35B-A3B-Q8_0.gguf", "alibaba"),
        ("unsloth/Llama-3.3-70B-Instruct", "meta"),
        ("DeepSeek-R1-Distill-Qwen-32B", "deepseek"),
        ("claude-sonnet-4-5", "anthropic"),
        ("gemma-3-27b-it", "google"),
        ("Phi4-mini", "microsoft"),
        ("SmolLM2-135M-Instruct.Q4_1.gguf", "huggingface"),
        ("my-own-model", None),
        ("phillip", None),
        (None, None),
    ],
)
def test_family_is_read_from_the_name(model, name):
    assert family(model) == name


def test_a_model_is_its_own_relative_even_where_its_family_is_unknown():
    assert is_related("house-model", "House-Model") is True
    assert is_related("house-model", "other-model") is None
    assert is_related("gpt-5", "gpt-oss-20b") is True
    assert is_related("claude-x", "Qwen3-8B") is False


@pytest.mark.parametrize("judge", ["qwen3-32b", "mistral-small", "gpt-5", "my-own-model"])
def test_a_stranger_is_of_another_family(judge):
    assert family(stranger(judge)) not in (None, family(judge))
