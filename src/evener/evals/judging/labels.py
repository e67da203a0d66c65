"""What judges say of answers, in the words that people use: right or wrong; first, second or tie. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from evener.evals.judging.talking import SEVERITY_DETAIL
from evener.records.answers import Asked, JudgeIdentity, Judgement, Label
from evener.records.judging import Kind

Thing = tuple[Asked, Asked | None]  # one answer, or two
Labels = Mapping[Thing, Label]

KINDS: tuple[Kind, ...] = ("rubric", "mqm", "pair")
GRAVE = ("critical", "major")  # a translation with such an error is not right
WORTH: Mapping[Label, float] = {"right": 1.0, "wrong": 0.0, "first": 1.0, "tie": 0.5, "second": 0.0}
_RUBRIC: Mapping[str, Label] = {"PASS": "right", "FAIL": "wrong"}
_SIDES: Mapping[str, Label] = {"A": "first", "B": "second"}


def by_judge(judgements: Iterable[Judgement]) -> dict[str, list[Judgement]]:
    """The replies of each judge under its name; of two that differ only in parameters the later has a number.

    A judge that was asked in other words is another one: of each template only its latest wording counts.
    """
    known = sorted(judgements, key=lambda one: one.at)  # several runs come one after the other, in any order
    latest = {(_who(one.judge), one.details.get("template")): one.judge.prompt_sha256 for one in known}
    found: dict[str, list[Judgement]] = defaultdict(list)
    for one in known:
        if one.judge.prompt_sha256 == latest[_who(one.judge), one.details.get("template")]:
            found[_who(one.judge)].append(one)
    _give_errors_back(found)
    names: Counter[str] = Counter()
    named = {}
    for mine in found.values():
        name = mine[0].judge.name
        names[name] += 1
        named[name if names[name] == 1 else f"{name} ({names[name]})"] = mine
    return named


def _give_errors_back(found: dict[str, list[Judgement]]) -> None:
    """A request that failed calls the judge what it was asked as, a reply what it is: errors belong to the judge there
    that answered, where there is but one."""
    for who, mine in list(found.items()):
        if any(one.outcome != "judge_error" for one in mine):
            continue
        door = replace(mine[0].judge, model="", prompt_sha256="")
        others = [
            theirs
            for other, theirs in found.items()
            if other != who and replace(theirs[0].judge, model="", prompt_sha256="") == door
        ]
        if len(others) == 1:
            others[0].extend(found.pop(who))


def _who(judge: JudgeIdentity) -> str:
    """All that tells two judges apart, whatever they were asked."""
    return repr(replace(judge, prompt_sha256=""))


def name_in(judges: Mapping[str, Sequence[Judgement]], judge: JudgeIdentity) -> str:
    """The name under which `by_judge` lists a judge; its own where it is not there."""
    known = (name for name, mine in judges.items() if _who(mine[0].judge) == _who(judge))
    return next(known, judge.name)


def kind_of(one: Judgement) -> Kind | None:
    """What a reply was asked for; None for a probe, which is no label of an answer."""
    if one.probe is not None:
        return None
    if one.other is not None:
        return "pair"
    if SEVERITY_DETAIL in one.details or one.details.get("template") == "mqm":
        return "mqm"
    return "rubric" if one.verdict in _RUBRIC or one.details.get("template") == "rubric" else None


def latest(judgements: Iterable[Judgement], kind: Kind) -> list[Judgement]:
    """One judge's last verdict on each thing, in each order; replies without a verdict say nothing."""
    last = {
        (one.asked, one.other, bool(one.details.get("swapped"))): one
        for one in judgements
        if one.verdict is not None and kind_of(one) == kind
    }
    return list(last.values())


def labels(judgements: Iterable[Judgement], kind: Kind) -> dict[Thing, Label]:
    """What one judge says. A translation is right when it has no critical or major error; a side of a pair wins when it
    wins in both orders, and a pair that was read in one order only has no label."""
    known = latest(judgements, kind)
    if kind == "pair":
        return _pairs(known)
    say = _rubric if kind == "rubric" else _mqm
    return {(one.asked, None): say(one) for one in known}


def _rubric(one: Judgement) -> Label:
    return _RUBRIC[one.verdict or ""]


def _mqm(one: Judgement) -> Label:
    return "wrong" if any(flaw["severity"] in GRAVE for flaw in one.details[SEVERITY_DETAIL]) else "right"


def _pairs(known: Sequence[Judgement]) -> dict[Thing, Label]:
    sides: dict[Thing, list[Label]] = defaultdict(list)
    for one in known:
        said = _SIDES.get(one.verdict or "", "tie")
        sides[one.asked, one.other].append(other_side(said) if one.details.get("swapped") else said)
    return {thing: said[0] if said[0] == said[1] else "tie" for thing, said in sides.items() if len(said) == 2}


def other_side(label: Label) -> Label:
    """The same label of the same two, named in the other order."""
    swapped: dict[Label, Label] = {"first": "second", "second": "first"}
    return swapped.get(label, label)


def majority(said: Sequence[Label | None], *, of: int | None = None) -> Label | None:
    """What more than half say, of `of` who might have spoken (default: of these); None for a tie, or nobody."""
    counted = Counter(label for label in said if label is not None)
    if not counted:
        return None
    label, count = counted.most_common(1)[0]
    return label if 2 * count > (len(said) if of is None else of) else None


def majorities(by: Mapping[str, Labels]) -> dict[Thing, Label | None]:
    """The strict majority of all judges on each thing that one labelled; who said nothing agrees with nobody."""
    things = dict.fromkeys(thing for said in by.values() for thing in said)
    return {thing: majority([said.get(thing) for said in by.values()]) for thing in things}
