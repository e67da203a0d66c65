from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from evener.api import bench_context, bench_pair, bench_speed, runs
from evener.api.bench_eyes import Eyes
from evener.report.parts import Story
from evener.testing.fake_engine import FakeEngine, fake_engine
from tests.bench.test_context import knowing

RUNS = Path(__file__).parents[1] / "captures" / "runs"
CAPTURE = RUNS / "v1" / "20261101T140000Z-users-90a1"


@pytest.fixture
def cut_off(tmp_path: Path) -> Path:
    """A real run as a power cut leaves it: requests and facts, and nothing that sums them up."""
    folder = Path(shutil.copytree(CAPTURE, tmp_path / CAPTURE.name))
    (folder / "summary.json").unlink()
    lines = (folder / "events.jsonl").read_text().splitlines()
    kept = [line for line in lines if json.loads(line)["kind"] != "measured"]
    (folder / "events.jsonl").write_text("".join(f"{line}\n" for line in kept) + '{"sequence": 9')
    return folder


def test_a_run_that_was_cut_off_is_told_from_its_requests_as_if_it_had_ended(cut_off: Path) -> None:
    whole, cut = runs.tell(runs.find(str(CAPTURE))), runs.tell(runs.find(str(cut_off)))
    (one,), (other,) = (layout.levels for layout in (whole.layouts[0], cut.layouts[0]))
    assert other.per_user_tokens_per_s == one.per_user_tokens_per_s
    assert other.ttft_ms == one.ttft_ms
    assert cut.headline == whole.headline
    assert cut.title == whole.title
    assert cut.state == "unfinished"
    assert "not finished" in cut.cautions[0].text


def test_totals_come_from_the_times_of_tokens_wherever_these_are_kept(tmp_path: Path) -> None:
    capture = RUNS / "v2" / "20261201T033743Z-users-68b0"
    cut = Path(shutil.copytree(capture, tmp_path / capture.name))
    (cut / "summary.json").unlink()
    totals = [
        [level.total_tokens_per_s for level in runs.tell(runs.find(str(path))).layouts[0].levels]
        for path in (capture, cut)
    ]
    assert totals[0] == totals[1]
    assert all(totals[0])


def test_a_load_that_nobody_can_read_any_more_leaves_the_rest_of_the_story(cut_off: Path) -> None:
    facts = (cut_off / "events.jsonl").read_text()
    (cut_off / "events.jsonl").write_text(facts.replace('"load": {', '"of_another_version": {'))
    story = runs.tell(runs.find(str(cut_off)))
    assert story.state == "unfinished"
    assert story.layouts[0].levels == ()
    assert story.timeline is not None


def test_a_run_without_a_request_is_told_as_it_is(cut_off: Path) -> None:
    (cut_off / "requests.jsonl").unlink()
    assert runs.tell(runs.find(str(cut_off))).layouts[0].levels == ()


BLIND = Eyes(watch=False, check_client=False)


def told_without_summary(path: Path | None) -> Story:
    assert path is not None
    (path / "summary.json").unlink()
    return runs.tell(runs.find(str(path)))


async def test_rows_of_speed_are_told_though_nothing_sums_them_up(tmp_path: Path) -> None:
    sizes = bench_speed.Sizes(prompts=(32,), outputs=(4,), repetitions=2)
    async with fake_engine(FakeEngine(ttft_s=0.002, itl_s=0.002)) as engine:
        done = await bench_speed.speed(engine.url, sizes, eyes=BLIND, report=print, base=tmp_path)
    story = told_without_summary(done.path)
    (layout,) = story.layouts
    assert layout.speed is not None
    assert layout.speed.rows == done.result.rows
    assert (story.state, layout.speed.partial) == ("unfinished", "the run did not come to its end")


async def test_answers_at_each_length_are_told_though_nothing_sums_them_up(tmp_path: Path) -> None:
    asked = bench_context.Asked(lengths=(300,), each_place=1, chains=1, answer_tokens=8)
    async with fake_engine(FakeEngine(ttft_s=0.002, itl_s=0.002, says=knowing, context=2048)) as engine:
        done = await bench_context.context(engine.url, asked, eyes=BLIND, report=print, base=tmp_path)
    (layout,) = told_without_summary(done.path).layouts
    assert layout.context is not None
    (row,) = layout.context.lengths
    assert (row.needles, row.reasoning) == (done.result.lengths[0].needles, done.result.lengths[0].reasoning)
    assert layout.context.binding == done.result.binding == "configured"


async def test_pairs_are_told_though_nothing_sums_them_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVENER_RUNS", str(tmp_path))
    load = bench_pair.Load(users=(1,), prompts=2, prompt_tokens=20, output_tokens=4)
    async with fake_engine(FakeEngine(ttft_s=0.002, itl_s=0.002)) as engine:
        done = await bench_pair.servers(
            (engine.url, engine.url), load, pairs=6, margin=0.02, watch=False, report=print, on_visit=lambda *_: None
        )
    story = told_without_summary(done.path)
    assert story.pair is not None
    assert story.pair.differences == done.result.differences
    assert story.pair.sentence == done.result.sentence
