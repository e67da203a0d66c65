"""A campaign as a run folder, through the real writers: contestants, two machines, two blocks, and what went wrong.

north is a mixture of experts that fits one machine and is fastest there; south answers better and is slower; west fits
the cluster alone, and its second load fails; east is slower than north and answers worse; old is beaten after the first
block and measured no more; cloud is a server that ran already.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import mean, stdev

from evener.codec import to_data
from evener.edges.run_folder import RunFolder
from evener.evals import verdicts
from evener.records.answers import Answer, Asked
from evener.records.campaign import (
    AnswersAsked,
    Campaign,
    Changed,
    Contestant,
    ContextAsked,
    Dropped,
    Fetch,
    Measure,
    Schedule,
    SpeedAsked,
    Unit,
    UnitEnd,
    UsersAsked,
    Visit,
    VisitEnd,
    VisitRole,
)
from evener.records.card import Card, HostSeen, Scan
from evener.records.conditions import Conditions
from evener.records.context_limits import Ceiling, ContextLength, ContextResult, Scored
from evener.records.evaluation import EvalResult, SuiteResult
from evener.records.events import Fact
from evener.records.load import (
    ClientCost,
    Comfortable,
    Counts,
    Level,
    Limits,
    RequestShare,
    Spread,
    UsersResult,
)
from evener.records.plan import (
    Candidate,
    DevicePlan,
    ModelSummary,
    Plan,
    Predicted,
    Share,
    Value,
    Verdict,
    Workload,
)
from evener.records.rig import Host, Link, Money, Rig, StatedCard
from evener.records.run import Run, Stage, Summary
from evener.records.speed_rows import Repeated, SpeedResult, SpeedRow
from evener.records.telemetry import CardWatched, Energy, HostWatched, Telemetry
from evener.records.verification import CardCheck, FreedCheck
from evener.stats.intervals import share_interval

GIB = 1 << 30
STARTED = datetime(2026, 11, 28, 21, 4, tzinfo=UTC)
ID = "20261128T210400Z-compare-7c1e"
CARDS = {
    "alpha": (("RTX 5090", 32), ("RTX 5060 Ti 16GB", 16)),
    "beta": (("RTX 5080", 16), ("RTX 5060 Ti 16GB", 16), ("RTX 5060 Ti 16GB", 16)),
}
PRICES = {"RTX 5090": 2300.0, "RTX 5080": 1100.0, "RTX 5060 Ti 16GB": 450.0}
SUITES = {"translation": 48, "restraint": 60, "coding": 40, "instructions": 50}
LIMITS = Limits(ttft_ms=2000.0, tpot_ms=66.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """What a contestant is like: its size, and how it does alone and on both machines."""

    name: str
    title: str
    quantisation: str
    gib: float
    alone: float | None  # tokens per second of one user, None where it does not fit
    cluster: float | None
    right: dict[str, float] = field(default_factory=dict)
    url: str | None = None


MODELS = (
    Model(name="north-q4", title="North-30B-A3B", quantisation="Q4_K_M", gib=17.3, alone=141.0, cluster=96.0,
          right={"translation": 0.74, "restraint": 0.66, "coding": 0.62, "instructions": 0.78}),
    Model(name="south-q5", title="South-24B", quantisation="Q5_K_M", gib=15.8, alone=61.0, cluster=44.5,
          right={"translation": 0.85, "restraint": 0.81, "coding": 0.65, "instructions": 0.84}),
    Model(name="west-q4", title="West-70B", quantisation="Q4_K_M", gib=39.6, alone=None, cluster=13.2,
          right={"translation": 0.87, "restraint": 0.78, "coding": 0.71, "instructions": 0.86}),
    Model(name="east-q8", title="East-8B", quantisation="Q8_0", gib=8.1, alone=98.0, cluster=None,
          right={"translation": 0.5, "restraint": 0.4, "coding": 0.3, "instructions": 0.5}),
    Model(name="old-q4", title="Old-13B", quantisation="Q4_0", gib=7.4, alone=72.0, cluster=None,
          right={"translation": 0.48, "restraint": 0.4, "coding": 0.3, "instructions": 0.5}),
    Model(name="cloud", title="cloud-xl", quantisation="", gib=0, alone=58.0, cluster=None, url="https://llm.example",
          right={"translation": 0.9, "restraint": 0.83, "coding": 0.78, "instructions": 0.88}),
)  # fmt: skip

CAMPAIGN = Campaign(
    name="six for the team",
    contestants=tuple(
        Contestant(name=m.name, url=m.url, served_model="cloud-xl" if m.url else None,
                   model=None if m.url else f"{m.title.lower()}-{m.quantisation}.gguf")
        for m in MODELS
    ),
    layouts=("auto", "cluster"),
    contexts=(8192,),
    repeats=2,
    seed=7,
    speed=SpeedAsked(),
    users=(UsersAsked(counts=(1, 2, 4, 8)), UsersAsked(counts=(4, 8, 12, 15), profile="chat")),
    context=ContextAsked(),
    answers=AnswersAsked(suites=tuple(SUITES)),
)  # fmt: skip
RIG = Rig(
    hosts=(
        Host(name="alpha", connection="local", address="10.0.0.1"),
        Host(name="beta", connection="ssh", address="10.0.0.2", ssh="me@beta"),
        Host(name="prices", connection="stated", stated=tuple(StatedCard(model=m, price=p) for m, p in PRICES.items())),
    ),
    links=(Link(name="5gbe", between=("alpha", "beta"), gbit_per_s=4.7, rtt_us=210),),
    money=Money(currency="EUR", kwh_price=0.35),
)


def devices(hosts: tuple[str, ...], gib: float) -> tuple[DevicePlan, ...]:
    cards = [(host, n, name, size) for host in hosts for n, (name, size) in enumerate(CARDS[host])]
    whole = sum(size for *_, size in cards)
    return tuple(
        DevicePlan(
            host=host,
            card=f"{host}-{n}",
            card_name=name,
            device=f"CUDA{n}" if host == "alpha" else f"RPC{n}",
            position=at,
            layers=round(64 * size / whole),
            weights_bytes=round(gib * GIB * size / whole),
            kv_bytes=round(0.03 * size * GIB),
            compute_bytes=300 << 20,
            overhead_bytes=400 << 20,
            total_bytes=round((gib * size / whole + 0.03 * size + 0.68) * GIB),
            free_bytes=round(size * 0.97 * GIB),
        )
        for at, (host, n, name, size) in enumerate(cards)
    )


def plan_of(model: Model) -> Plan:
    def candidate(name: str, hosts: tuple[str, ...], rate: float | None) -> Candidate:
        parts = devices(hosts, model.gib)
        ms = 1000 / (rate or 10) * 1.04
        link = 0.18 * ms if len(hosts) > 1 else 0.0
        shares = [Share(where=f"{d.host}/{d.device}", kind="compute", ms=(ms - link) * d.layers / 64) for d in parts]
        shares += [Share(where="5gbe to beta", kind="link", ms=link)] if link else []
        return Candidate(
            name=name, kind="cluster" if len(hosts) > 1 else "host", hosts=hosts, fits=rate is not None,
            short_bytes=0 if rate else 9 * GIB, devices=parts, host_bytes={}, servers=(), workers=(),
            predicted=Predicted(decode_tokens_per_s=Value(value=1000 / ms, low=900 / ms, high=1100 / ms),
                                per_token_ms=tuple(shares)),
        )  # fmt: skip

    return Plan(
        model=ModelSummary(
            name=model.title, architecture="llama", quantisation=model.quantisation, file_bytes=round(model.gib * GIB),
            layers=63, parameters=30_000_000_000, active_parameters=None, context_train=131072,
        ),
        workload=Workload(context=8192, users=8),
        verdict=Verdict(choice="alpha", kind="host", sentence="alpha alone"),
        candidates=(candidate("alpha", ("alpha",), model.alone),
                    candidate("cluster", ("alpha", "beta"), model.cluster)),
    )  # fmt: skip


# ---- what was measured


def spread(value: float, wide: float, n: int, unit: str) -> Spread:
    return Spread(
        n=n, mean=value, p50=value, p90=value * 1.18 if n >= 29 else None, unit=unit,
        interval=(value * (1 - wide), value * (1 + wide)) if n >= 6 else None,
        p90_interval=(value * 1.1, value * 1.3) if n >= 29 else None,
    )  # fmt: skip


def level(users: int, rate: float, *, people: bool = False, failed: int = 0) -> Level:
    """The more there are, the less each gets, and the longer they wait."""
    load = users * (0.32 if people else 1.0)
    each = rate / (1 + 0.21 * max(0.0, load - 1))
    ttft = 14_000 / rate * (1 + 0.55 * (load - 1)) if load > 1 else 14_000 / rate
    n = max(24, 6 * users)
    inside = min(1.0, max(0.0, 1.24 - max(ttft / 2000, 15 / each) ** 2 * 0.8)) if people else 0.0
    met = round(min(n, inside * n))
    return Level(
        users=users,
        requests=Counts(completed=n - failed, errored=failed, invalid=0,
                        by_class={"timeout": failed} if failed else {}),
        ttft_ms=spread(ttft, 0.06, n, "ms"),
        tpot_ms=spread(1000 / each, 0.03, n, "ms"),
        itl_ms=spread(1000 / each, 0.03, n, "ms"),
        per_user_tokens_per_s=spread(each, 0.018, n, "tok/s"),
        total_tokens_per_s=each * load * 0.93,
        prefill_tokens_per_s=None,
        duration_s=90.0,
        people=users if people else None,
        degradation=None if users == 1 else each / rate,
        within_limits=RequestShare(met=met, of=n, interval=share_interval(met, n)) if people else None,
    )  # fmt: skip


def users_result(rate: float, asked: UsersAsked, *, failed: int = 0) -> UsersResult:
    people = asked.profile is not None
    levels = tuple(level(n, rate, people=people, failed=failed if n == asked.counts[-1] else 0) for n in asked.counts)
    return UsersResult(
        url="http://127.0.0.1:8080", model=None, prompt_tokens_asked=2000 if people else 128, people=people,
        output_tokens_asked=350 if people else 64, levels=levels, client=ClientCost(cpu_s=2.0, saturated=False),
        profile=asked.profile, limits=LIMITS if people else None,
        comfortable=Comfortable(
            unit="people", limits=LIMITS, target_share=0.9, holds_for=None, unresolved_at=None, requests_needed=None,
            fails_at=None, sentence="told anew by the campaign",
        ) if people else None,
    )  # fmt: skip


def repeated(value: float, unit: str, n: int, seed: str) -> Repeated:
    draw = random.Random(seed)
    values = tuple(round(value * (1 + draw.uniform(-0.01, 0.01)), 3) for _ in range(n))
    return Repeated(n=n, mean=mean(values), sd=stdev(values), unit=unit, values=values)


def speed_result(rate: float, seed: str) -> SpeedResult:
    def row(test: str, prompt: int, output: int, value: float) -> SpeedRow:
        return SpeedRow(test=test, prompt_tokens=prompt, output_tokens=output, depth=0, server=None,
                        client=repeated(value, "tok/s", 5, f"{seed} {test}"),
                        ttft_ms=repeated(14_000 / rate, "ms", 5, f"{seed} {test} t"))  # fmt: skip

    return SpeedResult(
        url="http://127.0.0.1:8080", model=None, repetitions=5, rtt_ms=0.2, gaps="", client=ClientCost(cpu_s=1.0),
        rows=(row("pp512", 512, 0, rate * 24), row("tg128", 0, 128, rate)),
    )  # fmt: skip


def context_result(rate: float) -> ContextResult:
    def length(tokens: int, right: int) -> ContextLength:
        return ContextLength(
            tokens=tokens, prompt_tokens=(tokens, tokens), depths=(),
            needles=Scored(n=10, right=right, interval=share_interval(right, 10)),
            reasoning=Scored(n=6, right=right // 2, interval=share_interval(right // 2, 6)),
            ttft_ms=repeated(tokens * 0.4, "ms", 3, f"{tokens}"),
            prefill_tokens_per_s=repeated(rate * 20, "tok/s", 3, f"p{tokens}"),
            decode_tokens_per_s=repeated(rate * 0.9, "tok/s", 3, f"d{tokens}"),
        )  # fmt: skip

    return ContextResult(
        url="http://127.0.0.1:8080", model=None, allocation="8192 tokens for each of 8", binding="configured",
        ceilings=(Ceiling(name="trained", tokens=131072, why="its header"),
                  Ceiling(name="configured", tokens=8192, why="/props"),
                  Ceiling(name="quality", tokens=8000, why="nothing failed up to there", at_least=True)),
        sentence="a prompt may be 8192 tokens long", lengths=(length(2048, 10), length(7680, 9)),
        client=ClientCost(cpu_s=1.0),
    )  # fmt: skip


def eval_result(model: Model, suites: dict[str, int], *, again: bool = False) -> EvalResult:
    results = []
    for suite, n in suites.items():
        draw = random.Random(f"{suite} {'again ' if again else ''}{model.name}")
        hard = random.Random(suite)
        scores: dict[str, float | None] = {}
        for i in range(n):
            # questions are hard or easy for all alike, so that pairs tell more than means
            ease = hard.uniform(-0.35, 0.35)
            scores[f"{suite}-{i:02}"] = float(draw.random() < model.right[suite] + ease)
        clusters = {q: q for q in scores}
        asked = verdicts.Dimension(name=suite, clusters=clusters, scores={model.name: scores})
        standing = verdicts._standing(asked, model.name, "excluded")
        standing = replace(standing, outcomes={"ok": n})
        results.append(
            SuiteResult(
                suite=suite, sha256=f"{suite:0<64}", version=1, arm="single", epochs=1, asked=n, answered=n,
                standing=standing, counted_wrong=standing, categories={}, scores=scores, clusters=clusters,
                tokens=180 * n, seconds=3.0 * n, truncated=0.0, thought=0.0,
            )
        )  # fmt: skip
    return EvalResult(
        candidate=model.name, url="http://127.0.0.1:8080", model=model.title, results=tuple(results), temperature=0.0,
        seed=7, epochs=1, parallel=4, most_tokens=1024, thinking_asked=False,
    )  # fmt: skip


def canary_result(model: Model) -> EvalResult:
    prompts = [f"canary-{i:02}" for i in range(12)]
    nothing = verdicts._standing(
        verdicts.Dimension(name="canary", clusters={}, scores={model.name: {}}), model.name, "excluded"
    )
    one = SuiteResult(
        suite="canary", sha256="c" * 64, version=1, arm="single", epochs=1, asked=12, answered=12, standing=nothing,
        counted_wrong=nothing, categories={}, scores=dict.fromkeys(prompts), clusters={q: q for q in prompts},
    )  # fmt: skip
    return replace(eval_result(model, {}), results=(one,))


def canary_answers(model: Model, cluster: bool, epochs: int) -> Iterator[Answer]:
    for epoch in range(epochs):
        for i in range(12):
            # on the cluster one answer rounds otherwise; asked once more, the first layout parts from itself once, too
            other = (cluster and i == 3) or (epoch == 1 and i == 5)
            text = f"{model.name} says that {i} is {'odd' if other else 'even'}, and goes on"
            yield Answer(
                asked=Asked(question=f"canary-{i:02}", candidate=model.name, epoch=epoch), outcome="ok", text=text,
                seed=epoch, at=STARTED, seconds=0.4,
            )  # fmt: skip


def telemetry(hosts: tuple[str, ...], tokens: float, joules_per_token: float) -> Telemetry:
    cards = [(host, n, name) for host in hosts for n, (name, _) in enumerate(CARDS[host])]
    return Telemetry(
        from_s=0.0, to_s=90.0, every_s=1.0,
        hosts=tuple(
            HostWatched(host=host, samples=90, cards=tuple(
                CardWatched(host=host, card=f"{host}-{n}", name=name,
                            slowed={"power cap": 0.22} if name == "RTX 5090" else {}, energy_j=1000.0)
                for h, n, name in cards if h == host))
            for host in hosts
        ),
        energy=Energy(joules=tokens * joules_per_token, cards=tuple(f"{h}/{name}" for h, _, name in cards), without=(),
                      tokens=tokens),
    )  # fmt: skip


# ---- the folder


MEASURES: tuple[tuple[Measure, str], ...] = (
    ("canary", "canary"), ("speed", "speed"), ("users", "users"), ("users", "chat"), ("context", "context"),
    ("answers", "answers"),
)  # fmt: skip


def visit_of(model: Model, layout: str | None, block: int, role: VisitRole = "asked", **more: object) -> Visit:
    where = layout or "server"
    id_ = f"{model.name}{'-again' if role == 'A again' else ''}/{where}/8192/{block}"
    answers = block == 1 and (where in ("alpha", "server") or (model.alone is None and where == "cluster"))
    measured = [] if more.get("why_not") else [
        (measure, name) for measure, name in MEASURES
        if (measure != "answers" or answers) and (measure != "context" or block == 1)
        and (role != "A again" or measure in ("speed", "users"))
    ]  # fmt: skip
    made = Visit(
        id=id_, contestant=model.name, block=block, role=role, layout={"alpha": "auto"}.get(where, layout),
        candidate=layout, cable=None, context=8192, load_minutes=2.0,
        units=tuple(Unit(id=f"{id_}/{name}", measure=measure, name=name, minutes=4.0) for measure, name in measured),
    )  # fmt: skip
    return replace(made, **more)  # type: ignore[arg-type]


def schedule() -> Schedule:
    visits = []
    for block in (1, 2):
        for model in MODELS:
            if model.url:
                visits.append(visit_of(model, None, block))
                continue
            if model.alone:
                visits.append(visit_of(model, "alpha", block, "baseline"))
            else:
                short = "it needs 9.4 GiB more than RTX 5090 and RTX 5060 Ti of alpha offer"
                visits.append(visit_of(model, "alpha", block, "baseline", why_not=short))
            if model.cluster:
                visits.append(visit_of(model, "cluster", block))
        visits.append(visit_of(MODELS[0], "alpha", block, "A again"))
    fetches = tuple(Fetch(contestant=m.name, model=m.title, bytes=0, how="here") for m in MODELS if not m.url)
    return Schedule(visits=tuple(visits), fetches=fetches, minutes=412.0, disk_bytes=0)


class Writer:
    """Writes a campaign's folder, fact by fact, on a clock of its own."""

    def __init__(self, base: Path, campaign: Campaign = CAMPAIGN, name: str = ID) -> None:
        self.campaign, self.schedule = campaign, schedule()
        run = Run(id=name, what="compare", started_at=STARTED, conditions=Conditions(evener="0.1.0"), rig=RIG)
        self.folder = RunFolder.create(base, run)
        self.path = self.folder.path
        self._n = 0
        self._at = STARTED
        self.fact("campaign", campaign=to_data(campaign))
        self.fact("schedule", schedule=to_data(self.schedule))

    def fact(self, kind: str, **data: object) -> Fact:
        return self.folder.fact(kind, dict(data))

    def run(self, what: str, conditions: Conditions, stage: Stage, model: Model | None = None) -> RunFolder:
        """One nested run, whole."""
        self._n += 1
        self._at += timedelta(minutes=6)
        run = Run(
            id=f"{self._at:%Y%m%dT%H%M%SZ}-{what}-{self._n:04x}", what=what, started_at=self._at, conditions=conditions,
            plan=plan_of(model) if model and not model.url else None, rig=RIG if model and not model.url else None,
            scan=scan() if model and not model.url else None,
        )  # fmt: skip
        folder = RunFolder.create(self.path / "runs", run)
        folder.finish(Summary(ended_at=self._at + timedelta(minutes=5), stages=(stage,)))
        return folder

    def visit(self, visit: Visit, *, fails: bool = False) -> None:
        model = next(m for m in MODELS if m.name == visit.contestant)
        if visit.why_not:
            self.fact("visit ended", end=to_data(VisitEnd(visit=visit.id, state="does not fit", why=visit.why_not)))
            return
        self.fact("visit begun", visit=visit.id)
        cluster = visit.candidate == "cluster"
        hosts = () if model.url else ("alpha", "beta") if cluster else ("alpha",)
        stated = conditions_of(model, visit, hosts)
        parts = devices(hosts, model.gib) if hosts else ()
        if fails:
            load = self.run("up", stated, Stage(layout=str(visit.candidate)), model)
            self.fact("visit ended", end=to_data(VisitEnd(
                visit=visit.id, state="failed", run=load.path.name, seconds=95.0,
                why="the worker on beta died while the model was loading, twice",
                evidence=("ggml_backend_cuda_buffer_type_alloc_buffer: allocating 11264.00 MiB: out of memory",
                          "alloc_tensor_range: failed to allocate CUDA1 buffer of size 11811160064"),
            )))  # fmt: skip
            return
        for unit in visit.units:
            self.unit(unit, visit, model, stated, hosts)
        if not hosts:
            self.fact("visit ended", end=to_data(VisitEnd(visit=visit.id, state="done", seconds=1500.0)))
            return
        stage = Stage(layout=str(visit.candidate), load_s=model.gib * (2.1 if cluster else 0.6))
        load = self.run("up", stated, stage, model)
        checks = tuple(
            CardCheck(host=d.host, card=d.card, card_name=d.card_name, device=d.device, layers_planned=d.layers,
                      layers_seen=d.layers, planned_bytes=d.total_bytes, reported_bytes=d.total_bytes,
                      measured_bytes=round(d.total_bytes * 1.004), floor_bytes=0, ceiling_bytes=d.total_bytes + GIB,
                      verdict="as planned")
            for d in parts
        )  # fmt: skip
        freed = tuple(
            FreedCheck(host=d.host, card=d.card, card_name=d.card_name, before_bytes=300 << 20,
                       during_bytes=d.total_bytes, after_bytes=302 << 20, tolerance_bytes=64 << 20, verdict="freed")
            for d in parts
        )  # fmt: skip
        self.fact("visit ended", end=to_data(VisitEnd(
            visit=visit.id, state="done", run=load.path.name, load_s=stage.load_s, checks=checks, freed=freed,
            seconds=1500.0,
        )))  # fmt: skip

    def unit(self, unit: Unit, visit: Visit, model: Model, stated: Conditions, hosts: tuple[str, ...]) -> None:
        self.fact("unit begun", unit=unit.id)
        cluster = visit.candidate == "cluster"
        rate = (model.cluster if cluster else model.alone) or 1.0
        rate *= 1 + random.Random(visit.id).uniform(-0.012, 0.012)
        asked = next((u for u in CAMPAIGN.users if u.name == unit.name), None)
        stage = Stage(layout=visit.candidate or "server")
        what = {"canary": "eval", "answers": "eval"}.get(unit.measure, unit.measure)
        if asked:
            failed = 2 if model.name == "cloud" and visit.block == 2 and asked.profile is None else 0
            told = telemetry(hosts, 60_000, (2.6 if cluster else 1.9) * 141 / rate) if hosts else None
            stage = replace(stage, users=users_result(rate, asked, failed=failed), telemetry=told)
        elif unit.measure == "speed":
            stage = replace(stage, speed=speed_result(rate, visit.id))
        elif unit.measure == "context":
            stage = replace(stage, context=context_result(rate))
        elif unit.measure == "answers":
            stage = replace(stage, evaluation=eval_result(model, SUITES))
        else:
            stage = replace(stage, evaluation=canary_result(model))
        folder = self.run(what, stated, stage)
        if unit.measure == "canary":
            first = visit.block == 1 and not cluster
            for answer in canary_answers(model, cluster, 2 if first else 1):
                folder.answer(answer)
        (folder.path / "requests.jsonl").touch()
        self.fact("unit ended", end=to_data(UnitEnd(unit=unit.id, visit=visit.id, state="done", run=folder.path.name,
                                                    seconds=240.0)))  # fmt: skip

    def finish(self, partial: str | None = None) -> Path:
        self.folder.finish(Summary(ended_at=STARTED + timedelta(hours=7, minutes=9), partial=partial))
        return self.path


