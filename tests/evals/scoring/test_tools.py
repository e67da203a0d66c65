import json

import pytest

from evener.evals.scoring.tools import score
from tests.evals.answered import answer, question

WANTED = json.dumps({"name": "weather", "arguments": {"city": "Oslo", "days": 3}})
ONE = question("tool-call", references=(WANTED,), tools=({"type": "function"},))


def called(name, arguments):
    return answer("", tool_calls=({"type": "function", "function": {"name": name, "arguments": arguments}},))


@pytest.mark.parametrize(
    ("arguments", "value"),
    [
        ('{"days": 3, "city": "Oslo"}', 1.0),
        ('{"days": 3.0, "city": " Oslo "}', 1.0),
        ({"city": "Oslo", "days": 3, "unit": None}, 1.0),
        ('{"city": "Oslo"}', 0.0),
        ('{"city": "Bergen", "days": 3}', 0.0),
        ('{"city": "Oslo", "days": "3"}', 0.0),
    ],
)
def test_arguments_are_compared_by_value(arguments, value):
    assert score(ONE, called("weather", arguments)).value == value


def test_another_tool_is_wrong():
    assert score(ONE, called("news", '{"days": 3, "city": "Oslo"}')).value == 0.0


def test_call_written_as_json_counts():
    assert score(ONE, answer(f"```json\n{WANTED}\n```")).value == 1.0
    assert score(ONE, answer(WANTED)).value == 1.0


def test_two_calls_are_not_the_one():
    twice = answer("", tool_calls=called("weather", '{"days": 3, "city": "Oslo"}').tool_calls * 2)
    assert score(ONE, twice).value == 0.0


@pytest.mark.parametrize("arguments", ["{", "[1]", 7])
def test_arguments_that_are_no_object_have_the_wrong_format(arguments):
    found = score(ONE, called("weather", arguments))
    assert (found.value, found.outcome) == (0.0, "format_invalid")


def test_calling_nothing_is_right_where_no_tool_fits():
    none = question("tool-call", references=("null",), tools=({"type": "function"},))
    assert score(none, answer("I cannot look that up.")).value == 1.0
    assert score(none, called("weather", "{}")).value == 0.0
    assert score(ONE, answer("It rains.")).value == 0.0


def test_a_call_nested_without_end_has_the_wrong_format():
    deep = "[" * 950 + "]" * 950
    found = score(ONE, answer(f'{{"name": "weather", "arguments": {{"city": {deep}}}}}'))
    assert (found.value, found.outcome) == (0.0, "format_invalid")


def test_true_is_no_one():
    one = question("tool-call", references=('{"name": "f", "arguments": {"n": 1, "on": true}}',), tools=({"a": 1},))
    assert score(one, answer('{"name": "f", "arguments": {"n": 1, "on": true}}')).value == 1.0
    assert score(one, answer('{"name": "f", "arguments": {"n": true, "on": true}}')).value == 0.0
    assert score(one, answer('{"name": "f", "arguments": {"n": 1, "on": 1}}')).value == 0.0
