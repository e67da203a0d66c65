"""The parts of several runs side by side, as data: the JSON of `evener report A B C --json`."""

from __future__ import annotations

from dataclasses import dataclass
from string import digits
from typing import Literal

from evener.records.foreign import ForeignBench
from evener.records.verdicts import DifferingCondition, Verdicts
from evener.report.against_parts import RunSide, SideFigure
from evener.report.parts import Caution

# Against the first column that can be compared. "unknown": no interval, or too few repetitions. "not comparable": shown
# because that was asked for. "foreign": another tool's figure, never ranked.
CellOutcome = Literal["first", "better", "worse", "cannot be separated", "unknown", "not comparable", "foreign"]

RowWord = Literal["told apart", "cannot be separated", "unknown"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BesideRun:
    """One of our runs, under the letter that it has in every table."""

    name: str  # its letter
    run: RunSide  # what it is


@dataclass(frozen=True, slots=True, kw_only=True)
class BesideForeign:
    """One setting of another tool's file, under the name of its column."""

    name: str  # of its column
    bench: ForeignBench  # what its file states


@dataclass(frozen=True, slots=True, kw_only=True)
class BesideColumn:
    """Whose figures stand in it: a run, one layout of a run, or one setting of a foreign file."""

    name: str  # "A", "A2"
    label: str  # a layout, or a foreign model
    foreign: bool = False  # its conditions are unknown, and it is never ranked
    marked: str | None = None  # why its figures answer no question that the others do

    @property
    def of(self) -> str:
        """The letter of its run or file."""
        return self.name.rstrip(digits)


@dataclass(frozen=True, slots=True, kw_only=True)
class BesideCell:
    """A figure in one column. `change` is this / first - 1, and stands only where the two are told apart."""

    figure: SideFigure  # with what stands behind it
    outcome: CellOutcome  # against the first column that can be compared
    change: float | None = None
    sd: float | None = None  # as another tool states it


@dataclass(frozen=True, slots=True, kw_only=True)
class BesideRow:
    """One figure in every column, None where a column has none. `about` says of what: a user count, a test, a length.

    `best` names the columns that no other is told apart from as better; it is empty where nothing is told apart.
    """

    name: str
    about: str
    unit: str
    cells: tuple[BesideCell | None, ...]  # one per column
    users: int | None  # the user count that it is of, as a number
    best: tuple[str, ...]
    told: RowWord  # whether any two of its figures are told apart


@dataclass(frozen=True, slots=True, kw_only=True)
class BesideTable:
    """What was measured the same way."""

    name: str  # "speed for users"
    about: str  # how it was measured
    columns: tuple[BesideColumn, ...]  # whose figures
    rows: tuple[BesideRow, ...]  # the figures
    sentence: str  # what can be told apart
    notes: tuple[str, ...] = ()  # what was paired, and what not


@dataclass(frozen=True, slots=True, kw_only=True)
class BesideRefused:
    """A column that stands in no table of this kind."""

    name: str  # the column
    table: str  # what it measured
    why: str  # it cannot be compared


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """Several runs side by side. `differing` are conditions known to differ, `unknown` those not known of every run.

    Foreign figures stand in the tables, and enter no sentence and no `best`.
    """

    runs: tuple[BesideRun, ...]  # in the order named
    foreign: tuple[BesideForeign, ...]  # settings of foreign files
    sentence: str  # what can be told apart, of all tables
    cautions: tuple[Caution, ...]
    refused: tuple[BesideRefused, ...]  # what stands in no table, and why
    tables: tuple[BesideTable, ...]  # one per thing measured
    evaluations: Verdicts | None  # of two or more on the same questions
    differing: tuple[DifferingCondition, ...]
    unknown: tuple[str, ...]

    @property
    def compares(self) -> bool:
        """Whether two runs stand in one table, or one beside foreign figures."""
        return self.evaluations is not None or any(
            len({column.of for column in table.columns if column.marked is None}) > 1 for table in self.tables
        )
