"""A deployment kept up behind a door: what orders mean at every moment, what counts as dead. Loading is scripted."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from evener.api import keeping
from evener.api.keeping import Care, Keeper, Post
from evener.errors import ChildDied, EvenerError, HostBusy, HostError, LoadFailed, ModelMissing
from evener.records.card import Scan
from evener.records.plan import Candidate, Command, Predicted, Value, Workload
from evener.records.serving import Behind
from evener.serve import health
from evener.serve.door import Door
from evener.testing.fake_engine import FakeEngine, fake_engine


def candidate(name: str, *hosts: str, users_rate: float = 1.0, prefill_low: float = 1000.0) -> Candidate:
    rate = Value(value=users_rate, low=users_rate, high=users_rate)
    prefill = Value(value=prefill_low * 2, low=prefill_low, high=prefill_low * 3)
    return Candidate(
        name=name,
        kind="host" if len(hosts) == 1 else "cluster",
        hosts=hosts,
        fits=True,
        short_bytes=0,
        devices=(),
        host_bytes={},
        servers=(Command(host=hosts[0], argv=("llama-server",), env={}, listen="127.0.0.1:1"),),
        workers=(),
        predicted=Predicted(users_tokens_per_s=rate, prefill_tokens_per_s=prefill),
    )


CLUSTER, ALPHA = candidate("cluster", "alpha", "beta"), candidate("alpha", "alpha")


def post(here: Candidate = CLUSTER, **more: Any) -> Post:
    async def scan(**_more: object) -> Scan:
        return Scan(taken_at=datetime(2026, 1, 2, tzinfo=UTC), hosts=(), devices=())

    planned = SimpleNamespace(
        plan=SimpleNamespace(workload=Workload(users=2, context=1024), candidates=(CLUSTER, ALPHA)),
        weights=SimpleNamespace(file_bytes=1, name="fake"),
        scan=SimpleNamespace(hosts=()),
        rig=SimpleNamespace(scan=scan),
    )
    known: dict[str, Any] = {"name": "fake", "model": "fake", "spec": "fake", "asked": "cluster"}
    return Post(**(known | more), planned=cast(Any, planned), candidate=here)


@dataclass
class Stage:
    """How loads go. `fails` are what ends the next ones; `may_load` is not set while they take their time."""

    engine: FakeEngine
    fails: list[EvenerError] = field(default_factory=list)
    may_load: asyncio.Event = field(default_factory=asyncio.Event)
    lives: list[str] = field(default_factory=list)
    up: int = 0
    fault: asyncio.Future[ChildDied] | None = None
    held: list[tuple[str, ...]] = field(default_factory=list)
    held_by_others: bool = False

    @asynccontextmanager
    async def deployed(self, life: Any, _world: object, **_more: object) -> AsyncIterator[Any]:
        self.lives.append(life.candidate.name)
        self.fault = asyncio.get_running_loop().create_future()
        await self.may_load.wait()
        if self.fails:
            raise self.fails.pop(0)

        async def fault() -> ChildDied:
            assert self.fault is not None
            return await asyncio.shield(self.fault)

        life.up = SimpleNamespace(url=self.engine.url, load_s=0.1, fault=fault)
        self.up += 1
        try:
            yield life.up
        finally:
            self.up -= 1

    def hold(self, hosts: Any) -> None:
        if hosts and self.held_by_others:
            raise HostBusy("alpha is held by deployment bench")
        self.held.append(tuple(hosts))

    def kill(self, why: str = "it died", host: str | None = None) -> None:
        assert self.fault is not None
        self.fault.set_result(ChildDied(why, host=host))


@dataclass(kw_only=True)
class House:
    keeper: Keeper
    door: Door
    stage: Stage
    facts: list[tuple[str, dict[str, object]]]

    @property
    def now(self) -> Behind:
        return self.door.behind()[0]

    async def until(self, condition: Callable[[], object], within_s: float = 5.0) -> None:
        async with asyncio.timeout(within_s):
            while not condition():
                await asyncio.sleep(0.005)

    async def until_state(self, state: str) -> None:
        await self.until(lambda: self.now.state == state)


@pytest.fixture(autouse=True)
def _hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "BACK_OFF_S", (0.01, 0.01, 0.05))
    monkeypatch.setattr(keeping, "LOOK_EVERY_S", 0.02)
    monkeypatch.setattr(keeping, "BUSY_EVERY_S", 0.02)


@pytest.fixture
def bundles(tmp_path: Path) -> Path:
    return tmp_path / "deaths"


@asynccontextmanager
async def kept(
    monkeypatch: pytest.MonkeyPatch, bundles: Path, *, engine: FakeEngine | None = None, loads: bool = True, **care: Any
) -> AsyncIterator[House]:
    facts: list[tuple[str, dict[str, object]]] = []
    async with fake_engine(engine or FakeEngine()) as made:
        stage = Stage(engine=made)
        if loads:
            stage.may_load.set()
        monkeypatch.setattr(keeping, "deployed", stage.deployed)
        door = Door(url="http://door")
        settings: dict[str, Any] = {"hung_after_s": 60.0, "probe_idle_every_s": 0.0, "drain_within_s": 0.5}
        keeper = Keeper(
            post(),
            door,
            Care(key="inner", bundles=bundles, **(settings | care)),
            world=lambda _post: cast(Any, None),
            fact=lambda kind, data: facts.append((kind, data)),
            hold=stage.hold,
        )
        running = asyncio.create_task(keeper.run())
        house = House(keeper=keeper, door=door, stage=stage, facts=facts)
        try:
            yield house
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
            assert stage.up == 0, "whatever happened, it is down"


async def test_a_pause_is_done_when_nothing_is_up_and_its_machines_are_free(
    monkeypatch: pytest.MonkeyPatch, bundles: Path
) -> None:
    async with kept(monkeypatch, bundles) as house:
        await house.until_state("ready")
        await house.keeper.pause()
        assert (house.now.state, house.stage.up, house.stage.held[-1]) == ("paused", 0, ())
        await house.keeper.go_on()
        assert (house.now.state, house.stage.up, house.stage.held[-1]) == ("ready", 1, ("alpha", "beta"))
        assert house.keeper.restarts == 0


async def test_a_pause_does_not_wait_for_a_load(monkeypatch: pytest.MonkeyPatch, bundles: Path) -> None:
    async with kept(monkeypatch, bundles, loads=False) as house:
        await house.until(lambda: house.stage.lives)
        async with asyncio.timeout(2):
            await house.keeper.pause()
        assert house.now.state == "paused"


async def test_a_pause_between_a_death_and_the_next_try_is_a_pause(
    monkeypatch: pytest.MonkeyPatch, bundles: Path
) -> None:
    monkeypatch.setattr(health, "BACK_OFF_S", (3600.0,))
    async with kept(monkeypatch, bundles) as house:
        await house.until_state("ready")
        house.stage.kill()
        await house.until(lambda: house.keeper.restarts)
        await house.keeper.pause()
        assert house.now.state == "paused"


async def test_continue_where_nothing_is_paused_disturbs_nobody(monkeypatch: pytest.MonkeyPatch, bundles: Path) -> None:
    async with kept(monkeypatch, bundles) as house:
        await house.until_state("ready")
        await house.keeper.go_on()
        assert house.stage.lives == ["cluster"]


async def test_who_is_overtaken_by_another_order_is_told(monkeypatch: pytest.MonkeyPatch, bundles: Path) -> None:
    async with kept(monkeypatch, bundles) as house:
        await house.until_state("ready")
        await house.keeper.pause()
        house.stage.may_load.clear()
        going_on = asyncio.create_task(house.keeper.go_on())
        await house.until(lambda: len(house.stage.lives) == 2)
        both = [asyncio.create_task(house.keeper.pause()) for _ in range(2)]
        with pytest.raises(HostBusy, match="another order"):
            await going_on
        await asyncio.gather(*both)
        assert house.now.state == "paused"


async def test_an_order_that_fails_says_why_and_the_keeper_tries_on(
    monkeypatch: pytest.MonkeyPatch, bundles: Path
) -> None:
    async with kept(monkeypatch, bundles) as house:
        await house.until_state("ready")
        await house.keeper.pause()
        house.stage.fails = [LoadFailed("no memory")]
        with pytest.raises(LoadFailed, match="no memory"):
            await house.keeper.go_on()
        await house.until_state("ready")
        assert house.now.why == "no memory"


async def test_a_machine_that_somebody_else_holds_is_waited_for_and_is_no_death(
    monkeypatch: pytest.MonkeyPatch, bundles: Path
) -> None:
    async with kept(monkeypatch, bundles) as house:
        await house.until_state("ready")
        await house.keeper.pause()
        house.stage.held_by_others = True
        with pytest.raises(HostBusy, match="bench"):
            await house.keeper.go_on()
        assert house.keeper.restarts == 0
        house.stage.held_by_others = False
        await house.until_state("ready")


async def test_a_switch_brings_up_the_other_and_keeps_the_machines(
    monkeypatch: pytest.MonkeyPatch, bundles: Path
) -> None:
    async def other() -> Post:
        assert house.stage.up == 0, "it is planned with the machines free"
        return post(ALPHA, model="other")

    async with kept(monkeypatch, bundles) as house:
        await house.until_state("ready")
        await house.keeper.switch(other)
        assert (house.now.state, house.now.model, house.now.layout) == ("ready", "other", "alpha")
        assert () not in house.stage.held, "nobody else got them meanwhile"


@pytest.mark.parametrize("fault", [ModelMissing("no such model"), LoadFailed("no memory")])
async def test_a_switch_that_fails_brings_back_what_was(
    monkeypatch: pytest.MonkeyPatch, bundles: Path, fault: EvenerError
) -> None:
    async def other() -> Post:
        if isinstance(fault, ModelMissing):
            raise fault
        house.stage.fails = [fault]
        return post(ALPHA, model="other")

    async with kept(monkeypatch, bundles) as house:
        await house.until_state("ready")
        with pytest.raises(type(fault)):
            await house.keeper.switch(other)
        assert (house.now.state, house.now.model) == ("ready", "fake")
        await house.keeper.switch(lambda: asyncio.sleep(0, post(ALPHA)))
        assert house.now.layout == "alpha", "another switch is possible"


async def test_while_it_is_switched_or_paused_no_switch_begins(monkeypatch: pytest.MonkeyPatch, bundles: Path) -> None:
    async with kept(monkeypatch, bundles) as house:
        await house.until_state("ready")
        planning = asyncio.Event()

        async def other() -> Post:
            await planning.wait()
            return post()

        switching = asyncio.create_task(house.keeper.switch(other))
        await house.until(lambda: house.stage.up == 0)
        for order in (house.keeper.pause, house.keeper.go_on, lambda: house.keeper.switch(other)):
            with pytest.raises(HostBusy, match="being switched"):
                await order()
        planning.set()
        await switching
        await house.keeper.pause()
        with pytest.raises(HostBusy, match="is paused"):
            await house.keeper.switch(other)


async def test_an_order_that_the_end_overtakes_is_told(monkeypatch: pytest.MonkeyPatch, bundles: Path) -> None:
    async with kept(monkeypatch, bundles) as house:
        await house.until_state("ready")
        await house.keeper.pause()
        house.stage.may_load.clear()
        going_on = asyncio.create_task(house.keeper.go_on())
        await house.until(lambda: len(house.stage.lives) == 2)
    with pytest.raises(HostError, match="closing"):
        await going_on


async def test_a_death_is_kept_the_last_ones_of_many(monkeypatch: pytest.MonkeyPatch, bundles: Path) -> None:
    monkeypatch.setattr(keeping, "MOST_BUNDLES", 2)
    for day in (1, 2):
        (bundles / f"2026010{day}T000000Z-fake").mkdir(parents=True)
    async with kept(monkeypatch, bundles) as house:
        await house.until_state("ready")
        house.stage.kill("it is gone")
        await house.until(lambda: house.keeper.restarts == 1)
        kept_ones = sorted(path.name for path in bundles.iterdir())
        assert kept_ones[0] == "20260102T000000Z-fake"
        assert json.loads((bundles / kept_ones[1] / "death.json").read_text())["why"] == "it is gone"
        assert (house.facts[1][0], house.facts[1][1]["why"]) == ("death behind the door", "it is gone")


async def test_after_three_deaths_at_one_host_it_goes_elsewhere(monkeypatch: pytest.MonkeyPatch, bundles: Path) -> None:
    async with kept(monkeypatch, bundles) as house:
        for n in range(3):
            await house.until(lambda n=n: house.now.state == "ready" and len(house.stage.lives) == n + 1)
            house.stage.kill(host="beta")
        await house.until(lambda: len(house.stage.lives) == 4 and house.now.state == "ready")
        assert house.now.layout == "alpha"
        assert "beta died 3 times" in (house.now.why or "")


async def test_a_long_load_is_no_long_life(monkeypatch: pytest.MonkeyPatch, bundles: Path) -> None:
    monkeypatch.setattr(health, "STEADY_S", 0.05)
    async with kept(monkeypatch, bundles, loads=False) as house:
        house.stage.fails = [LoadFailed("no memory") for _ in range(9)]
        await asyncio.sleep(0.2)
        house.stage.may_load.set()
        await house.until(lambda: house.keeper.restarts)
        assert house.keeper._deaths.recent[-1].lived_s == 0.0


# ---- hung


def test_where_a_batch_of_a_prompt_takes_long_nothing_is_hung_sooner() -> None:
    slow = candidate("cluster", "alpha", "beta", prefill_low=20.0)
    assert post(slow).hung_after_s(60.0) == pytest.approx(keeping.SLOWER * 2048 / 20.0)
    assert post().hung_after_s(60.0) == 60.0
    assert post(replace(ALPHA, predicted=None)).hung_after_s(60.0) == 60.0


def told(monkeypatch: pytest.MonkeyPatch, *, works: bool | None) -> None:
    async def said(_session: object) -> Any:
        return None if works is None else SimpleNamespace(counters=(1.0,), made=1.0, works=works)

    monkeypatch.setattr(keeping, "_said", said)


@pytest.mark.parametrize(("works", "is_dead"), [(True, True), (None, True), (False, False)])
async def test_dead_is_who_works_or_says_nothing_and_not_who_waits_for_a_slow_client(
    monkeypatch: pytest.MonkeyPatch, bundles: Path, works: bool | None, is_dead: bool
) -> None:
    told(monkeypatch, works=works)
    async with kept(monkeypatch, bundles, hung_after_s=0.3) as house:
        monkeypatch.setattr(Keeper, "_busy", lambda _self: True)
        monkeypatch.setattr(Post, "hung_after_s", lambda _self, stated_s: stated_s)
        await house.until_state("ready")
        await asyncio.sleep(0.6)
        assert bool(house.keeper.restarts) is is_dead


async def test_the_question_to_an_idle_one_that_waits_behind_somebody_is_no_death(
    monkeypatch: pytest.MonkeyPatch, bundles: Path
) -> None:
    asked = 0

    async def answers(_session: object) -> bool:
        nonlocal asked
        asked += 1
        busy.append(True)
        await asyncio.sleep(0)
        return False

    busy: list[bool] = []
    told(monkeypatch, works=False)
    monkeypatch.setattr(keeping, "_answers", answers)
    monkeypatch.setattr(Keeper, "_busy", lambda _self: bool(busy))
    async with kept(monkeypatch, bundles, probe_idle_every_s=0.1) as house:
        await house.until(lambda: asked)
        await asyncio.sleep(0.1)
        assert house.keeper.restarts == 0
    busy.clear()
    monkeypatch.setattr(Keeper, "_busy", lambda _self: False)
    async with kept(monkeypatch, bundles, probe_idle_every_s=0.1) as house:
        await house.until(lambda: house.keeper.restarts)
        assert "does not answer a question" in (house.now.why or "")
