"""Evaluations over real HTTP: asked, scored, kept, interrupted, gone on with."""

import asyncio
import json

import pytest

from evener.api import evals
from evener.edges import run_folder
from evener.edges.run_folder import open_run, read_answers
from evener.errors import ConfigurationError, HostBusy, RunUnreadable
from evener.evals.scoring import declining
from tests.evals.scripted import Scripted, scripted

QUESTIONS = [
    {
        "id": f"q{i}",
        "cluster": f"q{i}",
        "category": "fact",
        "prompt": f"number {i}?",
        "scoring": "match",
        "references": [f"answer {i}"],
        "source": "a test",
    }
    for i in range(8)
]


def quiet(progress):
    pass


def right(body):
    return body["messages"][-1]["content"].replace("number", "answer").rstrip("?")


def wrong_on_odd(body):
    return right(body) if int(right(body).split()[-1]) % 2 == 0 else "a fish"


@pytest.fixture
def suite(tmp_path):
    path = tmp_path / "mine.jsonl"
    path.write_text("\n".join(json.dumps(q) for q in QUESTIONS))
    return path


def asked(suite, **more):
    fields = {"candidate": "c", "suites": (str(suite),), "sha256": (), "parallel": 0}
    return evals.EvalAsked(**(fields | more))


async def evaluate(server, wanted, tmp_path):
    return await evals.evaluate(server.url, wanted, report=quiet, base=tmp_path / "runs")


async def test_answers_are_scored_and_kept(suite, tmp_path):
    async with scripted(Scripted(wrong_on_odd)) as server:
        found = await evaluate(server, asked(suite), tmp_path)
    (result,) = found.result.results
    assert (result.standing.mean, result.standing.n, result.answered) == (0.5, 8, 8)
    assert result.scores["q2"] == 1.0
    assert result.scores["q3"] == 0.0
    assert found.result.parallel == 2
    assert len(read_answers(found.path)) == 8
    kept = open_run(found.path)
    assert kept.summary.stages[0].evaluation == found.result
    assert kept.run.conditions.thinking_asked == "off"


async def test_each_epoch_has_its_own_seed_and_the_cache_is_off(suite, tmp_path):
    async with scripted(Scripted(right)) as server:
        await evaluate(server, asked(suite, epochs=2), tmp_path)
    assert len(server.asked) == 16
    assert {body["seed"] for body in server.asked} == {1, 1001}
    assert {body["cache_prompt"] for body in server.asked} == {False}


async def test_what_was_answered_is_not_asked_again(suite, tmp_path):
    """The server dies in the middle and stays away; later it is there again."""

    def dies(body):
        server.down = len(server.asked) == 6
        return None if server.down else right(body)

    async with scripted(Scripted(dies)) as server:
        cut = await evaluate(server, asked(suite, parallel=1, back_within_s=0.3), tmp_path)
        assert "did not come back within 0.3 s" in cut.result.partial
        assert cut.result.results[0].answered == 5
        server.down, server.say = False, right
        done = await evals.resume(cut.path.name, report=quiet, base=tmp_path / "runs")
    assert done.path == cut.path
    assert done.result.partial is None
    assert done.result.results[0].answered == 8
    assert len(server.asked) == 6 + 3
    assert len({a.asked for a in read_answers(done.path)}) == len(read_answers(done.path)) == 8


async def test_a_question_that_nobody_answered_is_asked_again_after_a_break(suite, tmp_path):
    async with scripted(Scripted(lambda body: 500 if "3" in right(body) else right(body))) as server:
        cut = await evaluate(server, asked(suite), tmp_path)
        assert cut.result.results[0].standing.outcomes == {"ok": 7, "http_error": 1}
        server.say = right
        done = await evals.resume(cut.path.name, report=quiet, base=tmp_path / "runs")
    assert done.result.results[0].standing.outcomes == {"ok": 8}
    assert len(server.asked) == 9


async def test_a_question_that_the_server_refuses_is_asked_once_and_for_all(suite, tmp_path):
    async with scripted(Scripted(lambda body: 400 if "3" in right(body) else right(body))) as server:
        found = await evaluate(server, asked(suite), tmp_path)
        again = await evals.resume(found.path.name, report=quiet, base=tmp_path / "runs")
    assert len(server.asked) == 8
    assert again.result == found.result
    assert (again.result.partial, again.result.results[0].standing.outcomes) == (None, {"ok": 7, "http_error": 1})


