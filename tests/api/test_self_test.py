"""The check of the client is kept for this machine, unless it failed."""

from __future__ import annotations

from pathlib import Path

import pytest

from evener.api.self_test import self_test, this_machine
from evener.bench import self_test as limits
from evener.bench import watch
from evener.edges import measured


@pytest.fixture(autouse=True)
def _state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVENER_STATE", str(tmp_path))


async def test_a_check_is_kept_and_fresh_measures_again(monkeypatch: pytest.MonkeyPatch) -> None:
    # Others may keep this machine busy: what is kept is the subject here, not how late we are.
    for limit in ("MOST_ADDED_MEAN_MS", "MOST_ITL_ERROR_PERCENT", "MOST_CPU_SHARE"):
        monkeypatch.setattr(limits, limit, 1e6)
    monkeypatch.setattr(watch, "MOST_LAG_P95_MS", 1e6)
    first = await self_test(2, report=lambda _progress: None)
    assert await self_test(2, report=lambda _progress: None) == first
    again = await self_test(2, fresh=True, report=lambda _progress: None)
    assert again.taken_at > first.taken_at
    assert measured.client(2, this_machine()) == again


async def test_a_failed_check_is_made_twice_and_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MOST_ADDED_MEAN_MS", -1.0)
    ends: list[float] = []
    check = await self_test(
        2, report=lambda progress: ends.append(progress.done) if progress.done == progress.of else None
    )
    assert "adds" in (check.fault or "")
    assert len(ends) >= 2
    assert measured.client(2, this_machine()) is None


def test_the_machines_own_id_is_not_told() -> None:
    where = Path("/etc/machine-id")
    if where.exists():
        assert where.read_text().strip() not in repr(this_machine())
    assert len(this_machine().machine) == 16
