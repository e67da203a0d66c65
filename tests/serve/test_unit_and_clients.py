"""What is written for systemd, and what is shown to people: nothing of it opens a hole or comes back unasked."""

from __future__ import annotations

from evener.serve.clients import KEY, settings
from evener.serve.unit import unit


def lines(*command: str, **more: str) -> list[str]:
    return unit(
        command or ("evener",), folder=more.get("folder", "/home/ann"), environment={"PATH": "/bin"}
    ).splitlines()


def test_words_stay_words_whatever_is_in_them() -> None:
    made = lines("/opt/my python", "-m", "evener", "--rig", "50% $HOME.toml", 'a"b\\c')
    assert r'ExecStart="/opt/my python" "-m" "evener" "--rig" "50%% $$HOME.toml" "a\"b\\c"' in made
    assert "WorkingDirectory=/home/100%%" in lines(folder="/home/100%")
    assert 'Environment="PATH=/bin"' in made


def test_a_door_that_was_closed_stays_closed_and_one_that_died_comes_back() -> None:
    made = lines()
    assert "Restart=on-failure" in made
    assert "SuccessExitStatus=4" in made, "stopped before it was open"
    assert "StartLimitIntervalSec=0" in made, "however long the address or the other host take to come"
    assert "RestartPreventExitStatus=2" in made, "a mistake in the arguments does not mend itself"


def test_a_key_is_never_an_argument_of_a_program() -> None:
    shell = next(one for one in settings("http://door", "model", 4096) if one.where == "a shell")
    assert KEY in shell.text.partition(";")[0]
    assert KEY not in shell.text.partition(";")[2]
