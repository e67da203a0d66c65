"""Run folders and their reports: find one, tell its story, write its page, hold two against each other."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from evener.edges.run_folder import RunData, find_run, open_run, read_telemetry, read_token_times
from evener.errors import HostError
from evener.records.verdicts import Verdicts
from evener.report import story
from evener.report.against_parts import Against
from evener.report.parts import Story
from evener.state import runs_folder

Form = Literal["html", "md", "csv", "json"]


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
