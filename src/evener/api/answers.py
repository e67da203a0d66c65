"""`evener answers`: evaluations of other tools as runs of ours, and ours as theirs."""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime
from pathlib import Path

from evener import __version__, state
from evener.api import eval_runs, evals, measure
from evener.codec import to_data
from evener.edges import run_folder
from evener.edges.writing import write_whole
from evener.errors import ConfigurationError
from evener.evals import interchange, tally
from evener.records.conditions import Conditions
from evener.records.evaluation import EvalResult
from evener.records.questions import Question, Suite
from evener.records.run import Stage, Summary

__all__ = ["export", "take"]
UNKNOWN_CONDITIONS = "how it was asked is not known here: sampling, thinking, server and build are the other tool's"


def take(path: Path, *, name: str | None = None, base: Path | None = None) -> Path:
    """Keep another tool's results as a run that `evener verdict` compares; questions are one cluster each.

    Raises ConfigurationError for a file that is none of theirs.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ConfigurationError(f"{path}: {error.strerror or error}") from None
    found = interchange.read(content, source=str(path))
    candidate = name or found.model or path.stem
    asked = sorted({score.asked.question for score in found.scores})
    suite = Suite(
        name=found.suite,
        title=found.suite,
        questions=tuple(_unknown(one) for one in asked),
        sha256=hashlib.sha256("\n".join(asked).encode()).hexdigest(),
    )
    epochs = 1 + max(score.asked.epoch for score in found.scores)
    result = tally.tally(suite, found.answers, found.scores, arm="single", epochs=epochs, asked=len(found.scores))
    evaluation = EvalResult(
        candidate=candidate,
        url=str(path),
        model=found.model,
        results=(result,),
        temperature=0.0,
        seed=0,
        epochs=epochs,
        parallel=1,
        most_tokens=0,
        thinking_asked=None,
        notes=(f"scores of {found.tool}", UNKNOWN_CONDITIONS),
    )
    folder = measure.new_folder("eval", Conditions(client=found.tool, evener=__version__), base=base)
    folder.fact("imported", {"tool": found.tool, "file": str(path), "result": to_data(evaluation)})
    for answer in found.answers:
        folder.answer(answer)
    folder.finish(Summary(ended_at=datetime.now(UTC), stages=(Stage(layout=candidate, evaluation=evaluation),)))
    return folder.path


def _unknown(name: str) -> Question:
    """A question of which only the name is known."""
    return Question(id=name, cluster=name, category="imported", prompt="(not kept)", scoring="match", source="imported")


def export(run: str, into: Path, *, base: Path | None = None, force: bool = False) -> int:
    """Write an evaluation as an Inspect log; the number of its samples. Raises ConfigurationError, HostError."""
    data = run_folder.open_run(run_folder.find_run(base or state.runs_folder(), run))
    asked = evals.asked_of(data)
    questions, answers = eval_runs.questions_of(data), eval_runs.single_answers(data)
    scores = eval_runs.single_scores(eval_runs.result_of(data))
    if into.exists() and not force:
        raise ConfigurationError(f"{into} exists", hint="--force writes over it")
    log = interchange.inspect_log(
        questions,
        answers,
        scores,
        task="+".join(Path(name).stem for name in asked.suites),
        model=asked.candidate,
        created=data.run.started_at,
    )
    write_whole(into, json.dumps(log, ensure_ascii=False, indent=1))
    return len(answers)
