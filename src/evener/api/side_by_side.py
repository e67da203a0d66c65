"""Any finished runs, and files of llama-bench, held side by side: opened, told, compared where they can be."""

from __future__ import annotations

import json
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count, product
from pathlib import Path
from string import ascii_uppercase
from typing import TYPE_CHECKING, Any

from evener.api import runs
from evener.api.runs import Form
from evener.codec import to_data
from evener.dialects import llama_bench_files
from evener.edges.run_folder import RunData, require_different
from evener.errors import ConfigurationError
from evener.records.foreign import ForeignBench
from evener.records.run import Stage, Summary
from evener.records.verdicts import Verdicts
from evener.report.against_parts import Against
from evener.report.beside import beside as held
from evener.report.beside_columns import Entrant, Needles, unlike_answers
from evener.report.beside_parts import Beside

if TYPE_CHECKING:
    from evener.report.post import Told

MOST_BYTES = 16 << 20  # of a foreign file: a row has about 1 KiB


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """What one argument names, under its letter: a run of ours, or the settings in a file of llama-bench."""

    name: str
    run: RunData | None = None
    foreign: tuple[ForeignBench, ...] = ()


def named(words: Sequence[str]) -> tuple[Named, ...]:
    """What each word names. Raises NameUnknown, RunUnreadable, and ConfigurationError for a run that stands twice."""
    found = tuple(_named(letter, word) for letter, word in zip(_letters(), words, strict=False))
    if len(found) > 1:
        require_different([one.run.path for one in found if one.run])
    return found


def _letters() -> Iterator[str]:
    """A to Z, then AA to ZZ, and so on."""
    for length in count(1):
        yield from map("".join, product(ascii_uppercase, repeat=length))


def _named(letter: str, word: str) -> Named:
    text = _text_of(Path(word))
    if text is None:
        return Named(name=letter, run=runs.find(word))
    return Named(name=letter, foreign=llama_bench_files.settings(text, file=Path(word).name))


def _text_of(path: Path) -> str | None:
    """The text of a plain file; None for what is no file. Raises ConfigurationError for one that holds no text."""
    try:
        if not path.is_file():
            return None
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise ConfigurationError(f"{path}: {error.strerror or error}") from None
    if len(data) > MOST_BYTES:
        raise ConfigurationError(f"{path}: more than {MOST_BYTES >> 20} MiB: no output of llama-bench has that much")
    try:
        return data.decode("utf-16" if data.startswith((BOM_UTF16_LE, BOM_UTF16_BE)) else "utf-8")  # PowerShell's ">"
    except UnicodeDecodeError:
        hint = f"of a pack, evener runs open {path} brings the runs here, and they are compared like any"
        raise ConfigurationError(f"{path}: no text, so no output of llama-bench", hint=hint) from None


def two(found: Sequence[Named]) -> Against | None:
    """The second run against the first; None where it is not two runs, or they have no figure in common."""
    data = [one.run for one in found if one.run]
    if len(found) != 2 or len(data) != 2:
        return None
    told = runs.compare(*data)
    return told if told.figures else None


def evaluations(found: Sequence[Named], *, anyway: bool = False) -> Verdicts | None:
    """What evaluations prove, where all are evaluations. Of three and more, those that were asked otherwise than the
    first are left out, which its notes say; `anyway` keeps them. Raises ConfigurationError where nothing is left."""
    data = [one.run for one in found if one.run]
    if len(data) < max(2, len(found)) or any(run.run.what != "eval" for run in data):
        return None
    from evener.api import verdicts  # here: it takes numpy along

    if len(data) == 2 or anyway:
        return verdicts.verdicts([run.path for run in data])
    entrants = [_entrant(one) for one in found]
    out = {one.name: "it is not finished" for one in entrants if not _is_scored(one)}
    out |= {one.name: one.why for one in unlike_answers(entrants)}
    kept = [one.run.path for one in found if one.run and one.name not in out]
    if len(kept) < 2:
        raise ConfigurationError(_told(out), hint="--anyway compares them and says so")
    told = verdicts.verdicts(kept)
    notes = [f"left out: {one.run.path.name}: {out[one.name]}" for one in found if one.run and one.name in out]
    return replace(told, notes=(*told.notes, *notes))


