"""`evener doctor`: what would stop, slow or change a load, the worst first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from evener.cli.options import Json, RigFile

if TYPE_CHECKING:
    from rich.text import Text

    from evener.records.finding import Examined, Finding, Level

MODEL = "Check for this model too: a path, a URL, hf:org/repo:QUANT, `demo`, or a name of `models list`."
QUIET = "Only what is not fine."
MARKS: dict[Level, tuple[str, str]] = {
    "stops": ("✗ stops", "bold red"),
    "costs": ("! costs", "yellow"),
    "note": ("· note ", "cyan"),
    "fine": ("✓ fine ", "green"),
}


def doctor(
    model: Annotated[str | None, typer.Argument(help=MODEL)] = None,
    rig: RigFile = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help=QUIET)] = False,
    as_json: Json = False,
) -> None:
    """Check the rig before a load: every known way this goes wrong, each with its remedy. Starts nothing.

    Exit code 1 when something stops a load.
    """
    from evener.api.doctor import examine
    from evener.api.rig import Rig
    from evener.cli.console import progress_bar, run_async, show_json

    with progress_bar(quiet=as_json) as report:
        examined = run_async(examine(Rig.open(rig), model=model, report=report))
    if as_json:
        show_json(examined)
    else:
        _show(examined, quiet=quiet)
    raise typer.Exit(0 if examined.ok else 1)


def _show(examined: Examined, *, quiet: bool) -> None:
    from evener.cli.console import out

    for finding in examined.findings:
        if finding.level != "fine" or not quiet:
            for line in lines(finding):
                out.print(line, soft_wrap=True)
    out.print(summary(examined), markup=False, soft_wrap=True)


def lines(finding: Finding) -> list[Text]:
    """What was found, then why it matters and what to do, where there is anything to say."""
    from rich.text import Text

    mark, style = MARKS[finding.level]
    said = [Text.assemble((mark, style), "  ", (finding.where, "bold"), f": {finding.what}")]
    if finding.why:
        said.append(Text(f"           {finding.why}", style="dim"))
    if finding.remedy:
        said.append(Text(f"         → {finding.remedy}"))
    return said


def summary(examined: Examined) -> str:
    """How many of each kind, and how long it took."""
    counts = {level: sum(f.level == level for f in examined.findings) for level in MARKS}
    verdict = "nothing stops a load" if examined.ok else f"stops a load: {counts['stops']}"
    others = f"costs: {counts['costs']}, notes: {counts['note']}, fine: {counts['fine']}"
    return f"{verdict}; {others} ({examined.took_s:.1f} s)"
