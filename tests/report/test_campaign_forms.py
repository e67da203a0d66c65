"""A campaign in the terminal, as Markdown, as a post, as CSV and JSON, and by `evener report`."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from evener.api import campaign_reports
from evener.api.campaign_reports import Told
from evener.cli.main import app
from evener.errors import ConfigurationError
from evener.report.campaign import view

FIGURE = re.compile(r"[\d.]+ \((?:95 % )?[\d.]+-[\d.]+, n=\d+\)")
GOLDENS = Path(__file__).parent / "goldens"
OTHER = Path(__file__).parents[1] / "captures" / "runs" / "v1" / "20261101T123000Z-demo-7f3a"


@pytest.fixture(scope="module")
def told(whole_campaign: Path) -> Told:
    return campaign_reports.told(whole_campaign)


@pytest.fixture(scope="module")
def chinese(whole_campaign: Path) -> Told:
    return campaign_reports.told(whole_campaign, language="zh")


def shown(told: Told, columns: int) -> str:
    console = Console(file=io.StringIO(), width=columns, highlight=False, legacy_windows=False)
    console.print(view.view(told.story, told.say))
    assert isinstance(console.file, io.StringIO)
    return "\n".join(line.rstrip() for line in console.file.getvalue().splitlines()) + "\n"


@pytest.mark.parametrize("columns", [100, 60])
def test_the_terminal_shows_page_one(told: Told, columns: int) -> None:
    assert shown(told, columns) == (GOLDENS / f"campaign-{columns}.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("columns", [100, 60])
def test_an_unfinished_campaign_says_so_first(unfinished_campaign: Path, columns: int) -> None:
    text = shown(campaign_reports.told(unfinished_campaign), columns)
    assert text == (GOLDENS / f"campaign-unfinished-{columns}.txt").read_text(encoding="utf-8")


def test_the_terminal_speaks_chinese(chinese: Told) -> None:
    text = shown(chinese, 100)
    assert text.splitlines()[1] == "不能排除：south-q5、west-q4 和 cloud。"
    assert "95 % 138-145, n=48" in text  # numbers stay as they are


# ---- Markdown


def tables(text: str) -> list[list[str]]:
    """Each table's lines."""
    found: list[list[str]] = [[]]
    for line in text.splitlines():
        if line.startswith("|"):
            found[-1].append(line)
        elif found[-1]:
            found.append([])
    return [one for one in found if one]


@pytest.mark.parametrize("form", ["md", "post"])
def test_every_row_of_a_table_has_all_its_columns(told: Told, form: str) -> None:
    text = campaign_reports.post(told) if form == "post" else campaign_reports.in_form(told, "md")
    found = tables(text)
    assert len(found) > 10
    for one in found:
        assert {len(re.findall(r"(?<!\\)\|", line)) for line in one} == {len(re.findall(r"\|", one[1]))}


def test_markdown_says_what_stands_with_n_and_intervals(told: Told) -> None:
    text = campaign_reports.in_form(told, "md")
    assert text.startswith("### six for the team\n\n**Cannot be ruled out: south-q5, west-q4 and cloud.**\n")
    assert (
        "| south-q5 (South-24B Q5\\_K\\_M) | cannot be ruled out | may be the best in every suite; 57 % slower than "
        "north-q4 | ✓ 89.6 (77-97, n=48) |"
    ) in text
    assert "| north-q4 | one user | 141 | 96.9 | -31 % | -34 % to -28 % | 2 | ±1.6 % | slower |" in text
    assert "allocating 11264.00 MiB: out of memory" in text


def test_a_post_says_how_it_was_measured_and_names_no_folder(told: Told) -> None:
    text = campaign_reports.post(told)
    assert "#### How it was measured" in text
    assert "2 blocks in random order (seed 7); context 8192 tokens per user" in text
    assert "translation (n=48), restraint (n=60), coding (n=40), instructions (n=50)" in text
    assert "runs/" not in text
    assert told.story.id not in text
    assert not re.search(r"(?<!\\)<", text)  # no HTML in it, whatever renders it


