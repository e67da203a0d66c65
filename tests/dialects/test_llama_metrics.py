"""/metrics as llama-server b11434 prints it, and /slots."""

from __future__ import annotations

from evener.dialects.llama_metrics import SlotsSeen, from_metrics, from_slots

METRICS = """\
# HELP llamacpp:n_decode_total Total number of llama_decode() calls, excluding speculative decoding
# TYPE llamacpp:n_decode_total counter
llamacpp:n_decode_total 1200
# TYPE llamacpp:requests_processing gauge
llamacpp:requests_processing 4
# TYPE llamacpp:requests_deferred gauge
llamacpp:requests_deferred 3
# TYPE llamacpp:n_busy_slots_per_decode gauge
llamacpp:n_busy_slots_per_decode 2.5
llamacpp:broken x
"""


def test_metrics_say_who_is_busy_and_who_waits() -> None:
    assert from_metrics(METRICS) == SlotsSeen(busy=4, deferred=3, busy_total=3000.0, decodes=1200.0)


def test_somebody_elses_metrics_say_nothing() -> None:
    assert from_metrics("vllm:num_requests_running 4\n") is None


def test_slots_say_who_is_busy_and_not_who_waits() -> None:
    text = '[{"id":0,"is_processing":true},{"id":1,"is_processing":false}]'
    assert from_slots(text) == SlotsSeen(busy=1, deferred=None)


def test_what_is_no_list_of_slots_says_nothing() -> None:
    assert [from_slots(text) for text in ("{", "{}", '[{"id":0}]', "[1]")] == [None] * 4
