"""The contract of a run's place, kept by a folder that is written to and by one that came out of a pack."""

from __future__ import annotations

from itertools import count
from pathlib import Path

from evener.edges.run_folder import RunFolder, open_run
from evener.edges.run_pack import pack, unpack
from evener.records.run import Run
from tests.edges.store_contract import StoreContract

GIB = 1 << 30
_numbers = count()


def sent(run: Path, *, suffix: str) -> Path:
    """The run, packed and opened in another place."""
    there = run.parent.with_name(f"{run.parent.name}-{next(_numbers)}")
    pack_ = there.with_suffix(suffix)
    pack([run], pack_, keys={})
    unpack(pack_, there, most_bytes=GIB)
    return there / run.name


class TestFolder(StoreContract):
    def begun(self, tmp_path: Path, run: Run) -> RunFolder:
        return RunFolder.create(tmp_path / "runs", run)

    def arrived(self, folder: RunFolder) -> Path:
        return folder.path


class PackContract(StoreContract):
    """Each run is sent elsewhere before anything is written, and once more before it is read."""

    every_byte = 97
    suffix: str

    def begun(self, tmp_path: Path, run: Run) -> RunFolder:
        folder = RunFolder.create(tmp_path / "runs", run)
        folder.let_go()
        return RunFolder.reopen(open_run(sent(folder.path, suffix=self.suffix)))

    def arrived(self, folder: RunFolder) -> Path:
        folder.let_go()
        return sent(folder.path, suffix=self.suffix)


class TestOpenedGzip(PackContract):
    suffix = ".tar.gz"


class TestOpenedZstandard(PackContract):
    suffix = ".tar.zst"
