import re
from pathlib import Path

import pytest

from evener.dialects.llama_flags import OURS, refuse_conflicts
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
    assert caught.value.hint == "use --kv"


HELP = Path(__file__).parent.parent / "captures" / "llama" / "server_help.txt"


def test_every_alias_of_a_refused_flag_is_refused():
    """The engine's own help: the names of one option stand on one line."""
    for line in HELP.read_text().splitlines():
        names = re.findall(r"--?[a-zA-Z][\w-]*", re.match(r"(--?[\w-]+,?\s*)*", line)[0])
        refused = [name for name in names if name in OURS]
        assert not refused or refused == names, line


@pytest.mark.parametrize("flag", ["-ot", "-nkvo", "-ncmoe", "-ub", "--api-prefix", "-cram", "--swa-full"])
def test_flags_that_undo_the_plan_are_refused(flag):
    with pytest.raises(FlagConflict):
        refuse_conflicts([flag, "1"])