async def test_a_run_whose_last_questions_are_all_refused_comes_to_its_end(suite, tmp_path):
    def dies(body):
        server.down = len(server.asked) == 3
        return None if server.down else right(body)

    async with scripted(Scripted(dies)) as server:
        cut = await evaluate(server, asked(suite, parallel=1, back_within_s=0.3), tmp_path)
        assert cut.result.partial is not None
        server.down, server.say = False, lambda body: 400
        done = await evals.resume(cut.path.name, report=quiet, base=tmp_path / "runs")
    assert (done.result.partial, done.result.results[0].standing.outcomes) == (None, {"ok": 2, "http_error": 6})


async def test_a_prompt_that_the_server_cut_is_no_evidence_and_is_said(suite, tmp_path):
    lines = [json.dumps(q | {"context": "word " * 40} if q["id"] == "q2" else q) for q in QUESTIONS]
    suite.write_text("\n".join(lines))
    async with scripted(Scripted(right, reads=30)) as server:
        found = await evaluate(server, asked(suite), tmp_path)
    (result,) = found.result.results
    assert result.standing.outcomes == {"ok": 7, "prompt_cut": 1}
    assert (result.scores["q2"], result.standing.reasons) == (None, {"prompt_cut": 1})
    assert found.result.notes == (
        "the server cut 1 of 8 prompts short without a word (the server read 30 of 44 prompt tokens); their answers "
        "are not scored: give it a longer context",
    )


async def test_where_nobody_counts_it_is_said_that_a_cut_would_not_be_seen(suite, tmp_path):
    async with scripted(Scripted(right, counts=False, reads=2)) as server:
        found = await evaluate(server, asked(suite), tmp_path)
    assert found.result.results[0].standing.outcomes == {"ok": 8}
    assert "whether prompts were cut short without a word is not known" in found.result.notes[0]


async def test_what_was_asked_is_kept_and_gone_on_with_whatever_becomes_of_the_file(suite, tmp_path):
    def dies(body):
        server.down = len(server.asked) == 6
        return None if server.down else right(body)

    async with scripted(Scripted(dies)) as server:
        cut = await evaluate(server, asked(suite, parallel=1, back_within_s=0.3), tmp_path)
        suite.unlink()
        server.down, server.say = False, right
        done = await evals.resume(cut.path.name, report=quiet, base=tmp_path / "runs")
    assert done.result.results[0].standing.mean == 1.0
    assert len(server.asked) == 6 + 3


async def test_a_run_that_kept_no_questions_is_not_gone_on_with_when_they_have_changed(suite, tmp_path):
    async with scripted(Scripted(right)) as server:
        found = await evaluate(server, asked(suite), tmp_path)
        (found.path / "suites.json").unlink()
        suite.write_text(suite.read_text().replace("number 0", "number nought"))
        with pytest.raises(ConfigurationError, match="its questions are others"):
            await evals.resume(found.path.name, report=quiet, base=tmp_path / "runs")


async def test_thinking_that_was_asked_to_be_off_makes_figures_invalid(suite, tmp_path):
    async with scripted(Scripted(lambda body: f"<think>hm</think>{right(body)}")) as server:
        found = await evaluate(server, asked(suite), tmp_path)
    assert "thinking was asked to be off and 100% of the answers show it" in found.result.validity
    assert found.result.results[0].standing.reasons == {"thinking was asked to be off and was not": 8}


async def test_reflection_is_paired_with_the_single_answer_and_its_harm_is_counted(suite, tmp_path):
    def spoils(body):
        if len(body["messages"]) == 1:
            return wrong_on_odd(body)
        return "a fish" if body["messages"][0]["content"] == "number 2?" else body["messages"][1]["content"]

    async with scripted(Scripted(spoils)) as server:
        found = await evaluate(server, asked(suite, arms=("single", "reflection")), tmp_path)
    single, reflection = found.result.results
    assert (single.standing.mean, reflection.standing.mean) == (0.5, 0.375)
    assert (reflection.healed, reflection.harmed) == (0, 1)
    assert (reflection.were_wrong, reflection.were_right) == (4, 4)
    assert reflection.tokens == 2 * single.tokens
    assert len(server.asked) == 16


async def test_a_vote_takes_what_most_say_and_a_tie_is_unscored(suite, tmp_path):
    def voices(body):
        sample, number = body["seed"] - 1, int(right_of(body))
        if number == 0:
            return "a fish" if sample == 0 else right(body)  # two against one
        if number == 1:
            return ("one", "two", "three")[sample]  # no two agree
        return right(body)

    def right_of(body):
        return right(body).split()[-1]

    async with scripted(Scripted(voices)) as server:
        wanted = asked(suite, arms=("single", "vote"), k=3, temperature=0.7)
        found = await evaluate(server, wanted, tmp_path)
    single, vote = found.result.results
    assert (single.scores["q0"], vote.scores["q0"]) == (0.0, 1.0)
    assert vote.scores["q1"] is None
    assert vote.standing.reasons == {"no majority": 1}
    assert (vote.healed, vote.harmed) == (1, 0)
    assert len(server.asked) == 24
    assert vote.tokens == 7 * 3 * 2 + 3 * 1  # the tie has its price too


