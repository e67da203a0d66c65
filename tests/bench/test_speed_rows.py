"""One request's times, worked out by hand, as the two clocks see them."""

from __future__ import annotations

import pytest

from evener.bench.sizes import SpeedTest
from evener.bench.speed_rows import Sample, beside, gaps, is_cache_hit, repeated, row
from evener.records.load import Request
from evener.records.speed import BenchRow


def request(**more: object) -> Request:
    """600 prompt tokens, the first token after 0.3 s, 101 tokens in all, one every 10 ms."""
    facts: dict[str, object] = {
        "id": 0, "users": 1, "user": 0, "sent_s": 0.0, "ttft_s": 0.3, "ttfa_s": 0.3, "last_token_s": 1.3, "end_s": 1.3,
        "prompt_tokens": 600, "cached_tokens": 0, "tokens": 101, "chunks": 101, "arrivals": 101,
        "first_chunk_tokens": 1,
        "server_prompt_tokens": 600, "server_prompt_ms": 240.0, "server_predicted_ms": 1000.0,
    }  # fmt: skip
    return Request(**(facts | more))  # type: ignore[arg-type]


def made(test: SpeedTest, *requests: Request, rtt_s: float = 0.05):
    return row(test, [Sample(one) for one in requests], rtt_s=rtt_s)


def test_a_prompt_is_its_tokens_over_ttft_less_the_round_trip_and_over_prompt_ms() -> None:
    found = made(SpeedTest(prompt=600), request())
    assert found.client.mean == pytest.approx(600 / 0.25)
    assert found.server is not None
    assert found.server.mean == pytest.approx(600 / 0.24)
    assert found.processed_tokens == (600, 600)


def test_at_a_depth_only_the_tokens_behind_it_count() -> None:
    found = made(
        SpeedTest(prompt=100, depth=500), request(cached_tokens=500, server_prompt_tokens=100, server_prompt_ms=200.0)
    )
    assert found.client.mean == pytest.approx(100 / 0.25)
    assert found.server is not None
    assert found.server.mean == pytest.approx(500.0)


def test_an_answer_is_n_less_1_over_the_time_behind_the_first_token() -> None:
    found = made(SpeedTest(output=100), request(server_predicted_ms=800.0))
    assert found.client.mean == pytest.approx(100 / 1.0)
    assert found.server is not None
    assert found.server.mean == pytest.approx(100 / 0.8)


def test_a_prompt_and_its_answer_together_are_all_tokens_over_all_the_time() -> None:
    found = made(SpeedTest(prompt=600, output=100), request())
    assert found.client.mean == pytest.approx(700 / 1.25)
    assert found.server is not None
    assert found.server.mean == pytest.approx(700 / 1.24)


def test_without_a_cache_to_ask_a_depth_is_the_difference_of_two_prompts() -> None:
    longer, shorter = request(prompt_tokens=600, ttft_s=0.3), request(prompt_tokens=500, ttft_s=0.2)
    found = row(SpeedTest(prompt=100, depth=500), [Sample(longer, shorter)], rtt_s=0.05)
    assert found.client.mean == pytest.approx(100 / 0.1)
    assert found.server is None
    assert found.note == "by the difference of two cold prompts: this server's cache cannot be asked"


def test_a_prompt_and_its_answer_at_such_a_depth_begin_where_the_shorter_prompt_ended() -> None:
    longer, shorter = request(prompt_tokens=600, last_token_s=1.3), request(prompt_tokens=500, ttft_s=0.2)
    found = row(SpeedTest(prompt=100, output=100, depth=500), [Sample(longer, shorter)], rtt_s=0.05)
    assert found.client.mean == pytest.approx(200 / 1.1)


def test_a_shorter_prompt_that_took_longer_gives_no_figure() -> None:
    found = row(
        SpeedTest(prompt=100, depth=500),
        [Sample(request(ttft_s=0.2), request(prompt_tokens=500, ttft_s=0.3))],
        rtt_s=0.0,
    )
    assert (found.client.n, found.client.mean) == (0, None)


def test_a_server_without_timings_has_no_view_of_its_own() -> None:
    bare = request(server_prompt_tokens=None, server_prompt_ms=None, server_predicted_ms=None)
    assert made(SpeedTest(prompt=600), bare).server is None
    assert made(SpeedTest(output=100), bare).server is None


def test_answers_of_another_length_are_said() -> None:
    assert made(SpeedTest(output=100), request(tokens=61)).note == (
        "answers of 61 to 61 tokens, 101 asked; behind a prompt of 600 tokens"
    )


def test_one_value_has_no_deviation() -> None:
    assert repeated([5.0], "ms").sd is None
    assert repeated([4.0, None, 6.0], "ms") == repeated([4.0, 6.0], "ms")
    assert repeated([4.0, 6.0], "ms").sd == pytest.approx(2**0.5)


def test_a_templates_own_beginning_is_no_cache_hit() -> None:
    assert not is_cache_hit(request(cached_tokens=64))
    assert is_cache_hit(request(cached_tokens=65))
    assert is_cache_hit(request(cached_tokens=20, prompt_tokens=30))


def test_llama_benchs_rows_come_beside_the_same_tests() -> None:
    rows = (made(SpeedTest(prompt=600), request()), made(SpeedTest(output=100), request()))
    measured = BenchRow(
        model="m", model_bytes=1, model_parameters=1, devices="auto", threads=1, ubatch=512, kv_type_k="f16",
        kv_type_v="f16", prompt_tokens=0, output_tokens=100, depth=0, tokens_per_s=(110.0, 130.0), taken_at=None,
        build=None, backends="CPU", cpu="", gpu="",
    )  # fmt: skip
    prompt, answer = beside(rows, [measured])
    assert answer.llama_bench is not None
    assert (answer.llama_bench.mean, answer.llama_bench.n) == (120.0, 2)
    assert prompt.llama_bench is None
    assert "of llama-bench's" in gaps([answer], through_template=False)


def test_the_sentence_about_gaps_has_the_range_of_shares_and_the_template_only_where_there_is_one() -> None:
    rows = (made(SpeedTest(prompt=600), request()), made(SpeedTest(output=100), request(server_predicted_ms=800.0)))
    said = gaps(rows, through_template=False)
    assert said.endswith("Here the client's figures are 80.0% to 96.0% of the server's.")
    assert "template" not in said
    assert "chat template" in gaps(rows, through_template=True)
