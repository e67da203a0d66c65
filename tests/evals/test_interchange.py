import io
import json
import zipfile
from datetime import UTC, datetime
from pathlib import Path

import pytest

from evener.errors import ConfigurationError
from evener.evals.interchange import inspect_log, read
from tests.evals.answered import answer, question

CAPTURES = Path(__file__).parents[1] / "captures" / "evals"


@pytest.mark.parametrize("name", ["inspect.eval", "inspect.json"])
def test_a_log_of_inspect_is_read(name):
    """Correct, incorrect, partial; no answer has no number."""
    found = read((CAPTURES / name).read_bytes(), source=name)
    assert (found.suite, found.model, found.tool) == ("capitals", "mockllm/model", "inspect")
    assert [(s.asked.question, s.asked.epoch, s.value) for s in found.scores] == [
        ("a", 0, 1.0),
        ("a", 1, 0.0),
        ("b", 0, 0.5),
        ("b", 1, None),
    ]
    assert found.scores[3].why == "no number"
    assert [a.text for a in found.answers] == ["t"] * 4


def test_samples_of_lm_eval_are_read_with_the_first_filter_of_each_document():
    path = CAPTURES / "samples_arith_2026-01-01T00-00-00.jsonl"
    found = read(path.read_bytes(), source=str(path))
    assert (found.suite, found.tool) == ("arith", "lm-eval")
    assert [(s.asked.question, s.value, s.scorer) for s in found.scores] == [
        ("0", 1.0, "exact_match"),
        ("1", 0.0, "exact_match"),
    ]
    assert [a.text for a in found.answers] == ["2", "4"]


def packed(**files):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as out:
        for name, text in files.items():
            out.writestr(name.replace("__", "/"), text)
    return buffer.getvalue()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{}",
        b"text",
        b"[1]",
        b'{"a": 1}\n{"b": 2}',
        b"PK\x03\x04broken",
        packed(readme="x"),
        packed(**{"header.json": "{"}),
        packed(**{"header.json": '{"eval": {}}'}),
        b'{"eval": {}, "samples": []}',
        (CAPTURES / "inspect.eval").read_bytes()[:-200],
    ],
)
def test_what_is_no_log_gets_one_line(content):
    with pytest.raises(ConfigurationError) as caught:
        read(content, source="x.eval")
    assert caught.value.message.startswith("x.eval: ")
    assert caught.value.hint


def test_a_sample_that_failed_is_unscored_and_no_wrong_answer():
    log = {
        "eval": {"task": "t", "model": "m"},
        "samples": [{"id": "a", "epoch": 1, "error": {"message": "x"}, "scores": {"s": {"value": "C"}}}],
    }
    (score,) = read(json.dumps(log).encode(), source="x").scores
    assert (score.value, score.why) == (None, "error")


def test_a_score_outside_nought_to_one_is_not_squeezed_into_it():
    log = {"eval": {"task": "t"}, "samples": [{"id": "a", "epoch": 1, "scores": {"s": {"value": 73}}}]}
    assert read(json.dumps(log).encode(), source="x").scores[0].value is None


def test_what_we_write_is_read_back_as_it_was():
    questions = {"q": question(references=("x",), context="C", category="fact")}
    log = inspect_log(
        questions,
        [answer("x"), answer("y", outcome="truncated")],
        {"q": 0.5},
        task="mine",
        model="m",
        created=datetime(2026, 1, 1, tzinfo=UTC),
    )
    found = read(json.dumps(log).encode(), source="x")
    assert (found.suite, found.model) == ("mine", "m")
    assert [s.value for s in found.scores] == [0.5, None], "what was cut short is no evidence"
    assert [one["output"]["choices"][0]["stop_reason"] for one in log["samples"]] == ["stop", "max_tokens"]
    assert log["samples"][0]["input"] == "C\n\n?"
