"""Several runs side by side: a table per thing measured, and which of its figures can be told apart. Pure.

Columns are held against the first of their table. What may be best of a row is whatever no other column is told apart
from as better. Foreign figures stand beside and take no part in either.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterator, Sequence

from evener.records.conditions import Conditions
from evener.records.foreign import ForeignBench
from evener.records.verdicts import DifferingCondition, Verdicts
from evener.report import rows
from evener.report.against import side
from evener.report.beside_columns import Column, Entrant, Needles, groups, of_kind, strangers, with_marked
from evener.report.beside_figures import ANSWERS, CONTEXT, KINDS, SPEED, parts
from evener.report.beside_parts import (
    Beside,
    BesideCell,
    BesideForeign,
    BesideRefused,
    BesideRow,
    BesideRun,
    BesideTable,
    RowWord,
)
from evener.report.figures import Apart, Measured, change, told_apart
from evener.report.parts import Caution
from evener.report.words import count, kilo, listed

_RARE = 0.05
_ONE_AFTER_THE_OTHER = (
    "The runs were measured one after the other: heat, other load and whatever else changed in between is in a "
    "difference too. evener bench pair measures in turns"
)
_Entered = tuple[Column, Measured]


def beside(
    entrants: Sequence[Entrant],
    foreign: Sequence[tuple[str, ForeignBench]] = (),
    *,
    evaluations: Verdicts | None = None,
    refused: Sequence[BesideRefused] = (),
    anyway: bool = False,
) -> Beside:
    """All of them side by side. `foreign` come under the names of their columns.

    `anyway` keeps what would be refused, marked. `evaluations` are compared elsewhere: their scores stand in no table.
    """
    columns = {kind: list(of_kind(kind, entrants)) for kind in KINDS if not (kind == ANSWERS and evaluations)}
    theirs = strangers(foreign, columns[SPEED])
    tables: list[BesideTable] = []
    placed: list[list[Column]] = []
    left_out = [*refused, *_nothing(entrants)]
    for kind, mine in columns.items():
        together, out = groups(mine)
        if anyway:
            together = with_marked(together, out)
        else:
            left_out += [BesideRefused(name=one.shown.name, table=kind, why=why) for one, why in out]
        if kind == SPEED and theirs:
            together = [[*group, *theirs] for group in together] or [theirs]
        placed += together
        tables += [_table(kind, group) for group in together]
    differing, unknown = conditions(entrants)
    shown = {column.entrant.name for group in placed for column in group if column.entrant}
    return Beside(
        runs=tuple(BesideRun(name=one.name, run=side(one.story)) for one in entrants),
        foreign=tuple(BesideForeign(name=name, bench=bench) for name, bench in foreign),
        sentence=_sentence(tables, evaluations),
        cautions=tuple(_cautions([one for one in entrants if one.name in shown])),
        refused=tuple(left_out),
        tables=tuple(tables),
        evaluations=evaluations,
        differing=differing,
        unknown=unknown,
    )


def _nothing(entrants: Sequence[Entrant]) -> Iterator[BesideRefused]:
    for one in entrants:
        if next(parts(one.story), None) is None:
            yield BesideRefused(name=one.name, table=one.story.what, why=one.partial or "nothing of it was measured")


def _table(kind: str, columns: Sequence[Column]) -> BesideTable:
    keys = dict.fromkeys(one.key for column in columns for one in column.figures if one.figure.value is not None)
    made = tuple(_row(key, columns) for key in keys)
    about = next((column.about for column in columns if column.about), "")
    return BesideTable(
        name=kind,
        about=about or "in llama-bench's own words",
        columns=tuple(column.shown for column in columns),
        rows=made,
        sentence=_told(columns, made),
        notes=tuple(_notes(kind, columns)),
    )


def _row(key: Hashable, columns: Sequence[Column]) -> BesideRow:
    found = [column.figure(key) for column in columns]
    known = next(one for one in found if one is not None)
    entered = [
        (column, one)
        for column, one in zip(columns, found, strict=True)
        if one is not None and column.is_compared and one.figure.value is not None
    ]
    others = max(1, len(entered) - 1)
    first = entered[0] if entered else None

    def apart(one: _Entered, other: _Entered) -> Apart:
        if known.name == "needles found" and (told := _paired(one[0], other[0], known.about, others)):
            return told
        figures = (one[1].figure, other[1].figure)
        return told_apart(*figures, more_is_better=known.more_is_better, comparisons=others)

    words = {(a, b): apart(entered[a], entered[b]) for a in range(len(entered)) for b in range(a + 1, len(entered))}
    beaten = {b if word == "worse" else a for (a, b), word in words.items() if word in ("better", "worse")}
    best = tuple(column.shown.name for n, (column, _) in enumerate(entered) if n not in beaten) if beaten else ()
    return BesideRow(
        name=known.name,
        about=known.about,
        unit=known.unit,
        users=known.users,
        cells=tuple(
            None if one is None else _cell(column, one, first, apart)
            for column, one in zip(columns, found, strict=True)
        ),
        best=best,
        told=_word(words.values()),
    )


def _word(words: Collection[Apart]) -> RowWord:
    if "better" in words or "worse" in words:
        return "told apart"
    return "cannot be separated" if "cannot be separated" in words else "unknown"


def _cell(
    column: Column, one: Measured, first: _Entered | None, apart: Callable[[_Entered, _Entered], Apart]
) -> BesideCell:
    if column.shown.foreign:
        return BesideCell(figure=one.figure, outcome="foreign", sd=column.deviations.get(one.key))
    if column.shown.marked is not None:
        return BesideCell(figure=one.figure, outcome="not comparable")
    if first is None or one.figure.value is None:
        return BesideCell(figure=one.figure, outcome="unknown")
    if column is first[0]:
        return BesideCell(figure=one.figure, outcome="first")
    outcome = apart(first, (column, one))
    by = change(first[1].figure, one.figure) if outcome in ("better", "worse") and one.unit != "change" else None
    return BesideCell(figure=one.figure, outcome=outcome, change=by)


def _paired(one: Column, other: Column, about: str, comparisons: int) -> Apart | None:
    """What the same questions say in pairs, by McNemar's exact test; None where the questions are not the same."""
    mine, theirs = (_needles(column, about) for column in (one, other))
    if not mine or mine.keys() != theirs.keys():
        return None
    from evener.stats.comparisons import mcnemar  # here: it takes numpy along

    wins = sum(theirs[question] > found for question, found in mine.items())
    losses = sum(theirs[question] < found for question, found in mine.items())
    if mcnemar(wins, losses) * comparisons >= _RARE:
        return "cannot be separated"
    return "better" if wins > losses else "worse"


