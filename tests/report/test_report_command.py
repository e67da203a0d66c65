from __future__ import annotations

import json
import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest
from typer.testing import CliRunner

from evener.cli.main import app
from evener.cli.runs import since_when
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


def copied(folder: Path, name: str, **changes: object) -> Path:
    """The captured run under another name, with some of its run.json changed."""
    copy = Path(shutil.copytree(folder, folder.parent / name))
    data = json.loads((copy / "run.json").read_text()) | {"id": name} | changes
    (copy / "run.json").write_text(json.dumps(data))
    return copy


@pytest.mark.parametrize(
    ("form", "begins"),
    [("html", "<!doctype html>"), ("md", "### SmolLM2"), ("csv", "run,what,layout,"), ("json", "{\n")],
)
def test_a_report_in_another_form_goes_to_standard_output_and_nowhere_else(
    folder: Path, form: str, begins: str
) -> None:
    before = sorted(folder.iterdir())
    text = CliRunner().invoke(app, ["report", "7f3a", "-o", form], catch_exceptions=False).stdout
    assert begins in text[:120]
    assert sorted(folder.iterdir()) == before


def test_json_is_the_same_however_it_is_asked_for(folder: Path) -> None:
    assert ask("report", "-o", "json") == ask("report", "--json")
    with pytest.raises(ConfigurationError, match="contradict"):
        ask("report", "--json", "-o", "csv")


def test_two_runs_are_held_against_each_other(folder: Path, tmp_path: Path) -> None:
    copied(folder, "20261102T000000Z-demo-0001")
    found = json.loads(ask("report", "7f3a", "0001", "--json"))
    assert (found["a"]["id"], found["b"]["id"]) == (folder.name, "20261102T000000Z-demo-0001")
    assert {f["outcome"] for f in found["figures"]} <= {"cannot be separated", "unknown"}
    assert "cannot be separated" in ask("report", "7f3a", "0001")
    assert "| figure | of | A | B |" in ask("report", "7f3a", "0001", "-o", "md")
    ask("report", "7f3a", "0001", "--html", str(tmp_path / "both.html"))
    assert "Two runs side by side" in (tmp_path / "both.html").read_text()
    with pytest.raises(ConfigurationError, match="named twice"):
        ask("report", "7f3a", "0001", "7f3a")


def listed(*words: str) -> list[str]:
    return [row["id"] for row in json.loads(ask("runs", *words, "--json"))]


def test_a_list_can_be_cut_by_what_model_state_and_time(folder: Path) -> None:
    up = copied(folder, "20261102T000000Z-up-0001", what="up", started_at="2026-11-02T00:00:00Z")
    (up / "summary.json").unlink()
    (folder.parent / "20261103T000000Z-up-0002").mkdir()
    (folder.parent / "20261103T000000Z-up-0002" / "run.json").write_text("{}")
    assert len(listed()) == 3
    assert listed("--what", "demo") == [folder.name]
    assert listed("--state", "unfinished") == [up.name]
    assert listed("--model", "SMOL") == [up.name, folder.name]
    assert listed("--model", "qwen") == []
    assert listed("--since", "2026-11-02") == [up.name]
    assert ask("runs", "--model", "qwen") == "no run like that: evener runs lists all\n"


def test_a_time_is_a_date_or_so_long_ago() -> None:
    now = datetime(2026, 11, 8, 12, tzinfo=UTC)
    assert since_when("7d", now=now) == datetime(2026, 11, 1, 12, tzinfo=UTC)
    assert since_when("36h", now=now) == datetime(2026, 11, 7, tzinfo=UTC)
    assert since_when("2026-11-01T06:30", now=now) == datetime(2026, 11, 1, 6, 30, tzinfo=UTC)
    for nonsense in ("yesterday", "xd", "1e400d", ""):
        with pytest.raises(ConfigurationError, match="no date"):
            since_when(nonsense, now=now)


def test_a_run_without_a_plan_is_listed_by_the_model_its_server_named(folder: Path) -> None:
    bare = copied(folder, "20261102T000000Z-users-0003", plan=None, what="users")
    summary = json.loads((bare / "summary.json").read_text())
    for stage in summary["stages"]:
        stage["users"]["model"] = "/models/Qwen3-8B-Q4_K_M.gguf"
    (bare / "summary.json").write_text(json.dumps(summary))
    assert json.loads(ask("runs", "--what", "users", "--json"))[0]["model"] == "Qwen3-8B-Q4_K_M"


def test_no_run_yet_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVENER_RUNS", str(tmp_path))
    assert ask("runs") == "no run yet: evener demo\n"
