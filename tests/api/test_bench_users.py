"""A load by time: what is said while it goes on."""

from __future__ import annotations

from pathlib import Path

from evener.api.bench_users import Ears, Eyes, Load, Options, users
from evener.records.events import Progress
from evener.testing.fake_engine import FakeEngine, fake_engine


async def test_a_load_by_time_tells_how_long_and_how_many_were_answered(tmp_path: Path) -> None:
    heard: list[Progress] = []
    load = Load(users=(2,), prompt_tokens=8, output_tokens=4)
    options = Options(base=tmp_path, duration_s=0.6, eyes=Eyes(watch=False, check_client=False))
    async with fake_engine(FakeEngine(ttft_s=0.02, itl_s=0.005)) as engine:
        measured = await users(engine.url, load, options, Ears(report=heard.append))
    (level,) = measured.result.levels
    said = [progress for progress in heard if progress.what == "2 users for 0.6 s"]
    assert (said[0].detail, said[0].of) == ("0 answered", None)
    answered = int((said[-1].detail or "").removesuffix(" answered"))
    assert 0 <= answered - level.requests.completed <= 2  # time was up while two were being answered
    assert level.requests.completed > 5
