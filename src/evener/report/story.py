"""What a report says about one run, as plain data that both faces show. Reads records, never a folder. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from evener.records.events import Fact
from evener.records.load import Request, TokenTimes
from evener.records.pair import PairResult
from evener.records.run import Run, Stage, Summary
from evener.records.telemetry import Sample
from evener.report import comparing, evals_story, headlines, recover, rows
from evener.report.cautions import cautions
from evener.report.evals_parts import Evaluated
from evener.report.limits import limits
from evener.report.parts import Comparison, Layout, Story
from evener.report.timeline import timeline
from evener.report.words import company, count, number


def tell(
    run: Run,
    summary: Summary | None,
    facts: Sequence[Fact],
    requests: Sequence[Request],
    samples: Sequence[Sample] = (),
    *,
    times: Iterable[TokenTimes] | None = None,
    evaluation: Evaluated | None = None,
) -> Story:
    """The whole story. `summary` is None for a run that never finished; then its facts tell how far it came.

    `times` are those of the requests' tokens, where the requests do not hold them. `evaluation` is what an evaluation's
    own files hold: then the story is about that.
    """
    if evaluation is not None:
        return evals_story.tell(run, summary, facts, evaluation)
    stages = summary.stages if summary else recover.stages(facts) or planned(run)
    layouts = rows.layouts(run, stages)
    users = comparing.common_users(layouts)
    speeds = tuple(comparing.speed(x, users) for x in layouts) if users is not None else ()
    against = comparing.comparisons(layouts, users)
    pair = summary.pair if summary else recover.pair(facts)
    return Story(
        id=run.id,
        what=run.what,
        title=title(run, stages, pair),
        state=rows.state(summary),
        started_at=run.started_at,
        ended_at=summary.ended_at if summary else None,
        headline=headlines.headline(layouts, against, users, pair),
        basis=headlines.basis(layouts, speeds, against, pair),
        headline_users=users,
        speeds=speeds,
        comparisons=against,
        findings=_findings(run, layouts, against),
        cautions=cautions(summary, stages, layouts, requests),
        layouts=layouts,
        conditions=rows.conditions(run.conditions),
        limits=limits(run, layouts, pair),
        moments=rows.moments(facts),
        pair=pair,
        timeline=timeline(requests, samples, times),
    )


def planned(run: Run) -> tuple[Stage, ...]:
    """What a run that left no summary was about to do: the plan's choice, with nothing seen of it."""
    choice = run.plan.verdict.choice if run.plan else None
    return (Stage(layout=choice),) if choice else ()


def title(run: Run, stages: Sequence[Stage], pair: PairResult | None) -> str:
    """The model, its quantisation and what was done."""
    model = rows.models(run, stages, pair)
    return f"{model}: {run.what}" if model else run.what


def _findings(run: Run, layouts: Sequence[Layout], against: Sequence[Comparison]) -> tuple[str, ...]:
    label = {x.name: x.label for x in layouts}
    found = [run.plan.verdict.sentence] if run.plan and run.plan.verdict.sentence else []
    if len(against) > 1:
        found += [f"{label[c.other]} against {label[c.base]}: {_with_bounds(c)}" for c in against]
    found += [sentence for x in layouts if (sentence := _together(x, alone=len(layouts) == 1 and not x.kind))]
    found += [_sustained(x, alone=len(layouts) == 1) for x in layouts if x.drift and not x.invalid]
    found += [sentence for x in layouts if (sentence := _memory(x))]
    return tuple(found)


def _with_bounds(found: Comparison) -> str:
    if bounds := comparing.bounds(found):
        return f"{found.sentence} ({bounds})"
    return found.sentence


def _together(layout: Layout, *, alone: bool) -> str | None:
    """What many users get from one layout, at its largest user count. `alone`: there is no other to tell it from."""
    usable = [] if layout.invalid else [x for x in layout.levels if x.total_tokens_per_s is not None]
    if not usable or (most := max(usable, key=lambda level: level.users)).users == 1:
        return None
    each = most.per_user_tokens_per_s
    company_ = company(each.n, each.interval)
    users = count(most.users, "person", "people") if most.people is not None else count(most.users, "user")
    who = f"{users} together get" if alone else f"{layout.label} gives {users} together"
    return f"{who} {number(most.total_tokens_per_s)} tok/s, each {number(each.p50)} ({company_})"


def _sustained(layout: Layout, *, alone: bool) -> str:
    """Whether the speed held."""
    sentence = layout.drift.sentence.removesuffix(".") if layout.drift else ""
    return f"sustained load: {sentence}" if alone else f"{layout.label}, sustained load: {sentence}"


def _memory(layout: Layout) -> str | None:
    if not layout.checks:
        return None
    kept = sum(check.verdict == "as planned" for check in layout.checks)
    told = f"{layout.label}: {kept} of {count(len(layout.checks), 'card')} as planned after load"
    if not layout.freed:
        return told
    free = sum(check.verdict in ("freed", "freed, drifted") for check in layout.freed)
    return f"{told}; memory given back after stop by {free} of {len(layout.freed)}"
