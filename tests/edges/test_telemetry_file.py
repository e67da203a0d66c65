"""telemetry.jsonl of a run folder."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from evener.edges.run_folder import RunFolder, read_telemetry
from evener.errors import HostError
from evener.records.conditions import Conditions
from evener.records.run import Run
from evener.records.telemetry import CardSample, Joined, NicSample, Sample

NOON = datetime(2026, 10, 1, 12, tzinfo=UTC)
FULL_DISK = Path("/dev/full")  # every write to it fails with ENOSPC
SAMPLE = Sample(
    at_s=1.25,
    host="alpha",
    host_clock_s=100.5,
    cards=(CardSample(card="GPU-1", name="RTX 5090", power_w=431.5, slowed_by=("heat",)),),
    nics=(NicSample(name="enp5s0", rx_bytes=5, tx_bytes=6, link="5gbe"),),
    joined=(Joined(at_s=1.25, host="alpha", card="GPU-1", pid=4, name="blender"),),
)


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    return RunFolder.create(tmp_path, Run(id="r", what="users", started_at=NOON, conditions=Conditions()))


def test_samples_come_back_as_they_were_written(folder: RunFolder) -> None:
    lost = Sample(at_s=2.0, host="beta", lost="silent for 5 s")
    folder.telemetry([SAMPLE])
    folder.telemetry([lost])
    assert read_telemetry(folder.path) == (SAMPLE, lost)


def test_a_run_that_watched_nothing_has_no_samples(folder: RunFolder) -> None:
    assert read_telemetry(folder.path) == ()


def test_a_torn_last_line_is_dropped(folder: RunFolder) -> None:
    folder.telemetry([SAMPLE, SAMPLE])
    path = folder.path / "telemetry.jsonl"
    path.write_bytes(path.read_bytes()[:-9])
    assert read_telemetry(folder.path) == (SAMPLE,)


def test_a_full_disk_is_one_line(folder: RunFolder) -> None:
    (folder.path / "telemetry.jsonl").symlink_to(FULL_DISK)
    with pytest.raises(HostError, match=r"cannot write .*telemetry\.jsonl: No space left on device"):
        folder.telemetry([SAMPLE])
