"""A verdict as Markdown to paste and as lines for a spreadsheet. What strangers wrote stays text in both."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from evener.records.measures import Measure
from evener.records.verdicts import (
    DimensionVerdict,
    Disagreement,
    Ending,
    JudgedBy,
    PairVerdict,
    PenaltyVerdict,
    Preference,
    Standing,
    Verdicts,
)
from evener.report import measure_rows
from evener.report.evals_rows import interval, outcomes, points, reasons
from evener.report.plain_tables import csv_text, escaped, markdown_table
from evener.report.verdict_rows import (
    ENDING_HEADS,
    PAIR_HEADS,
    PENALTY_HEADS,
    by_pair,
    canary_line,
    cautions,
    ending_row,
    judges,
    pair_row,
    penalty_pair_row,
    penalty_remarks,
    penalty_row,
    preferences,
    remarks,
    unscored,
    whose,
)
from evener.report.words import UNKNOWN, shorten

_LONGEST = 600  # characters of one text in a forum

Row = dict[str, Any]


def markdown(found: Verdicts) -> str:
    """The whole verdict; sections are headings of the fourth level, so that it fits into a longer text."""
    parts = ["### Which answers better\n"]
    parts.append(
        "".join(f"- **{escaped(c.text)}**\n" if c.grave else f"- {escaped(c.text)}\n" for c in cautions(found))
    )
    for one in (*found.dimensions, *found.judged):
        parts += _dimension(one)
    for penalty in found.penalties:
        parts += _penalty(penalty)
    for name, said in preferences(found):
        parts += [f"#### In pairs, {escaped(name)}\n", _list(said)]
    if worth := judges(found):
        parts += ["#### Judges\n", _list(worth)]
    for one in found.arms:
        parts += _dimension(one)
    if found.canaries:
        parts += ["#### Canary\n", _list([canary_line(pair) for pair in found.canaries])]
    if found.conditions:
        heads = ("conditions that differ", *(escaped(name) for name in found.runs))
        rows = [(one.name, *(escaped(one.values.get(n) or UNKNOWN) for n in found.runs)) for one in found.conditions]
        parts.append(markdown_table(heads, rows))
    if found.alike:
        parts.append(_list([f"{name}: {value}" for name, value in found.alike.items()]))
    parts.append(_list([f"{name}: run {run}" for name, run in found.runs.items()]))
    return "\n".join(part for part in parts if part)


def _dimension(one: DimensionVerdict) -> Iterator[str]:
    yield f"#### {escaped(one.dimension)}\n"
    yield f"**{escaped(one.sentence)}.**\n"
    heads = ("candidate", "#score", "#95 %", "#n", "#clusters", "may be the best")
    yield markdown_table(heads, [_standing(standing, one) for standing in one.standings])
    if one.pairs:
        yield markdown_table(PAIR_HEADS, [[escaped(cell) for cell in pair_row(pair)] for pair in one.pairs])
    if one.endings:
        yield markdown_table(ENDING_HEADS, [[escaped(cell) for cell in ending_row(end)] for end in one.endings])
    yield _list([*unscored(one), *measure_rows.lines(one), *remarks(one)])
    for pair, apart in by_pair(one.disagreements):
        yield f"##### Where {escaped(pair)} lie farthest apart\n"
        yield "".join(_apart(each) for each in apart)
        yield "Whose they are:\n"  # below them all, so that they can be read without knowing
        yield _list([f"{each.question}: {whose(each)}" for each in apart])


def _penalty(one: PenaltyVerdict) -> Iterator[str]:
    yield f"#### {escaped(one.dimension)}\n"
    yield f"**{escaped(one.sentence)}.**\n"
    yield markdown_table(PENALTY_HEADS, [[escaped(cell) for cell in penalty_row(each)] for each in one.standings])
    if one.pairs:
        yield markdown_table(PAIR_HEADS, [[escaped(cell) for cell in penalty_pair_row(pair)] for pair in one.pairs])
    yield _list(penalty_remarks(one))


def _standing(standing: Standing, one: DimensionVerdict) -> tuple[str, ...]:
    figures = (points(standing.mean), interval(standing.interval), str(standing.n), str(standing.clusters))
    return (escaped(standing.candidate), *figures, _best(standing, one))


def _best(standing: Standing, one: DimensionVerdict) -> str:
    return "yes" if standing.candidate in one.best else "no" if standing.candidate in one.dropped else UNKNOWN


def _apart(one: Disagreement) -> str:
    texts = [("asked", one.prompt), *(("reference", reference) for reference in one.references)]
    texts += [("context", one.context)] if one.context else []
    texts += list(zip(("one", "two"), (said.text for said in one.answers), strict=True))
    told = "".join(f"  - {name}: {escaped(shorten(' '.join(text.split()), _LONGEST))}\n" for name, text in texts)
    return f"- {escaped(one.question)}\n{told}"


def _list(lines: Sequence[str]) -> str:
    return "".join(f"- {escaped(line)}\n" for line in lines)


def csv(found: Verdicts) -> str:
    """A line per candidate, pair and measure of each dimension. Shares are 0 to 1, penalties per 1000 source units.

    Unknown is an empty cell, `judged_by` is empty where code scored.
    """
    rows = [row for one in (*found.dimensions, *found.judged, *found.arms) for row in _rows(one, found)]
    rows += [row for one in found.penalties for row in _penalty_rows(one, found)]
    rows += [_preference(one) for one in found.preferences]
    heads = list(dict.fromkeys(name for row in rows for name in row))
    return csv_text(heads, [[row.get(head) for head in heads] for row in rows])


def _rows(one: DimensionVerdict, found: Verdicts) -> Iterator[Row]:
    endings = {ending.candidate: ending for ending in one.endings}
    for standing in one.standings:
        low, high = standing.interval or (None, None)
        yield (
            {"kind": "candidate", "dimension": one.dimension, "judged_by": _judges(one.judged)}
            | {"policy": one.policy, "first": standing.candidate}
            | {"run": found.runs.get(standing.candidate), "score": standing.mean, "low": low, "high": high}
            | {"n": standing.n, "clusters": standing.clusters, "unscored": standing.unscored}
            | {"may_be_best": _best(standing, one)}
            | (_ending(endings[standing.candidate]) if standing.candidate in endings else {})
        )
    yield from (_pair(pair, one) for pair in one.pairs)
    for name, mine in one.measures.items():
        yield from (_measure(name, candidate, measure, one) for candidate, measure in mine.items())


def _measure(name: str, candidate: str, measure: Measure, one: DimensionVerdict) -> Row:
    low, high = measure.interval or (None, None)
    return {
        "kind": "measure", "dimension": one.dimension, "first": candidate, "measure": name, "score": measure.value,
        "low": low, "high": high, "n": measure.n, "unit": measure.unit, "how": measure.how,
    }  # fmt: skip


def _judges(by: JudgedBy | None) -> str | None:
    return None if by is None else "; ".join(judge.name for judge in by.judges)


def _penalty_rows(one: PenaltyVerdict, found: Verdicts) -> Iterator[Row]:
    about: Row = {"dimension": one.dimension, "judged_by": _judges(one.judged), "policy": one.policy}
    for each in one.standings:
        low, high = each.interval or (None, None)
        yield {"kind": "penalty"} | about | {
            "first": each.candidate, "run": found.runs.get(each.candidate), "score": each.per_1000, "low": low,
            "high": high, "n": each.segments, "clusters": each.documents, "unscored": each.unscored,
            "may_be_best": "yes" if each.candidate in one.best else "no", "counted_wrong": each.counted_wrong,
        }  # fmt: skip
    for pair in one.pairs:
        yield {"kind": "penalty pair"} | about | _gap(pair)


def _preference(one: Preference) -> Row:
    return {
        "kind": "preference", "dimension": "in pairs", "judged_by": _judges(one.judged), "first": one.pair.first,
        "second": one.pair.second, "wins": one.pair.first_wins, "losses": one.pair.second_wins, "ties": one.pair.ties,
        "by_order": one.pair.order_changed, "p": one.pair.p, "p_holm": one.p_holm, "verdict": one.word,
    }  # fmt: skip


def _ending(one: Ending) -> Row:
    return {
        "left_out": one.excluded, "counted_wrong": one.counted_wrong, "asked": one.asked, "answered": one.answered,
        "truncated": one.truncated, "thought": one.thought, "outcomes": outcomes(one.outcomes, most=99),
        "reasons": reasons(one.reasons), "tokens": one.tokens, "seconds": one.seconds,
    }  # fmt: skip


def _pair(pair: PairVerdict, one: DimensionVerdict) -> Row:
    about: Row = {"kind": "pair", "dimension": one.dimension, "judged_by": _judges(one.judged), "policy": one.policy}
    return about | _gap(pair)


def _gap(pair: PairVerdict) -> Row:
    low, high = pair.interval or (None, None)
    return {
        "first": pair.first, "second": pair.second, "gap": pair.gap, "low": low, "high": high, "n": pair.n,
        "clusters": pair.clusters, "wins": pair.wins, "losses": pair.losses, "p": pair.p, "p_holm": pair.p_holm,
        "test": pair.test, "verdict": pair.word,
        "needed": pair.needed, "hangs_on_policy": "yes" if pair.flips_with_policy else "no",
    }  # fmt: skip
