import random
import re
import time

import pytest

from evener.evals.judging.parsing import Flaw, flaws, last_verdict, verdict

GRADES = ("CORRECT", "INCORRECT", "NOT_ATTEMPTED")
PAIR = ("A", "B", "TIE")


@pytest.mark.parametrize(
    ("reply", "offered", "found"),
    [
        ("VERDICT: A", PAIR, "A"),
        ("It is close.\n\n**VERDICT: B**", PAIR, "B"),
        ("verdict: tie.", PAIR, "TIE"),
        ("VERDICT: [[A]]", PAIR, "A"),
        ("### VERDICT：A", PAIR, "A"),
        ("**VERDICT:** `B`", PAIR, "B"),
        ("VERDICT: NOT_ATTEMPTED", GRADES, "NOT_ATTEMPTED"),
        ("VERDICT: Not attempted", GRADES, "NOT_ATTEMPTED"),
        ("<think>A</think> VERDICT: B", PAIR, "B"),
        ("A is better, VERDICT: A?</think>\nVERDICT: B", PAIR, "B"),
        ("VERDICT: A\nOn reflection:\nVERDICT: B", PAIR, "B"),
    ],
)
def test_the_last_verdict_line_counts(reply, offered, found):
    assert verdict(reply, offered) == found


@pytest.mark.parametrize(
    ("reply", "offered"),
    [
        ("NOT_ATTEMPTED", GRADES),
        ("", GRADES),
        ("A", PAIR),
        ("I think A is the better answer.", PAIR),
        ("**Major:**\n- wrong word", PAIR),
        ("VERDICT: A or B", PAIR),
        ("VERDICT: A, by a little", PAIR),
        ("VERDICT:", PAIR),
        ("VERDICT: C", PAIR),
        ("VERDICT: A\nVERDICT: both", PAIR),  # the last one counts, and it is none
        ("<think>VERDICT: A", PAIR),
        ("<think>VERDICT: A</think>", PAIR),
        ("My final VERDICT: A", PAIR),  # not a line of its own
        ("VERDICT: A\nWait.\nVERDICT is B", PAIR),
        ("VERDICT: A\nor rather, verdict: B", PAIR),
        ("VERDICTS: A", PAIR),
        ("CORRECT", GRADES),
    ],
)
def test_what_no_verdict_line_says_nobody_said(reply, offered):
    assert verdict(reply, offered) is None


def test_incorrect_is_not_correct():
    assert verdict("VERDICT: INCORRECT", GRADES) == "INCORRECT"


CANDIDATE = "The cat sat on a hat, and the dog slept."
TWO = 'ERROR: major | mistranslation | "a hat"\nERROR: minor | style | slept\nVERDICT: 2'


def test_errors_are_read_with_their_quotes():
    found = flaws(TWO, CANDIDATE)
    assert found is not None
    assert found.found == (Flaw("major", "mistranslation", "a hat"), Flaw("minor", "style", "slept"))


def test_a_quote_that_is_not_there_is_dropped_and_counted():
    found = flaws(TWO.replace("a hat", "a mat"), CANDIDATE)
    assert found is not None
    assert [flaw.span for flaw in found.found] == ["slept"]
    assert found.invented == 1


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "I cannot judge this.",
        "The translation is perfect.",
        TWO.replace("VERDICT: 2", "VERDICT: 1"),
        TWO.replace("VERDICT: 2", ""),
        TWO.replace("major", "terrible"),
        "ERROR: major | a hat\nVERDICT: 1",
        "VERDICT: none",
        "<think>VERDICT: 0",
        "**Major:**\na hat\nVERDICT: ok",
        "VERDICT: " + "9" * 5000,
    ],
)
def test_a_reply_that_is_no_list_is_no_praise(reply):
    assert flaws(reply, CANDIDATE) is None


def test_a_translation_without_errors_says_so():
    found = flaws("Well done.\nVERDICT: 0", CANDIDATE)
    assert found is not None
    assert found.found == ()


PIECES = (
    *("VERDICT:", "verdict :", "A", "B", "TIE", "CORRECT", "NOT_ATTEMPTED", "\n", "\r\n", " ", "*", "**", "[[", "]]"),
    *(
        "<think>",
        "</think>",
        "{",
        "}",
        "：",
        "ERROR:",
        "|",
        "major",
        "0",
        "1",
        "`",
        "\x00",
        "判",
        "or",
        ".",
        "\\",
        "%s",
    ),
)


def test_no_reply_makes_a_verdict_that_its_last_line_does_not_hold():
    draw = random.Random(19)
    for _ in range(5000):
        reply = "".join(draw.choices(PIECES, k=draw.randint(0, 14)))
        found = verdict(reply, PAIR + GRADES)
        flaws(reply, reply)
        if found is None:
            continue
        lines = [line for line in re.split(r"\r?\n", reply) if re.search(r"verdict", line, re.IGNORECASE)]
        assert found in lines[-1].upper().replace(" ", "_"), reply
        assert last_verdict(reply) is not None


def test_a_megabyte_of_nothing_is_read_at_once():
    begun = time.perf_counter()
    for text in ("\n" * 500_000, "VERDICT " * 60_000, "*" * 500_000, "ERROR" * 100_000, "<think>" * 70_000):
        verdict(text, ("A",))
        flaws(text, text)
    assert time.perf_counter() - begun < 5
