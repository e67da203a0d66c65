"""Where runs are, what they are called, and how one is found. What a run holds: `store_contract`."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from evener.edges.run_folder import RunFolder, find_run, inner_runs, list_runs, new_run_id, open_run, unused
from evener.errors import HostBusy, NameUnknown, RunUnreadable
from tests.edges.store_contract import NOON, going_on, run


def test_another_folder_is_not_a_run_folder(tmp_path: Path) -> None:
    with pytest.raises(RunUnreadable, match="is not a run folder"):
        open_run(tmp_path)


def test_a_run_id_sorts_by_time_and_names_what_it_is() -> None:
    assert re.fullmatch(r"20261001T120000Z-users-[0-9a-f]{4}", new_run_id("users", at=NOON))
    assert new_run_id("a", at=NOON) < new_run_id("a", at=datetime(2026, 10, 1, 12, 0, 1, tzinfo=UTC))


def test_within_one_session_the_latest_writer_writes(tmp_path: Path) -> None:
    """The first may hang in the traceback of what ended it."""
    first = RunFolder.create(tmp_path, run())
    second = RunFolder.reopen(open_run(first.path))
    second.fact("gone on", {})
    assert [fact.kind for fact in open_run(first.path).facts] == ["gone on"]


def test_a_run_is_in_use_from_its_first_moment_on(tmp_path: Path) -> None:
    work = "from tests.edges.store_contract import run\nfolder = RunFolder.create(path, run())"
    with going_on(work, tmp_path), pytest.raises(HostBusy), unused(tmp_path / run().id):
        pass


@pytest.fixture
def three(tmp_path: Path) -> Path:
    for name in ("20261001T120000Z-users-00a1", "20261002T120000Z-users-00b2", "20261002T130000Z-demo-00c3"):
        RunFolder.create(tmp_path, run(name))
    (tmp_path / "not-a-run").mkdir()
    return tmp_path


def test_runs_are_listed_oldest_first_and_other_folders_are_not(three: Path) -> None:
    (three / "20261002T130000Z-demo-00c3").rename(three / ".pruned-20261002T130000Z-demo-00c3")
    RunFolder.create(three, run("20261003T000000Z-demo-00d4"))
    assert [p.name[-4:] for p in list_runs(three)] == ["00a1", "00b2", "00d4"]
    assert list_runs(three / "nowhere") == []


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ("last", "00c3"),
        ("20261001", "00a1"),
        ("20261002T13", "00c3"),
        ("00b2", "00b2"),
        ("20261002T120000Z-users-00b2", "00b2"),
    ],
)
def test_a_run_is_found_by_name_beginning_end_or_last(three: Path, wanted: str, found: str) -> None:
    assert find_run(three, wanted).name.endswith(found)
    assert find_run(three / "nowhere", str(three / "20261001T120000Z-users-00a1")).name.endswith("00a1")


def test_a_whole_name_is_no_beginning_of_another(three: Path) -> None:
    RunFolder.create(three, run("20261002T120000Z-users-00b2-copy"))
    assert find_run(three, "20261002T120000Z-users-00b2").name.endswith("00b2")


def test_a_beginning_of_several_runs_names_them(three: Path) -> None:
    with pytest.raises(NameUnknown, match="'20261002' names 2 runs") as caught:
        find_run(three, "20261002")
    assert "00b2" in (caught.value.hint or "")


def test_an_unknown_run_comes_with_near_misses(three: Path) -> None:
    with pytest.raises(NameUnknown) as caught:
        find_run(three, "20261001T120000Z-users-00a2")
    assert "20261001T120000Z-users-00a1" in (caught.value.hint or "")


@pytest.mark.parametrize("wanted", ["last", "x", ""])
def test_where_there_are_no_runs_none_is_found(tmp_path: Path, wanted: str) -> None:
    with pytest.raises(NameUnknown, match="there are no runs"):
        find_run(tmp_path, wanted)


# ---- runs that a run holds


@pytest.fixture
def nested(three: Path) -> Path:
    """The second of three runs holds two, of which the first holds one."""
    inside = three / "20261002T120000Z-users-00b2" / "runs"
    RunFolder.create(inside, run("20261002T120100Z-users-0e01"))
    RunFolder.create(inside, run("20261002T120200Z-eval-0e02"))
    RunFolder.create(inside / "20261002T120100Z-users-0e01" / "runs", run("20261002T120130Z-up-0f01"))
    return three


def test_runs_that_a_run_holds_are_listed_with_it_and_not_beside_it(nested: Path) -> None:
    assert [p.name[-4:] for p in list_runs(nested)] == ["00a1", "00b2", "00c3"]
    assert [p.name[-4:] for p in inner_runs(nested / "20261002T120000Z-users-00b2")] == ["0e01", "0f01", "0e02"]


@pytest.mark.parametrize(
    ("wanted", "found"), [("0e02", "0e02"), ("20261002T120100Z", "0e01"), ("20261002T120130Z-up-0f01", "0f01")]
)
def test_a_run_that_another_holds_is_found_too(nested: Path, wanted: str, found: str) -> None:
    assert find_run(nested, wanted).name.endswith(found)


def test_a_name_means_an_outer_run_before_it_means_an_inner_one(nested: Path) -> None:
    assert find_run(nested, "20261002T120").name.endswith("00b2")
    assert find_run(nested, "last").name.endswith("00c3")


def test_near_misses_are_looked_for_inside_too(nested: Path) -> None:
    with pytest.raises(NameUnknown) as caught:
        find_run(nested, "20261002T120200Z-eval-0e09")
    assert "20261002T120200Z-eval-0e02" in (caught.value.hint or "")
