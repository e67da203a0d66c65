"""Answers that were written to hold up, or to bring down, whoever reads them."""

import time

import pytest

from evener.evals.scoring import checks, edits, fences, match
from evener.evals.scoring.declining import declines, rejects
from evener.evals.scoring.extracting import phrase
from evener.evals.scoring.match import holds
from evener.records.questions import Check
from tests.evals.answered import answer, question

LONG = 100_000
PIECES = [
    "!",
    "[",
    "```",
    "```py\n",
    "\n",
    "text not ",
    "<<<<<<< SEARCH\n",
    "a-",
    "|",
    "1. ",
    "{",
    "没有",
    "` ",
    ": ",
    "answer",
    "answer\n",
]
READERS = {
    **{kind: (lambda text, kind=kind: checks.holds(Check(kind=kind, value=2), text)) for kind in ("sentences", "csv")},
    "no-markdown": lambda text: checks.holds(Check(kind="no-markdown"), text),
    "json": lambda text: checks.holds(Check(kind="json"), text),
    "language": lambda text: checks.holds(Check(kind="language", value="en"), text),
    "numbered": lambda text: checks.holds(Check(kind="numbered", value=2), text),
    "code": lambda text: fences.code(text, "python"),
    "blocks": lambda text: edits.apply("edit-blocks", "a\n", text),
    "diff": lambda text: edits.apply("edit-diff", "a\n", text),
    "declines": declines,
    "rejects": rejects,
    "holds": lambda text: holds(text, "forty minutes"),
    "phrase": lambda text: phrase("How long?", text),
    "phrase, called an answer": lambda text: phrase("How long?", "answer " + text),
    "match": lambda text: match.score(question(references=("x",), wrong=("[!", "a")), answer(text)),
}


@pytest.mark.parametrize("reader", READERS)
def test_a_long_answer_is_read_in_the_time_of_its_length(reader):
    value = {"columns": 2, "rows": 2}
    read = (lambda text: checks.holds(Check(kind="csv", value=value), text)) if reader == "csv" else READERS[reader]
    for piece in PIECES:
        begun = time.process_time()
        read(piece * (LONG // len(piece)) + "x")
        assert time.process_time() - begun < 2.5, piece


def test_a_field_as_long_as_a_book_is_no_table():
    assert not checks.holds(Check(kind="csv", value={"columns": 1, "rows": 1}), '"' + "a" * 200_000 + '"')


def test_a_number_of_five_thousand_digits_numbers_no_line():
    assert not checks.holds(Check(kind="numbered", value=1), "1" * 5000 + ". x")
