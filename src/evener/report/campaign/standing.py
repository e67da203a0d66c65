"""What becomes of each contestant: what speaks against it, and whether it can be dropped. Pure.

It can be dropped when another one is known to be both better in answers and faster: ruled out of a suite's best set
(95 %) in which the other stays, in no suite the other way round, and slower in their best layouts. Behind in answers
alone, or slower alone, it may still be the one that somebody needs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from evener.records.campaign import CampaignData
from evener.report.campaign.answers import Ruling, ruling, scores
from evener.report.campaign.pareto import Speeds, is_faster
from evener.report.campaign.parts import ContestantStory, Known, PlaceStory, ScoreStory, Word
from evener.report.campaign.places import what
from evener.report.campaign.readings import share
from evener.report.language import Say
from evener.report.words import percent


def best_places(data: CampaignData, places: Sequence[PlaceStory]) -> dict[str, PlaceStory]:
    """Of each contestant that has a speed, the place where one user gets most."""
    found = {}
    for one in data.state.campaign.contestants:
        mine = [p for p in places if p.contestant == one.name and p.is_ranked and p.one_user]
        if mine:
            found[one.name] = max(mine, key=lambda p: (p.one_user.value or 0.0) if p.one_user else 0.0)
    return found


def contestants(
    data: CampaignData,
    places: Sequence[PlaceStory],
    best: Mapping[str, PlaceStory],
    known: Known,
    speeds: Speeds,
    say: Say,
) -> tuple[ContestantStory, ...]:
    """In the order of the file."""
    verdicts = ruling(known)
    names = [one.name for one in data.state.campaign.contestants]
    told = []
    for one in data.state.campaign.contestants:
        mine = [p for p in places if p.contestant == one.name and p.is_ranked]
        scored = scores(one.name, known)
        word, reasons = _word(one.name, names, mine, scored, verdicts, speeds, data, say)
        told.append(
            ContestantStory(
                name=one.name,
                what=what(one, data, say),
                word=word,
                reasons=tuple(reasons),
                place=best[one.name].id if one.name in best else None,
                scores=scored,
                failed_share=share(sum(p.failed for p in mine), sum(p.sent for p in mine)),
            )
        )
    return tuple(told)


def _word(
    name: str,
    names: Sequence[str],
    places: Sequence[PlaceStory],
    scored: Sequence[ScoreStory],
    verdicts: Sequence[Ruling],
    speeds: Speeds,
    data: CampaignData,
    say: Say,
) -> tuple[Word, list[str]]:
    if gone := next((one for one in data.state.dropped if one.contestant == name), None):
        return "dropped on the way", [say("beaten by {name}: {why}", name=gone.by, why=gone.why)]
    if not scored and not any(p.one_user for p in places):
        return "not measured", [f"{p.label}{say(': ')}{p.why}" for p in places if p.why]
    reasons = [*_answers(name, verdicts, say), *_speed(name, names, speeds, say)]
    if not any(p.one_user for p in places):
        reasons.append(say("no speed that may be used"))
    if beaten := [other for other in names if other != name and _beats(other, name, verdicts, speeds)]:
        return "can be dropped", [say("{names}: better answers, and faster", names=say.listed(beaten)), *reasons]
    if any(name in one.dropped for one in verdicts):
        return "behind in answers", reasons
    if not scored:
        reasons.append(say("its answers are compared with nobody's: speed alone rules nothing out"))
    return "cannot be ruled out", reasons


def _answers(name: str, verdicts: Sequence[Ruling], say: Say) -> list[str]:
    out = [one.dimension for one in verdicts if name in one.dropped]
    may = [one.dimension for one in verdicts if name in one.best and len(one.standings) > 1]
    if len(may) == len(verdicts) > 1:
        return [say("may be the best in every suite")]
    if len(out) == len(verdicts) > 1:
        return [say("ruled out in every suite")]
    told = [say("may be the best in {suites}", suites=say.listed(may))] if may else []
    return told + ([say("ruled out in {suites}", suites=say.listed(out))] if out else [])


def _speed(name: str, names: Sequence[str], speeds: Speeds, say: Say) -> list[str]:
    """Against the fastest one; and that it is one of them."""
    slower = [(other, speeds[other, name]) for other in names
              if (other, name) in speeds and speeds[other, name].outcome == "slower"]  # fmt: skip
    if slower:
        other, found = min(slower, key=lambda pair: pair[1].change or 0.0)
        return [say("{percent} slower than {name}", percent=percent(abs(found.change or 0.0)), name=other)]
    beats = [other for other in names if is_faster(name, other, speeds)]
    return [say("nobody is known to be faster")] if beats else []


def _beats(one: str, other: str, verdicts: Sequence[Ruling], speeds: Speeds) -> bool:
    """Better answers somewhere, worse ones nowhere, and faster."""
    better = [v for v in verdicts if one in v.best and other in v.dropped]
    worse = [v for v in verdicts if other in v.best and one in v.dropped]
    return bool(better) and not worse and is_faster(one, other, speeds)
