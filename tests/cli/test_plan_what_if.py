"""`evener plan` on rigs that need not exist: what it shows at 80 columns, its JSON, its errors.

`EVENER_GOLDEN=1 pytest tests/cli/test_plan_what_if.py` writes the goldens anew.
"""

from __future__ import annotations

import io
import json
import os
import time
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from typer.testing import CliRunner

from evener.cli import check_view, console, plan_view, what_if_view
from evener.cli.main import app
from evener.cli.plan import read_axes
from evener.codec import from_data
from evener.config import example
from evener.errors import ConfigurationError, EvenerError, NameUnknown
from evener.records.plan import Plan, Workload

GOLDEN = Path(__file__).parent / "golden"
QWEN = "qwen3.6-35b-a3b:Q8_0"
LLAMA = "llama-3.3-70b"
RIG = ("--rig", str(example("96gb.toml")))
GIB = 1 << 30


@pytest.fixture(autouse=True)
def a_laptop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without models, engine or anything measured."""
    for name in ("HOME", "EVENER_CACHE", "EVENER_STATE"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    for name in ("XDG_CACHE_HOME", "XDG_STATE_HOME", "EVENER_ENGINE", "EVENER_RIG", "HF_HOME", "LLAMA_CACHE"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """80 columns."""
    text = io.StringIO()
    narrow = Console(width=80, file=text, highlight=False)
    for module in (console, plan_view, what_if_view):
        monkeypatch.setattr(module, "out", narrow)
    return text


def evener(*arguments: str) -> int:
    result = CliRunner().invoke(app, ["plan", *arguments, *RIG], catch_exceptions=True)
    if isinstance(result.exception, EvenerError):
        raise result.exception
    return result.exit_code


def answer(*arguments: str) -> Any:
    result = CliRunner().invoke(app, ["plan", *arguments, *RIG, "--json"], catch_exceptions=False)
    return json.loads(result.stdout)


def compare(text: str, name: str) -> None:
    text = "".join(f"{line.rstrip()}\n" for line in text.splitlines())
    if os.environ.get("EVENER_GOLDEN"):
        (GOLDEN / name).write_text(text)
    assert text == (GOLDEN / name).read_text()
    assert max(len(line) for line in text.splitlines() if not line.startswith("  - ")) <= 80


def test_the_grid_of_case_21_looks_as_it_did(screen: io.StringIO) -> None:
    grid = ("--grid", "--sweep", "users=12,15", "--sweep", "context=32k,64k", "--without", "beta")
    assert evener(QWEN, *grid) == 0
    compare(screen.getvalue(), "grid_80.txt")


def test_case_2_fits_one_machine_with_the_bytes_that_were_published() -> None:
    made = answer(QWEN)
    (alpha,) = (c for c in made["candidates"] if c["name"] == "alpha")
    weights = sum(d["weights_bytes"] for d in alpha["devices"])
    assert made["verdict"]["kind"] == "host"
    assert made["verdict"]["choice"] == "alpha"
    assert weights / GIB == pytest.approx(33.9, abs=0.6)  # 34.4 with the embedding, which stays in RAM


@pytest.mark.parametrize(
    ("asked", "before_buffers_gib", "fits"),
    [
        (("12", "32768", "f16"), 42, True),
        (("15", "32768", "f16"), 44, True),
        (("12", "65536", "f16"), 50, False),
        (("12", "65536", "q8_0"), 43, True),
    ],
)
def test_case_21_people_and_contexts_on_alpha_alone(
    asked: tuple[str, str, str], before_buffers_gib: float, fits: bool
) -> None:
    users, context, kv = asked
    made = answer(QWEN, "--without", "beta", "--users", users, "--context", context, "--kv", kv)
    (alpha,) = (c for c in made["candidates"] if c["name"] == "alpha")
    assert alpha["fits"] is fits
    if fits:
        held = sum(d["weights_bytes"] + d["kv_bytes"] for d in alpha["devices"])
        assert held / GIB == pytest.approx(before_buffers_gib, abs=1.0)


def test_case_21_15_people_with_32k_are_marked_as_tight() -> None:
    rows = answer(QWEN, "--without", "beta", "--sweep", "users=4,15", "--context", "32768")["points"]
    assert [(row["answer"], row["tight"]) for row in rows] == [("one machine", False), ("one machine", True)]


def test_case_3_quantisations_of_a_70b_model_need_one_machine_then_two() -> None:
    many = answer(LLAMA, "--sweep", "quant=Q4_K_M,Q6_K,Q8_0", "--users", "1")
    assert many["kind"] == "sweep"
    assert [row["answer"] for row in many["points"]] == ["one machine", "several machines", "several machines"]
    assert [row["quantisation"] for row in many["points"]] == ["Q4_K_M", "Q6_K", "Q8_0"]


def test_any_quantisation_is_a_row_for_each_the_largest_first() -> None:
    many = answer(LLAMA, "--quant", "any")
    sizes = [row["file_bytes"] for row in many["points"]]
    assert many["kind"] == "quantisations"
    assert len(sizes) > 6
    assert sizes == sorted(sizes, reverse=True)


def test_without_a_model_every_row_is_a_model_once_and_quality_is_not_claimed() -> None:
    many = answer("--people", "12", "--profile", "chat")
    names = [row["changes"]["model"].partition(":")[0] for row in many["points"]]
    assert many["kind"] == "models"
    assert len(names) == len(set(names)) > 8
    assert {row["seats"]["people"] for row in many["points"]} == {12}
    assert any("evener eval" in note for note in many["notes"])


def test_people_and_users_are_shown_apart() -> None:
    made = answer(QWEN, "--people", "12", "--profile", "translate")
    assert made["seats"]["people"] == 12
    assert made["workload"]["users"] == made["seats"]["users"] < 12
    assert made["workload"]["output_tokens"] == 1000
    assert made["changes"] == {"people": "12", "profile": "translate"}


def test_one_card_instead_of_everything_costs_what_was_said() -> None:
    made = answer(QWEN, "--instead", "RTX PRO 6000 96GB", "--price", "RTX PRO 6000=8000", "--users", "8")
    assert made["verdict"]["choice"] == "one-box"
    assert made["costs"]["one-box"]["hardware"] == 8000
    assert made["costs"]["one-box"]["per_seat"] == 1000


def test_another_price_of_energy_replaces_the_rigs() -> None:
    made = answer(QWEN, "--kwh-price", "0")
    assert made["costs"]["alpha"]["energy_per_million_tokens"] in (0, None)
    assert made["costs"]["alpha"]["hardware"] == 2750


def test_nothing_that_fits_is_a_no() -> None:
    small = ("--layout", "one-box")
    assert evener(QWEN, "--instead", "RTX 5060 Ti 8GB", "--json", *small) == 1
    assert evener(QWEN, "--sweep", "instead=RTX 5060 Ti 8GB;GTX 1660", "--json", *small) == 1


def test_what_needs_main_memory_does_not_count_as_one_machine() -> None:
    (row,) = answer(QWEN, "--sweep", "instead=RTX 5060 Ti 8GB")["points"]
    assert row["answer"] == "with main memory"


def test_the_ram_that_nobody_knows_is_said_to_be_unchecked() -> None:
    reasons = " ".join(answer(QWEN)["verdict"]["reasons"])
    assert "alpha: stated, not scanned" in reasons
    assert "RAM is not checked" in reasons


def test_a_card_that_the_catalogue_does_not_have_is_told_and_left_out(tmp_path: Path) -> None:
    rig = tmp_path / "rig.toml"
    rig.write_text(
        '[[hosts]]\nname = "alpha"\nconnection = "stated"\ncards = [{ model = "RTX 5090" }, { model = "RTX 5099" }]\n'
    )
    result = CliRunner().invoke(app, ["plan", "llama-3.1-8b:Q8_0", "--rig", str(rig), "--json"], catch_exceptions=False)
    made = json.loads(result.stdout)
    assert made["verdict"]["choice"] is not None
    assert any('no card called "RTX 5099" in the catalogue; did you mean' in r for r in made["verdict"]["reasons"])


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        (("--add", "beta RTX 5090"), ConfigurationError, "--add beta RTX 5090: not HOST: CARD"),
        (("--add", "beta: RTX 5099"), ConfigurationError, 'no card called "RTX 5099"'),
        (("--instead", "RTX 5060 Ti"), ConfigurationError, "comes with different memory"),
        (("--link", "4gbe"), NameUnknown, 'no such link or kind of link; did you mean "5gbe"?'),
        (("--without", "delta"), NameUnknown, "--without delta: no such host or card"),
        (("--sweep", "context=many"), ConfigurationError, "--sweep context=many: not a whole number from 256"),
        (("--sweep", "temperature=1"), ConfigurationError, "--sweep temperature=1: not OPTION=VALUE"),
        (("--profile", "poetry"), NameUnknown, "--profile poetry: no such profile"),
        (("--people", "4", "--users", "4"), ConfigurationError, "which of the two?"),
        (("--price", "RTX 5090"), ConfigurationError, "--price RTX 5090: not CARD=PRICE"),
        (("--kv", "q9_9"), ConfigurationError, "--kv q9_9: no such cache type"),
        (("--quant", "Q9"), NameUnknown, "the catalogue has no Q9"),
        (("--sweep", "quant=Q8_0,Q9"), NameUnknown, "the catalogue has no Q9"),
        (("--grid", "--sweep", "quant=Q9"), NameUnknown, "the catalogue has no Q9"),
        (("--add", "alpha: 0x RTX 3090"), ConfigurationError, "--add alpha: 0x RTX 3090: none of it is no change"),
    ],
)
def test_what_cannot_be_asked_is_told_in_one_line(
    options: tuple[str, ...], kind: type[EvenerError], message: str
) -> None:
    with pytest.raises(kind) as told:
        evener(QWEN, *options)
    assert message in told.value.message
    assert "\n" not in told.value.message


def test_two_sweeps_of_one_option_are_one() -> None:
    axes = read_axes(["context=4096", "users=4", "context=8192,4096"])
    assert axes == {"context": ("4096", "8192"), "users": ("4",)}


def test_one_pool_of_context_is_said_to_be_shared(screen: io.StringIO) -> None:
    assert evener(QWEN, "--unified", "--users", "4", "--context", "8192") == 0
    assert "4 users who share a pool of 8192 tokens, KV f16" in " ".join(screen.getvalue().split())


def test_the_output_head_is_among_the_layers_of_its_device(monkeypatch: pytest.MonkeyPatch) -> None:
    text = io.StringIO()
    monkeypatch.setattr(check_view, "out", Console(width=100, file=text, highlight=False))
    assert evener("--check", "llama-server --rpc 10.0.0.2:50052 -ts 32,16,16,16,16", "--layers", "40") == 0
    assert "6, the output head among them" in text.getvalue()


def test_speeds_say_at_which_depth_they_are(screen: io.StringIO) -> None:
    made = answer(QWEN, "--context", "65536")
    assert {c["predicted"]["depth"] for c in made["candidates"] if c["predicted"]} == {576}  # 512 and half of 128
    assert evener(QWEN, "--context", "65536") == 0
    assert screen.getvalue().count("speeds at depth 576 of 65536, prompts of 512 tokens") == 1


def test_rows_say_at_which_depths_they_are(screen: io.StringIO) -> None:
    assert evener(QWEN, "--sweep", "context=256,8192") == 0
    assert screen.getvalue().count("speeds at depth 256 to 576, prompts of 512 tokens") == 1


def test_command_lines_to_paste_outlive_their_clients_and_log_as_usual(screen: io.StringIO) -> None:
    assert evener(QWEN, "--layout", "cluster", "--commands") == 0
    said = screen.getvalue()
    assert "sh -c 'trap '\"'\"''\"'\"' PIPE; exec ggml-rpc-server " in said
    assert "--log-jsonl" not in said
    assert "-lv" not in said


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """60 columns."""
    text = io.StringIO()
    for module in (console, plan_view, what_if_view):
        monkeypatch.setattr(module, "out", Console(width=60, file=text, highlight=False))
    return text


def test_at_60_columns_layouts_keep_their_names(narrow: io.StringIO) -> None:
    assert evener(QWEN) == 0
    lines = [line.split()[0] for line in narrow.getvalue().splitlines()[:20] if line.strip()]
    assert {"alpha", "beta", "replicas", "cluster", "cluster-by-memory"} <= set(lines)
    assert "no room for: load s, prompts tok/s" in narrow.getvalue()


def test_at_60_columns_a_sweep_keeps_what_was_varied_and_what_to_take(narrow: io.StringIO) -> None:
    assert evener(QWEN, "--sweep", "context=8192,32768", "--sweep", "users=4,8") == 0
    rows = [line.split()[:3] for line in narrow.getvalue().splitlines()]
    assert [row for row in rows if row[:1] in (["8192"], ["32768"])] == [
        ["8192", "4", "alpha"], ["8192", "8", "alpha"], ["32768", "4", "alpha"], ["32768", "8", "alpha"]
    ]  # fmt: skip
    assert "no room for: per mil. tokens" in narrow.getvalue()


def test_an_assumed_link_is_told_in_one_plan_and_in_a_sweep() -> None:
    told = "link wifi between alpha and beta, assumed: 0.4 (0.08 to 1.2) Gbit/s, 4000 (1500 to 15000) us a round trip"
    assert told in answer(QWEN, "--link", "wifi")["notes"]
    assert told in answer(QWEN, "--sweep", "link=10gbe,wifi")["notes"]


def test_a_part_in_ram_that_nobody_measured_is_said_not_to_be_compared() -> None:
    told = "alpha-partial-offload is not compared: nobody knows how fast alpha's RAM is"
    assert told in answer("llama-3.3-70b:Q6_K", "--without", "beta")["notes"]


def test_a_plan_of_replicas_says_that_up_runs_one_server() -> None:
    (told,) = (n for n in answer(QWEN, "--layout", "replicas")["notes"] if n.startswith("replicas are 2 servers"))
    assert told == "replicas are 2 servers, and evener up runs one: evener up would take alpha"


def test_layouts_that_are_refused_for_one_reason_share_its_line(screen: io.StringIO) -> None:
    said = answer(QWEN)
    why = {"alpha": "no engine", "beta": "no copy", "cluster-on-beta": "no copy"}
    refused = [
        {**one, "fits": False, "short_bytes": 0, "why_not": why[one["name"]]}
        for one in said["candidates"]
        if one["name"] in why
    ]
    data = {key: said[key] for key in ("model", "workload", "verdict")} | {"candidates": refused}
    plan_view.show(from_data(Plan, data, source="a test"), commands=False)
    assert "alpha: no engine\nbeta, cluster-on-beta: no copy\n" in screen.getvalue()


def test_a_sweep_needs_a_model() -> None:
    with pytest.raises(ConfigurationError, match="of which model"):
        evener("--sweep", "context=4096")


def test_a_model_with_mtp_blocks_has_a_row_and_one_that_is_there_twice_is_said_to_be_left_out() -> None:
    many = answer()
    assert any(row["model"].lower().startswith("glm-4.5-air") for row in many["points"])
    assert not any("mtp" in row["changes"]["model"] for row in many["points"])
    assert any(note.startswith("left out: qwen3.6-27b-mtp, qwen3.6-35b-a3b-mtp: ") for note in many["notes"])


def test_models_that_lack_the_asked_quantisation_are_named() -> None:
    notes = answer("--quant", "q4_k_m")["notes"]
    assert "left out: gpt-oss-20b, gpt-oss-120b: the catalogue has no Q4_K_M of it" in notes


def test_what_is_left_to_the_processor_is_not_on_cards(screen: io.StringIO) -> None:
    assert evener("llama-3.3-70b:Q6_K", "--without", "beta") == 0
    row = next(line for line in screen.getvalue().splitlines() if "(chosen)" in line)
    assert "45.9 GiB" in row  # 15.1 and 30.8: the CPU's 14.3 are none


def test_a_quantisation_that_no_model_has_is_told() -> None:
    with pytest.raises(ConfigurationError, match="--quant FOO: no model of the catalogue has it"):
        evener("--quant", "FOO")


def test_only_the_catalogue_has_other_quantisations() -> None:
    with pytest.raises(ConfigurationError, match="is what it is"):
        evener("./mine.gguf", "--quant", "any")


def test_examples_are_found_where_there_is_no_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    said = ["plan", "llama-3.1-8b:Q8_0", "--rig", "examples/96gb.toml", "--json"]
    assert CliRunner().invoke(app, said, catch_exceptions=False).exit_code == 0


def test_a_plan_takes_a_second_and_a_half_and_a_grid_of_64_points_ten() -> None:
    begin = time.perf_counter()
    answer(QWEN)
    planned = time.perf_counter()
    assert len(answer("qwen3.6-35b-a3b", "--grid")["points"]) == 64
    assert planned - begin < 1.5
    assert time.perf_counter() - planned < 10


def test_case_1_a_command_is_held_against_a_rig_that_need_not_exist() -> None:
    command = "llama-server --rpc 10.0.0.2:50052 -ts 32,16,16,16,16"
    checked = answer("--check", command, "--layers", "40")
    assert [(row["card"], row["slots"]) for row in checked["places"]] == [
        ("beta/RTX 5080", 14),
        ("beta/RTX 5060 Ti 16GB", 7),
        ("beta/RTX 5060 Ti 16GB", 7),
        ("alpha/RTX 5090", 7),
        ("alpha/RTX 5060 Ti 16GB", 6),
    ]


def test_one_user_is_one_user() -> None:
    assert plan_view.users(Workload(users=1, context=4096)) == "1 user of 4096 tokens"
    assert plan_view.users(Workload(users=1, context=4096, unified=True)) == "1 user of 4096 tokens"
    assert plan_view.users(Workload(users=2, context=4096, unified=True)) == "2 users who share a pool of 4096 tokens"
