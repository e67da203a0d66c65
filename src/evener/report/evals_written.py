"""One evaluation as Markdown to paste and as lines for a spreadsheet. Names are escaped; unknown is an empty cell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from evener.records.evaluation import EvalResult, SuiteResult
from evener.records.measures import Measure
from evener.records.verdicts import Standing
from evener.report.evals_parts import Evaluated
from evener.report.evals_rows import how, outcomes, reasons, remarks, suite_rows
from evener.report.judges_rows import label_lines, titled
from evener.report.measure_rows import HEADS as MEASURE_HEADS
from evener.report.measure_rows import measure_rows
from evener.report.plain_tables import escaped, markdown_table

_HEADS = ("suite", "#score", "#95 %", "#if wrong", "#n", "#clusters", "#unscored", "other outcomes")


def markdown(found: Evaluated) -> Iterator[str]:
    """Paragraphs of a document: the table of scores, then judges, then people."""
    if found.result is not None:
        yield _table(found.result)
        yield _list([line for one in found.result.results for line in remarks(one)])
        if rows := measure_rows(found.result.results):
            yield markdown_table(MEASURE_HEADS, [[escaped(cell) for cell in row.cells] for row in rows])
        yield f"{escaped(how(found.result))}.\n"
    for title, said in titled(found.judged, found.jury):
        yield f"#### {escaped(title)}\n"
        yield _list(said)
    if found.labels:
        yield "#### Looked at by people\n"
        yield _list(label_lines(found.labels))


def _table(result: EvalResult) -> str:
    rows = [
        (
            f"**{escaped(row.name)}**" if row.category is None else escaped(row.category),
            *(row.score, row.interval, row.counted_wrong, row.n, row.clusters, row.unscored),
            escaped(row.others),
        )
        for row in suite_rows(result)
    ]
    return markdown_table(_HEADS, rows)


def _list(lines: Sequence[str]) -> str:
    return "".join(f"- {escaped(line)}\n" for line in lines)


def lines(found: Evaluated) -> Iterator[dict[str, Any]]:
    """A line per suite and arm, per category, and per further measure. Shares are 0 to 1."""
    for one in found.result.results if found.result else ():
        about = {"candidate": found.candidate, "validity": found.result.validity if found.result else None}
        about |= {"suite": one.suite, "arm": one.arm}
        yield about | {"category": None} | _standing(one.standing) | _whole(one)
        for category, standing in one.categories.items():
            yield about | {"category": category} | _standing(standing)
        yield from (about | _measure(name, measure) for name, measure in one.measures.items())


def _standing(found: Standing) -> dict[str, Any]:
    low, high = found.interval or (None, None)
    return {
        "score": found.mean, "score_low": low, "score_high": high, "n": found.n, "clusters": found.clusters,
        "unscored": found.unscored, "outcomes": outcomes(found.outcomes, most=99), "reasons": reasons(found.reasons),
    }  # fmt: skip


def _whole(one: SuiteResult) -> dict[str, Any]:
    return {
        "counted_wrong": one.counted_wrong.mean, "epochs": one.epochs, "asked": one.asked, "answered": one.answered,
        "truncated": one.truncated, "thought": one.thought, "were_wrong": one.were_wrong,
        "were_right": one.were_right, "healed": one.healed, "harmed": one.harmed,
        "tokens": one.tokens, "seconds": one.seconds,
    }  # fmt: skip


def _measure(name: str, one: Measure) -> dict[str, Any]:
    low, high = one.interval or (None, None)
    return {"measure": name, "unit": one.unit, "how": one.how, "value": one.value, "low": low, "high": high, "n": one.n}
