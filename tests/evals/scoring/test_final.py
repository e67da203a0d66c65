import pytest

from evener.evals.arms import voted
from evener.evals.scoring.any import score
from evener.records.answers import Asked
from tests.evals.answered import answer, question


@pytest.mark.parametrize(
    ("references", "text", "right"),
    [
        (("18",), "5 * 2 = 10, and 3/2 of 12 is 18.\nAnswer: 18", True),
        (("18",), "Answer: 17\nNo, wait.\n**Answer:** $18.00", True),
        (("18",), "Answer: 18\nAnswer: 17", False),
        (("18",), "Answer: 18 or 19", False),
        (("18",), r"So \\boxed{18}", True),
        (("18",), "She had 18.\n#### 18 vacuum cleaners", True),
        (("1200",), "Answer: 1,200 crowns", True),
        (("-4",), "Answer: -4", True),
        (("C",), "A is wrong, B too. Answer: (C) pauses for a moment", True),
        (("C",), "Answer: Cats", False),
        (("a",), "Answer: B", False),
        (("Oslo",), "答案：Oslo。", True),
        (("Oslo",), "The answer is: Oslo, Norway", False),
    ],
)
async def test_the_last_marked_line_is_the_answer(references, text, right):
    found = await score(question("final", references=references), answer(text), sandbox=None)
    assert (found.value, found.outcome) == (float(right), None)


async def test_an_answer_without_the_line_is_not_in_the_form_asked_for():
    found = await score(question("final", references=("18",)), answer("It is 18."), sandbox=None)
    assert (found.value, found.outcome, found.why) == (0.0, "format_invalid", "no line 'Answer: ...'")


async def test_a_cut_answer_is_no_evidence():
    found = await score(question("final", references=("18",)), answer("Answer: 18", outcome="truncated"), sandbox=None)
    assert found.value is None


def test_votes_are_over_the_values():
    texts = ("Answer: 18", "Answer: $18.00", "Answer: 17 pounds", "It is 17.", "Answer: 17 apples")
    votes = [answer(one, asked=Asked(question="q", candidate="c", sample=n)) for n, one in enumerate(texts)]
    assert voted(question("final", references=("18",)), votes[:4]).text == "Answer: 18"
    assert voted(question("final", references=("18",)), votes) is None, "two of each"
    letters = [answer(one) for one in ("Answer: B", "Answer: (B) they run", "Answer: c")]
    assert voted(question("final", references=("C",)), letters).text == "Answer: B"
