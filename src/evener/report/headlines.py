"""The one sentence at the head of a report, and what stands behind it, for each kind of run. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from evener.records.load import Level
from evener.records.pair import PairResult
from evener.records.speed_rows import Repeated, SpeedResult
from evener.report import comparing
from evener.report.crowd import limits
from evener.report.parts import Comparison, Crowd, Layout, Speed
from evener.report.words import UNKNOWN, company, count, number, percent


def headline(
    layouts: Sequence[Layout], against: Sequence[Comparison], users: int | None, pair: PairResult | None
) -> str:
    """What was found, without a full stop at its end."""
    if pair is not None:
        return _bare(pair.sentence) if pair.validity == "valid" else f"The result is invalid ({pair.validity})"
    if len(layouts) == 1 and layouts[0].invalid:
        return comparing.headline(layouts, (), None)
    if len(layouts) == 1:
        told = _of_one(layouts[0])
        where = f"{layouts[0].label}: " if layouts[0].kind else ""
        return f"{where}{told}" if told else comparing.headline(layouts, against, users)
    return comparing.headline(layouts, against, users)


def basis(
    layouts: Sequence[Layout], speeds: Sequence[Speed], against: Sequence[Comparison], pair: PairResult | None
) -> str:
    """n, intervals and what else the headline rests on."""
    if pair is not None:
        return _bare(pair.basis)
    if len(against) == 1:
        return against[0].basis
    if len(layouts) == 1 and layouts[0].context:
        allocation = _bare(layouts[0].context.allocation)
        return "" if allocation in layouts[0].context.sentence else allocation
    if len(layouts) == 1 and layouts[0].speed and not speeds:
        return (
            f"mean ± standard deviation of {count(layouts[0].speed.repetitions, 'repetition')}, by the client's clock"
        )
    if len(layouts) == 1 and (told := _within_limits(layouts[0])):
        return told
    where = {x.name: f"{x.label}: " if x.kind or len(layouts) > 1 else "" for x in layouts}
    return "; ".join(f"{where[s.layout]}{company(s.n, s.interval)}" for s in speeds if s.value is not None)


def _within_limits(layout: Layout) -> str | None:
    """What a comfortable count rests on: requests within the limits there, or at the smallest count that was tried."""
    if layout.invalid or not layout.crowd or not (found := layout.crowd.comfortable):
        return None
    users = found.holds_for or min((level.users for level in layout.levels), default=0)
    share = next((level.within_limits for level in layout.levels if level.users == users), None)
    if share is None or share.interval is None:
        return None
    ends = " to ".join(percent(end) for end in share.interval)
    who = count(users, "person", "people") if layout.crowd.people else count(users, "user")
    return (
        f"with {who}, {share.met} of {share.of} requests were within the limits (95 % {ends}): {limits(found.limits)}"
    )


def _of_one(layout: Layout) -> str | None:
    """Of a single layout: for whom it is good, how fast its rows are, or how long a prompt may be."""
    if layout.context:
        return _bare(layout.context.sentence)
    if layout.speed:
        return _rows(layout.speed)
    if layout.crowd and layout.crowd.comfortable:
        sentence = _bare(layout.crowd.comfortable.sentence)
        return sentence[:1].upper() + sentence[1:]
    if layout.crowd and layout.levels:
        return _curve(layout.levels, layout.crowd)
    return None


def _curve(levels: Sequence[Level], crowd: Crowd) -> str | None:
    """The two ends of a curve without limits."""
    known = sorted((x for x in levels if x.per_user_tokens_per_s.p50 is not None), key=lambda level: level.users)
    if not known:
        return None
    first, most = known[0], known[-1]
    one, many = ("person", "people") if crowd.people else ("user", "users")
    alone = f"{number(first.per_user_tokens_per_s.p50)} tok/s for "
    alone += f"one {one}" if first.users == 1 else f"each of {first.users} {many}"
    if most is first:
        return alone
    each = f"each {number(most.per_user_tokens_per_s.p50)}"
    return f"{alone}; {count(most.users, one, many)} together {number(most.total_tokens_per_s)} tok/s, {each}"


def _rows(result: SpeedResult) -> str | None:
    """The first prompt, and the first answer."""
    known = [row for row in result.rows if row.client.mean is not None]
    prompts = [row for row in known if row.prompt_tokens and not row.output_tokens][:1]
    answers = [row for row in known if row.output_tokens and not row.prompt_tokens][:1]
    shown = [*prompts, *answers] or known[:1]
    return ", ".join(f"{row.test}: {repeated(row.client)} tok/s" for row in shown) or None


def repeated(figure: Repeated | None) -> str:
    """ "132.19 ± 0.55", as users of llama-bench know it; without a deviation below two repetitions."""
    if figure is None or figure.mean is None:
        return UNKNOWN
    places = 2 if figure.unit == "tok/s" else 1 if abs(figure.mean) < 100 else 0
    return f"{figure.mean:.{places}f}" + (f" ± {figure.sd:.{places}f}" if figure.sd is not None else f" (n={figure.n})")


def _bare(sentence: str) -> str:
    return sentence.rstrip().removesuffix(".")
