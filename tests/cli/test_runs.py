"""`evener runs`: list, tag, prune, pack, open."""

from __future__ import annotations

import json
import os
import pty
import shutil
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from evener.api import store
from evener.cli.main import app
from evener.edges.run_folder import RunFolder, list_runs
from evener.errors import ConfigurationError, NameUnknown, RunUnreadable
from evener.records.run import Run, Summary
from tests.edges.store_contract import going_on, request, run

NOW = datetime.now(UTC)


@pytest.fixture
def base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("EVENER_RUNS", str(tmp_path / "runs"))
    return tmp_path / "runs"


def ask(*words: str) -> str:
    return CliRunner().invoke(app, ["runs", *words], catch_exceptions=False).output


def asked(*words: str) -> Any:
    return json.loads(CliRunner().invoke(app, ["runs", *words, "--json"], catch_exceptions=False).stdout)


def listed(*words: str) -> list[str]:
    return [row["id"][-4:] for row in asked(*words)]


def made(base: Path, tail: str, *, days: int = 1, what: str = "users", end: str | None = "whole") -> Path:
    """A run that began so many days ago and ended "whole", "partial", or (None) not at all."""
    at = NOW - timedelta(days=days)
    record = Run(
        id=f"{at:%Y%m%dT%H%M%SZ}-{what}-{tail}", what=what, started_at=at, conditions=run().conditions
    )  # fmt: skip
    folder = RunFolder.create(base, record)
    folder.requests([request(1)])
    if end:
        folder.finish(Summary(ended_at=at, partial=None if end == "whole" else "interrupted"))
    folder.let_go()
    return folder.path


@pytest.fixture
def five(base: Path) -> list[Path]:
    """Newest last: whole, unfinished, partial, whole, and a campaign that holds one."""
    runs = [
        made(base, "000a", days=50),
        made(base, "000b", days=40, end=None),
        made(base, "000c", days=30, end="partial"),
        made(base, "000d", days=20, what="eval"),
        made(base, "000e", days=10, what="compare"),
    ]
    made(runs[-1] / "runs", "0e01", days=9)
    return runs


# ---- list


def test_the_bare_command_lists_outer_runs_and_all_lists_what_they_hold(five: list[Path]) -> None:
    assert listed() == ["000e", "000d", "000c", "000b", "000a"]
    assert listed("--all") == ["000e", "0e01", "000d", "000c", "000b", "000a"]
    rows = asked("--all")
    assert [(row["inside"], row["within"]) for row in rows[:2]] == [(1, None), (0, five[-1].name)]
    assert rows[0]["bytes"] == sum(p.stat().st_size for p in five[-1].rglob("*") if p.is_file())
    assert rows[0]["bytes"] > rows[1]["bytes"]
    assert "holds 1 run" in ask()


def test_tags_are_given_taken_and_looked_for(five: list[Path]) -> None:
    assert asked("tag", "000a", "good", "blog-1", "good") == {"run": five[0].name, "tags": ["blog-1", "good"]}
    assert ask("tag", "000c", "good") == f"{five[2].name}: good\n"
    assert listed("--tag", "good") == ["000c", "000a"]
    assert listed("--tag", "good", "--what", "eval") == []
    assert ask("--tag", "nowhere") == "no run like that: evener runs lists all\n"
    assert "tagged blog-1, good" in ask()
    assert asked("untag", "000a", "good", "never-had")["tags"] == ["blog-1"]
    assert ask("untag", "000a", "blog-1") == f"{five[0].name}: no tags\n"
    assert not (five[0] / "tags").exists()
    assert ask("tag", "0e01", "inner").endswith("-0e01: inner\n")


@pytest.mark.parametrize("word", ["../x", "a/b", ".hidden", "", "two words", "x" * 41, "-v\x1b"])
def test_a_word_that_is_no_tag_is_refused_and_nothing_is_written(five: list[Path], word: str) -> None:
    with pytest.raises(ConfigurationError, match="is no tag"):
        ask("tag", "000a", "--", "good", word)
    assert not (five[0] / "tags").exists()


def test_a_run_that_cannot_be_read_can_still_be_tagged_and_says_why(five: list[Path]) -> None:
    (five[0] / "run.json").write_text("{}")
    ask("tag", "000a", "broken")
    row = asked("--tag", "broken")[0]
    assert (row["id"], row["what"], row["tags"]) == (five[0].name, None, ["broken"])
    assert "run.json" in row["fault"]


def test_a_summary_of_a_newer_evener_is_told_in_the_list(five: list[Path]) -> None:
    (five[0] / "summary.json").write_text('{"schema": 99, "stages": "in another shape"}')
    assert "has schema 99" in asked()[-1]["fault"]