def _needles(column: Column, about: str) -> Needles:
    by_length = column.entrant.needles if column.entrant else {}
    return next((found for tokens, found in by_length.items() if f"{kilo(tokens)} tokens" == about), {})


def _told(columns: Sequence[Column], made: Sequence[BesideRow]) -> str:
    """How many figures speak for which; no verdict over all of them."""
    compared = [column.shown.name for column in columns if column.is_compared]
    if not compared:
        return "Nothing here is compared"
    if len(compared) == 1:
        beside = ", beside foreign figures" if any(column.shown.foreign for column in columns) else ""
        return f"Measured in {compared[0]} alone{beside}"
    separate = sum(row.told == "cannot be separated" for row in made)
    ahead = Counter(row.best for row in made if row.told == "told apart")
    if not separate and not ahead:
        return "No figure can be told apart or held together: measured once, or too few repetitions"
    told = [f"{n} {'is' if n == 1 else 'are'} best in {' or '.join(best)}" for best, n in ahead.most_common()]
    told += [f"{separate} cannot be separated"] if separate else []
    return f"Of {count(separate + ahead.total(), 'figure')} with an interval, {listed(told)}"


def _notes(kind: str, columns: Sequence[Column]) -> Iterator[str]:
    for column in columns:
        if column.shown.marked is not None:
            yield f"{column.shown.name} is shown because that was asked for, and not compared: {column.shown.marked}"
    if strangers := [column.shown.name for column in columns if column.shown.foreign]:
        yield (
            f"{listed(strangers)}: llama-bench's mean ± standard deviation as its file states it, without HTTP, "
            "templates and sampling; conditions unknown, never ranked"
        )
    compared = [column for column in columns if column.is_compared]
    if kind == CONTEXT and len(compared) > 1:
        asked = [
            {length: found.keys() for length, found in (x.entrant.needles if x.entrant else {}).items()}
            for x in compared
        ]
        alike = bool(asked[0]) and all(one == asked[0] for one in asked)
        yield (
            "needles are compared in pairs, question by question (McNemar's exact test)"
            if alike
            else "needles are other ones in each run: compared by their intervals; the same --seed makes pairs of them"
        )


def _sentence(tables: Sequence[BesideTable], evaluations: Verdicts | None) -> str:
    told = [(table.name, table.sentence) for table in tables]
    told += [(one.dimension, one.sentence) for one in evaluations.dimensions] if evaluations else []
    if len(told) == 1:
        return told[0][1]
    return "; ".join(f"{name}: {text[:1].lower()}{text[1:]}" for name, text in told) or "Nothing was measured"


def _cautions(entrants: Sequence[Entrant]) -> Iterator[Caution]:
    """What each run says against itself, as far as it is grave; then what is true of all."""
    yield from _own_cautions(entrants)
    if sum(bool(one.story.layouts) for one in entrants) > 1:  # answers do not hang on heat
        yield Caution(grave=False, text=_ONE_AFTER_THE_OTHER)


def _own_cautions(entrants: Sequence[Entrant]) -> Iterator[Caution]:
    whose: dict[str, list[str]] = {}
    for one in entrants:
        for caution in one.story.cautions:
            if caution.grave:
                whose.setdefault(caution.text, []).append(one.name)
    yield from (Caution(grave=True, text=f"{listed(names)}: {text}") for text, names in whose.items())


def conditions(entrants: Sequence[Entrant]) -> tuple[tuple[DifferingCondition, ...], tuple[str, ...]]:
    """Conditions known to differ between runs, in words, and names of the others that are not known of every run."""
    words = {one.name: dict(rows.conditions(one.run.conditions)) for one in entrants}
    differing, unknown = [], []
    for name in dict(rows.conditions(Conditions())):
        values = {run: of[name] for run, of in words.items()}
        if len({value for value in values.values() if value is not None}) > 1:
            differing.append(DifferingCondition(name=name, values=values))
        elif None in values.values():
            unknown.append(name)
    return tuple(differing), tuple(unknown)
