"""`evener compare` before it begins, on rigs that need not exist: every step, what it proves, and what is wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from evener.cli.main import app
from evener.codec import from_json
from evener.config import example
from evener.config.campaign import parse_campaign
from evener.errors import CampaignFileError, ConfigurationError, EvenerError, ModelMissing
from evener.records.campaign import Schedule

RIG = str(example("96gb.toml"))
ONE_MACHINE = '[[hosts]]\nname = "box"\nconnection = "stated"\ncards = [{ model = "RTX 5090" }]\n'


@pytest.fixture(autouse=True)
def a_laptop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without models, engine or anything measured; the tests' own folder is where it stands."""
    for name in ("HOME", "EVENER_CACHE", "EVENER_STATE"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    for name in ("XDG_CACHE_HOME", "XDG_STATE_HOME", "EVENER_ENGINE", "EVENER_RIG", "HF_HOME", "LLAMA_CACHE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)


def evener(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["compare", *arguments], catch_exceptions=True)
    if isinstance(result.exception, EvenerError):
        raise result.exception
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.stdout


def planned(text: str, *arguments: str, rig: str = RIG) -> Schedule:
    Path("campaign.toml").write_text('name = "ours"\n' + text)
    _, said = evener("campaign.toml", "--dry-run", "--rig", rig, "--json", *arguments)
    return from_json(Schedule, said, source="campaign.toml")


def faults(text: str) -> dict[str, str]:
    with pytest.raises(CampaignFileError) as caught:
        planned(text)
    assert caught.value.exit_code == 2
    return dict(caught.value.faults)


def keys(schedule: Schedule) -> set[str]:
    return {visit.key for visit in schedule.visits}


def test_the_example_is_planned_on_a_laptop_with_nothing_installed() -> None:
    code, said = evener("examples/campaign.toml", "--dry-run", "--rig", "examples/96gb.toml")
    assert code == 0
    words = " ".join(said.split())
    assert "which model for the office: 6 contestants in 2 blocks" in words
    assert "qwen3.6-35b-a3b:Q8_0: to fetch, 34.4 GiB" in words
    assert "llama-3.3-70b-Q6_K/alpha: needs 64.4 GiB but its 2 cards offer 46.8 GiB" in words
    assert "what the sizes can prove: - translation, 131 questions:" in words
    assert "known by their headers alone: qwen3.6-35b-a3b:Q4_K_M," in words
    assert "answers that think are counted as long as they may be, 1024 tokens each" in words
    assert "128.6 GiB to fetch and write, the fullest card 94% in llama-3.3-70b-Q6_K/cluster" in words


def test_every_step_in_order_with_its_minutes_and_no_cluster_without_one_machine() -> None:
    schedule = planned(
        '[speed]\n[[models]]\nmodel = "qwen3.6-35b-a3b:Q8_0"\n[[models]]\nmodel = "llama-3.3-70b:Q6_K"\n'
    )
    assert keys(schedule) == {
        "qwen3.6-35b-a3b-Q8_0/alpha",
        "qwen3.6-35b-a3b-Q8_0/cluster",
        "qwen3.6-35b-a3b-Q8_0/alpha,again",
        "llama-3.3-70b-Q6_K/cluster",
        "llama-3.3-70b-Q6_K/beta",  # which lacks least
    }
    blocks = [visit.block for visit in schedule.visits]
    assert blocks == sorted(blocks)
    qwen = next(v for v in schedule.visits if v.id == "qwen3.6-35b-a3b-Q8_0/alpha/1")
    assert (qwen.layout, qwen.role) == ("auto", "asked")
    assert qwen.predicted is not None
    assert 100 < qwen.predicted.value < 300  # as `evener plan` has it: 181
    assert qwen.load_minutes == pytest.approx((21.2 + 45) / 60, abs=0.01)
    assert [unit.measure for unit in qwen.units] == ["canary", "speed"]
    none = next(v for v in schedule.visits if v.contestant == "llama-3.3-70b-Q6_K" and v.why_not)
    assert (none.role, none.block) == ("baseline", 1)
    assert schedule.minutes is not None
    assert schedule.disk_bytes == sum(fetch.bytes or 0 for fetch in schedule.fetches)


def test_what_auto_takes_is_not_measured_twice_where_a_host_is_the_same() -> None:
    schedule = planned('layouts = ["auto", "alpha", "alpha/CUDA0"]\n[speed]\n[[models]]\nmodel = "gemma-3-27b:Q6_K"\n')
    assert keys(schedule) == {"gemma-3-27b-Q6_K/alpha/CUDA0", "gemma-3-27b-Q6_K/alpha/CUDA0,again"}


def test_replicas_are_measured_copy_by_copy() -> None:
    schedule = planned(
        'layouts = ["replicas"]\na_versus_a = false\nrepeats = 1\n[speed]\n[[models]]\nmodel = "qwen3.6-35b-a3b:Q8_0"\n'
    )
    assert keys(schedule) == {"qwen3.6-35b-a3b-Q8_0/alpha", "qwen3.6-35b-a3b-Q8_0/beta"}


def test_a_layout_that_the_plan_has_for_other_models_is_a_result_and_no_slip() -> None:
    schedule = planned(
        'layouts = ["replicas", "auto"]\na_versus_a = false\nrepeats = 1\n[speed]\n'
        '[[models]]\nmodel = "qwen3.6-35b-a3b:Q8_0"\n[[models]]\nmodel = "llama-3.3-70b:Q6_K"\n'
    )
    none = next(visit for visit in schedule.visits if visit.key == "llama-3.3-70b-Q6_K/replicas")
    assert none.why_not == "a copy does not fit on each of several machines"


def test_each_cable_and_each_context_is_a_load_of_its_own() -> None:
    schedule = planned(
        'layouts = ["cluster"]\ncables = ["5gbe", "10gbe"]\ncontexts = [4096, 8192]\na_versus_a = false\nrepeats = 1\n'
        '[speed]\n[[models]]\nmodel = "qwen3.6-35b-a3b:Q8_0"\nname = "qwen"\n'
    )
    assert keys(schedule) == {
        f"qwen/{place},{context}"
        for place in ("alpha", "cluster@5gbe", "cluster@10gbe")
        for context in ("4096", "8192")
    }
    decode = {v.cable: v.predicted.value for v in schedule.visits if v.cable and v.context == 4096 and v.predicted}
    assert decode["10gbe"] > decode["5gbe"]


def test_on_one_machine_there_is_no_cluster_and_it_is_said(tmp_path: Path) -> None:
    (tmp_path / "one.toml").write_text(ONE_MACHINE)
    schedule = planned('[speed]\n[[models]]\nmodel = "qwen3-0.6b:Q8_0"\n', rig="one.toml")
    assert "the rig is one machine: no cluster" in schedule.notes
    assert {visit.candidate for visit in schedule.visits} == {"box"}


def test_what_is_made_here_is_planned_as_the_catalogue_has_it_and_its_source_is_fetched_first() -> None:
    schedule = planned(
        "a_versus_a = false\nrepeats = 1\n[speed]\n[[models]]\n"
        'model = "qwen3.6-27b:BF16"\nname = "qwen"\nquantisations = []\nquantise = ["Q4_K_M"]\n'
    )
    assert [(one.how, one.model) for one in schedule.fetches] == [
        ("fetch", "qwen3.6-27b:BF16"),
        ("quantise", "qwen3.6-27b:BF16 as Q4_K_M"),
    ]
    source, made = (one.bytes or 0 for one in schedule.fetches)
    assert round(source / 2**30, 1) == 50.1
    assert round(made / 2**30, 1) == 15.4
    assert "Q4_K_M of Qwen3.6-27B-BF16 is made here: sizes are those of the catalogue" in schedule.notes
    assert {visit.candidate for visit in schedule.visits} >= {"alpha/CUDA0"}
    assert not any("stays lost" in note for note in schedule.notes)


def test_what_is_made_of_something_quantised_already_is_said() -> None:
    schedule = planned('[speed]\n[[models]]\nmodel = "qwen3-0.6b:Q8_0"\nquantise = ["Q4_0"]\n')
    assert "qwen3-0.6b-Q8_0-Q4_0 is made of Q8_0: what that has lost stays lost" in schedule.notes


def test_the_demo_is_planned_before_it_is_fetched() -> None:
    schedule = planned('[speed]\n[[models]]\nmodel = "demo"\n')
    assert [(one.how, one.model) for one in schedule.fetches] == [("fetch", "demo")]
    assert any(note.startswith("demo is not fetched yet") for note in schedule.notes)


def test_a_server_that_runs_already_is_planned_without_asking_it() -> None:
    schedule = planned('[[users]]\n[[endpoints]]\nname = "vllm"\nurl = "http://192.0.2.1:8000"\n')
    assert keys(schedule) == {"vllm/endpoint", "vllm/endpoint,again"}
    assert schedule.minutes is None


def test_a_budget_leaves_out_repeats_and_says_so() -> None:
    text = 'budget = "10m"\nrepeats = 3\n[speed]\n[[models]]\nmodel = "qwen3.6-35b-a3b:Q8_0"\n'
    for schedule in (planned(text), planned(text.replace('budget = "10m"\n', ""), "--budget", "10m")):
        assert {visit.block for visit in schedule.visits} == {1, 2}
        assert any("repeats, 2 of 3 are made" in note for note in schedule.notes)
        assert schedule.proves[-1].startswith("speeds, 2 blocks:")


def test_names_that_nobody_knows_are_told_all_at_once() -> None:
    found = faults(
        'layouts = ["auto", "clutser"]\ncables = ["5gb"]\n[speed]\n[[models]]\nmodel = "qwen3.6-35b"\n'
        '[[models]]\nmodel = "qwen3-0.6b:Q8_0"\nflags = ["-ngl", "3"]\n[[models]]\nmodel = "qwen3-0.6b:Q9"\n'
        '[[models]]\nmodel = "gemma-3-27b:Q6_K"\nquantise = ["Q9_9"]\n[answers]\nsuites = ["nowhere.jsonl"]\n'
    )
    assert "qwen3.6-35b-a3b" in found["qwen3.6-35b"]
    assert "evener decides this itself" in found["qwen3-0.6b-Q8_0"]
    assert "the catalogue has no Q9" in found["qwen3-0.6b-Q9"]
    assert "llama-quantize makes no such type" in found["gemma-3-27b-Q6_K-Q9_9"]
    assert "nowhere.jsonl" in found["answers"]
    assert "5gb" in found["cables"]
    again = faults('layouts = ["auto", "clutser"]\n[speed]\n[[models]]\nmodel = "gemma-3-27b:Q6_K"\n')
    assert '"clutser" is no layout of this rig' in again["layouts"]


def test_where_nothing_fits_the_answer_is_no(tmp_path: Path) -> None:
    (tmp_path / "one.toml").write_text(ONE_MACHINE)
    Path("campaign.toml").write_text('name = "n"\n[speed]\n[[models]]\nmodel = "llama-3.3-70b:Q8_0"\n')
    code, said = evener("campaign.toml", "--dry-run", "--rig", "one.toml")
    assert code == 1
    assert "does not fit:" in said


def test_what_need_not_exist_is_planned_and_not_begun(tmp_path: Path) -> None:
    Path("campaign.toml").write_text('name = "n"\n[speed]\n[[models]]\nmodel = "qwen3-0.6b:Q8_0"\n')
    with pytest.raises(ConfigurationError, match="alpha, beta: stated, so that nothing can be measured there"):
        evener("campaign.toml", "--rig", RIG)
    (tmp_path / "here.toml").write_text('[[hosts]]\nname = "here"\nconnection = "local"\n')
    with pytest.raises(ModelMissing, match=r"headers alone: qwen3-0\.6b:Q8_0"):
        evener("campaign.toml", "--rig", "here.toml")
    assert not list(tmp_path.glob("runs/*"))


def test_a_first_file_is_written_once_and_can_be_planned(tmp_path: Path) -> None:
    code, said = evener("--init", "--rig", RIG)
    assert code == 0
    assert "campaign.toml: written" in said
    text = Path("campaign.toml").read_text()
    assert parse_campaign(text, path="campaign.toml").layouts == ("auto", "cluster")
    with pytest.raises(ConfigurationError, match="exists and stays as it is"):
        evener("--init", "--rig", RIG)
    Path("campaign.toml").write_text("")
    assert evener("--init", "--force", "--rig", RIG)[0] == 0
    assert Path("campaign.toml").read_text() == text
    code, said = evener("campaign.toml", "--dry-run", "--rig", RIG)
    assert code == 0
    assert "demo: to fetch" in said


def test_every_mark_taken_away_the_first_file_is_still_one() -> None:
    from evener.campaign.first_campaign import first_campaign

    text = first_campaign(["a", "b"], hosts=["alpha", "beta"], file="x.toml")
    lines = [line.removeprefix("# ") if line.startswith("# ") and "=" in line else line for line in text.splitlines()]
    lines = [line.removeprefix("# ") if line.startswith("# [") else line for line in lines]
    campaign = parse_campaign("\n".join(line for line in lines if "`" not in line and "--" not in line), path="x.toml")
    assert len(campaign.contestants) == 2 + 4 + 1
    assert campaign.budget_s == 8 * 3600


def test_the_schema_is_printed_and_without_a_file_one_is_asked_for() -> None:
    code, said = evener("--schema")
    assert code == 0
    schema: dict[str, Any] = json.loads(said)
    assert schema["title"] == "campaign.toml"
    with pytest.raises(ConfigurationError, match="which comparison"):
        evener()
    with pytest.raises(CampaignFileError, match="no such file"):
        evener("none.toml", "--dry-run")