def test_a_run_that_goes_while_it_is_listed_is_not_listed(five: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "list_runs", lambda base: [base / "20260101T000000Z-users-gone", *list_runs(base)])
    assert listed() == ["000e", "000d", "000c", "000b", "000a"]


# ---- prune


def pruned(*words: str) -> list[str]:
    """The last four digits of what goes."""
    return [row["id"][-4:] for row in asked("prune", *words)["runs"]]


@pytest.mark.parametrize(
    ("words", "gone"),
    [
        (["--before", "25d"], ["000c", "000b", "000a"]),
        (["--keep", "2"], ["000c", "000b", "000a"]),
        (["--keep", "0"], ["000e", "000d", "000c", "000b", "000a"]),
        (["--keep", "9"], []),
        (["--short"], ["000c", "000b"]),
        (["--short", "--keep", "1"], ["000b"]),
        (["--what", "users"], ["000c", "000b", "000a"]),
        (["--what", "users", "--keep", "1", "--before", "35d"], ["000a"]),
        (["--model", "qwen"], []),
    ],
)
def test_runs_go_by_age_count_end_and_kind(five: list[Path], words: list[str], gone: list[str]) -> None:
    assert pruned(*words, "--dry-run") == gone
    assert all(path.is_dir() for path in five)
    assert pruned(*words, "--yes") == gone
    assert listed() == [tail for tail in ("000e", "000d", "000c", "000b", "000a") if tail not in gone]


def test_nothing_is_pruned_that_nobody_asked_for(five: list[Path]) -> None:
    for words in ([], ["--tagged"], ["--yes"]):
        with pytest.raises(ConfigurationError, match="nothing says which runs are to go"):
            ask("prune", *words)
    with pytest.raises(ConfigurationError, match="--json asks nobody"):
        ask("prune", "--keep", "0", "--json")
    with pytest.raises(ConfigurationError, match=r"5 runs, .* would go, and nobody can be asked"):
        ask("prune", "--keep", "0")
    assert all(path.is_dir() for path in five)


def test_it_is_said_what_goes_and_how_large_it_is(five: list[Path]) -> None:
    done = asked("prune", "--before", "45d", "--dry-run")
    size = sum(p.stat().st_size for p in five[0].iterdir())
    assert (done["bytes"], done["done"], done["spared"]) == (size, False, [])
    assert five[0].name in ask("prune", "--before", "45d", "--dry-run")
    text = ask("prune", "--before", "45d", "--yes")
    assert five[0].name in text
    assert text.endswith("removed 1 run, 1.3 KiB\n" if size == 1331 else f"removed 1 run, {size / 1024:.1f} KiB\n")
    assert ask("prune", "--before", "45d", "--yes") == "nothing to prune\n"


@pytest.mark.parametrize(("says", "code", "left"), [("n", 1, 5), ("y", 0, 0)])
def test_a_person_at_a_terminal_is_asked(five: list[Path], says: str, code: int, left: int) -> None:
    ours, theirs = pty.openpty()
    os.write(ours, f"{says}\n".encode())
    argv = [sys.executable, "-m", "evener", "runs", "prune", "--keep", "0"]
    ended = subprocess.run(argv, stdin=theirs, capture_output=True, text=True, timeout=60, check=False)
    os.close(ours)
    os.close(theirs)
    assert "Remove 5 runs, " in ended.stderr
    assert (ended.returncode, len(listed())) == (code, left)


def test_a_tagged_run_stays_unless_it_is_asked_for(five: list[Path]) -> None:
    ask("tag", "000a", "good")
    done = asked("prune", "--before", "35d", "--dry-run")
    assert [row["id"][-4:] for row in done["runs"]] == ["000b"]
    assert done["spared"] == [{"run": five[0].name, "why": "it is tagged good"}]
    assert f"stays: {five[0].name}: it is tagged good" in ask("prune", "--before", "35d", "--dry-run")
    assert pruned("--before", "35d", "--tagged", "--dry-run") == ["000b", "000a"]
    assert pruned("--tag", "good", "--yes") == ["000a"]


def test_a_run_in_use_stays_and_so_does_one_that_holds_it(five: list[Path]) -> None:
    inner = next((five[-1] / "runs").iterdir())
    with (
        going_on("folder = RunFolder.reopen(open_run(path))", five[1]),
        going_on("held = alone(path); held.__enter__()", inner),
    ):
        done = asked("prune", "--keep", "0", "--yes")
    assert {one["run"]: one["why"] for one in done["spared"]} == {
        five[1].name: f"{five[1].name} goes on in another evener session",
        five[-1].name: f"{inner.name} goes on in another evener session",
    }
    assert listed() == ["000e", "000b"]
    assert pruned("--keep", "0", "--yes") == ["000e", "000b"]


