from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from evener.cli.main import app
from evener.errors import ConfigurationError, HostError, NameUnknown

CAPTURE = Path(__file__).parents[1] / "captures" / "runs" / "v1" / "20261101T123000Z-demo-7f3a"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("EVENER_RUNS", str(tmp_path / "runs"))
    return Path(shutil.copytree(CAPTURE, tmp_path / "runs" / CAPTURE.name))


def ask(*words: str) -> str:
    return CliRunner().invoke(app, words, catch_exceptions=False).output


@pytest.mark.parametrize("name", ["last", "20261101T123000Z-demo-7f3a", "20261101", "7f3a"])
def test_a_run_is_reported_by_any_of_its_names_and_its_page_is_written(folder: Path, name: str) -> None:
    text = ask("report", name)
    assert "the second host cost 44 %" in " ".join(text.split())
    assert f"page: {folder / 'report.html'}" in text
    assert (folder / "report.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    assert not list(folder.glob("*.part"))


def test_a_page_goes_where_it_is_told(folder: Path, tmp_path: Path) -> None:
    ask("report", str(folder), "--html", str(tmp_path / "mine.html"))
    assert (tmp_path / "mine.html").exists()
    assert not (folder / "report.html").exists()


def test_no_page_is_written_unasked_for_json_or_when_refused(folder: Path) -> None:
    ask("report", "--no-html")
    assert json.loads(ask("report", "--json"))["comparisons"][0]["outcome"] == "slower"
    assert not (folder / "report.html").exists()


def test_a_page_both_wanted_and_refused_is_a_fault_of_the_request(folder: Path) -> None:
    with pytest.raises(ConfigurationError, match="contradict"):
        ask("report", "--no-html", "--html", "x.html")


def test_a_page_that_cannot_be_written_is_one_line_and_leaves_nothing(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(HostError, match="cannot write"):
        ask("report", "--html", str(tmp_path / "no such folder" / "x.html"))


def test_a_run_that_does_not_exist_is_named(folder: Path) -> None:
    with pytest.raises(NameUnknown, match="no run 'nonsense'"):
        ask("report", "nonsense")


def test_runs_are_listed_newest_first_and_an_unreadable_one_says_why(folder: Path) -> None:
    later = Path(shutil.copytree(CAPTURE, folder.parent / "20261102T000000Z-demo-0001"))
    (later / "summary.json").unlink()
    broken = folder.parent / "20261103T000000Z-up-0002"
    broken.mkdir()
    (broken / "run.json").write_text("{}")
    rows = json.loads(ask("runs", "--json"))
    assert [Path(row["path"]).name for row in rows] == [broken.name, later.name, folder.name]
    assert [row["state"] for row in rows] == [None, "unfinished", "complete"]
    assert rows[0]["fault"]
    assert rows[2]["layouts"] == ["alpha", "cluster"]
    assert rows[2]["bytes"] == sum(path.stat().st_size for path in folder.iterdir())
    assert "20261101T123000Z-demo-7f3a" in ask("runs")


def test_no_run_yet_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVENER_RUNS", str(tmp_path))
    assert ask("runs") == "no run yet: evener demo\n"
