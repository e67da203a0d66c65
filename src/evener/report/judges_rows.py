"""What judges and people said, in words: the same in every face, for one judge, for several, and for the reviewers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from evener.records.answers import JudgeIdentity
from evener.records.judging import (
    Alike,
    CorrectedShare,
    Hits,
    Kind,
    Majority,
    MqmResult,
    PairJudged,
    Passport,
    Together,
)
from evener.records.verdicts import JudgedBy
from evener.report.evals_parts import Judged, Jury, Labels
from evener.report.evals_rows import interval, p_value, points
from evener.report.words import count, listed, percent

PROBES = (
    ("known", "known labels"),
    ("retest", "asked again"),
    ("order", "both orders"),
    ("identical", "itself against itself"),
    ("length", "not taken in by padding"),
    ("family", "nor by its own name"),
    ("people", "agrees with people"),
)
PASSED: dict[Kind, str] = {
    "rubric": "met the rubric",
    "mqm": "without a critical or major error",
    "pair": "the first preferred",
}
THINGS: dict[Kind, str] = {"rubric": "rubrics", "mqm": "translations", "pair": "pairs"}
SHOWN_QUESTIONS = 6


def share(one: Hits) -> str:
    ends = "" if one.interval is None else f" ({one.interval[0]:.0%}-{one.interval[1]:.0%})"
    return f"{one.hits}/{one.n}{ends}"


def passport(found: Passport) -> list[tuple[str, str]]:
    """(probe, share) of what was tested."""
    told = [(words, share(one)) for name, words in PROBES if (one := getattr(found, name)) is not None]
    alike = coefficients(found.kappa, found.kappa_interval, found.ac1, found.alpha)
    return [(name, f"{value}{alike}" if name == "agrees with people" else value) for name, value in told]


def coefficients(
    kappa: float | None, ends: tuple[float, float] | None, ac1: float | None, alpha: float | None = None
) -> str:
    """Those that are defined, each after a comma: ", kappa 0.50 (0.20 to 0.75), AC1 0.62, alpha 0.48"."""
    known = [("kappa", kappa, _between(ends)), ("AC1", ac1, ""), ("alpha", alpha, "")]
    return "".join(f", {name} {value:.2f}{more}" for name, value, more in known if value is not None)


def _between(ends: tuple[float, float] | None) -> str:
    return "" if ends is None else f" ({ends[0]:.2f} to {ends[1]:.2f})"


def judge_lines(one: Judged) -> list[str]:
    """What was found, what the judge is worth, and what speaks against it."""
    lines = [mqm_line(found) for found in one.mqm]
    lines += [f"{found.candidate}: {share(found.passed)} met the rubric" for found in one.rubric]
    lines += [pair_line(found) for found in one.pairs]
    lines += corrected_lines(one.corrected)
    lines.append(passport_line(one.passport))
    lines.append(f"{count(one.judgements, 'reply', 'replies')}, {one.unparseable} not readable, {one.failed} failed")
    return lines + [f"mark: {mark}" for mark in one.marks]


def passport_line(found: Passport, *, of: str | None = None) -> str:
    tested, whose = passport(found), "passport" if of is None else f"passport of {of}"
    return f"{whose}: {', '.join(f'{name} {value}' for name, value in tested) or 'not tested'}"


def mqm_line(found: MqmResult) -> str:
    ends = "" if found.interval is None else f" ({found.interval[0]:.0f}-{found.interval[1]:.0f})"
    errors = ", ".join(f"{n} {severity}" for severity, n in found.errors.items()) or "no errors"
    invented = f"; {count(found.invented, 'quote')} not in the text" if found.invented else ""
    sound = f"; {share(found.sound)} without a critical or major one" if found.sound else ""
    return (
        f"{found.candidate}, {found.direction}: penalty {found.per_1000:.1f}{ends} per 1000 source units, "
        f"{count(found.segments, 'segment')} of {count(found.documents, 'document')}: {errors}{sound}{invented}"
    )


def pair_line(p: PairJudged) -> str:
    return (
        f"{p.first} against {p.second}: {p.first_wins} won, {p.second_wins} lost, {p.ties} ties "
        f"({p.order_changed} by order), p {p_value(p.p)}"
    )


def corrected_lines(found: Sequence[CorrectedShare]) -> list[str]:
    """A line per share; one for all where nobody looked."""
    if found and not any(one.labelled or one.unsure for one in found):
        return ["not corrected by people: nobody has labelled any of it in the random pool (evener review)"]
    return [_corrected(one) for one in found]


def _corrected(one: CorrectedShare) -> str:
    unsure = f", {one.unsure} more unsure" if one.unsure else ""
    if one.mean is None:
        return f"not corrected by people: {one.candidate}, {PASSED[one.kind]}: {one.why}{unsure}"
    people = count(one.people, "person", "people")
    return (
        f"corrected by people: {one.candidate}, {PASSED[one.kind]}: {points(one.mean)} ({interval(one.interval)}) "
        f"of 100 instead of {points(one.judge_mean)}; {one.labelled} of {one.n} labelled at random by {people}, "
        f"who say {points(one.people_mean)}{unsure}"
    )


def jury_lines(found: Jury) -> list[str]:
    """What more than half of several judges say, and how far all who labelled the same things agree."""
    lines = [_majority(one) for one in found.majority]
    lines += corrected_lines(found.corrected)
    for one in found.together:
        lines += together_lines(one)
    return lines


def _majority(one: Majority) -> str:
    judges = count(len(one.judges), "judge")
    passed = f"{share(one.passed)} {PASSED[one.kind]}" if one.passed else "no majority on anything"
    return f"{one.candidate}, more than half of {judges}: {passed}{_split(one)}"


def _split(one: Majority) -> str:
    if not one.split:
        return ""
    some = ", ".join(one.split_on[:SHOWN_QUESTIONS]) + (", ..." if len(one.split_on) > SHOWN_QUESTIONS else "")
    return f"; {one.split} unscored without a majority: {some}"


def together_lines(one: Together) -> list[str]:
    """Two by two, then all of them."""
    lines = [_alike(pair, one) for pair in one.pairs if pair.n]
    if one.judges + one.people > 2 and one.n:
        who = [count(n, *words) for n, words in ((one.judges, ("judge",)), (one.people, ("person", "people"))) if n]
        alpha = "not defined" if one.alpha is None else f"{one.alpha:.2f}{_between(one.interval)}"
        lines.append(f"{' and '.join(who)} on {one.n} {THINGS[one.kind]}: Krippendorff's alpha {alpha}")
    return lines


def _alike(pair: Alike, one: Together) -> str:
    told = f"{percent(pair.raw or 0.0)} of {pair.n} {THINGS[one.kind]} alike"
    return f"{pair.first} and {pair.second}: {told}{coefficients(pair.kappa, pair.kappa_interval, pair.ac1)}"


def by_line(by: JudgedBy) -> str:
    """By whom: one judge, or more than half of several."""
    names = [judge.name for judge in by.judges]
    return f"judged by {names[0]}" if len(names) == 1 else f"judged by more than half of {listed(names)}"


def by_lines(by: JudgedBy) -> list[str]:
    """How far people agree with these judges, and what they make of the shares. What else the judges are worth stands
    once for the whole verdict, what speaks against them in front of it."""
    lines = [_with_people(judge, passport) for judge, passport in zip(by.judges, by.passports, strict=True)]
    if by.split:
        lines.append(f"{count(by.split, 'answer')} unscored: no majority of judges")
    return lines + (corrected_lines(by.corrected) if any(one.labelled or one.unsure for one in by.corrected) else [])


def _with_people(judge: JudgeIdentity, found: Passport) -> str:
    if found.people is None:
        return f"{judge.called}: nobody has labelled any of it in the random pool, so nothing is corrected"
    alike = coefficients(found.kappa, found.kappa_interval, found.ac1, found.alpha)
    return f"{judge.called}: agrees with people {share(found.people)}{alike}"


def worth_lines(every: Iterable[JudgedBy]) -> list[str]:
    """Each judge's passport, and how far all judges and people agree, once however often they judged."""
    known = list(every)
    lines = [
        passport_line(passport, of=judge.called)
        for by in known
        for judge, passport in zip(by.judges, by.passports, strict=True)
    ]
    lines += [line for by in known if by.together is not None for line in together_lines(by.together)]
    return list(dict.fromkeys(lines))


def label_lines(found: Sequence[Labels]) -> list[str]:
    """One per pool: who said what, and how far it is what code or judges say."""
    return [
        f"{one.pool} pool: {count(sum(one.labels.values()), 'label')} of {count(one.people, 'person', 'people')} "
        f"({', '.join(f'{n} {label}' for label, n in one.labels.items())}); {_agreement(one)}"
        for one in found
    ]


def _agreement(one: Labels) -> str:
    if one.agreement is None:
        return "none of it was scored by code or judge"
    more = coefficients(one.kappa, None, one.ac1, one.alpha)
    return f"the same as code or judge in {percent(one.agreement)} of {one.n}{more}"


def titled(found: Sequence[Judged], jury: Jury | None) -> Iterator[tuple[str, list[str]]]:
    """(title, lines) of each judge, then of all together."""
    for one in found:
        yield f"Judged by {one.judge.name}", judge_lines(one)
    if jury is not None and (lines := jury_lines(jury)):
        yield "Judges and people together", lines
