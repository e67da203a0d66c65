"""All judges and people of a run: what each is worth, and what they make of its answers together. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from evener.evals.judging import agreeing, counting, labels
from evener.records.answers import Judgement, Review
from evener.records.judging import CorrectedShare, Majority, Passport, Together

BELIEVED_FROM = 0.8  # of known labels; a judge below it is marked


@dataclass(frozen=True, slots=True, kw_only=True)
class Everybody:
    """`judges` are replies under the name of who gave them, `clusters` tell what each question stands or falls with."""

    judges: Mapping[str, Sequence[Judgement]]
    voices: tuple[agreeing.Voices, ...]
    clusters: Mapping[str, str]

    def of(self, judges: Collection[str], questions: Collection[str]) -> Everybody:
        """What these judges, and people, say of these questions alone."""
        return replace(self, voices=tuple(one.of(judges, questions) for one in self.voices))

    @property
    def together(self) -> tuple[Together, ...]:
        """One for each kind of thing that two have labelled."""
        return tuple(found for one in self.voices if (found := agreeing.together(one, self.clusters)) is not None)

    @property
    def majority(self) -> tuple[Majority, ...]:
        return tuple(found for one in self.voices for found in agreeing.by_majority(one, self.clusters))

    def corrections(self, judge: str | None) -> tuple[CorrectedShare, ...]:
        """Of one judge; None: of the majority of several."""
        return tuple(found for one in self.voices for found in agreeing.corrections(one, self.clusters, judge=judge))

    def passport(self, judge: str, judgements: Sequence[Judgement] | None = None) -> Passport:
        """By what it said, or by `judgements`: one sitting of it."""
        said = self.judges.get(judge, ()) if judgements is None else judgements
        people, rows = agreeing.with_people(self.voices, judge), agreeing.rows_of(self.voices, judge)
        return counting.passport(said, people=people, rows=rows)


def everybody(judgements: Sequence[Judgement], reviews: Sequence[Review], clusters: Mapping[str, str]) -> Everybody:
    judges = labels.by_judge(judgements)
    return Everybody(judges=judges, voices=agreeing.voices(judges, reviews), clusters=clusters)


def unread_marks(judgements: Sequence[Judgement]) -> list[str]:
    """A judge of whose replies many hold no verdict: what is left may be the easy part."""
    replies = [one for one in judgements if one.outcome != "judge_error"]
    unread = sum(one.verdict is None for one in replies)
    return [f"no verdict in {unread} of {len(replies)} replies"] if unread > (1 - BELIEVED_FROM) * len(replies) else []


def passport_marks(found: Passport) -> list[str]:
    """What speaks against a judge: probes that it failed too often."""
    return [
        f"{what}: {one.hits} of {one.n}"
        for what, one in (
            ("known labels right", found.known),
            ("same verdict when asked again", found.retest),
            ("same winner in both orders", found.order),
            ("a tie between an answer and itself", found.identical),
            ("not taken in by length", found.length),
            ("not taken in by its own name", found.family),
        )
        if one is not None and one.hits < BELIEVED_FROM * one.n
    ]
