"""`evener suite`: ours and one's own: listed, checked, made from a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from evener.edges.writing import write_whole
from evener.errors import ConfigurationError
from evener.evals import own, planning, suites
from evener.evals.own import Proposals
from evener.records.evaluation import SuitePlan
from evener.records.questions import Suite

MODELS = (2, 4, 6)  # sizes of a comparison for which a suite's reach is told


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedSuite:
    """A suite that can be used, and what could be made of it."""

    suite: Suite
    categories: dict[str, int]
    clusters: int
    quick: int
    unreviewed: int
    proposals: Proposals
    reach: tuple[tuple[int, SuitePlan], ...]  # (candidates, what it can prove about them)


def open_suite(name: str) -> Suite:
    """One of ours by its name, or a file: JSON lines, or a table that ends in .csv.

    Raises ConfigurationError, NameUnknown.
    """
    path = Path(name)
    if name in suites.SHIPPED or not (path.suffix or path.exists()):
        return suites.shipped(name)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ConfigurationError(f"{name}: {error.strerror or error}") from None
    if path.suffix.lower() != ".csv":
        return suites.read(content, source=name)
    return replace(suites.read(own.from_csv(content, source=name), source=name), name=path.stem, title=path.name)


def own_path(name: str) -> str:
    """The name of one of ours; a file by its whole path, so that it is found from elsewhere too."""
    return str(Path(name).resolve()) if Path(name).exists() and name not in suites.SHIPPED else name


def check(name: str, *, models: Sequence[int] = MODELS) -> CheckedSuite:
    """Raises ConfigurationError with all faults."""
    suite = open_suite(name)
    return CheckedSuite(
        suite=suite,
        categories=dict(Counter(q.category for q in suite.questions)),
        clusters=len({q.cluster for q in suite.questions}),
        quick=sum(q.quick for q in suite.questions),
        unreviewed=sum(not q.reviewed for q in suite.questions),
        proposals=own.proposals(suite),
        reach=tuple((n, planning.plan([suite], planning.Wanted(models=n)).suites[0]) for n in models),
    )


def make(name: str, into: Path, *, clusters: bool, twins: bool, force: bool = False) -> Suite:
    """Write `name` as a suite's own file, with the proposals that were asked for. An existing file stays, unless
    `force`. Raises ConfigurationError, HostError."""
    suite = open_suite(name)
    questions = own.with_clusters(suite.questions) if clusters else suite.questions
    made = replace(suite, questions=own.with_twins(questions) if twins else questions)
    text = own.lines_of(made)
    suites.read(text.encode(), source=str(into))  # what is written can be read
    if into.exists() and not force:
        raise ConfigurationError(f"{into} exists", hint="--force writes over it")
    write_whole(into, text)
    return made


def all_of_ours() -> list[Suite]:
    return [suites.shipped(name) for name in suites.SHIPPED]
