"""Run folders and their reports: find one, tell its story, write its page, hold two against each other, list all."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal

from evener.edges.run_folder import RunData, find_run, list_runs, open_head, open_run, read_telemetry, read_token_times
from evener.errors import HostError, RunUnreadable
from evener.records.verdicts import Verdicts
from evener.report import rows, story
from evener.report.against_parts import Against
from evener.report.parts import RunRow, RunState, Story
from evener.state import runs_folder

Form = Literal["html", "md", "csv", "json"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which runs a list is about; None lets any through. `model` is a part of its name, in either case."""

    what: str | None = None
    model: str | None = None
    state: RunState | None = None
    since: datetime | None = None

    def lets_through(self, row: RunRow) -> bool:
        """A folder that cannot be read is shown where nothing particular is wanted."""
        return (
            self.what in (None, row.what)
            and (self.model is None or self.model.casefold() in (row.model or "").casefold())
            and self.state in (None, row.state)
            and (self.since is None or (row.started_at is not None and row.started_at >= self.since))
        )


def find(name: str) -> RunData:
    """A run by path, id, the beginning or end of an id, or "last". Raises NameUnknown, RunUnreadable."""
    return open_run(find_run(runs_folder(), name))


def tell(data: RunData) -> Story:
    """What a report says about the run. Raises RunUnreadable when its telemetry cannot be read."""
    from evener.api import eval_stories
    from evener.api.unfinished import with_levels

    data, evaluation = with_levels(data), eval_stories.read(data)
    return story.tell(
        data.run,
        data.summary,
        data.facts,
        data.requests,
        read_telemetry(data.path),
        times=read_token_times(data),
        evaluation=evaluation,
    )


def compare(a: RunData, b: RunData) -> Against:
    """Run `b` held against run `a`."""
    from evener.report import against

    return against.against(tell(a), tell(b), a.run, b.run)


def written(data: RunData, told: Story, form: Form) -> str:
    """The whole report as one text."""
    if form == "html":
        return _page(told, data)
    if form == "md":
        from evener.report import markdown

        return markdown.document(told)
    if form == "csv":
        from evener.report import sheet

        return sheet.sheet(told)
    return _json(told)


def written_against(found: Against, form: Form) -> str:
    """Two runs side by side as one text."""
    from evener.report import against_view, html

    if form == "html":
        return html.against_page(found)
    if form == "json":
        return _json(found)
    return against_view.markdown(found) if form == "md" else against_view.csv(found)


def written_verdict(found: Verdicts, form: Form) -> str:
    """What several evaluations prove, as one text."""
    from evener.report import html, verdict_written

    if form == "html":
        return html.verdict_page(found)
    if form == "json":
        return _json(found)
    return verdict_written.markdown(found) if form == "md" else verdict_written.csv(found)


def _json(record: object) -> str:
    import json

    from evener.codec import to_data

    return json.dumps(to_data(record), indent=2, ensure_ascii=False) + "\n"


def _page(told: Story, data: RunData) -> str:
    from evener.report import html

    return html.page(told, data.run)


def write_page(data: RunData, told: Story, path: Path | None = None) -> Path:
    """Write the HTML report, whole or not at all; `path` None: report.html in the run folder. Raises HostError."""
    return write(_page(told, data), path or data.path / "report.html")


def write(text: str, path: Path) -> Path:
    """Whole or not at all. Raises HostError."""
    part = path.with_name(f"{path.name}.part")
    try:
        part.write_text(text, encoding="utf-8")
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise HostError(
            f"cannot write {path}: {error.strerror or error}", hint="--html FILE names another place, --no-html none"
        ) from error
    return path


def listed(wanted: Wanted | None = None) -> tuple[RunRow, ...]:
    """Run folders, newest first; one that cannot be read says why."""
    found = (_row(path) for path in reversed(list_runs(runs_folder())))
    return tuple(row for row in found if wanted is None or wanted.lets_through(row))


def _row(path: Path) -> RunRow:
    try:
        run, summary = open_head(path)
    except RunUnreadable as error:
        return RunRow(id=path.name, path=str(path), bytes=_bytes(path), fault=error.message)
    return rows.listing(run, summary, path=str(path), size_bytes=_bytes(path))


def _bytes(folder: Path) -> int | None:
    try:
        return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    except OSError:
        return None
