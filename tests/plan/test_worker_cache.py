"""Case 13: a cache of 400 GB for a model of 200, because the worker could not tell activations from weights."""

from evener.plan.worker_cache import cache_refusal


def test_case_13_is_refused_with_its_figures():
    said = cache_refusal((6, 0, 0), width=7168, ubatch=2048)
    assert "protocol 6" in said
    assert "activations, which are 56 MiB here (2048 tokens x 7168 x 4 bytes)" in said
    assert "\n" not in said


def test_a_worker_of_protocol_7_may_cache():
    assert cache_refusal((7, 0, 0), width=7168, ubatch=2048) is None


def test_activations_of_10_mib_are_not_cached_and_a_little_more_are():
    assert cache_refusal((6, 1, 0), width=5120, ubatch=512) is None  # 10 MiB exactly
    assert cache_refusal((6, 1, 0), width=5121, ubatch=512) is not None