def scan() -> Scan:
    return Scan(taken_at=STARTED, devices=(), hosts=tuple(
        HostSeen(name=host, connection="local", machine_id=host, cards=tuple(
            Card(id=f"{host}-{n}", kind="cuda", name=name, total_bytes=size * GIB, driver="580.65.06")
            for n, (name, size) in enumerate(cards)))
        for host, cards in CARDS.items()))  # fmt: skip


def conditions_of(model: Model, visit: Visit, hosts: tuple[str, ...]) -> Conditions:
    if not hosts:
        return Conditions(users=8, client="evener 0.1.0", thinking_asked="off")
    driver = "580.65.06" if visit.block == 1 else "580.82.07"
    return Conditions(
        model_bytes=round(model.gib * GIB), model_sha256=f"{model.name:0<64}", quantisation=model.quantisation,
        context=8192, users=8, kv_type_k="f16", kv_type_v="f16", layout=visit.candidate,
        engine_builds=dict.fromkeys(hosts, "b11434 (b0a2feb) protocol 7.0.0"),
        drivers={f"{h}/{name}": driver if h == "beta" else "580.65.06" for h in hosts for name, _ in CARDS[h]},
        power_limits_w={f"alpha/{CARDS['alpha'][0][0]}": 575.0}, thinking_asked="off",
        link="5gbe: 4.7 Gbit/s" if len(hosts) > 1 else None, evener="0.1.0",
    )  # fmt: skip