async def test_a_vote_at_temperature_nought_is_refused(suite, tmp_path):
    async with scripted(Scripted(right)) as server:
        with pytest.raises(ConfigurationError, match="hears one answer several times"):
            await evaluate(server, asked(suite, arms=("single", "vote")), tmp_path)


async def test_ctrl_c_keeps_what_was_answered(suite, tmp_path):
    async with scripted(Scripted(right)) as server:
        task = asyncio.ensure_future(evaluate(server, asked(suite, epochs=50), tmp_path))
        while len(server.asked) < 20:
            await asyncio.sleep(0.01)
        task.cancel()
        found = await task
    assert found.result.partial == "interrupted"
    assert 10 <= found.result.results[0].answered < 400


async def test_two_sessions_do_not_go_on_with_one_run(suite, tmp_path):
    async with scripted(Scripted(right)) as server:
        found = await evaluate(server, asked(suite), tmp_path)
        with run_folder.alone(found.path), pytest.raises(HostBusy, match="goes on in another evener session"):
            await evals.resume(found.path.name, report=quiet, base=tmp_path / "runs")
        again = await evals.resume(found.path.name, report=quiet, base=tmp_path / "runs")
    assert len(server.asked) == 8
    assert again.result.results == found.result.results


async def test_a_run_goes_on_with_no_more_at_once_than_the_server_has_slots_now(suite, tmp_path):
    running = []

    def counts(body):
        running.append(server.running)
        return right(body)

    async with scripted(Scripted(right, slots=4, slow_s=0.05)) as server:
        task = asyncio.ensure_future(evaluate(server, asked(suite), tmp_path))
        while len(server.asked) < 4:
            await asyncio.sleep(0.005)
        task.cancel()
        cut = await task
        while server.running:  # what was under way when it was cut short
            await asyncio.sleep(0.005)
        server.slots, server.say = 1, counts
        done = await evals.resume(cut.path.name, report=quiet, base=tmp_path / "runs")
    assert (cut.result.parallel, done.result.parallel) == (4, 1)
    assert len(running) >= 4
    assert set(running) == {1}


async def test_a_run_does_not_go_on_with_another_model(suite, tmp_path):
    async with scripted(Scripted(right)) as server:
        found = await evaluate(server, asked(suite), tmp_path)
        server.model = "another"
        with pytest.raises(ConfigurationError, match=r"asked scripted, and http://127\.0\.0\.1:\d+ now serves another"):
            await evals.resume(found.path.name, report=quiet, base=tmp_path / "runs")
    assert (found.path / "summary.json").exists()


@pytest.mark.parametrize(
    ("extra", "hint"),
    [
        ({"seed": 4}, "--seed"),
        ({"temperature": 1}, "--temperature"),
        ({"cache_prompt": True}, "the cache is always off"),
        ({"chat_template_kwargs": {"enable_thinking": True}}, "--thinking"),
    ],
)
async def test_what_a_run_records_as_asked_cannot_be_laid_over(suite, tmp_path, extra, hint):
    async with scripted(Scripted(right)) as server:
        with pytest.raises(ConfigurationError, match="an extra body cannot set") as found:
            await evals.evaluate(server.url, asked(suite), extra=extra, report=quiet, base=tmp_path / "runs")
    assert found.value.hint.startswith(hint)
    assert server.bodies == []


async def test_a_pattern_that_takes_too_long_is_named_once_and_its_answers_stay_unscored(suite, tmp_path):
    slow = {"scoring": "checks", "references": [], "checks": [{"kind": "matches", "value": "(a|aa)+b"}]}
    suite.write_text("\n".join(json.dumps(q | slow if q["id"] in ("q1", "q2") else q) for q in QUESTIONS))
    async with scripted(Scripted(lambda body: "a" * 60)) as server:
        found = await evaluate(server, asked(suite), tmp_path)
    (result,) = found.result.results
    assert result.standing.reasons == {"a pattern that takes too long": 2}
    assert (result.standing.n, result.counted_wrong.n) == (6, 6)
    assert found.result.notes == (
        "q2: its pattern '(a|aa)+b' takes longer than 2 s on an answer, which stays unscored",
    )


