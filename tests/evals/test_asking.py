import asyncio
import json
import time

import pytest

from evener.errors import CannotRun
from evener.evals.asking import Manner, ask_all, body, seed_of, wanted
from evener.ports import ChatReply
from evener.records.answers import EVIDENCE, Asked
from evener.records.questions import Question

MANNER = Manner(parallel=1, back_within_s=0.6)


def question(name="q", **more):
    fields = {"id": name, "cluster": name, "category": "fact", "prompt": f"{name}?", "scoring": "match", "source": "x"}
    return Question(**(fields | more))


def said(text, **more):
    document = {"choices": [{"index": 0, "finish_reason": "stop", "message": {"content": text}}]} | more
    return ChatReply(ending="complete", seconds=0.1, status=200, body=json.dumps(document).encode())


def refused(status):
    return ChatReply(ending="complete", seconds=0.1, status=status, body=b'{"error": {"message": "no"}}')


GONE = ChatReply(ending="cut", seconds=0.1, detail="reset")


class FakeChat:
    """Answers from a script, the last line for ever; counts what runs at once. `down` says how often it is still down,
    `counts` how many tokens it counts in a prompt."""

    def __init__(self, *script, down=0, counts=None):
        self.script, self.down, self.counts = list(script), down, counts
        self.bodies, self.running, self.most = [], 0, 0

    async def ask(self, body, *, within_s):
        self.bodies.append(body)
        self.running += 1
        self.most = max(self.most, self.running)
        await asyncio.sleep(0.01)
        self.running -= 1
        return self.script.pop(0) if len(self.script) > 1 else self.script[0]

    async def is_up(self, *, within_s):
        self.down -= 1
        return self.down < 0

    async def prompt_tokens(self, body, *, within_s):
        return self.counts


async def asked(chat, questions, manner=MANNER, kept=None, **more):
    kept = [] if kept is None else kept
    todo = wanted(questions, candidate="c")
    await ask_all(chat, {q.id: q for q in questions}, todo, manner, keep=kept.append, report=lambda _: None, **more)
    return kept


def test_whole_epochs_come_first():
    order = [(a.epoch, a.question) for a in wanted([question("a"), question("b")], candidate="c", epochs=2)]
    assert order == [(0, "a"), (0, "b"), (1, "a"), (1, "b")]


def test_a_vote_takes_the_single_answer_and_asks_for_the_rest():
    samples = [a.sample for a in wanted([question()], candidate="c", arm="vote", k=5)]
    assert samples == [1, 2, 3, 4]


def test_every_epoch_and_sample_has_its_own_seed():
    single = wanted([question()], candidate="c", epochs=3)
    seeds = [seed_of(a, Manner(seed=7)) for a in single + wanted([question()], candidate="c", epochs=3, arm="vote")]
    assert len(set(seeds)) == 15


def test_request_carries_context_tools_and_no_cache():
    asked_for = Asked(question="q", candidate="c")
    one = question(context="The sky is green.", system="Be brief.", tools=({"type": "function"},))
    sent = body(one, asked_for, Manner(model="m", thinking=False, extra={"top_p": 0.9}))
    assert [m["role"] for m in sent["messages"]] == ["system", "user"]
    assert sent["messages"][1]["content"] == "The sky is green.\n\nq?"
    assert sent["cache_prompt"] is False
    assert sent["chat_template_kwargs"] == {"enable_thinking": False}
    assert (sent["model"], sent["top_p"], sent["tools"]) == ("m", 0.9, [{"type": "function"}])


def test_thinking_that_is_left_to_the_model_is_not_asked_for():
    sent = body(question(), Asked(question="q", candidate="c"), Manner(thinking=None))
    assert "chat_template_kwargs" not in sent


def test_further_arguments_of_a_template_stand_beside_thinking():
    extra = {"chat_template_kwargs": {"preserve": True}}
    sent = body(question(), Asked(question="q", candidate="c"), Manner(thinking=False, extra=extra))
    assert sent["chat_template_kwargs"] == {"preserve": True, "enable_thinking": False}


async def test_never_more_at_once_than_slots():
    chat = FakeChat(said("A"))
    kept = await asked(chat, [question(str(i)) for i in range(12)], Manner(parallel=3))
    assert (len(kept), chat.most) == (12, 3)


async def test_an_error_of_the_question_is_kept_and_not_asked_again():
    chat = FakeChat(said("A"), refused(400), said("C"))
    kept = await asked(chat, [question(n) for n in "abc"])
    assert [a.outcome for a in kept] == ["ok", "http_error", "ok"]
    assert [(a.http_status, a.is_final) for a in kept] == [(None, True), (400, True), (None, True)]
    assert len(chat.bodies) == 3


STANDS = {400: True, 413: True, 422: True, 401: False, 404: False, 408: False, 429: False, 500: False, 503: False}


@pytest.mark.parametrize(("status", "stands"), STANDS.items())
async def test_a_refused_question_stands_and_a_refused_key_does_not(status, stands, monkeypatch):
    monkeypatch.setattr("evener.evals.asking.BUSY_WAIT_S", 0.01)
    chat = FakeChat(said("A"), *[refused(status)] * (3 if status in (429, 503) else 1), said("C"))
    kept = await asked(chat, [question(n) for n in "abc"])
    assert [a.outcome for a in kept] == ["ok", "http_error", "ok"]
    assert kept[1].is_final is stands