def whole(base: Path) -> Path:
    """A campaign that came to its end, with everything that can go wrong on the way."""
    writer = Writer(base)
    for visit in writer.schedule.visits:
        if visit.contestant == "old-q4" and visit.block == 2:
            continue
        if (visit.contestant, visit.candidate, visit.block) == ("north-q4", "cluster", 2):
            writer.fact("campaign resumed")
            changed = Changed(visit=visit.id, condition="drivers", before="beta: 580.65.06", now="beta: 580.82.07")
            writer.fact("changed", changed=to_data(changed))
        writer.visit(visit, fails=(visit.contestant, visit.candidate, visit.block) == ("west-q4", "cluster", 2))
        if visit.contestant == "north-q4" and visit.block == 1 and visit.role == "A again":
            beaten = Dropped(contestant="old-q4", by="north-q4", after_block=1,
                             why="worse answers in 4 of 4 suites and 49 % slower")  # fmt: skip
            writer.fact("dropped", dropped=to_data(beaten))
    return writer.finish()


def unfinished(base: Path, visits: int = 3) -> Path:
    """The first loads; the next one was cut after its second unit, and left half a line."""
    writer = Writer(base, name="20261129T210400Z-compare-00aa")
    for visit in writer.schedule.visits[:visits]:
        writer.visit(visit)
    cut = writer.schedule.visits[visits]
    model = next(m for m in MODELS if m.name == cut.contestant)
    writer.fact("visit begun", visit=cut.id)
    for unit in cut.units[:2]:
        writer.unit(unit, cut, model, conditions_of(model, cut, ("alpha",)), ("alpha",))
    with (writer.path / "events.jsonl").open("a") as file:
        file.write('{"sequence": 999, "at": "2026-')
    return writer.path
