import pytest

from evener.evals.scoring.edits import Unreadable, apply, score
from tests.evals.answered import answer, question

BEFORE = "def f():\n    return 1\n\n\ndef g():\n    return 1\n"
AFTER = "def f():\n    return 1\n\n\ndef g():\n    return 2\n"
BLOCK = "Change it:\n<<<<<<< SEARCH\ndef g():\n    return 1\n=======\ndef g():\n    return 2\n>>>>>>> REPLACE\n"
DIFF = "```diff\n--- a/x.py\n+++ b/x.py\n@@ -9,2 +9,2 @@\n def g():\n-    return 1\n+    return 2\n```"


@pytest.mark.parametrize(
    ("category", "text"),
    [("edit-blocks", BLOCK), ("edit-diff", DIFF), ("edit-whole", f"```python\n{AFTER}```")],
)
def test_each_format_changes_the_file(category, text):
    one = question("edit", category=category, context=BEFORE, references=(AFTER,), language="python")
    assert score(one, answer(text)).value == 1.0
    assert score(one, answer(text.replace("return 2", "return 3"))).value == 0.0


@pytest.mark.parametrize(
    ("category", "text", "why"),
    [
        ("edit-blocks", "return 2", "no SEARCH/REPLACE block"),
        ("edit-blocks", BLOCK.replace("def g():\n    return 1", "    return 1"), "there 2 times"),
        ("edit-blocks", BLOCK.replace("def g():\n    return 1\n", "", 1), "searches for nothing"),
        ("edit-diff", "```diff\n- return 1\n```", "no hunk"),
        ("edit-diff", DIFF.replace("def g", "def h"), "there 0 times"),
        ("edit-diff", "@@ -1 +1 @@\n+x\n", "nowhere or anywhere"),
        ("edit-whole", "```python\nhalf", "no code block"),
    ],
)
def test_what_does_not_apply_has_the_wrong_format(category, text, why):
    found = apply(category, BEFORE, text)
    assert isinstance(found, Unreadable)
    assert why in found.why


def test_blanks_at_line_ends_are_no_difference():
    one = question("edit", category="edit-whole", context=BEFORE, references=(AFTER,))
    assert score(one, answer("```python\n" + AFTER.replace("2\n", "2  \n\n") + "```")).value == 1.0


def test_an_answer_cut_short_is_not_scored():
    one = question("edit", category="edit-whole", context=BEFORE, references=(AFTER,))
    assert score(one, answer("```", outcome="truncated")).value is None