async def test_refusals_that_come_first_are_kept_when_the_server_answers_after_all():
    kept = await asked(FakeChat(refused(400), refused(401), said("C")), [question(n) for n in "abc"])
    assert [(a.asked.question, a.outcome) for a in kept] == [("a", "http_error"), ("b", "http_error"), ("c", "ok")]


async def test_the_last_questions_of_a_run_may_all_be_refused():
    """It has answered before the break: these are refused for what they are, however many."""
    kept = await asked(FakeChat(refused(400)), [question(str(n)) for n in range(9)], has_answered=True)
    assert [a.is_final for a in kept] == [True] * 9


async def test_a_single_question_that_is_refused_has_its_outcome():
    (answer,) = await asked(FakeChat(refused(400)), [question()])
    assert answer.is_final


async def test_a_server_that_no_longer_knows_the_key_ends_the_asking_and_its_refusals_are_not_kept():
    kept = []
    with pytest.raises(CannotRun, match="refuses every question: HTTP 401"):
        await asked(FakeChat(said("A"), refused(401)), [question(str(n)) for n in range(50)], kept=kept)
    assert [a.outcome for a in kept] == ["ok"]


async def test_errors_of_a_server_that_has_answered_do_not_end_the_asking():
    kept = await asked(FakeChat(said("A"), refused(500)), [question(str(n)) for n in range(9)])
    assert [a.outcome for a in kept] == ["ok", *["http_error"] * 8]


def read(tokens):
    return said("A", usage={"prompt_tokens": tokens, "completion_tokens": 1})


@pytest.mark.parametrize(
    ("counts", "tokens", "outcome"),
    [
        (100, 100, "ok"),
        (100, 93, "ok"),  # a date in a template, another blank
        (100, 92, "prompt_cut"),
        (4000, 2048, "prompt_cut"),
        (100, 130, "ok"),
        (None, 2048, "ok"),  # nobody can say
        (100, None, "ok"),
    ],
)
async def test_an_answer_to_part_of_a_prompt_is_none(counts, tokens, outcome):
    (answer,) = await asked(FakeChat(read(tokens), counts=counts), [question()])
    assert (answer.outcome, answer.prompt_tokens, answer.prompt_tokens_sent) == (outcome, tokens, counts)
    if outcome == "prompt_cut":
        assert answer.detail == f"the server read {tokens} of {counts} prompt tokens"
        assert answer.outcome not in EVIDENCE


async def test_a_refusal_is_no_cut_prompt():
    (answer,) = await asked(FakeChat(refused(400), counts=9000), [question()])
    assert (answer.outcome, answer.prompt_tokens_sent) == ("http_error", 9000)


async def test_a_server_that_comes_back_is_asked_again():
    chat = FakeChat(GONE, said("A"))
    (answer,) = await asked(chat, [question()])
    assert (answer.outcome, answer.attempts, answer.text) == ("ok", 2, "A")


async def test_a_question_that_kills_the_server_each_time_is_named_and_left():
    chat = FakeChat(said("A"), GONE, GONE, GONE, said("B"))
    kept = await asked(chat, [question(n) for n in "abc"])
    assert [a.outcome for a in kept] == ["ok", "server_restarted", "ok"]


async def test_a_server_that_stays_away_ends_the_asking_and_keeps_what_was_answered():
    kept, questions = [], [question(n) for n in "ab"]
    chat = FakeChat(said("A"), GONE, down=10_000)
    with pytest.raises(CannotRun, match=r"did not come back within 0\.6 s"):
        await ask_all(
            chat,
            {q.id: q for q in questions},
            wanted(questions, candidate="c"),
            MANNER,
            keep=kept.append,
            report=lambda _: None,
        )
    assert [a.asked.question for a in kept] == ["a"]


async def test_a_server_that_refuses_everything_is_given_up():
    kept = []
    for status in (400, 401):
        with pytest.raises(CannotRun, match=f"refuses every question: HTTP {status}: no"):
            await asked(FakeChat(refused(status)), [question(str(i)) for i in range(50)], kept=kept)
    assert kept == [], "all of them are still to be asked when it has been put right"


async def test_a_busy_server_is_waited_for_as_long_as_it_asks():
    busy = ChatReply(ending="complete", seconds=0, status=429, retry_after_s=0.05)
    (answer,) = await asked(FakeChat(busy, said("A")), [question()])
    assert (answer.outcome, answer.attempts) == ("ok", 2)


async def test_thinking_is_observed_whatever_was_asked():
    (answer,) = await asked(FakeChat(said("<think>hm</think>A")), [question()])
    assert (answer.thinking_asked, answer.thinking_observed) == (False, True)


async def test_after_the_last_attempt_nobody_waits():
    busy = ChatReply(ending="complete", seconds=0, status=429, retry_after_s=0.4)
    begun = time.monotonic()
    with pytest.raises(CannotRun, match="refuses every question"):
        await asked(FakeChat(busy, busy, busy), [question()])
    assert 0.8 <= time.monotonic() - begun < 1.15
