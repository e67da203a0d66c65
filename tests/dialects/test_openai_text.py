"""The words of an answer, however they are cut and whatever comes between them."""

from __future__ import annotations

from evener.dialects.openai_text import answer_text


def test_the_words_of_an_answer_are_joined_without_its_reasoning() -> None:
    stream = (
        b'data: {"choices":[{"delta":{"role":"assistant","content":null}}]}\n\n'
        b'data: {"choices":[{"delta":{"reasoning_content":"hm"}}]}\n\n: ping\n\n'
        b'data: {"choices":[{"delta":{"content":"so"}}]}\n\n'
        b'data: {"choices":[{"delta":{"content":" two"}}]}\n\n'
        b'data: {"choices":[],"usage":{"completion_tokens":3}}\n\ndata: [DONE]\n\n'
    )
    assert answer_text([stream[at : at + 7] for at in range(0, len(stream), 7)]) == "so two"


def test_a_text_completion_has_words_too() -> None:
    assert answer_text([b'data: {"choices":[{"text":"a"}]}\n\ndata: {"choices":[{"text":"b"}]}\n\n']) == "ab"


def test_what_cannot_be_read_says_nothing() -> None:
    assert answer_text([b'data: {"choices":[5]}\n\ndata: {"choices":[{"delta":{"content":5}}]}\n\ndata: {\n\n']) == ""
