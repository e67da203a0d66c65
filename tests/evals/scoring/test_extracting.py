import pytest

from evener.evals.scoring.extracting import DECLINED, agree, extracted, phrase
from tests.evals.answered import answer, question

FERRY = "How long does the crossing to Holm take? Answer in a few words, from the text only."
FERRY_ZH = "到小岛要多长时间？只根据上文，用几个词回答。"


@pytest.mark.parametrize(
    ("prompt", "text", "comes_to"),
    [
        (FERRY, "**Forty minutes.**", "forty minutes"),
        (FERRY, "The crossing to Holm takes forty minutes.", "takes forty minutes"),
        (FERRY, "Answer: forty minutes", "forty minutes"),
        (FERRY, "Seven plus thirty-three is forty. So the final answer is: **40 minutes**.", "40 minutes"),
        (FERRY, "Forty minutes. On Sundays it waits.", "forty minutes"),
        (FERRY, "3.5 hours. Or so.", "3.5 hours"),
        (FERRY_ZH, "到小岛要四十分钟。", "四十分钟"),
        (FERRY_ZH, "根据上文，需要四十分钟。", "四十分钟"),
        (FERRY_ZH, "答案是四十分钟", "四十分钟"),
        ("What is 6 x 7?", r"So it is \boxed{42}", "42"),
        ("What is the capital of Norway?", "The capital of Norway is Oslo.", "oslo"),
        ("Is it open on Sundays?", "Yes, it is open on Sundays.", "yes"),
        ("Is it open on Sundays?", "It is.", "it is"),
        ("?", "", ""),
    ],
)
def test_a_reply_comes_down_to_its_answer(prompt, text, comes_to):
    assert phrase(prompt, text) == comes_to


@pytest.mark.parametrize(
    ("a", "b", "agrees"),
    [
        ("takes forty minutes", "forty minutes", True),
        ("forty minutes", "takes forty minutes", False),
        ("forty two minutes", "forty minutes", False),
        ("forty two", "forty", False),
        ("not oslo", "oslo", False),
        ("no closed", "no", True),
        ("跟姑姑", "姑姑", True),
        ("不是姑姑", "姑姑", False),
        (DECLINED, DECLINED, True),
        (DECLINED, "declined", False),
    ],
)
def test_who_says_more_also_says_the_less(a, b, agrees):
    assert agree(a, b) is agrees


def test_declining_in_other_words_is_one_vote():
    texts = ("The text does not say.", "I cannot determine that.")
    assert {extracted(question(), answer(text)) for text in texts} == {DECLINED}
    assert extracted(question(), answer("", outcome="refused")) == DECLINED


def test_rejecting_a_premise_and_declining_are_one_vote_where_both_are_right():
    texts = ("There is no such river.", "I do not know of one.", "It does not exist.")
    assert {extracted(question(category="false-premise"), answer(text)) for text in texts} == {DECLINED}
    assert extracted(question(), answer("There is no such river.")) != DECLINED


def test_what_was_found_is_told_by_all_that_could_be_found_right_or_wrong():
    one = question("recall", references=("51105",), wrong=("34853", "71492"))
    said = ("It is 51105.", "The access code is 51105, of course.", "34853", "51105 or 34853", "no idea: 1")
    assert [extracted(one, answer(text)) for text in said][:4] == ["51105", "51105", "34853", "34853|51105"]


def test_calls_are_equal_in_any_order_and_form_of_their_arguments():
    calls = ('{"name": "f", "arguments": {"a": 1, "b": " x"}}', '{"name": "f", "arguments": {"b": "x", "a": 1.0}}')
    assert len({extracted(question("tool-call"), answer(text)) for text in calls}) == 1
    assert extracted(question("tool-call"), answer("hello")) != extracted(question("tool-call"), answer(calls[0]))
    assert extracted(question("tool-call"), answer('{"name": "f", "arguments": 5}')) is None


def test_edits_are_equal_when_the_files_after_them_are():
    one = question("edit", category="edit-whole", context="a = 1\n", language="python")
    assert extracted(one, answer("```python\na = 2\n```")) == extracted(one, answer("Here:\n```python\na = 2  \n```"))
    assert extracted(one, answer("I would change a.")) is None
