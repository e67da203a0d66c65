from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from evener.api import runs

CAPTURE = Path(__file__).parents[1] / "captures" / "runs" / "v1" / "20261101T140000Z-users-90a1"


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
