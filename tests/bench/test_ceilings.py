"""Four ceilings: which binds, which lengths are asked, and which contexts are loaded."""

from __future__ import annotations

import pytest

from evener.bench import ceilings
from evener.errors import ConfigurationError
from evener.records.context_limits import Ceiling, ContextLength, ContextResult, Reload, Scored
from evener.records.load import ClientCost
from evener.records.speed_rows import Repeated
from evener.stats.intervals import share_interval

NOTHING = Repeated(n=0, mean=None, sd=None, unit="ms")
SOMETHING = Repeated(n=1, mean=5.0, sd=None, unit="ms")


def scored(right: int, n: int) -> Scored:
    return Scored(n=n, right=right, interval=share_interval(right, n))


def length(tokens: int, right: int = 10, n: int = 10, **more: object) -> ContextLength:
    facts: dict[str, object] = {
        "tokens": tokens, "prompt_tokens": (tokens, tokens), "needles": scored(right, n), "depths": (),
        "reasoning": scored(0, 0), "ttft_ms": SOMETHING, "prefill_tokens_per_s": NOTHING,
        "decode_tokens_per_s": NOTHING, "truncated": False,
    }  # fmt: skip
    return ContextLength(**(facts | more))  # type: ignore[arg-type]


def ceiling(name: str, tokens: int | None, *, at_least: bool = False) -> Ceiling:
    return Ceiling(name=name, tokens=tokens, why="because", at_least=at_least)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("limit", "lengths"),
    [
        (8192, (1024, 2048, 4096, 8128)),
        (4096, (1024, 2048, 4032)),
        (2048, (256, 512, 1024, 1984)),
        (None, (1024, 2048, 4096, 8192, 16384, 32768)),
    ],
)
def test_the_ladder_doubles_up_to_what_is_left_beside_an_answer(limit: int | None, lengths: tuple[int, ...]) -> None:
    assert ceilings.ladder(None, limit=limit, room=64) == lengths


def test_lengths_asked_for_are_sorted_and_checked_against_the_limit() -> None:
    assert ceilings.ladder([4096, 512, 512], limit=8192, room=64) == (512, 4096)
    with pytest.raises(ConfigurationError, match="a prompt of 4096 tokens and its answer are more than the 4096"):
        ceilings.ladder([4096], limit=4096, room=64)
    with pytest.raises(ConfigurationError, match="leave no room"):
        ceilings.ladder(None, limit=256, room=64)


def test_quality_ends_before_the_first_length_that_certainly_fails() -> None:
    found = ceilings.quality([length(1024), length(2048, 9), length(4096, 5), length(8192, 2)])
    assert (found.tokens, found.at_least) == (2048, False)
    assert found.why == "at 4096 tokens needles found: 5 of 10 (95 % 19% to 81%), certainly fewer than 90%"


def test_quality_that_never_failed_is_at_least_the_longest_length_asked() -> None:
    found = ceilings.quality([length(1024), length(2048, 8)])
    assert (found.tokens, found.at_least) == (2048, True)
    assert found.why == "needles found up to there: 8 of 10 (95 % 44% to 97%)"


def test_a_model_that_fails_from_the_start_gets_no_invented_ceiling() -> None:
    found = ceilings.quality([length(256, 2), length(512, 1)])
    assert found.tokens is None
    assert found.why.startswith("no ceiling by length: at 256 tokens needles found: 2 of 10")
    assert "length is not what limits it" in ceilings.quality([length(256, 2), length(512, 10)]).why


def test_unanswered_lengths_say_nothing_of_quality() -> None:
    assert ceilings.quality([length(1024, 0, 0)]) == Ceiling(
        name="quality", tokens=None, why="no question was answered"
    )


def test_the_lowest_known_ceiling_binds_and_one_not_reached_does_not() -> None:
    known = [ceiling("trained", 8192), ceiling("configured", 4096), ceiling("memory", None)]
    assert ceilings.binding([*known, ceiling("quality", 2048, at_least=True)]) == "configured"
    assert ceilings.binding([*known, ceiling("quality", 2048)]) == "quality"
    assert ceilings.binding([ceiling("trained", None)]) is None


def test_the_sentence_names_the_allocation_what_binds_and_the_others() -> None:
    known = [ceiling("trained", 8192), ceiling("configured", 4096), ceiling("memory", None),
             ceiling("quality", 2048, at_least=True)]  # fmt: skip
    assert ceilings.sentence("this allocation", known, "configured") == (
        "Under this allocation what the server gives to one sequence binds, at 4096 tokens: trained 8192, "
        "memory unknown, quality at least 2048."
    )
    assert ceilings.sentence("it", [ceiling("quality", None)], None) == (
        "Under it no ceiling is known: no ceiling by quality."
    )


