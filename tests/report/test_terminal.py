from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import pytest
from report_samples import (
    CLUSTER,
    CLUSTER_STAGE,
    DEMO,
    FACTS,
    FAILED,
    HOSTILE,
    MODEL,
    PARTIAL,
    PLAN,
    UNKNOWN,
    hostile_run,
    hostile_summary,
    request,
    run,
    users_result,
)
from rich.console import Console, RenderableType

from evener.records.run import Run, Summary
from evener.report import rows, terminal
from evener.report.parts import RunRow
from evener.report.story import tell

GOLDENS = Path(__file__).parent / "goldens"
RUNS = {
    "demo": (run(), DEMO),
    "partial": (run(), PARTIAL),
    "failed": (run(), FAILED),
    "unknown": (run(), UNKNOWN),
    "unfinished": (run(), None),
}

RUNS_AT_60 = """\
run                         when, UTC   state           size
────────────────────────────────────────────────────────────
20261101T123000Z-demo-7f3a  2026-11-01  complete    20.0 KiB
SmolLM2-135M-Instruct       12:30
Q4_1, alpha and cluster
20261101T000000Z-up-0001    -           unreadable         -
run.json: what: Field
required
2 runs, 20.0 KiB in all
"""


def shown(what: RenderableType, columns: int) -> str:
    console = Console(file=io.StringIO(), width=columns, highlight=False, legacy_windows=False)
    console.print(what)
    assert isinstance(console.file, io.StringIO)
    return "\n".join(line.rstrip() for line in console.file.getvalue().splitlines()) + "\n"


def view(of: Run, summary: Summary | None) -> RenderableType:
    return terminal.view(tell(of, summary, FACTS, [request(1)]))


@pytest.mark.parametrize("columns", [60, 100])
@pytest.mark.parametrize("name", RUNS)
def test_the_view_looks_as_it_did(name: str, columns: int) -> None:
    golden = GOLDENS / f"{name}-{columns}.txt"
    assert shown(view(*RUNS[name]), columns) == golden.read_text(encoding="utf-8")


@pytest.mark.parametrize("columns", [60, 80, 120])
@pytest.mark.parametrize("name", RUNS)
def test_no_figure_is_cut_at_any_width(name: str, columns: int) -> None:
    text = shown(view(*RUNS[name]), columns)
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= columns


def test_the_tables_that_other_commands_show_fit_sixty_columns() -> None:
    assert CLUSTER_STAGE.users is not None
    tables = [
        terminal.plan_table(CLUSTER),
        terminal.checks_table(CLUSTER_STAGE.checks),
        terminal.users_table(CLUSTER_STAGE.users),
        terminal.freed_table(CLUSTER_STAGE.freed),
    ]
    texts = [shown(table, 60) for table in tables]
    assert "…" not in "".join(texts)
    assert "120 MiB" in texts[0]
    assert "16/16" in texts[1]
    assert "33.0-35.0" in texts[2]
    assert "freed" in texts[3]


def test_replicas_are_shown_server_by_server_each_in_its_own_order() -> None:
    device = CLUSTER.devices[0]
    each = [("beta", "CUDA0", 0), ("beta", "CUDA1", 1), ("alpha", "CUDA1", 0), ("alpha", "CUDA0", 1)]
    devices = tuple(replace(device, host=host, device=name, position=at) for host, name, at in reversed(each))
    made = replace(CLUSTER, kind="replicas", hosts=("beta", "alpha"), devices=devices)
    text = shown(terminal.plan_table(made), 100)
    lines = [line.split() for line in text.splitlines() if " CUDA" in line]
    assert [(words[0], next(w for w in words if w.startswith("CUDA"))) for words in lines] == [
        (host, name) for host, name, _ in each
    ]


def test_names_are_text_and_never_markup() -> None:
    text = shown(view(hostile_run(), hostile_summary()), 400)
    assert text.count(HOSTILE) > 10


def test_names_cannot_steer_the_terminal() -> None:
    devices = tuple(replace(d, card_name="a\x1b[2Jb", device="\x1b]0;c") for d in CLUSTER.devices)
    plan = replace(PLAN, model=replace(MODEL, name="\x1b[2Jd"), candidates=(replace(CLUSTER, devices=devices),))
    text = shown(view(run(plan=plan), DEMO), 80)
    assert "\x1b" not in text
    assert "\N{REPLACEMENT CHARACTER}[2Jb" in text


def test_an_invalid_result_is_marked_in_its_table() -> None:
    result = FAILED.stages[0].users
    assert result is not None
    assert "invalid, not to be used: the client was saturated" in shown(terminal.users_table(result), 80)
    assert "invalid" not in shown(terminal.users_table(users_result()), 80)


def test_runs_are_listed_with_what_is_known_of_them() -> None:
    listed = [
        rows.listing(run(), DEMO, RunRow(id="", path="/runs/a", bytes=20 << 10)),
        RunRow(id="20261101T000000Z-up-0001", path="/runs/b", bytes=None, fault="run.json: what: Field required"),
    ]
    assert shown(terminal.runs_table(listed), 60) == RUNS_AT_60


def test_a_listing_knows_complete_from_partial_from_unfinished() -> None:
    states = [rows.listing(run(), s, RunRow(id="", path="", bytes=0)).state for s in (DEMO, PARTIAL, None)]
    assert states == ["complete", "partial", "unfinished"]


def test_a_run_that_holds_others_says_so_and_they_stand_further_in_with_their_tags() -> None:
    outer = rows.listing(run(), None, RunRow(id="", path="/runs/a", bytes=30 << 10, inside=1))
    inner = RunRow(id="20261101T000000Z-up-0001", path="/b", bytes=10 << 10, tags=("blog", "good"), within=outer.id)
    text = shown(terminal.runs_table([outer, inner]), 80)
    assert "holds 1 run" in text
    assert "\n  20261101T000000Z-up-0001" in text
    assert "\n  tagged blog, good" in text
    assert "2 runs, 30.0 KiB in all" in text
    assert "1 run, 10.0 KiB in all" in shown(terminal.runs_table([inner]), 80)
