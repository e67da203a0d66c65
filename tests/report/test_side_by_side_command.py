"""`evener report` of several runs, of files of llama-bench, and as a post."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from markdown_it import MarkdownIt
from typer.testing import CliRunner

from evener.cli.main import app
from evener.errors import ConfigurationError, NameUnknown

CAPTURES = Path(__file__).parents[1] / "captures"
RUNS = CAPTURES / "runs" / "v1"
DEMO = "20261101T123000Z-demo-7f3a"
BENCH = CAPTURES / "llama"


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The captured runs: a demo that is whole, users and a pair that are partial, speed that is invalid, a context."""
    monkeypatch.setenv("EVENER_RUNS", str(tmp_path / "runs"))
    return Path(shutil.copytree(RUNS, tmp_path / "runs"))


def ask(*words: str) -> str:
    return CliRunner().invoke(app, words, catch_exceptions=False).stdout


def copied(runs: Path, name: str, of: str = DEMO, **summary: object) -> Path:
    """A captured run under another name, with some of its summary.json changed."""
    copy = Path(shutil.copytree(runs / of, runs / name))
    (copy / "run.json").write_text(json.dumps(json.loads((copy / "run.json").read_text()) | {"id": name}))
    (copy / "summary.json").write_text(json.dumps(json.loads((copy / "summary.json").read_text()) | summary))
    return copy


def valid(runs: Path, name: str) -> Path:
    """The captured run of speed as it would be had its client kept up."""
    copy = copied(runs, name, of="20261101T141000Z-speed-7076")
    told = json.loads((copy / "summary.json").read_text())
    told["stages"][0]["speed"] |= {"validity": "valid"}
    (copy / "summary.json").write_text(json.dumps(told))
    return copy


@pytest.mark.parametrize(
    ("form", "begins"),
    [
        ("html", "<!doctype html>"),
        ("md", "- **A**: SmolLM2"),
        ("csv", "table,figure,about,"),
        ("json", '{\n  "runs": ['),
    ],
)
def test_three_runs_stand_side_by_side_in_every_form(runs: Path, form: str, begins: str) -> None:
    copied(runs, "20261102T000000Z-demo-0001")
    copied(runs, "20261103T000000Z-demo-0002")
    before = sorted(path.name for path in runs.rglob("*"))
    assert ask("report", "7f3a", "0001", "0002", "-o", form).startswith(begins)
    assert sorted(path.name for path in runs.rglob("*")) == before


def test_three_runs_in_the_terminal_and_as_a_page(runs: Path, tmp_path: Path) -> None:
    copied(runs, "20261102T000000Z-demo-0001")
    copied(runs, "20261103T000000Z-demo-0002")
    text = ask("report", "7f3a", "0001", "0002", "--html", str(tmp_path / "all.html"))
    assert "A1 or B1 or C1" in text
    assert "Side by side" in (tmp_path / "all.html").read_text(encoding="utf-8")


def test_what_cannot_be_compared_is_left_out_in_a_line_and_shown_marked_when_asked_for(runs: Path) -> None:
    copied(runs, "20261102T000000Z-demo-0001")
    refused = json.loads(ask("report", "7f3a", "0001", "90a1", "7076", "--json"))
    assert [(one["name"], one["table"], one["why"]) for one in refused["refused"]] == [
        ("C", "speed for users", "partial: interrupted"),
        ("D", "speed, row by row", "invalid: this client was saturated: its loop woke up 22.26 ms late (p95)"),
    ]
    marked = json.loads(ask("report", "7f3a", "0001", "90a1", "7076", "--json", "--anyway"))
    assert marked["refused"] == []
    assert {one["name"]: one["marked"] for table in marked["tables"] for one in table["columns"] if one["marked"]} == {
        "C": "partial: interrupted",
        "D": "invalid: this client was saturated: its loop woke up 22.26 ms late (p95)",
    }


def test_runs_of_which_nothing_can_be_compared_are_refused_in_one_line(runs: Path) -> None:
    with pytest.raises(
        ConfigurationError, match=r"no two of these runs measured the same: A: speed for users, load"
    ) as told:
        ask("report", "7f3a", "5e53")
    assert "--anyway" in (told.value.hint or "")
    with pytest.raises(ConfigurationError, match=r"nothing here can be compared: B \(speed, row by row\): invalid: "):
        ask("report", "7f3a", "7076")
    assert "not compared: invalid" in " ".join(ask("report", "7f3a", "7076", "--anyway").split())
    shown = CliRunner().invoke(app, ["report", "7f3a", "5e53"])
    assert shown.exit_code != 0