def answer(*lengths: ContextLength, configured: int | None = None) -> ContextResult:
    return ceilings.answer_of(
        url="u", model=None, allocation="it", ceilings=(ceiling("configured", configured),), lengths=lengths,
        client=ClientCost(cpu_s=0), rtt_ms=None, validity="valid", partial=None, notes=(),
    )  # fmt: skip


def test_a_limit_that_nobody_states_shows_where_prompts_are_refused() -> None:
    refused = length(4096, 0, 0, by_class={"context_exceeded": 1}, ttft_ms=NOTHING)
    found = answer(length(1024), length(2048), refused).ceilings[0]
    assert (found.tokens, found.why) == (2048, "the server does not say; a prompt of 4096 tokens was refused")
    assert answer(length(1024), refused, configured=3000).ceilings[0].tokens == 3000


def test_a_limit_shows_where_prompts_are_cut_without_a_word() -> None:
    found = answer(length(1024), length(2048, truncated=True)).ceilings[0]
    assert (found.tokens, found.why) == (
        1024,
        "the server does not say; a prompt of 2048 tokens was cut without a word",
    )


def test_a_limit_that_nothing_reached_is_at_least_what_went_through() -> None:
    found = answer(length(1024), length(2048)).ceilings[0]
    assert (found.tokens, found.at_least) == (2048, True)


def loads(limit: int, *, running: int, predicted: int | None, trained: int | None) -> list[Reload]:
    """The loads that the search asks for when `limit` is what memory really holds."""
    found: list[Reload] = []
    while (tokens := ceilings.next_context(found, running=running, predicted=predicted, trained=trained)) is not None:
        found.append(Reload(context=tokens, held=tokens <= limit, why=None if tokens <= limit else "too much"))
    return found


def test_the_predicted_context_is_loaded_first_and_then_just_beyond_it() -> None:
    found = loads(20_000, running=4096, predicted=19_968, trained=131_072)
    assert [(one.context, one.held) for one in found][:2] == [(19_968, True), (21_760, False)]
    assert len(found) <= 4


def test_a_prediction_that_was_too_high_is_corrected_downwards() -> None:
    found = loads(15_000, running=4096, predicted=16_384, trained=131_072)
    assert (found[0].context, found[0].held) == (16_384, False)
    memory = ceilings.memory_of(ceiling("memory", 16_384), found, running=4096, trained=131_072)
    assert memory.tokens is not None
    assert 14_000 < memory.tokens <= 15_000
    assert not memory.at_least
    assert "was not held: too much" in memory.why


def test_a_prediction_that_was_a_little_low_costs_few_loads() -> None:
    found = loads(4200, running=512, predicted=3840, trained=8192)
    assert [(one.context, one.held) for one in found] == [(3840, True), (4352, False), (4096, True)]


def test_what_holds_up_to_the_trained_window_is_loaded_there_and_no_further() -> None:
    found = loads(1 << 30, running=512, predicted=7680, trained=8192)
    assert [one.context for one in found] == [7680, 8192]


def test_a_prediction_of_the_whole_trained_window_takes_one_load() -> None:
    found = loads(1 << 30, running=2048, predicted=8192, trained=8192)
    assert [one.context for one in found] == [8192]
    memory = ceilings.memory_of(ceiling("memory", 8192), found, running=2048, trained=8192)
    assert (memory.tokens, memory.at_least, memory.why) == (8192, True, "loaded, 1 load; nothing longer failed")


def test_the_search_ends_after_six_loads_whatever_it_finds() -> None:
    assert len(loads(300_000, running=4096, predicted=8192, trained=1 << 20)) <= 6
    assert len(loads(4096, running=4096, predicted=None, trained=1 << 20)) <= 6


def test_nothing_is_loaded_where_the_server_already_has_the_trained_window() -> None:
    assert loads(1 << 30, running=8192, predicted=8192, trained=8192) == []


def test_what_was_loaded_replaces_what_was_predicted_and_the_sentence_follows() -> None:
    before = ceilings.answer_of(
        url="u", model=None, allocation="it", ceilings=(ceiling("configured", 4096), ceiling("memory", 8192)),
        lengths=(), client=ClientCost(cpu_s=0), rtt_ms=None, validity="valid", partial=None, notes=(),
    )  # fmt: skip
    after = ceilings.with_memory(before, ceiling("memory", 2048), (Reload(context=2048, held=True),))
    assert (before.binding, after.binding) == ("configured", "memory")
    assert after.sentence.startswith("Under it memory binds, at 2048 tokens")
    assert len(after.reloads) == 1
