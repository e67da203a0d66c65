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


CAPITAL = question(references=("Oslo", "奥斯陆"), wrong=("Bergen", "卑尔根"))


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("Oslo", True),
        ("Oslo or Bergen.", False),
        ("It is Bergen, or perhaps Oslo.", False),
        ("Bergen. Oslo lies in the east.", False),
        ("Oslo, not Bergen.", True),
        ("It is not Bergen but Oslo.", True),
        ("Not Oslo but Bergen.", False),
        ("It is not Oslo, it is Bergen.", False),
        ("Oslo rather than Bergen", True),
        ("Many people say Bergen, but it is Oslo.", True),
        ("奥斯陆或卑尔根。", False),
        ("不是卑尔根，而是奥斯陆。", True),
        ("是奥斯陆而不是卑尔根。", True),
        ("Bergen", False),
    ],
)
def test_who_names_a_right_and_a_wrong_one_has_not_chosen_unless_one_is_taken_back(text, right):
    found = score(CAPITAL, answer(text))
    assert found.value == float(right)
    assert found.details["class"] == ("C" if right else "I")


def test_the_wrong_ones_that_were_offered_are_named():
    assert score(CAPITAL, answer("Oslo or Bergen")).details["others"] == ["Bergen"]


def test_a_wrong_one_that_is_part_of_a_right_one_does_not_count():
    lake = question(references=("Lake Victoria",), wrong=("Victoria", "3"))
    assert score(lake, answer("Lake Victoria, 3.5 m deep at that place.")).value == 1.0


def test_a_wrong_one_with_a_comma_in_it_counts():
    one = question(references=("17",), wrong=("4, 17, 23",))
    assert score(one, answer("4, 17, 23")).value == 0.0


def test_what_the_context_tells_may_be_told_again_beside_the_answer():
    pupils = question(context="The school has two classes and 31 pupils.", references=("31",), wrong=("two",))
    assert score(pupils, answer("31 pupils in two classes.")).value == 1.0
    assert score(pupils, answer("31 or two.")).value == 0.0
    assert score(pupils, answer("Two.")).value == 0.0