def test_runs_of_up_are_compared_by_their_loads(runs: Path) -> None:
    stages = json.loads((runs / DEMO / "summary.json").read_text())["stages"][:1]
    for name, load_s in (("20261102T000000Z-up-0001", 1.5), ("20261103T000000Z-up-0002", 2.5)):
        copied(runs, name, stages=[stages[0] | {"users": None, "load_s": load_s}])
    found = json.loads(ask("report", "0001", "0002", "--json"))
    (table,) = found["tables"]
    assert table["name"] == "load and memory"
    assert [cell["figure"]["value"] for cell in table["rows"][0]["cells"]] == [1.5, 2.5]
    assert {row["told"] for row in table["rows"]} == {"unknown"}  # each was loaded once
    assert {row["name"] for row in table["rows"]} == {"loaded in", "planned", "measured", "left after stop"}


def test_the_thirtieth_run_has_a_letter_too(runs: Path) -> None:
    names = [copied(runs, f"20261102T0000{n:02}Z-demo-{n:04}").name for n in range(30)]
    found = json.loads(ask("report", *names, "--json"))
    assert [one["name"] for one in found["runs"]][24:28] == ["Y", "Z", "AA", "AB"]


def test_a_run_that_stands_twice_is_no_second_measurement(runs: Path) -> None:
    with pytest.raises(ConfigurationError, match="named twice"):
        ask("report", "7f3a", "90a1", "7f3a")


def test_a_file_of_llama_bench_stands_beside_a_run_as_foreign_and_in_no_verdict(runs: Path) -> None:
    valid(runs, "20261102T000000Z-speed-0001")
    found = json.loads(ask("report", "0001", str(BENCH / "bench_two_settings.sql"), "--json"))
    assert [one["name"] for one in found["foreign"]] == ["B1", "B2"]
    (speed,) = found["tables"]
    assert [column["foreign"] for column in speed["columns"]] == [False, True, True]
    assert {row["told"] for row in speed["rows"]} == {"unknown"}
    assert {cell["outcome"] for row in speed["rows"] for cell in row["cells"][1:] if cell} == {"foreign"}
    assert found["sentence"] == "Measured in A alone, beside foreign figures"
    text = " ".join(ask("report", "0001", str(BENCH / "bench_two_settings.sql")).split())
    assert "foreign: llama 256M Q4_1 (92 MiB), llama.cpp 11434 (b0a2feb), CPU, AMD EPYC" in text
    assert "conditions unknown, never ranked" in text


@pytest.mark.parametrize("form", ["json", "jsonl", "csv", "sql"])
def test_a_file_of_llama_bench_alone_is_shown(runs: Path, form: str) -> None:
    assert "pp16" in ask("report", str(BENCH / f"bench_two_settings.{form}"))


def test_what_powershell_has_redirected_is_read_too(runs: Path, tmp_path: Path) -> None:
    text = (BENCH / "bench_two_settings.csv").read_text(encoding="utf-8").replace("\n", "\r\n")
    (tmp_path / "theirs.csv").write_bytes(text.encode("utf-16"))
    assert "pp16" in ask("report", str(tmp_path / "theirs.csv"))


def test_a_file_that_is_none_of_llama_bench_is_named(runs: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"README\.md: row 1 lacks"):
        ask("report", "7f3a", str(Path(__file__).parents[2] / "README.md"))
    with pytest.raises(NameUnknown, match="no run"):
        ask("report", "7f3a", str(tmp_path / "nothing.json"))


def test_a_pack_is_opened_first_and_then_its_runs_are_compared_like_any(runs: Path, tmp_path: Path) -> None:
    ask("runs", "pack", "7f3a", "-o", str(tmp_path / "theirs.tar.gz"))
    with pytest.raises(ConfigurationError, match="no text") as caught:
        ask("report", "90a1", str(tmp_path / "theirs.tar.gz"))
    assert f"evener runs open {tmp_path / 'theirs.tar.gz'}" in (caught.value.hint or "")


