import pytest

from evener.evals.scoring.match import holds, plain, score
from tests.evals.answered import answer, question


@pytest.mark.parametrize(
    ("text", "reference", "found"),
    [
        ("It took Forty  minutes.", "forty minutes", True),
        ("It took forty-two minutes.", "forty", False),
        ("The Nile", "nile", True),
        ("a juniper", "June", False),
        ("六条。", "六", True),
        ("十六条。", "六", False),
        ("有六十条。", "六", False),
        ("15人", "5人", False),
        ("1.5人", "5人", False),
        ("共5人。", "5人", True),
        ("二百三十万元", "二百三十万", True),
        ("一千二百三十万元", "二百三十万", False),
        ("12,345 crowns", "12345", True),
        ("12 345 crowns", "12345", True),
        ("In 2020 300 came.", "2020", True),
        ("In 2020 300 came.", "2020300", False),
        ("3.5 km", "3", False),
        ("Ｃａｎｂｅｒｒａ", "Canberra", True),
        ("", "x", False),
        ("anything", "", False),
    ],
)
def test_a_reference_stands_in_the_text_as_a_phrase_of_its_own(text, reference, found):
    assert holds(text, reference) is found


def test_plain_text_has_no_marks_and_no_articles():
    assert plain("The “Red” house, a mile on: 1,200 m; 3.5 %!") == "red house mile on 1200 m 3.5 %"


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("Canberra", "C", 1.0),
        ("I do not know.", "NA", 0.0),
        ("Sydney", "I", 0.0),
        ("I do not know, but Canberra comes to mind.", "C", 1.0),
    ],
)
def test_right_wrong_and_not_attempted(text, kind, value):
    found = score(question(references=("Canberra",)), answer(text))
    assert (found.details["class"], found.value) == (kind, value)


@pytest.mark.parametrize(
    "outcome", ["truncated", "timeout", "http_error", "server_restarted", "think_unclosed", "empty"]
)
def test_what_is_no_evidence_is_unscored_with_its_reason(outcome):
    found = score(question(references=("x",)), answer("x", outcome=outcome))
    assert (found.value, found.why) == (None, outcome)


def test_a_refusal_by_the_server_declines():
    assert score(question(), answer("", outcome="refused")).value == 1.0
    assert score(question(references=("x",)), answer("", outcome="refused")).details["class"] == "NA"
