import pytest

from evener.dialects.llama_flags import refuse_conflicts
from evener.errors import FlagConflict


@pytest.mark.parametrize("flag", ["-ts", "--device", "--port", "-c", "--api-key", "-lv", "--ctx-size=4096"])
def test_flags_that_the_plan_decides_are_refused(flag):
    with pytest.raises(FlagConflict, match="evener decides this itself"):
        refuse_conflicts(["--temp", "0.1", flag, "1"])


def test_flags_that_change_nothing_of_the_plan_are_passed():
    refuse_conflicts(["--temp", "0.1", "--jinja", "--reasoning", "off"])


def test_the_hint_names_what_to_use_instead():
    with pytest.raises(FlagConflict) as caught:
        refuse_conflicts(["-ctk", "q8_0"])
    assert caught.value.hint == "use --kv instead"
