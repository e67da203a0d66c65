"""What the further machines brought or cost: each model on one machine against the same model on more. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from evener.report.campaign.pairs import ONE, Floor, compared
from evener.report.campaign.parts import ComfortStory, PairedFigure, PlaceStory, SecondMachine
from evener.report.language import Say
from evener.report.words import signed_percent


def second_machine(places: Sequence[PlaceStory], floor: Floor, say: Say) -> Iterator[SecondMachine]:
    """Every place on several hosts, against the fastest place of the same model on one of them."""
    for other in places:
        if len(other.hosts) < 2 or not other.is_ranked:
            continue
        alone = [p for p in places if p.contestant == other.contestant and p.is_single and p.is_ranked
                 and p.context == other.context]  # fmt: skip
        base = max(alone, key=lambda p: (p.one_user.value or 0.0) if p.one_user else 0.0, default=None)
        figures = tuple(compared(base, other, floor, say)) if base else ()
        if base and figures:
            yield SecondMachine(
                contestant=other.contestant,
                base=base.id,
                other=other.id,
                figures=figures,
                sentence=_sentence(base, other, figures, say),
            )


def _sentence(base: PlaceStory, other: PlaceStory, figures: Sequence[PairedFigure], say: Say) -> str:
    named = {"who": other.contestant, "other": other.label, "base": base.label}
    told = [say("{who}, {other} against {base}", **named)]
    told += [_change(found, say) for found in figures if found.name == say(ONE.name)]
    most = [found for found in figures if found.name == say("all together")]
    told += [_change(most[-1], say)] if most else []
    told += [line for line in (_comfort(base.comfort, other.comfort, say),) if line]
    return say("; ").join(told).replace(say("; "), say(": "), 1)


def _change(found: PairedFigure, say: Say) -> str:
    what = f"{found.name} ({found.about})" if found.about else found.name
    if found.change is None or found.outcome == "unknown":
        figure = "" if found.change is None else f" {signed_percent(found.change)},"
        return say("{what}{figure} no verdict", what=what, figure=figure)
    if found.outcome == "cannot be separated":
        return say("{what} cannot be separated", what=what)
    bounds = ""
    if found.interval:
        bounds = f" ({say(' to ').join(signed_percent(end) for end in found.interval)})"
    return f"{what} {signed_percent(found.change)}{bounds}"


def _comfort(base: Sequence[ComfortStory], other: Sequence[ComfortStory], say: Say) -> str | None:
    """For how many each is good, at the same limits; nothing where neither is known to be good for anybody."""
    theirs = {(c.profile, c.limits, c.target_share): c.holds_for for c in other}
    parts = []
    for mine in base:
        key = (mine.profile, mine.limits, mine.target_share)
        ours, more = mine.holds_for, theirs.get(key)
        if key not in theirs or ours is more is None:
            continue
        if ours == more:
            parts.append(say("{profile}: comfortable for {n} either way", profile=mine.profile, n=ours))
        else:
            told = {"other": more or "?", "base": ours or "?"}
            parts.append(say("{profile}: comfortable for {other} instead of {base}", profile=mine.profile, **told))
    return say("; ").join(parts) or None
