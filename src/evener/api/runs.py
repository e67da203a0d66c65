"""Run folders and their reports: find one, tell its story, write its page, list all."""

from __future__ import annotations

from pathlib import Path

from evener.edges.run_folder import RunData, find_run, list_runs, open_run
from evener.errors import HostError, RunUnreadable
from evener.report import rows, story
from evener.report.parts import RunRow, Story
from evener.state import runs_folder


def find(name: str) -> RunData:
    """A run by path, id, the beginning or end of an id, or "last". Raises NameUnknown, RunUnreadable."""
    return open_run(find_run(runs_folder(), name))


def tell(data: RunData) -> Story:
    """What a report says about the run."""
    return story.tell(data.run, data.summary, data.facts, data.requests)


def write_page(data: RunData, told: Story, path: Path | None = None) -> Path:
    """Write the HTML report, whole or not at all; `path` None: report.html in the run folder. Raises HostError."""
    from evener.report import html

    path = path or data.path / "report.html"
    part = path.with_name(f"{path.name}.part")
    page = html.page(told, data.run)
    try:
        part.write_text(page, encoding="utf-8")
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise HostError(
            f"cannot write {path}: {error.strerror or error}", hint="--html FILE names another place, --no-html none"
        ) from error
    return path


def listed() -> tuple[RunRow, ...]:
    """Every run folder, newest first; one that cannot be read says why."""
    return tuple(_row(path) for path in reversed(list_runs(runs_folder())))


def _row(path: Path) -> RunRow:
    try:
        data = open_run(path)
    except RunUnreadable as error:
        return RunRow(id=path.name, path=str(path), bytes=_bytes(path), fault=error.message)
    return rows.listing(data.run, data.summary, path=str(path), size_bytes=_bytes(path))


def _bytes(folder: Path) -> int | None:
    try:
        return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    except OSError:
        return None
