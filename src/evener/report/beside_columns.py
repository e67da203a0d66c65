"""Which columns stand in one table, which are refused and why. Pure; compares no figures.

Columns that answer the same question as the first of a table stand in it. What is invalid, partial or was asked
otherwise is left out with one reason, or marked with it.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

from evener.records.foreign import ForeignBench
from evener.records.run import Run
from evener.report.against import incomparable, unlike
from evener.report.beside_figures import ANSWERS, LOAD, Part, foreign_figures, parts
from evener.report.beside_parts import BesideColumn, BesideRefused
from evener.report.figures import Measured
from evener.report.parts import Story

# (place, question, answer) -> whether it was found: the same questions in two runs are pairs
Needles = Mapping[Hashable, bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Entrant:
    """One run that is held beside others. `partial` is why it is not whole; `needles` are its answers by length."""

    name: str
    story: Story
    run: Run
    partial: str | None = None
    needles: Mapping[int, Needles] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """Figures before it is known in which table they stand. `deviations` are a foreign tool's."""

    shown: BesideColumn
    figures: tuple[Measured, ...]
    about: str = ""
    entrant: Entrant | None = None
    part: Part | None = None
    deviations: Mapping[Hashable, float | None] = field(default_factory=dict)

    @property
    def is_compared(self) -> bool:
        return not self.shown.foreign and self.shown.marked is None

    def figure(self, key: Hashable) -> Measured | None:
        return next((one for one in self.figures if one.key == key), None)


def of_kind(kind: str, entrants: Sequence[Entrant]) -> Iterator[Column]:
    """A column for each layout on which a run measured this."""
    for one in entrants:
        mine = [part for part in parts(one.story) if part.kind == kind]
        for number, part in enumerate(mine, start=1):
            name = one.name if len(mine) == 1 else f"{one.name}{number}"
            shown = BesideColumn(name=name, label=part.label)
            yield Column(shown=shown, figures=part.figures, about=part.about, entrant=one, part=part)


def strangers(foreign: Sequence[tuple[str, ForeignBench]], ours: Sequence[Column]) -> list[Column]:
    """A column for each foreign setting. Its tests stand in the rows that llama-bench ran for us, where it did."""
    tests = frozenset(one.about for column in ours for one in column.figures if one.name == "by llama-bench")
    found = []
    for name, bench in foreign:
        figures = foreign_figures(bench, ours=tests)
        apart = _settings(bench, [other for _, other in foreign if other.file == bench.file])
        found.append(
            Column(
                shown=BesideColumn(name=name, label=", ".join((bench.model, *apart)), foreign=True),
                figures=tuple(one for one, _ in figures),
                deviations={one.key: sd for one, sd in figures},
            )
        )
    return found


def _settings(bench: ForeignBench, of_its_file: Sequence[ForeignBench]) -> list[str]:
    """What tells it apart from the other settings of its file, beside the model."""
    return [
        f"{name} {value}"
        for name, value in bench.stated.items()
        if any(other.stated.get(name) != value for other in of_its_file) and not name.startswith("model_")
    ]


def _faults(column: Column) -> Iterator[str]:
    """Why a column must be compared with nothing."""
    if column.part and column.part.invalid:
        yield f"invalid: {column.part.invalid}"
    if column.entrant and column.entrant.partial:
        yield f"partial: {column.entrant.partial}"


def _unlike(one: Column, other: Column) -> str | None:
    """The first reason why two columns of a kind answer different questions."""
    if one.entrant is None or other.entrant is None or one.part is None or other.part is None:
        return None
    if one.part.kind == LOAD:
        return None  # neither requests nor their answers have a part in it
    names = (one.shown.name, other.shown.name)
    found = unlike(one.entrant.run.conditions, other.entrant.run.conditions, *names)
    if one.part.layout and other.part.layout:
        found = chain(found, incomparable(one.part.layout, other.part.layout, *names))
    if one.part.kind == ANSWERS and not {x.key for x in one.figures} & {x.key for x in other.figures}:
        found = chain(found, (f"other questions than {one.shown.name}",))
    return next(iter(found), None)


def groups(columns: Sequence[Column]) -> tuple[list[list[Column]], list[tuple[Column, str]]]:
    """Columns that can be compared with each other, and the others with the reason. One alone stands alone."""
    out = [(one, why) for one in columns if (why := next(_faults(one), None))]
    found: list[list[Column]] = []
    for one in columns:
        if next(_faults(one), None) is None:
            home = next((group for group in found if _unlike(group[0], one) is None), None)
            if home is None:
                found.append([one])
            else:
                home.append(one)
    kept = [group for group in found if len(group) > 1] or found[:1]
    alone = [group[0] for group in found if group not in kept]
    out += [(one, _unlike(kept[0][0], one) or "nothing here can be compared with it") for one in alone]
    return kept, out


def with_marked(together: list[list[Column]], out: Sequence[tuple[Column, str]]) -> list[list[Column]]:
    """What is refused stands beside the first group all the same, and says why."""
    marked = [replace(one, shown=replace(one.shown, marked=why)) for one, why in out]
    first, *others = together or [[]]
    return [[*first, *marked], *others] if first or marked else []


def unlike_answers(entrants: Sequence[Entrant]) -> tuple[BesideRefused, ...]:
    """Evaluations that cannot be compared with the first of them that can: other questions, or asked otherwise."""
    _, out = groups(list(of_kind(ANSWERS, entrants)))
    return tuple(BesideRefused(name=one.shown.name, table=ANSWERS, why=why) for one, why in out)
