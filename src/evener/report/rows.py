"""A run's records as the rows of a report: layouts, cards, conditions, moments. Pure; judges nothing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace

from evener.dialects.shell_line import shell_line
from evener.records.conditions import Conditions
from evener.records.context_limits import ContextResult
from evener.records.events import Fact
from evener.records.load import UsersResult
from evener.records.pair import PairResult
from evener.records.plan import Candidate, DevicePlan, ModelSummary
from evener.records.run import Run, Stage, Summary
from evener.records.run_head import PairHead, RunHead, StageHead, SummaryHead
from evener.records.speed_rows import SpeedResult
from evener.records.verification import CardCheck, FreedCheck
from evener.report.parts import CardRow, CommandLine, Crowd, Layout, Moment, RunRow, RunState
from evener.report.words import listed, model_file, shorten, size

_LONGEST_FACT = 200


def layouts(run: Run, stages: Sequence[Stage]) -> tuple[Layout, ...]:
    """One per stage, in the order in which they were measured."""
    candidates = [run.plan.candidate(stage.layout) if run.plan else None for stage in stages]
    labels = [
        label(candidate) if candidate else stage.layout for candidate, stage in zip(candidates, stages, strict=True)
    ]
    return tuple(
        _layout(run, stage, candidate, own if labels.count(own) == 1 else f"{own} ({stage.layout})")
        for stage, candidate, own in zip(stages, candidates, labels, strict=True)
    )


def label(candidate: Candidate) -> str:
    """A candidate in words: "alpha alone", "RTX 5090 of alpha alone", "alpha + beta"."""
    if candidate.kind == "card" and candidate.devices:
        return f"{candidate.devices[0].card_name} of {listed(candidate.hosts)} alone"
    if candidate.kind == "experts-in-ram":
        return f"{' + '.join(candidate.hosts)}, experts in RAM"
    if candidate.kind in ("replicas", "several-models"):
        return f"{listed(candidate.hosts)}, each its own copy"
    return f"{candidate.hosts[0]} alone" if len(candidate.hosts) == 1 else " + ".join(candidate.hosts) or candidate.name


def _layout(run: Run, stage: Stage, candidate: Candidate | None, own_label: str) -> Layout:
    users = stage.users
    return Layout(
        name=stage.layout,
        label=own_label,
        kind=candidate.kind if candidate else "",
        hosts=candidate.hosts if candidate else (),
        one_machine=any(len(set(names) & set(candidate.hosts)) > 1 for names in one_machine(run))
        if candidate
        else False,
        load_s=stage.load_s,
        cards=_cards(run, stage, candidate.devices if candidate else ()),
        checks=stage.checks,
        freed=stage.freed,
        levels=users.levels if users else (),
        measured=users is not None,
        invalid=next((r.validity for r in results(stage) if r.validity != "valid"), None),
        prompt_tokens=users.prompt_tokens_asked if users else None,
        output_tokens=users.output_tokens_asked if users else None,
        commands=commands(candidate) if candidate else (),
        crowd=_crowd(users) if users else None,
        speed=stage.speed,
        context=stage.context,
        telemetry=stage.telemetry,
        drift=stage.drift,
        cooled=stage.cooled,
    )


def results(stage: Stage) -> tuple[UsersResult | SpeedResult | ContextResult, ...]:
    """Whatever was measured on a layout."""
    return tuple(result for result in (stage.users, stage.speed, stage.context) if result is not None)


def _crowd(users: UsersResult) -> Crowd:
    return Crowd(
        mode=users.mode,
        arrivals=users.arrivals,
        profile=users.profile,
        people=users.people,
        turns=users.turns,
        think_s=users.think_s,
        shared_prefix_tokens=users.shared_prefix_tokens,
        limits=users.limits,
        comfortable=users.comfortable,
        mixed=users.mixed,
        kv_exhausted_from=users.kv_exhausted_from,
    )


def _cards(run: Run, stage: Stage, devices: Sequence[DevicePlan]) -> tuple[CardRow, ...]:
    checks = {(c.host, c.card, c.device): c for c in stage.checks}
    freed = {(f.host, f.card): f for f in stage.freed}
    rows, first = [], 0
    for device in sorted(devices, key=lambda d: d.position):
        check, after = checks.get((device.host, device.card, device.device)), freed.get((device.host, device.card))
        rows.append(_card(run, device, first, check, after))
        first += device.layers
    return tuple(rows)


def _card(run: Run, device: DevicePlan, first: int, check: CardCheck | None, after: FreedCheck | None) -> CardRow:
    seen = run.scan.host(device.host) if run.scan else None
    card = seen.card(device.card) if seen else None
    return CardRow(
        host=device.host,
        card=device.card,
        card_name=device.card_name,
        device=device.device,
        first_layer=first,
        layers=device.layers,
        planned_bytes=check.planned_bytes if check else device.total_bytes,
        reported_bytes=check.reported_bytes if check else None,
        measured_bytes=check.measured_bytes if check else None,
        floor_bytes=check.floor_bytes if check else None,
        ceiling_bytes=check.ceiling_bytes if check else None,
        left_bytes=left_bytes(after) if after else None,
        total_bytes=card.total_bytes if card else None,
        verdict=check.verdict if check else None,
        freed=after.verdict if after else None,
    )


def left_bytes(check: FreedCheck) -> int | None:
    """What a card holds after the stop beyond what it held before the start; None where either is unknown."""
    if check.after_bytes is None or check.before_bytes is None:
        return None
    return check.after_bytes - check.before_bytes


def one_machine(run: Run) -> tuple[tuple[str, ...], ...]:
    """Host names that turned out to be the same machine."""
    by_id: dict[str, list[str]] = defaultdict(list)
    for host in run.scan.hosts if run.scan else ():
        if host.machine_id is not None:
            by_id[host.machine_id].append(host.name)
    return tuple(tuple(names) for names in by_id.values() if len(names) > 1)


def commands(candidate: Candidate) -> tuple[CommandLine, ...]:
    """What was started, in the order of starting: workers, ways to them, then the server that connects."""
    return tuple(
        CommandLine(role=role, host=command.host, text=shell_line(command.argv, command.env))
        for role, group in (("worker", candidate.workers), ("tunnel", candidate.tunnels), ("server", candidate.servers))
        for command in group
    )


_NAMES = {
    "model_sha256": "model SHA-256",
    "model_bytes": "model size",
    "kv_type_k": "KV cache type of keys",
    "kv_type_v": "KV cache type of values",
    "context": "context (tokens per user)",
    "users": "parallel users",
    "engine_builds": "engine build",
    "power_limits_w": "power limit (W)",
    "held_before": "memory held by others before",
    "ambient_c": "room (°C)",
    "temperatures_c": "temperatures (°C)",
    "slowed_by": "held back by",
    "evener": "evener version",
    "beside": "beside the model",
    "thinking_asked": "thinking mode asked",
    "thinking_observed": "thinking mode observed",
}


def conditions(stated: Conditions) -> tuple[tuple[str, str | None], ...]:
    """(name, value in words or None for unknown), every condition, in the order of the record."""
    return tuple(
        (condition(field.name), _condition(field.name, getattr(stated, field.name))) for field in fields(Conditions)
    )


def condition(name: str) -> str:
    """What people call a condition."""
    return _NAMES.get(name, name.replace("_", " "))


def _condition(name: str, value: object) -> str | None:
    if name == "model_bytes" and isinstance(value, int):
        return f"{size(value)} ({value:,} bytes)"
    if isinstance(value, Mapping):
        pairs = ((key, _of_card(name, item)) for key, item in sorted(value.items()))
        return "; ".join(f"{key}: {item}" for key, item in pairs) or None
    if isinstance(value, tuple):
        return ", ".join(str(item) for item in value) or None
    return None if value is None else str(value)


def _of_card(name: str, value: object) -> str:
    if name == "held_before" and isinstance(value, int):
        return size(value)
    if isinstance(value, tuple):
        return ("-" if name == "temperatures_c" else ", ").join(_plain_number(item) for item in value) or "nothing"
    return _plain_number(value)


def _plain_number(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def moments(facts: Sequence[Fact], *, most: int = 40) -> tuple[Moment, ...]:
    """The last `most` recorded facts, a line each."""
    return tuple(Moment(at=fact.at, text=_fact(fact)) for fact in facts[-most:])


def _fact(fact: Fact) -> str:
    told = ", ".join(f"{key} {word}" for key, value in fact.data.items() if (word := _in_a_word(value)))
    return shorten(f"{fact.kind}: {told}" if told else fact.kind, _LONGEST_FACT)


def _in_a_word(value: object) -> str | None:
    """A plain value as it is, several as a list; of whole records only how many. None for what is no line's matter."""
    if value is None or isinstance(value, Mapping):
        return None
    if not isinstance(value, list | tuple):
        return str(value)
    if any(isinstance(item, Mapping) for item in value):
        return f"({len(value)})"
    return " ".join(str(item) for item in value) or None


