"""The table of what people do: complete, with reasons, and strict where people are."""

from __future__ import annotations

import pytest

from evener import profiles
from evener.errors import NameUnknown


def test_a_chat_at_ten_tokens_a_second_is_too_slow_and_one_at_sixteen_is_not() -> None:
    limit_ms = profiles.find("chat").tpot_limit_ms
    assert 1000 / 16 < limit_ms < 1000 / 10


def test_every_profile_gives_its_reasons_and_fits_its_own_context() -> None:
    assert set(profiles.PROFILES) == {"translate", "chat", "coding", "autocomplete"}
    for one in profiles.PROFILES.values():
        assert len(one.why) > 60
        assert one.shared_prefix_tokens < one.prompt_tokens


def test_an_unknown_profile_is_told_with_those_that_exist() -> None:
    with pytest.raises(NameUnknown) as told:
        profiles.find("poetry")
    assert told.value.hint == "one of translate, chat, coding, autocomplete"
