import time

import pytest

from evener.evals.scoring import any as scoring
from evener.evals.scoring.patterns import TooSlow, check, is_whole
from evener.records.questions import Check
from tests.evals.answered import answer, question

ENDLESS = r"(a|aa)+b"
LONG = "a" * 60


def test_the_whole_text_is_matched_and_a_dot_is_any_character():
    assert is_whole(r"a.b", "a\nb")
    assert not is_whole("a", "ab")
    assert is_whole("“水”\ud800", "“水”\ud800")


@pytest.mark.parametrize("pattern", [ENDLESS, r"(.*?,){40}P", r"(x+x+)+y"])
def test_a_pattern_without_end_is_stopped_and_named(pattern):
    begun = time.monotonic()
    with pytest.raises(TooSlow) as found:
        is_whole(pattern, "x" * 60 + "1,2,3,4,5,6,7,8,9," * 20 if pattern != ENDLESS else LONG)
    assert found.value.args == (pattern,)
    assert time.monotonic() - begun < 30


def test_a_pattern_that_wants_all_memory_is_stopped():
    with pytest.raises(TooSlow):
        is_whole("(?:(a)|b)*", "ab" * 30_000_000)


@pytest.mark.parametrize("pattern", ["(", "a{99999999999999}", "(?P<x>a)(?P<x>b)", "(?:" * 5000 + ")" * 5000, 5, None])
def test_what_is_no_pattern_is_told_before_anybody_is_asked(pattern):
    with pytest.raises((ValueError, TypeError)):
        check(pattern)


async def test_an_answer_that_a_pattern_cannot_judge_is_unscored_and_never_wrong():
    one = question("checks", checks=(Check(kind="matches", value=ENDLESS),))
    found = await scoring.score(one, answer(LONG), sandbox=None)
    assert (found.value, found.details) == (None, {"pattern": ENDLESS})
    assert found.why in scoring.NOT_ITS_FAULT