def beside(found: Sequence[Named], *, anyway: bool = False) -> Beside:
    """All of them side by side. Raises ConfigurationError where nothing can be compared, unless `anyway`."""
    entrants = [_entrant(one) for one in found if one.run]
    evals = [one for one in entrants if _is_scored(one)]
    out = () if anyway else unlike_answers(evals)
    kept = [one.run for one in found if one.run and one.name in {x.name for x in evals} - {x.name for x in out}]
    told = _verdicts([data for data in kept if data]) if len(kept) > 1 else None
    result = held(entrants, list(_strangers(found)), evaluations=told, refused=out if told else (), anyway=anyway)
    if len(entrants) > 1 and not (result.compares or anyway):
        reasons = {f"{one.name} ({one.table})": one.why for one in result.refused}
        kinds = "; ".join(f"{one.name}: {', '.join(_kinds(result, one.name))}" for one in result.runs)
        raise ConfigurationError(
            _told(reasons) if reasons else f"no two of these runs measured the same: {kinds}",
            hint="--anyway shows them side by side, marked; evener report RUN tells each alone",
        )
    return result


def _is_scored(one: Entrant) -> bool:
    return one.story.evaluation is not None and one.story.evaluation.result is not None


def _kinds(result: Beside, run: str) -> list[str]:
    return [table.name for table in result.tables if any(column.of == run for column in table.columns)]


def _verdicts(data: Sequence[RunData]) -> Verdicts | None:
    """None where no two share a suite: then their scores stand in a table, marked."""
    from evener.api import verdicts  # here: it takes numpy along

    try:
        return verdicts.verdicts([one.path for one in data])
    except ConfigurationError:
        return None


def _told(reasons: dict[str, str]) -> str:
    return "nothing here can be compared: " + "; ".join(f"{name}: {why}" for name, why in reasons.items())


def _strangers(found: Sequence[Named]) -> Iterator[tuple[str, ForeignBench]]:
    """Every setting under the name of its column."""
    for one in found:
        for number, bench in enumerate(one.foreign, start=1):
            yield (one.name if len(one.foreign) == 1 else f"{one.name}{number}"), bench


def _entrant(one: Named) -> Entrant:
    data = one.run
    assert data is not None
    return Entrant(
        name=one.name, story=runs.tell(data), run=data.run, partial=_partial(data.summary), needles=_needles(data)
    )


def _partial(summary: Summary | None) -> str | None:
    """Why a run is not whole."""
    if summary is None:
        return "it is not finished"
    found = [summary.partial, summary.pair.partial if summary.pair else None]
    found += [result.partial for stage in summary.stages for result in _results(stage)]
    return next((why for why in found if why), None)


def _results(stage: Stage) -> list[Any]:
    return [x for x in (stage.users, stage.speed, stage.context, stage.evaluation) if x is not None]


def _needles(data: RunData) -> dict[int, Needles]:
    """Which needle was found, by length: the place, the question and its answer are the needle."""
    found: dict[int, dict[Any, bool]] = {}
    for fact in data.facts:
        said = fact.data
        if fact.kind == "answer" and said.get("kind") == "needle" and isinstance(said.get("tokens"), int):
            item = (said.get("place"), said.get("asked"), said.get("answer"))
            found.setdefault(said["tokens"], {})[item] = bool(said.get("right"))
    return dict(found)


def written(found: Beside, form: Form) -> str:
    """Several runs side by side as one text."""
    from evener.report import beside_view

    if form == "html":
        from evener.report import html

        return html.beside_page(found)
    if form == "json":
        return json.dumps(to_data(found), indent=2, ensure_ascii=False) + "\n"
    return beside_view.markdown(found) if form == "md" else beside_view.csv(found)


def post(found: Sequence[Named], *, anyway: bool = False) -> str:
    """One run, or several side by side, as Markdown for a blog or a forum."""
    from evener.report import post

    told = [_told_of(one, alone=len(found) == 1) for one in found if one.run]
    return post.one(told[0]) if len(found) == len(told) == 1 else post.several(beside(found, anyway=anyway), told)


def _told_of(one: Named, *, alone: bool) -> Told:
    from evener.report.post import Told

    data = one.run
    assert data is not None
    return Told(story=runs.tell(data), run=data.run, facts=data.facts, name="" if alone else one.name)
