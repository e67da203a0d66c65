"""What `evener verdict`, and `evener report` of several evaluations, show."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from evener.cli.console import err, out
from evener.records.verdicts import Verdicts

if TYPE_CHECKING:
    from evener.api.runs import Form


def show(found: Verdicts, form: Form | None, html: Path | None) -> None:
    """In one form on standard output, or here; `html` is where the page goes, None for no page."""
    from rich.markup import escape

    from evener.api import runs
    from evener.report import verdict_view

    if form:
        sys.stdout.write(runs.written_verdict(found, form))
    else:
        out.print(verdict_view.view(found))
    if html:
        path = runs.write(runs.written_verdict(found, "html"), html)
        (err if form else out).print(f"page: {escape(str(path))}", soft_wrap=True)
