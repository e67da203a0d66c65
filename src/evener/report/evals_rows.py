"""An evaluation's figures in words, the same in every face: points of 100, their interval, and how answers ended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from evener.records.evaluation import EvalResult, SuiteResult
from evener.records.verdicts import Standing
from evener.report.words import UNKNOWN, count, percent

SHOWN_OUTCOMES = 3
TRUNCATED_FROM = 0.02  # of the answers: from there on a score may be about the token limit


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteRow:
    """One line of the table of scores. `category` None: the whole suite under one arm."""

    name: str
    category: str | None
    score: str
    interval: str
    counted_wrong: str  # the score with answers that are no evidence counted as wrong
    n: str
    clusters: str
    unscored: str
    others: str  # what became of the answers that are not "ok"


def suite_rows(result: EvalResult) -> list[SuiteRow]:
    """A row per suite and arm, the categories of the single arm below it; a canary has no score to take apart."""
    rows = []
    for one in result.results:
        rows.append(_row(named(one), None, one.standing, points(one.counted_wrong.mean), others(one)))
        if one.arm == "single" and len(one.categories) > 1 and one.standing.mean is not None:
            rows += [_row(one.suite, name, standing, "", "") for name, standing in one.categories.items()]
    return rows


def _row(name: str, category: str | None, standing: Standing, wrong: str, ended: str) -> SuiteRow:
    return SuiteRow(
        name=name,
        category=category,
        score=points(standing.mean),
        interval=interval(standing.interval),
        counted_wrong=wrong,
        n=str(standing.n),
        clusters=str(standing.clusters),
        unscored=str(standing.unscored) if standing.unscored else UNKNOWN,
        others=ended,
    )


def named(one: SuiteResult) -> str:
    return one.suite if one.arm == "single" else f"{one.suite} ({one.arm})"


def points(share: float | None) -> str:
    """A share as points of 100: "62.5"."""
    return UNKNOWN if share is None else f"{share * 100:.1f}"


def interval(ends: tuple[float, float] | None) -> str:
    return UNKNOWN if ends is None else f"{ends[0] * 100:.0f}-{ends[1] * 100:.0f}"


def signed(share: float | None) -> str:
    """A gap in points; none is "+0.0", whichever way it was rounded."""
    return UNKNOWN if share is None else f"{round(share * 100, 1) + 0.0:+.1f}"


def signed_interval(ends: tuple[float, float] | None) -> str:
    return UNKNOWN if ends is None else " to ".join(f"{round(end * 100):+d}" for end in ends)


def p_value(p: float | None) -> str:
    return UNKNOWN if p is None else "<0.001" if p < 0.0005 else f"{p:.3f}"


def others(one: SuiteResult) -> str:
    """The most frequent outcomes beside "ok", and how many answers show thinking."""
    return ended(one.standing.outcomes, one.thought)


def ended(found: Mapping[str, int], thought: float | None) -> str:
    parts = (outcomes(found), f"{percent(thought)} show thinking" if thought else "")
    return ", ".join(part for part in parts if part)


def outcomes(found: Mapping[str, int], *, most: int = SHOWN_OUTCOMES) -> str:
    ranked = sorted(((n, name) for name, n in found.items() if name != "ok"), reverse=True)
    return ", ".join(f"{n} {name.replace('_', ' ')}" for n, name in ranked[:most])


def reasons(found: Mapping[str, int]) -> str:
    return ", ".join(f"{n} {why}" for why, n in found.items())


def remarks(one: SuiteResult) -> list[str]:
    """What a reader must know beside the row of a suite, one line each."""
    lines = []
    if one.standing.reasons:
        lines.append(f"{named(one)}: unscored: {reasons(one.standing.reasons)}")
    if one.harmed is not None:
        lines.append(f"{named(one)}: {changed(one)}, {price(one)}")
    return lines


def changed(one: SuiteResult) -> str:
    """What an arm did to the answers of the single one, and how often it spoils a right one."""
    healed, spoiled = _of(one.healed, one.were_wrong), _of(one.harmed, one.were_right)
    told = f"{healed} wrong answers healed, {spoiled} right ones spoiled"
    return f"{told} ({percent((one.harmed or 0) / one.were_right)})" if one.were_right else told


def _of(n: int | None, whole: int | None) -> str:
    """Runs of an evener that did not keep the whole have none."""
    return str(n) if whole is None else f"{n} of {whole}"


def price(one: SuiteResult) -> str:
    tokens = "tokens not counted" if one.tokens is None else count(one.tokens, "token")
    return f"{tokens}, {one.seconds:.0f} s"


def how(result: EvalResult) -> str:
    """How the questions were asked, in one line."""
    thinking = {True: "on", False: "off", None: "left to the model"}[result.thinking_asked]
    return (
        f"{count(result.epochs, 'epoch')}, temperature {result.temperature:g}, seed {result.seed}, "
        f"thinking {thinking}, {result.parallel} at once; 95 % intervals by cluster"
    )
