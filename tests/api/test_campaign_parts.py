"""What a campaign is made of: clean cards, canaries that part, conditions that change, visits that were cut."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from evener.api import campaign_cards, campaign_folder, campaign_regime
from evener.api.campaign_canary import itself, parted
from evener.api.campaign_cards import CardsHeld, held_by_others
from evener.api.campaign_evidence import all_but_ended
from evener.api.campaign_folder import Journal
from evener.api.rig import Rig
from evener.codec import to_data
from evener.edges.run_folder import RunFolder
from evener.plan.reach import wanted_copy
from evener.records import rig as rigs
from evener.records.answers import Answer, Asked
from evener.records.campaign import Campaign, Contestant, Schedule, Unit, UnitEnd, Visit, VisitEnd
from evener.records.card import Card, Holder, HostSeen, Scan
from evener.records.conditions import Conditions
from evener.records.run import Run
from evener.records.verification import CardCheck, FreedCheck

GIB, MIB = 1 << 30, 1 << 20
NOW = datetime(2026, 12, 1, tzinfo=UTC)


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVENER_STATE", str(tmp_path / "state"))


# ---- cards


def scan_of(*holders: Holder, kind: str = "cuda", excluded: bool = False) -> Scan:
    card = Card(id="GPU-1", kind=kind, name="RTX 5080", holders=holders, excluded=excluded)  # type: ignore[arg-type]
    host = HostSeen(name="beta", connection="local", machine_id="m", cards=(card,))
    return Scan(taken_at=NOW, hosts=(host,), devices=())


def holder(size: int, *, resident: str | None = None) -> Holder:
    kind = "resident" if resident else "process"
    return Holder(kind=kind, bytes=size, pid=4711, user="me", command="python train.py", resident=resident)  # type: ignore[arg-type]


def beta(*, reserve: int = 0) -> Rig:
    return Rig(rigs.Rig(hosts=(rigs.Host(name="beta", connection="local", reserve_bytes=reserve),)))


@pytest.mark.parametrize(
    ("scan", "reserve", "is_held"),
    [
        (scan_of(holder(4 * GIB)), 0, True),
        (scan_of(holder(4 * GIB, resident="comfyui")), 0, False),
        (scan_of(holder(300 * MIB)), 512 * MIB, False),  # a desktop, for which the rig keeps a reserve
        (scan_of(holder(300 * MIB), holder(300 * MIB)), 512 * MIB, True),
        (scan_of(holder(20 * MIB)), 0, False),
        (scan_of(holder(4 * GIB), excluded=True), 0, False),
        (scan_of(holder(4 * GIB), kind="cpu"), 0, False),
        (scan_of(), 0, False),
    ],
)
def test_a_card_is_held_by_what_its_owner_has_not_declared(scan: Scan, reserve: int, is_held: bool) -> None:
    assert bool(list(held_by_others(beta(reserve=reserve), scan))) == is_held


async def test_holders_are_named_unless_somebody_waits_for_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(campaign_cards, "GIVEN_BACK_WITHIN_S", 0.0)
    monkeypatch.setattr(campaign_cards, "LOOK_EVERY_S", 0.01)
    rig = beta()
    looks = iter([scan_of(holder(4 * GIB))] * 3 + [scan_of()])

    async def scan(**_kwargs: float) -> Scan:
        return next(looks)

    monkeypatch.setattr(rig, "scan", scan)
    with pytest.raises(CardsHeld, match=r"beta/RTX 5080: 4096 MiB held by python train.py of me \(pid 4711\)") as told:
        await campaign_cards.clean(rig, wait=False, report=lambda _: None)
    assert (told.value.exit_code, "residents" in (told.value.hint or "")) == (3, True)
    assert await campaign_cards.clean(rig, wait=True, report=lambda _: None) == scan_of()


# ---- files


def test_a_layout_that_only_lacks_a_copy_says_which_and_where() -> None:
    why = "beta has no copy of the model; evener models push '/models/my model.gguf' beta brings it there"
    assert wanted_copy(why) == ("/models/my model.gguf", "beta")
    assert wanted_copy(f"replicas: beta: {why}") == ("/models/my model.gguf", "beta")
    assert wanted_copy("needs 90.0 GiB but its 3 cards offer 69.0 GiB") is None


# ---- a journal by hand


def visit(name: str, *, block: int = 1) -> Visit:
    id_ = f"a/{name}/{block}"
    units = tuple(Unit(id=f"{id_}:{one}", measure=one, name=one) for one in ("canary", "users"))  # type: ignore[arg-type]
    return Visit(
        id=id_, contestant="a", block=block, role="asked", layout=name, candidate=name, cable=None, context=4096,
        units=units,
    )  # fmt: skip


@pytest.fixture
def journal() -> Journal:
    campaign = Campaign(name="ours", contestants=(Contestant(name="a", model="demo"),))
    schedule = Schedule(visits=(visit("alpha"), visit("cluster")), fetches=(), minutes=None, disk_bytes=None)
    rig = rigs.Rig(hosts=(rigs.Host(name="alpha", connection="local"),))
    return campaign_folder.create(campaign, schedule, text="", rig=rig, scan=Scan(taken_at=NOW, hosts=(), devices=()))


def run_in(journal: Journal, what: str) -> RunFolder:
    stamp = f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}"
    number = len(list(journal.runs.iterdir()))
    run = Run(id=f"{stamp}-{what}-{number:04x}", what=what, started_at=datetime.now(UTC), conditions=Conditions())
    return RunFolder.create(journal.runs, run)


def unit_ended(journal: Journal, unit: str, run: str | None = None) -> None:
    journal.add("unit begun", {"unit": unit})
    journal.unit_ended(UnitEnd(unit=unit, visit=unit.rpartition(":")[0], state="done", run=run))


# ---- canaries


def answers(texts: list[str], *, epoch: int = 0) -> tuple[Answer, ...]:
    return tuple(
        Answer(
            asked=Asked(question=f"can-{i:03}", candidate="a", epoch=epoch),
            outcome="ok",
            text=text,
            seed=1,
            at=NOW,
            seconds=1.0,
            raw="",
        )
        for i, text in enumerate(texts)
    )


def canary_run(journal: Journal, unit: str, *epochs: list[str]) -> Path:
    folder = run_in(journal, "eval")
    for number, texts in enumerate(epochs):
        for one in answers(texts, epoch=number):
            folder.answer(one)
    unit_ended(journal, unit, folder.path.name)
    return folder.path


SAME = [f"text {i}" for i in range(12)]


def test_a_layout_that_answers_otherwise_is_named_with_the_place(journal: Journal) -> None:
    canary_run(journal, "a/alpha/1:canary", SAME, SAME)
    other = canary_run(journal, "a/cluster/1:canary", ["nonsense"] * 12)
    said = parted(journal, "a/cluster/1:canary", other)
    assert said is not None
    assert said.startswith("answers differ from those of a/alpha/1: 0 of 12 answers are the same")


def test_what_parts_no_more_than_the_first_layout_from_itself_is_noise(journal: Journal) -> None:
    noisy = ["other", "other", "other", *SAME[3:]]
    canary_run(journal, "a/alpha/1:canary", SAME, noisy)
    assert parted(journal, "a/cluster/1:canary", canary_run(journal, "a/cluster/1:canary", noisy)) is None


def test_the_first_layout_has_nobody_to_differ_from(journal: Journal) -> None:
    assert parted(journal, "a/alpha/1:canary", canary_run(journal, "a/alpha/1:canary", SAME, SAME)) is None
    assert itself(answers(SAME)) is None


# ---- conditions


def test_what_changed_is_measured_anew_and_what_was_made_is_set_aside(journal: Journal) -> None:
    first, second = journal.state.schedule.visits
    before = Conditions(drivers={"alpha/RTX 5090": "580.65"})
    assert campaign_regime.told(first, before, journal) == ()
    folder = run_in(journal, "users")
    for unit in first.units:
        unit_ended(journal, unit.id, folder.path.name)
    journal.visit_ended(VisitEnd(visit=first.id, state="done"))
    now = replace(before, drivers={"alpha/RTX 5090": "590.10"})
    (found,) = campaign_regime.told(second, now, journal)
    assert (found.condition, found.again) == ("driver of alpha/RTX 5090", (first.id,))
    assert [one.id for one in journal.state.left] == [first.id, second.id]
    assert [one.name for one in (journal.path / "cut").iterdir()] == [folder.path.name]
    assert campaign_regime.told(first, now, journal) == ()


def test_a_unit_that_was_cut_under_other_conditions_is_not_gone_on_with(journal: Journal) -> None:
    first = journal.state.schedule.visits[0]
    before = Conditions(power_limits_w={"alpha/RTX 5090": 575.0})
    journal.add("visit begun", {"visit": first.id})
    campaign_regime.told(first, before, journal)
    unit_ended(journal, first.units[0].id)
    journal.add("unit begun", {"unit": first.units[1].id})
    cut = run_in(journal, "users").path
    assert journal.cut_run(first.units[1].id, "users") == cut
    assert campaign_regime.told(first, before, journal) == ()
    assert journal.cut_run(first.units[1].id, "users") == cut
    campaign_regime.told(first, replace(before, power_limits_w={"alpha/RTX 5090": 400.0}), journal)
    assert journal.cut_run(first.units[1].id, "users") is None
    assert journal.state.ends == {}
    assert not cut.exists()


# ---- visits that were cut at their end


def test_a_visit_that_was_cut_after_its_last_unit_is_not_loaded_again(journal: Journal) -> None:
    first = journal.state.schedule.visits[0]
    journal.add("visit begun", {"visit": first.id})
    load = run_in(journal, "up")
    check = CardCheck(
        host="alpha", card="cpu", card_name="CPU", device="CPU", layers_planned=31, layers_seen=31, planned_bytes=100,
        reported_bytes=90, measured_bytes=95, floor_bytes=80, ceiling_bytes=120, verdict="as planned",
    )  # fmt: skip
    freed = FreedCheck(
        host="alpha", card="cpu", card_name="CPU", before_bytes=0, during_bytes=95, after_bytes=95, tolerance_bytes=1,
        verdict="held", why="our own pid 7 still holds memory",
    )  # fmt: skip
    load.fact("verified", {"checks": to_data((check,))})
    load.fact("ready", {"url": "http://127.0.0.1:8080", "load_s": 2.5})
    unit_ended(journal, first.units[0].id)
    assert all_but_ended(journal) is None
    unit_ended(journal, first.units[1].id)
    end = all_but_ended(journal)
    assert end is not None
    assert (end.visit, end.state, end.run, end.load_s) == (first.id, "done", load.path.name, 2.5)
    assert (end.checks, end.why) == ((check,), "cut before its memory was seen to come back")
    load.fact("freed", {"checks": to_data((freed,))})
    end = all_but_ended(journal)
    assert end is not None
    assert end.why == "alpha/CPU was not freed: our own pid 7 still holds memory"
