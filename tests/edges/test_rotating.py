"""A log that does not grow for ever."""

from __future__ import annotations

from pathlib import Path

from evener.edges.rotating import rotating


def test_it_turns_at_its_size_and_the_oldest_goes(tmp_path: Path) -> None:
    log = rotating(tmp_path / "a.log", most_bytes=20, older=2)
    for number in range(10):
        log.write(f"line {number:3}\n")
    log.close()
    kept = {path.name: path.read_text().split() for path in tmp_path.iterdir()}
    assert set(kept) == {"a.log", "a.log.1", "a.log.2"}
    assert kept["a.log"][-1] == "9"
    assert all(path.stat().st_size <= 20 for path in tmp_path.iterdir())


def test_what_was_there_stays_and_no_line_is_torn(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_text("before\n")
    log = rotating(path, most_bytes=10, older=1)
    log.write("a line that is longer than all of it\n")
    log.flush()
    assert path.read_text() == "a line that is longer than all of it\n"
    assert path.with_name("a.log.1").read_text() == "before\n"
    assert log.name == str(path)
    log.close()
    log.close()
