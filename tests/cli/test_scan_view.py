"""The rig for people, at 60, 80 and 120 columns. `EVENER_GOLDEN=1 pytest tests/cli/test_scan_view.py` writes anew."""

from __future__ import annotations

import io
import os
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from rich.console import Console, RenderableType

from evener.cli.first_screen import next_command, screen
from evener.cli.scan_view import memory_bar, order_view, scan_view
from evener.records.card import Card, Holder
from evener.records.plan import Value
from evener.records.rig import CardRules, Host, Link, Resident, Rig
from evener.records.speed import CardMeasured, DeviceSpeed
from evener.report.words import age
from evener.scan.take import Door
from evener.testing.fake_linux import fake_linux
from tests import case_one, rigs

GOLDEN = Path(__file__).parent / "golden"
RESIDENT = Resident(name="comfyui", card="RTX 5060 Ti", bytes=4000 << 20)
ALPHA = Host(
    name="alpha",
    connection="local",
    address="10.0.0.1",
    reserve_bytes=512 << 20,
    residents=(RESIDENT,),
    cards=CardRules(exclude=("cpu", "GT 1030")),
)


def shown(what: RenderableType, width: int) -> str:
    console = Console(width=width, file=io.StringIO(), highlight=False)
    console.print(what)
    assert isinstance(console.file, io.StringIO)
    return "".join(f"{line.rstrip()}\n" for line in console.file.getvalue().splitlines())


def compare(text: str, name: str) -> None:
    if os.environ.get("EVENER_GOLDEN"):
        (GOLDEN / name).write_text(text)
    assert text == (GOLDEN / name).read_text()


@pytest.mark.parametrize("width", [80, 120])
async def test_the_scan_looks_as_it_did(width: int) -> None:
    rig = case_one.rig(alpha=ALPHA)
    compare(shown(scan_view(rig, await case_one.scan(rig), width=width), width), f"scan_{width}.txt")


async def test_the_order_of_devices_is_whole_in_sixty_columns() -> None:
    rig = case_one.rig(alpha=ALPHA)
    compare(shown(order_view(rig, await case_one.scan(rig)), 60), "order_60.txt")


async def test_the_first_screen_looks_as_it_did() -> None:
    rig = case_one.rig(alpha=ALPHA)
    compare(shown(screen(rig, await case_one.scan(rig), ()), 80), "first_screen_80.txt")


@pytest.mark.parametrize("width", [20, 40, 79, 200])
async def test_no_width_breaks_the_view_or_runs_over(width: int) -> None:
    rig = case_one.rig(alpha=ALPHA)
    scan = await case_one.scan(rig)
    for view in (scan_view(rig, scan, width=width), screen(rig, scan, ())):
        assert max(len(line) for line in shown(view, width).splitlines()) <= width


async def test_a_second_name_of_one_machine_is_said_to_be_that() -> None:
    doors = {name: Door(shell=fake_linux(name, boot_id="b")) for name in ("alpha", "beta")}
    rig = case_one.rig()
    view = shown(scan_view(rig, await case_one.scan(rig, doors), width=120), 120)
    assert "beta  ssh  same machine as alpha: they share its memory and cores" in view
    assert "alpha has no GPU the engine can use: a worker on alpha serves its CPU." in view


async def test_without_a_rig_file_the_screen_says_so_and_how_to_get_one() -> None:
    rig = Rig(hosts=(Host(name="alpha", connection="local"),))
    scan = await case_one.scan(rig, {"alpha": Door(shell=case_one.alpha_shell())})
    view = shown(screen(rig, scan, ()), 80)
    assert view.startswith("this machine alone: there is no rig.toml (evener scan --init writes one)\n")
    assert view.endswith("next: evener engine install\n")


async def test_the_next_command_after_the_engine_is_a_plan() -> None:
    scan = await case_one.scan()
    assert next_command(scan, ()) == "evener plan MODEL"


def test_holders_nobody_could_see_are_unknown_in_words() -> None:
    card = Card(id="g", kind="cuda", name="RTX 5090", total_bytes=32 << 30, used_bytes=1 << 30, free_bytes=31 << 30)
    host = replace(SEEN, cards=(card,))
    rig = Rig(hosts=(Host(name="alpha", connection="local"),))
    view = shown(scan_view(rig, replace(SCAN, hosts=(host,)), width=80), 80)
    assert "held by: unknown, nobody could look" in view


def test_markup_in_a_command_line_is_shown_and_not_obeyed() -> None:
    holder = Holder(kind="process", bytes=1 << 30, pid=1, command="python [red]x[/red] [/]")
    card = Card(id="g", kind="cuda", name="[bold]RTX", total_bytes=2 << 30, free_bytes=1 << 30, holders=(holder,))
    rig = Rig(hosts=(Host(name="alpha", connection="local"),))
    view = shown(scan_view(rig, replace(SCAN, hosts=(replace(SEEN, cards=(card,)),)), width=120), 120)
    assert "[red]x[/red] [/]" in view
    assert "[bold]RTX" in view


def test_the_bar_shows_held_unnamed_kept_and_free_in_proportion() -> None:
    holders = (Holder(kind="process", bytes=4 << 30, pid=1), Holder(kind="unattributed", bytes=2 << 30))
    card = Card(
        id="g", kind="cuda", name="X", total_bytes=16 << 30, used_bytes=6 << 30, free_bytes=8 << 30, holders=holders
    )
    assert memory_bar(card, cells=16).plain == "████▓▓▒▒░░░░░░░░"
    assert memory_bar(replace(card, free_bytes=None), cells=4).plain == "????"


def test_an_age_has_one_unit() -> None:
    assert [age(s) for s in (40, 720, 10_800, 432_000)] == ["40 s", "12 min", "3 h", "5 d"]


def test_a_link_without_figures_says_so() -> None:
    rig = Rig(hosts=(Host(name="alpha", connection="local"),), links=(Link(name="l", between=("alpha", "beta")),))
    assert "l  alpha - beta  nothing stated" in shown(scan_view(rig, SCAN, width=80), 80)


SEEN = case_one.HostSeen(name="alpha", connection="local")
SCAN = case_one.Scan(taken_at=case_one.NOON, hosts=(SEEN,), devices=())


def test_a_measured_card_says_how_fast_it_is_and_how_long_ago_that_was() -> None:
    measured = CardMeasured(
        host="alpha",
        card="cpu",
        card_name="EPYC",
        machine_id="alpha",
        threads=8,
        build=11434,
        speed=DeviceSpeed(
            source="measured: llama-bench",
            taken_at=datetime(2026, 1, 1, 21, tzinfo=UTC),
            n=10,
            weights_bytes_per_s=Value(value=37.94e9, low=35.38e9, high=39.1e9),
            flop_per_s=Value(value=138.6e9, low=130.3e9, high=142.8e9),
        ),
        rows=(),
    )
    scan = replace(rigs.scan(rigs.seen("alpha", rigs.cpu()), rigs.seen("beta", rigs.cpu())), speeds=(measured,))
    text = shown(scan_view(rigs.rig("alpha", "beta"), scan, width=160), 160)
    said = "reads weights at 37.9 (35.4-39.1) GB/s · multiplies at 139 (130-143) Gop/s (8 threads, n=10, b11434)"
    assert text.count(f"{said}, measured 3 h ago") == 1
