"""`evener review`: one person's sitting over the answers of a run, or over the pairs of two."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from evener import state
from evener.api import eval_runs
from evener.edges import run_folder
from evener.edges.run_folder import RunFolder
from evener.errors import ConfigurationError
from evener.evals import review
from evener.evals.judging.labels import Thing
from evener.evals.review import Everyone, Item
from evener.records.answers import Label, Pool, Review
from evener.stats.agreement import Agreement


@dataclass(kw_only=True)
class Sitting:
    """What is still to be looked at, and what has been said. Every label is on the disk when `say` returns."""

    reviewer: str
    pool: Pool
    folder: RunFolder
    queue: list[Item]
    reviews: list[Review]
    machine: dict[Thing, Label]
    machines: dict[str, dict[Thing, Label]]  # code and each judge apart
    mine: list[Item] = field(default_factory=list)  # labelled in this sitting, last one last

    @property
    def left(self) -> list[Item]:
        return review.left(self.queue, self.reviews, self.reviewer, pool=self.pool)

    @property
    def next(self) -> Item | None:
        """The first thing that this person has not labelled."""
        return next(iter(self.left), None)

    def say(self, item: Item, label: Label, reason: str | None = None) -> None:
        self._keep(item, label, reason)
        self.mine.append(item)

    def undo(self) -> Item | None:
        """Take the last label of this sitting back; its item is next again. None when there is none."""
        if not self.mine:
            return None
        item = self.mine.pop()
        self._keep(item, None, None)
        return item

    def agreement(self) -> Agreement:
        """Of this person with code or judge, so far."""
        return review.with_machine(self.reviews, self.machine, reviewer=self.reviewer)

    def others(self) -> dict[str, Agreement]:
        """Of this person with each other one."""
        names = dict.fromkeys(one.reviewer for one in self.reviews if one.reviewer != self.reviewer)
        return {name: review.between(self.reviews, self.reviewer, name) for name in names}

    def everyone(self) -> Everyone:
        """Of code, all judges and all people in this pool."""
        return review.everyone(self.machines, self.reviews, pool=self.pool)

    def _keep(self, item: Item, label: Label | None, reason: str | None) -> None:
        asked, other = item.key
        one = Review(
            reviewer=self.reviewer,
            asked=asked,
            other=other,
            label=label,
            pool=self.pool,
            at=datetime.now(UTC),
            reason=reason or None,
        )
        self.folder.review(one)
        self.reviews.append(one)


def sit(named: Sequence[str], *, reviewer: str, pool: Pool, base: Path | None = None) -> Sitting:
    """Open a sitting over one run, or over the pairs of two; labels are kept in the (first) run.

    Raises ConfigurationError when nothing in it can be looked at.
    """
    runs = [run_folder.open_run(run_folder.find_run(base or state.runs_folder(), name)) for name in named]
    run_folder.require_different(run.path for run in runs)
    questions = {name: q for run in runs for name, q in eval_runs.questions_of(run).items()}
    answers = [eval_runs.single_answers(run) for run in runs]
    scores = eval_runs.scores_by_code(answers[0], eval_runs.result_of(runs[0]))
    judgements = run_folder.read_judgements(runs[0].path)
    machine, machines = review.machine_labels(judgements, scores), review.machines(judgements, scores)
    queue = review.items(
        questions,
        answers[0],
        answers[1] if len(answers) > 1 else (),
        pool=pool,
        weight=review.decisive(machines),
        seed=runs[0].run.id,
    )
    if not queue:
        raise ConfigurationError("nothing here can be reviewed: no answer is evidence, or the runs share no question")
    return Sitting(
        reviewer=reviewer,
        pool=pool,
        folder=RunFolder.beside(runs[0].path),
        queue=queue,
        reviews=list(run_folder.read_reviews(runs[0].path)),
        machine=machine,
        machines=machines,
    )