@pytest.mark.parametrize("run", ["7f3a", "90a1", "7076", "dc6d", "5e53"])
def test_a_post_of_any_run_says_how_it_was_measured_what_was_not_and_how_to_repeat_it(runs: Path, run: str) -> None:
    text = ask("report", run, "--post")
    heads = re.findall(r"^#+ (.*)$", text, re.M)
    assert heads[-3:] == ["How it was measured", "What was not measured", "How to repeat it"]
    assert re.search(r"^    evener (demo|bench \w+ URL)", text, re.M)
    assert "| condition | value |" in text
    assert "- Not known: " in text
    assert not list((runs).rglob("report.html"))


def test_the_command_in_a_post_asks_for_the_same_again(runs: Path) -> None:
    """As their run.json and first facts recorded it."""
    assert (
        "    evener bench users URL --concurrency 1,2,4 --isl 64 --osl 24 --num-prompts 16 --goodput ttft:2000 "
        "--seed 862589496\n"
    ) in ask("report", "90a1", "--post")
    assert "    evener bench speed URL -p 32 -n 8 -d 0 -r 2 --seed 1694096362\n" in ask("report", "7076", "--post")
    assert (
        "    evener bench pair URL URL --pairs 6 --margin 2 --num-prompts 1 -c 1 --isl 40 --osl 6 --seed 1593672659\n"
    ) in ask("report", "dc6d", "--post")
    assert "    evener bench context URL --lengths 256 --needles 1 --reasoning 1 --seed 1812125684\n" in (
        ask("report", "5e53", "--post")
    )


def test_a_post_survives_what_forums_do_to_markdown(runs: Path) -> None:
    """No HTML, no fence that some do not know, tables of one line per row and as many cells as their head."""
    copied(runs, "20261102T000000Z-demo-0001")
    valid(runs, "20261102T000000Z-speed-0002")
    for names in (["7f3a"], ["7f3a", "0001"], ["7f3a", "0001", "0002", str(BENCH / "bench_two_settings.json")]):
        text = ask("report", *names, "--post")
        assert not re.search(r"(?<!\\)<|```|~~~", re.sub(r"^    .*$", "", text, flags=re.M))
        assert "/models/" not in text  # nobody's folders
        for block in re.findall(r"(?:^\|.*\n)+", text, re.M):
            cells = {len(re.findall(r"(?<!\\)\|", line)) for line in block.splitlines()}
            assert len(cells) == 1, block


@pytest.mark.parametrize("tables", [True, False], ids=["with tables", "CommonMark alone"])
def test_a_post_is_read_by_a_real_markdown_reader(runs: Path, tables: bool) -> None:
    """Where tables are known each is one; where they are not, their text stands there, and the rest is not drawn in."""
    copied(runs, "20261102T000000Z-demo-0001")
    reader = MarkdownIt("commonmark", {"html": False})
    reader = reader.enable("table") if tables else reader
    text = ask("report", "7f3a", "0001", "--post")
    tokens = reader.parse(text)
    kinds = [token.type for token in tokens]
    assert kinds.count("table_open") == (len(re.findall(r"^\| -", text, re.M)) if tables else 0)
    assert kinds.count("heading_open") == len(re.findall(r"^#", text, re.M))
    code = [token.content for token in tokens if token.type == "code_block"]
    assert len(code) == 2  # the commands of each run
    assert all("evener demo\n" in block and "llama-server" in block for block in code)
    assert not [token for token in tokens if "html" in token.type]
    shown = " ".join(child.content for token in tokens for child in token.children or ())
    assert "SmolLM2-135M-Instruct Q4_1" in shown  # no backslash is left


def test_a_post_of_several_has_the_tables_and_each_runs_own_methods(runs: Path) -> None:
    copied(runs, "20261102T000000Z-demo-0001")
    text = ask("report", "7f3a", "0001", str(BENCH / "bench_two_settings.csv"), "--post")
    assert "| condition | A | B |" in text
    assert "#### speed for users" in text
    assert "run 20261102T000000Z-demo-0001" in text
    assert "never ranked" in text
    assert "A difference is stated only where it can be separated" in text


@pytest.mark.parametrize("more", [["--json"], ["-o", "md"], ["--html", "x.html"]])
def test_a_post_is_a_form_of_its_own(runs: Path, more: list[str]) -> None:
    with pytest.raises(ConfigurationError, match="--post is a form of its own"):
        ask("report", "7f3a", "--post", *more)