async def test_how_well_declining_is_recognised_stands_beside_its_figures(suite, tmp_path):
    unanswerable = [q | {"references": []} if q["id"] in ("q1", "q2") else q for q in QUESTIONS]
    suite.write_text("\n".join(map(json.dumps, unanswerable)))
    async with scripted(Scripted(right)) as server:
        found = await evaluate(server, asked(suite), tmp_path)
    assert declining.MEASURED in found.result.notes


async def test_two_suites_with_one_id_are_refused_before_anybody_is_asked(suite, tmp_path):
    other = tmp_path / "other.jsonl"
    other.write_text(json.dumps(QUESTIONS[3] | {"prompt": "number 7?"}))
    async with scripted(Scripted(right)) as server:
        with pytest.raises(ConfigurationError, match="other and mine both have a question 'q3'"):
            await evaluate(server, asked(suite, suites=(str(suite), str(other))), tmp_path)
    assert server.bodies == []


KEY = "sk-never/on+the=disk"


def message(**fields):
    return {"choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", **fields}}]}


REPEATS = {
    "answer": f"You said {KEY}.",
    "thinking": f"<think>{KEY}</think>right",
    "thinking apart": message(content="right", reasoning_content=KEY),
    "call": message(content=None, tool_calls=[{"function": {"name": "f", "arguments": json.dumps({"a": KEY})}}]),
    "refusal of a question": {"error": {"message": f"bad key {KEY}"}, "status": 400},
    "error": {"error": {"message": f"bad key {KEY}"}, "status": 500},
}


@pytest.mark.parametrize("where", REPEATS)
@pytest.mark.parametrize("arms", [("single",), ("single", "reflection")])
async def test_a_key_that_a_server_repeats_is_not_kept(suite, tmp_path, monkeypatch, where, arms):
    monkeypatch.setenv("THE_KEY", KEY)

    def repeats(body):
        if right(body) == "answer 0":
            return right(body)  # so that it has answered
        return dict(REPEATS[where]) if isinstance(REPEATS[where], dict) else REPEATS[where]

    async with scripted(Scripted(repeats)) as server:
        found = await evals.evaluate(
            server.url, asked(suite, arms=arms), api_key_env="THE_KEY", report=quiet, base=tmp_path / "runs"
        )
    written = b"".join(place.read_bytes() for place in found.path.rglob("*") if place.is_file())
    assert b"(secret)" in written
    for form in (KEY, KEY.replace("/", "\\/"), KEY.replace("/", "\\\\/")):
        assert form.encode() not in written


async def test_a_run_whose_answers_cannot_be_read_is_left_as_it_is(suite, tmp_path):
    async with scripted(Scripted(right)) as server:
        found = await evaluate(server, asked(suite), tmp_path)
        lines = (found.path / "answers.jsonl").read_text().splitlines()
        (found.path / "answers.jsonl").write_text("\n".join([lines[0], "{broken", *lines[2:]]) + "\n")
        with pytest.raises(RunUnreadable, match=r"answers\.jsonl:2"):
            await evals.resume(found.path.name, report=quiet, base=tmp_path / "runs")
    assert (found.path / "summary.json").exists()


@pytest.mark.parametrize("cut", [1, 40, 4000])
async def test_whatever_is_left_of_a_last_line_each_question_has_one_answer_in_the_end(suite, tmp_path, cut):
    """Killed while it wrote: also where only the end of the line is missing."""
    async with scripted(Scripted(right)) as server:
        found = await evaluate(server, asked(suite), tmp_path)
        place = found.path / "answers.jsonl"
        place.write_bytes(place.read_bytes()[:-cut])
        whole = place.read_bytes().count(b"\n")
        again = await evals.resume(found.path.name, report=quiet, base=tmp_path / "runs")
    kept = [answer.asked.question for answer in read_answers(found.path)]
    assert sorted(kept) == [f"q{i}" for i in range(8)]
    assert len(server.asked) == 8 + 8 - whole
    assert again.result.results[0].standing.mean == 1.0


async def test_a_run_goes_on_from_another_folder(suite, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    async with scripted(Scripted(right)) as server:
        found = await evaluate(server, asked(suite.name), tmp_path)
        monkeypatch.chdir("/")
        again = await evals.resume(found.path.name, report=quiet, base=tmp_path / "runs")
    assert again.result.results == found.result.results


@pytest.mark.parametrize(("wanted", "slots", "used"), [(9, 2, 2), (0, 3, 3), (1, 3, 1)])
async def test_never_more_at_once_than_the_server_has_slots(suite, tmp_path, wanted, slots, used):
    async with scripted(Scripted(right, slots=slots)) as server:
        found = await evaluate(server, asked(suite, parallel=wanted), tmp_path)
    assert found.result.parallel == used
