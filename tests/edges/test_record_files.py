"""Lines that several write to one file: a reviewer who begins cuts nothing off that a judge is writing."""

from __future__ import annotations

import threading
from pathlib import Path

from evener.edges.record_files import append_text, cut_torn_line

LINES = 300


def test_whoever_begins_cuts_no_line_off_that_another_is_writing(tmp_path: Path) -> None:
    path = tmp_path / "reviews.jsonl"
    line = b"x" * 200_000 + b"\n"  # long enough to be seen half written
    done = threading.Event()

    def write() -> None:
        for _ in range(LINES):
            append_text(path, line, sync=False)
        done.set()

    writer = threading.Thread(target=write)
    writer.start()
    while not done.is_set():
        cut_torn_line(path)
    writer.join()
    assert path.stat().st_size == LINES * len(line)
