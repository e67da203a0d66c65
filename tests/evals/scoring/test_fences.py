import time

import pytest

from evener.evals.scoring.fences import code


def test_last_complete_block_of_the_language_is_taken():
    text = "First:\n```python\na = 1\n```\nBetter:\n```py\na = 2\n```\nRun it:\n```bash\npython a.py\n```"
    assert code(text, "python") == "a = 2\n"
    assert code(text, "bash") == "python a.py\n"


def test_an_unfinished_block_is_not_code():
    assert code("```python\na = 1\n```\nAnd:\n```python\na = 2", "python") == "a = 1\n"
    assert code("```python\na = 2", "python") is None


def test_block_without_a_language_will_do():
    assert code("Here:\n```\na = 1\n```", "python") == "a = 1\n"


def test_block_of_another_language_will_not():
    assert code("```javascript\nlet a\n```", "python") is None


@pytest.mark.parametrize(
    ("text", "found"), [("a = 1", "a = 1"), ("I cannot do that.", None), ("", None), ("   ", None)]
)
def test_bare_text_is_code_when_it_parses(text, found):
    assert code(text, "python") == found


def test_bare_text_of_other_languages_is_taken_as_it_is():
    assert code("SELECT 1;", "sql") == "SELECT 1;"


def test_fence_inside_a_longer_fence_belongs_to_it():
    assert code("````python\ns = '''\n```\n'''\n````", "python") == "s = '''\n```\n'''\n"


def test_indented_block_in_a_list_is_code_as_if_it_stood_alone():
    text = "1. do\n   ```python\n   if a:\n       a = 1\n\n   ```"
    assert code(text, "python") == "if a:\n    a = 1\n\n"


def test_marks_within_a_line_open_nothing():
    assert code("Use ```x``` or\n```x = 1``` here:\n```python\na = 1\n```", "python") == "a = 1\n"


def test_many_blocks_that_nobody_closes_are_read_at_once():
    begun = time.perf_counter()
    assert code("```python x\n" * 40_000, "python") is None
    assert time.perf_counter() - begun < 2