def model_name(model: ModelSummary) -> str:
    """Name and quantisation; many names already end in it."""
    return model.name if model.quantisation in model.name else f"{model.name} {model.quantisation}"


def models(
    run: Run | RunHead, stages: Sequence[Stage] | Sequence[StageHead], pair: PairResult | PairHead | None
) -> str | None:
    """The plan's model; of a run without one, what its server called it."""
    if run.plan:
        return model_name(run.plan.model)
    measured = (result for stage in stages for result in (stage.users, stage.speed, stage.context, stage.evaluation))
    named = [result.model for result in measured if result]
    named += [pair.a.model, pair.b.model] if pair else []
    return listed(list(dict.fromkeys(model_file(name) for name in named if name))) or None


def listing(run: Run | RunHead, summary: Summary | SummaryHead | None, row: RunRow) -> RunRow:
    """A run in one line. `row` is what is known of any folder."""
    return replace(
        row,
        id=run.id,
        what=run.what,
        started_at=run.started_at,
        model=models(run, summary.stages if summary else (), summary.pair if summary else None),
        layouts=tuple(stage.layout for stage in summary.stages) if summary else (),
        state=state(summary),
    )


def state(summary: Summary | SummaryHead | None) -> RunState:
    """ "unfinished" has no summary at all; "partial" has one that says what is missing."""
    if summary is None:
        return "unfinished"
    return "partial" if summary.partial else "complete"