def test_a_run_that_comes_into_use_after_it_was_planned_stays(five: list[Path]) -> None:
    planned = store.to_prune(store.Prune(keep=3))
    with going_on("folder = RunFolder.reopen(open_run(path))", five[0]):
        done = store.prune(planned)
    assert ([row.id for row in done.runs], [one.run for one in done.spared]) == ([five[1].name], [five[0].name])
    assert (done.done, done.bytes) == (True, planned.runs[0].bytes)


def test_what_cannot_be_read_is_never_pruned(five: list[Path]) -> None:
    (five[0] / "run.json").write_text('{"schema": 99}')
    done = asked("prune", "--keep", "0", "--yes")
    assert [one["run"] for one in done["spared"]] == [five[0].name]
    assert "has schema 99" in done["spared"][0]["why"]
    assert listed() == ["000a"]


def test_what_a_killed_prune_has_left_goes_with_the_next(five: list[Path]) -> None:
    five[0].rename(five[0].with_name(f".pruned-{five[0].name}"))
    assert listed() == ["000e", "000d", "000c", "000b"]
    pruned("--before", "35d", "--yes")
    assert not any(path.name.startswith(".") for path in five[0].parent.iterdir())


# ---- pack and open


def test_runs_are_packed_and_opened_elsewhere(
    five: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask("tag", "000e", "good")
    into = tmp_path / "a.tar.gz"
    done = asked("pack", "000e", "000a", "-o", str(into))
    assert (done["runs"], done["path"], done["bytes"]) == (
        [five[-1].name, five[0].name],
        str(into),
        into.stat().st_size,
    )
    monkeypatch.setenv("EVENER_RUNS", str(tmp_path / "there"))
    assert asked("open", str(into)) == {"runs": [five[0].name, five[-1].name], "already": []}
    assert listed("--all") == ["000e", "0e01", "000a"]
    assert listed("--tag", "good") == ["000e"]
    assert ask("open", str(into)) == f"{five[0].name}: was here already\n{five[-1].name}: was here already\n"


def test_an_inner_run_can_be_packed_alone(five: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "1 run, 4 files" in ask("pack", "0e01", "-o", str(tmp_path / "a.tar.zst"))
    monkeypatch.setenv("EVENER_RUNS", str(tmp_path / "there"))
    assert ask("open", str(tmp_path / "a.tar.zst")).count("evener report") == 1
    assert listed() == ["0e01"]


def test_a_pack_is_named_after_its_run(five: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ask("pack", "000a")
    ask("pack", "000b", "000a", "000c")
    assert sorted(p.name for p in tmp_path.glob("*.tar.zst")) == sorted(
        [
            f"{five[0].name}.tar.zst",
            f"{five[2].name}-and-2-more.tar.zst",
        ]
    )


def test_what_makes_no_sense_to_pack_is_refused(five: list[Path], tmp_path: Path) -> None:
    into = str(tmp_path / "a.tar.gz")
    with pytest.raises(ConfigurationError, match="is named twice"):
        ask("pack", "000a", "000a", "-o", into)
    with pytest.raises(ConfigurationError, match="is a part of"):
        ask("pack", "0e01", "000e", "-o", into)
    with pytest.raises(NameUnknown):
        ask("pack", "nonsense", "-o", into)
    copy = Path(shutil.copytree(five[0], five[0].with_name("copy")))
    with pytest.raises(RunUnreadable, match="no name, or another run's"):
        ask("pack", "000a", str(copy), "-o", into)


def test_a_key_in_the_environment_is_looked_for(
    five: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (five[0] / "logs").mkdir()
    (five[0] / "logs" / "a.log").write_text("key sk-0123456789\n")
    monkeypatch.setenv("EVENER_API_KEY", "sk-0123456789")
    with pytest.raises(ConfigurationError, match=r"holds the value of \$EVENER_API_KEY") as caught:
        ask("pack", "000a", "-o", str(tmp_path / "a.tar.gz"))
    assert "sk-0123456789" not in caught.value.message


def test_a_pack_that_is_larger_than_was_allowed_is_refused(
    five: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask("pack", "000a", "-o", str(tmp_path / "a.tar.gz"))
    monkeypatch.setenv("EVENER_RUNS", str(tmp_path / "there"))
    with pytest.raises(RunUnreadable, match="holds more than was allowed"):
        ask("open", str(tmp_path / "a.tar.gz"), "--most-gib", "0.000001")