def test_a_post_in_chinese_has_the_same_numbers(told: Told, chinese: Told) -> None:
    """As many tables, with the same figures in each."""
    ours, theirs = tables(campaign_reports.post(told)), tables(campaign_reports.post(chinese))
    assert len(ours) == len(theirs)
    for one, other in zip(ours[:2], theirs[:2], strict=True):
        assert [FIGURE.findall(line) for line in one] == [FIGURE.findall(line) for line in other]


# ---- CSV, JSON


def test_csv_has_a_line_per_figure_and_block_with_the_run_behind_it(told: Told, whole_campaign: Path) -> None:
    rows = list(csv.DictReader(io.StringIO(campaign_reports.in_form(told, "csv"))))
    each = [r for r in rows if (r["contestant"], r["layout"], r["figure"], r["about"]) == (
        "north-q4", "alpha alone", "each of them", "1 user")]  # fmt: skip
    assert [r["block"] for r in each] == ["all", "1", "2"]
    assert [r["basis"] for r in each] == ["95 %", "95 %", "95 %"]
    assert all((whole_campaign / r["folder"] / "summary.json").exists() for r in each[1:])
    paired = [r for r in rows if r["kind"] == "against one machine" and r["figure"] == "one user"]
    assert [(r["contestant"], r["other"], r["verdict"]) for r in paired] == [
        ("north-q4", "alpha alone", "slower"), ("south-q5", "alpha alone", "slower"),
    ]  # fmt: skip
    scores = [r for r in rows if r["kind"] == "score" and r["contestant"] == "east-q8"]
    assert {r["verdict"] for r in scores} == {"ruled out"}
    assert {r["run"] for r in rows} == {told.story.id}


# ---- the command


@pytest.fixture
def runs(whole_campaign: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("EVENER_RUNS", str(tmp_path))
    shutil.copytree(whole_campaign, tmp_path / whole_campaign.name)
    return tmp_path


def ask(*words: str) -> str:
    return CliRunner().invoke(app, words, catch_exceptions=False).output


def test_the_command_tells_a_campaign_and_leaves_its_page_in_its_folder(runs: Path) -> None:
    text = ask("report", "7c1e")
    page = runs / "20261128T210400Z-compare-7c1e" / "report.html"
    assert "Cannot be ruled out: south-q5, west-q4 and cloud." in text
    assert f"page: {page}" in text
    assert '<html lang="en">' in page.read_text(encoding="utf-8")


def test_json_is_the_story_and_writes_no_page(runs: Path) -> None:
    data = json.loads(ask("report", "7c1e", "--json", "--lang", "zh"))
    assert data["language"] == "zh"
    assert data["headline"][0] == "不能排除：south-q5、west-q4 和 cloud。"
    assert data["contestants"][3]["word"] == "can be dropped"  # keys and words of records are no sentences
    assert not (runs / "20261128T210400Z-compare-7c1e" / "report.html").exists()


def test_a_price_that_is_named_reaches_the_report(runs: Path) -> None:
    assert "| 297 EUR |" in ask("report", "7c1e", "-o", "md", "--price", "RTX 5090=4000")  # (4000 + 450) / 15
    assert "| 183 EUR |" in ask("report", "7c1e", "--post")


def test_a_campaign_is_reported_alone(runs: Path) -> None:
    shutil.copytree(OTHER, runs / OTHER.name)
    with pytest.raises(ConfigurationError, match="is a campaign, and is reported alone"):
        ask("report", "7c1e", "7f3a")


@pytest.mark.parametrize("option", [("--lang", "zh"), ("--price", "RTX 5090=1"), ("--kwh-price", "0.3")])
def test_an_option_of_campaigns_is_refused_elsewhere(runs: Path, option: tuple[str, str]) -> None:
    shutil.copytree(OTHER, runs / OTHER.name)
    with pytest.raises(ConfigurationError, match=f"{option[0]} is for the report of a campaign"):
        ask("report", "7f3a", *option)


def test_a_run_of_a_campaign_has_a_report_of_its_own(runs: Path) -> None:
    nested = next(p for p in (runs / "20261128T210400Z-compare-7c1e" / "runs").iterdir() if "-users-" in p.name)
    assert "tok/s" in ask("report", str(nested), "--no-html")
