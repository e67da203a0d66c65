"""What is seen of a campaign: where it stands, what has ended, how long it takes."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from evener.api import campaign_folder
from evener.api.campaign_folder import Journal
from evener.cli.compare_live import CampaignView, duration, in_words
from evener.cli.main import app
from evener.errors import NameUnknown
from evener.records import rig as rigs
from evener.records.campaign import Campaign, Contestant, Schedule, Unit, UnitEnd, Visit, VisitEnd
from evener.records.card import Scan


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVENER_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("COLUMNS", "200")


@pytest.fixture
def journal() -> Journal:
    units = tuple(Unit(id=f"a/alpha/1:{one}", measure=one, name=one) for one in ("canary", "speed"))  # type: ignore[arg-type]
    visit = Visit(
        id="a/alpha/1", contestant="a", block=1, role="asked", layout="alpha", candidate="alpha", cable=None,
        context=4096, units=units,
    )  # fmt: skip
    return campaign_folder.create(
        Campaign(name="ours", contestants=(Contestant(name="a", model="demo"),)),
        Schedule(visits=(visit,), fetches=(), minutes=None, disk_bytes=None),
        text="",
        rig=rigs.Rig(hosts=(rigs.Host(name="alpha", connection="local"),)),
        scan=Scan(taken_at=datetime(2026, 12, 1, tzinfo=UTC), hosts=(), devices=()),
    )


def end(journal: Journal, unit: str, **more: Any) -> None:
    journal.add("unit begun", {"unit": unit})
    fields = {"unit": unit, "visit": "a/alpha/1", "state": "done", "seconds": 90.0} | more
    journal.unit_ended(UnitEnd(**fields))


def compare(*words: str) -> Result:
    return CliRunner().invoke(app, ["compare", *words])


def test_a_campaign_that_was_cut_says_where_and_how_it_goes_on(journal: Journal) -> None:
    journal.add("visit begun", {"visit": "a/alpha/1"})
    end(journal, "a/alpha/1:canary")
    journal.add("unit begun", {"unit": "a/alpha/1:speed"})
    said = compare("--status").stdout
    assert said.splitlines()[0] == f"ours stopped  {journal.id}"
    assert "1 of 2 units" in said
    assert "cut: a/alpha/1:speed" in said
    assert f"evener compare --resume {journal.id} goes on" in said
    told = json.loads(compare(journal.id[-4:], "--status", "--json").stdout)
    assert (told["state"], told["done"], told["unit"]) == ("stopped", 1, "a/alpha/1:speed")


def test_watching_one_that_does_not_run_is_one_line(journal: Journal) -> None:
    assert compare("--status", "--watch").stdout == "0 of 2 units: stopped\n"
    (line,) = compare("--status", "--watch", "--json").stdout.splitlines()
    assert json.loads(line)["name"] == "ours"


def test_one_that_is_complete_says_so(journal: Journal) -> None:
    end(journal, "a/alpha/1:canary")
    end(journal, "a/alpha/1:speed", state="failed", why="it died")
    journal.visit_ended(VisitEnd(visit="a/alpha/1", state="done"))
    journal.finish(None)
    said = compare("--status").stdout
    assert said.splitlines()[:2] == [f"ours complete  {journal.id}", "  2 of 2 units, 1 failed"]


def test_nothing_to_tell_is_one_line() -> None:
    found = compare("--status")
    assert isinstance(found.exception, NameUnknown)
    assert "there is no campaign" in found.exception.message


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(9.6, "10 s"), (99.4, "99 s"), (100, "2 min"), (3600, "60 min"), (6000, "1 h 40 min"), (20000, "5 h 33 min")],
)
def test_durations_are_for_people(seconds: float, said: str) -> None:
    assert duration(seconds) == said


def test_what_stands_is_said_in_words() -> None:
    one = {"done": 3, "failed": 1, "skipped": 0, "units": 12, "state": "running", "minutes_left": 14.2}
    assert in_words(one) == "4 of 12 units, 1 failed, about 14 min left"
    assert in_words(one | {"failed": 0, "minutes_left": None}) == "3 of 12 units"
    assert in_words(one | {"state": "complete", "done": 12, "failed": 0}) == "12 of 12 units"


def fact(kind: str, **data: Any) -> dict[str, Any]:
    return {"fact": {"kind": kind, "data": data}}


def test_a_log_has_a_line_for_each_thing_that_ended_and_a_caution_once(capsys: pytest.CaptureFixture[str]) -> None:
    with CampaignView() as view:
        view.show(fact("caution", text="beta/CPU: 412 MiB held by ollama of me (pid 7, for 10 min)"))
        view.show(fact("caution", text="alpha/CPU: 420 MiB held by ollama of me (pid 7, for 13 min)"))
        view.show({"progress": {"what": "asking (single)", "done": 3, "of": 12}})
        view.show({"progress": {"what": "asking (single)", "done": 4, "of": 12}})
        view.show({"progress": {"what": "hash", "done": 16777216, "of": 144811072, "detail": "small.gguf"}})
        view.show(
            fact("unit ended", end={"unit": "a/alpha/1:speed", "state": "failed", "seconds": 8, "why": "it died"})
        )
        view.show(fact("dropped", dropped={"contestant": "b", "why": "beaten [by a]"}))
        view.show(
            fact("changed", changed={"condition": "driver", "before": None, "now": "590", "again": ["a/alpha/1"]})
        )
    assert capsys.readouterr().err.splitlines() == [
        "! beta/CPU: 412 MiB held by ollama of me (pid 7, for 10 min)",
        "  asking (single): 3 of 12",
        "  hash: 12%, small.gguf",
        "  a/alpha/1:speed failed in 8 s: it died",
        "b is measured no further: beaten [by a]",
        "! driver was unknown, is 590; measured anew: a/alpha/1",
    ]


def test_as_json_it_is_every_message_but_progress(capsys: pytest.CaptureFixture[str]) -> None:
    with CampaignView(as_json=True) as view:
        view.show({"progress": {"what": "x"}})
        view.show({"campaign": {"done": 1}})
    assert capsys.readouterr().out == '{"campaign": {"done": 1}}\n'
