"""Evaluations as records, with figures that are written by hand."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from evener.records.answers import JudgeIdentity
from evener.records.conditions import Conditions
from evener.records.evaluation import EvalAsked, EvalResult, SuiteResult
from evener.records.events import Fact
from evener.records.judging import (
    Alike,
    CorrectedShare,
    Hits,
    Majority,
    MqmResult,
    PairJudged,
    Passport,
    Together,
)
from evener.records.measures import Measure
from evener.records.run import Run, Stage, Summary
from evener.records.verdicts import (
    DifferingCondition,
    DimensionVerdict,
    Disagreement,
    Ending,
    Fragile,
    JudgedBy,
    PairVerdict,
    PenaltyStanding,
    PenaltyVerdict,
    Preference,
    Said,
    Standing,
    Verdicts,
)
from evener.report.evals_parts import Evaluated, Judged, Jury, Labels

HOSTILE = '<script>alert(1)</script> [red]x[/red] =1+1 $x^2$ \x1b[2J \u202eevil "q" | `c`'
STARTED = datetime(2026, 12, 1, 9, tzinfo=UTC)
ENDED = datetime(2026, 12, 1, 9, 40, tzinfo=UTC)

RUN = Run(
    id="20261201T090000Z-eval-ab12",
    what="eval",
    started_at=STARTED,
    conditions=Conditions(quantisation="Q8_0", context=4096, thinking_asked="off", evener="0.1.0"),
)
FACTS = (Fact(sequence=1, at=STARTED, kind="eval asked", data={"candidate": "ours", "suites": ["restraint"]}),)


def standing(name: str, mean: float | None, n: int = 40, **more: object) -> Standing:
    interval = None if mean is None else (max(0.0, mean - 0.15), min(1.0, mean + 0.15))
    return replace(Standing(candidate=name, mean=mean, interval=interval, n=n, clusters=n // 2), **more)


def suite(name: str, mean: float | None, wrong: float | None, **more: object) -> SuiteResult:
    made = SuiteResult(
        suite=name,
        sha256="0" * 64,
        version=1,
        arm="single",
        epochs=1,
        asked=42,
        answered=42,
        standing=standing(name, mean, outcomes={"ok": 38, "abstained": 2}),
        counted_wrong=standing(name, wrong, 42),
        categories={},
        scores={},
        clusters={},
        tokens=1200,
        seconds=61.5,
        truncated=0.0,
        thought=0.0,
    )
    return replace(made, **more)


RESTRAINT = suite(
    "restraint",
    0.625,
    0.575,
    standing=standing(
        "restraint",
        0.625,
        unscored=2,
        outcomes={"ok": 30, "abstained": 8, "truncated": 2, "timeout": 1},
        reasons={"cut short": 2},
    ),
    categories={"answerable": standing("restraint", 0.7, 20), "false premise": standing("restraint", 0.55, 20)},
    measures={
        "F": Measure(value=0.6, interval=(0.44, 0.76), n=40),
        "net": Measure(value=0.25, interval=(-0.05, 0.55), n=40),
        "abstain_recall": Measure(value=0.75, interval=(0.35, 0.97), n=8, unit="share"),
        "over_refusal": Measure(value=None, n=0, unit="share"),
        "pass@3": Measure(value=0.8, interval=(0.64, 0.91), n=40, unit="share"),
        "variance_within": Measure(value=0.0613, interval=(0.03, 0.09), n=40, unit="variance"),
        "BLEU zh-en": Measure(value=23.44, interval=(18.02, 28.86), n=63, unit="points", how="nrefs:2|tok:13a"),
    },
    truncated=2 / 42,
    thought=1 / 42,
)
VOTE = suite(
    "restraint", 0.65, 0.6, arm="vote", healed=3, harmed=2, were_wrong=15, were_right=25, tokens=6000, seconds=300.0
)
RESULT = EvalResult(
    candidate="ours",
    url="http://127.0.0.1:8080",
    model="SmolLM2-135M",
    results=(RESTRAINT, VOTE, suite("coding", 0.4, 0.4)),
    temperature=0.0,
    seed=1,
    epochs=1,
    parallel=2,
    most_tokens=256,
    thinking_asked=False,
    notes=("restraint: 5% of the answers were cut short at 256 tokens and are not scored: --max-tokens", "a note"),
)
JUDGED = Judged(
    judge=JudgeIdentity(provider="judge.example", model="judge-1", prompt_sha256="1" * 64),
    judgements=60,
    unparseable=2,
    failed=1,
    mqm=(
        MqmResult(
            candidate="ours",
            direction="zh-en",
            per_1000=41.5,
            interval=(20.0, 63.0),
            segments=30,
            documents=8,
            errors={"major": 3, "minor": 7},
            invented=1,
            sound=Hits(hits=27, n=30, interval=(0.74, 0.98)),
        ),
    ),
    rubric=(),
    pairs=(PairJudged(first="ours", second="theirs", first_wins=9, second_wins=4, ties=5, order_changed=2, p=0.27),),
    passport=Passport(
        known=Hits(hits=9, n=12, interval=(0.47, 0.91)),
        known_right=None,
        known_wrong=None,
        retest=None,
        order=None,
        identical=None,
        length=None,
        family=None,
        people=Hits(hits=8, n=10, interval=(0.49, 0.94)),
        kappa=0.5,
        ac1=0.62,
        kappa_interval=(0.1, 0.85),
        alpha=0.48,
    ),
    marks=("known labels right: 9 of 12",),
    corrected=(
        CorrectedShare(
            candidate="ours",
            kind="mqm",
            by="judge-1 at judge.example",
            judge_mean=0.9,
            n=30,
            labelled=20,
            unsure=1,
            people=2,
            people_mean=0.8,
            mean=0.82,
            interval=(0.61, 0.97),
        ),
        CorrectedShare(
            candidate="ours / theirs",
            kind="pair",
            by="judge-1 at judge.example",
            judge_mean=0.64,
            n=18,
            labelled=3,
            unsure=0,
            people=1,
            people_mean=0.5,
            why="people labelled 3 at random, 20 are needed",
        ),
    ),
)
ALIKE = Alike(
    first="judge-1 at judge.example",
    second="judge-2 at judge.example",
    n=30,
    raw=0.8,
    kappa=0.44,
    kappa_interval=(0.02, 0.77),
    ac1=0.7,
)
JURY = Jury(
    majority=(
        Majority(
            candidate="ours",
            kind="mqm",
            judges=("judge-1 at judge.example", "judge-2 at judge.example"),
            passed=Hits(hits=22, n=24, interval=(0.73, 0.99)),
            split=6,
            split_on=("tr-01", "tr-09"),
        ),
    ),
    corrected=(),
    together=(Together(kind="mqm", judges=2, people=2, n=30, alpha=0.41, interval=(0.2, 0.62), pairs=(ALIKE,)),),
)
LABELS = Labels(
    pool="random",
    people=2,
    labels={"right": 12, "wrong": 6, "unsure": 1},
    n=15,
    agreement=0.8,
    kappa=0.55,
    ac1=0.63,
    alpha=0.57,
)
ASKED = EvalAsked(candidate="ours", suites=("restraint", "coding"), sha256=("0" * 64, "0" * 64))
WHOLE = Evaluated(
    candidate="ours",
    asked=ASKED,
    result=RESULT,
    answers=84,
    outcomes={"ok": 70, "abstained": 11, "truncated": 2, "timeout": 1},
    judged=(JUDGED,),
    jury=JURY,
    labels=(LABELS,),
)
CUT = Evaluated(candidate="ours", asked=ASKED, result=None, answers=17, outcomes={"ok": 15, "timeout": 2})
PARTIAL_RESULT = replace(RESULT, results=(replace(RESTRAINT, answered=20),), partial="interrupted")


def summary(result: EvalResult) -> Summary:
    stage = Stage(layout=result.candidate, evaluation=result)
    return Summary(ended_at=ENDED, stages=(stage,), partial=result.partial)


EVALS: dict[str, tuple[Summary | None, Evaluated]] = {
    "eval": (summary(RESULT), WHOLE),
    "eval-partial": (summary(PARTIAL_RESULT), replace(WHOLE, result=PARTIAL_RESULT, judged=(), jury=None, labels=())),
    "eval-unfinished": (None, CUT),
}


def hostile() -> Evaluated:
    """Every text of a stranger is hostile."""
    one = suite(
        HOSTILE,
        0.5,
        0.4,
        standing=standing(HOSTILE, 0.5, outcomes={HOSTILE: 1}, reasons={HOSTILE: 1}),
        categories={HOSTILE: standing("x", 0.5), "b": standing("x", 0.5)},
        measures={f"BLEU {HOSTILE}": Measure(value=1.0, how=HOSTILE)},
    )
    judged = replace(
        JUDGED,
        judge=replace(JUDGED.judge, model=HOSTILE, provider=HOSTILE),
        mqm=(replace(JUDGED.mqm[0], candidate=HOSTILE, direction=HOSTILE),),
        marks=(HOSTILE,),
        corrected=tuple(replace(one, candidate=HOSTILE) for one in JUDGED.corrected),
    )
    jury = replace(
        JURY,
        majority=(replace(JURY.majority[0], candidate=HOSTILE, split_on=(HOSTILE,)),),
        together=(replace(JURY.together[0], pairs=(replace(ALIKE, first=HOSTILE, second=HOSTILE),)),),
    )
    result = replace(RESULT, candidate=HOSTILE, results=(one,), notes=(HOSTILE,), model=HOSTILE)
    return replace(WHOLE, candidate=HOSTILE, result=result, judged=(judged,), jury=jury, notes=(HOSTILE,))


def said(candidate: str, text: str, score: float | None) -> Said:
    return Said(candidate=candidate, text=text, score=score, outcome="ok")


def apart(question: str, first: Said, second: Said) -> Disagreement:
    return Disagreement(
        question=question,
        category="fact",
        system=None,
        context="The list holds 40 numbers.",
        prompt="Which number follows 3?",
        references=("4",),
        rubric=None,
        answers=(first, second),
        epochs=1,
    )


def pair(first: str, second: str, **more: object) -> PairVerdict:
    made = PairVerdict(
        first=first,
        second=second,
        word="cannot be separated",
        gap=0.05,
        interval=(-0.08, 0.18),
        p=0.42,
        p_holm=0.84,
        test="exact McNemar",
        n=40,
        clusters=40,
        wins=5,
        losses=3,
        needed=640,
    )
    return replace(made, **more)


def ending(candidate: str, **more: object) -> Ending:
    made = Ending(
        candidate=candidate,
        asked=40,
        answered=40,
        excluded=0.9,
        counted_wrong=0.9,
        truncated=0.0,
        thought=0.0,
        outcomes={"ok": 40},
        reasons={},
        tokens=900,
        seconds=40.0,
    )
    return replace(made, **more)


def verdicts(second: str = "beta") -> Verdicts:
    """Three candidates, of which the third is ruled out."""
    dimension = DimensionVerdict(
        dimension="restraint",
        policy="excluded",
        standings=(standing("alpha", 0.9), standing(second, 0.85), standing("gamma", 0.2)),
        pairs=(
            pair("alpha", second),
            pair("alpha", "gamma", word="better", gap=0.7, interval=(0.55, 0.83), p_holm=0.0001, wins=29, losses=1),
            pair(second, "gamma", word="better", gap=0.65, interval=(0.5, 0.8), p_holm=0.0001, wins=27, losses=1),
        ),
        best=("alpha", second),
        dropped=("gamma",),
        groups=(("alpha", second), ("gamma",)),
        fragile=Fragile(first="alpha", second=second, flips=2, of=80, questions=("q3", "q7")),
        noise=0.025,
        sentence=f"gamma can be dropped; which of alpha and {second} is the best cannot be told",
        design="40 questions in 40 clusters, 3 candidates: a gap of 26 points is found 4 times in 5",
        endings=(
            ending("alpha"),
            ending(second, outcomes={"ok": 36, "truncated": 4}, truncated=0.1, counted_wrong=0.765, excluded=0.85),
            ending("gamma", thought=0.05, reasons={"thinking was asked to be off and was not": 2}),
        ),
        disagreements=(
            apart("q3", said(second, "It is 5.", 0.0), said("alpha", "4", 1.0)),
            apart("q9", said("alpha", "four", 1.0), said("gamma", "no " * 900, 0.0)),
        ),
        measures={
            "F": {
                "alpha": Measure(value=0.91, interval=(0.8, 1.0), n=40),
                second: Measure(value=0.86, interval=(0.74, 0.98), n=40),
                "gamma": Measure(value=0.2),
            },
            "abstain_recall": {"alpha": Measure(value=None, n=0, unit="share")},
        },
    )
    return Verdicts(
        candidates=("alpha", second, "gamma"),
        dimensions=(dimension,),
        arms=(),
        differing=("sampling",),
        notes=("gamma: incomplete: interrupted",),
        runs={"alpha": "run-1", second: "run-2", "gamma": "run-3"},
        conditions=(
            DifferingCondition(name="sampling", values={"alpha": "temperature: 0", second: "temperature: 0.7"}),
        ),
        alike={"context": "4096", "quantisation": "Q8_0"},
    )


def judged_verdicts(name: str = "judge-1") -> Verdicts:
    """The same, and what a judge and then two of them say of translations."""
    whole = verdicts()
    judge, other = (replace(JUDGED.judge, model=model) for model in (name, "judge-2"))
    corrected = tuple(replace(one, candidate=who) for one, who in zip(JUDGED.corrected, ("alpha", "beta"), strict=True))
    one = JudgedBy(
        kind="mqm",
        judges=(judge,),
        passports=(JUDGED.passport,),
        marks=(f"{name}: known labels right: 9 of 12",),
        corrected=corrected,
    )
    both = replace(
        one,
        judges=(judge, other),
        passports=(JUDGED.passport, JUDGED.passport),
        together=JURY.together[0],
        corrected=(),
        split=6,
    )
    sound = replace(
        whole.dimensions[0],
        dimension=f"translation, no critical or major error, judged by more than half of {name} at judge.example "
        "and judge-2 at judge.example",
        judged=both,
        disagreements=(),
    )
    penalties = PenaltyVerdict(
        dimension=f"translation, zh-en, errors per 1000 source units, judged by {name} at judge.example",
        judged=one,
        standings=(
            PenaltyStanding(
                candidate="alpha", per_1000=12.5, interval=(4.0, 21.0), counted_wrong=14.0, segments=63, documents=15,
                unscored=1,
            ),
            PenaltyStanding(
                candidate="beta", per_1000=41.5, interval=(20.0, 63.0), counted_wrong=41.5, segments=63, documents=15,
                unscored=0,
            ),
        ),
        pairs=(
            pair(
                "alpha", "beta", word="better", gap=-29.0, interval=(-48.0, -10.0), p=0.004, p_holm=0.004,
                test="sign flips", n=62, clusters=15, wins=12, losses=2, needed=None,
            ),
        ),
        best=("alpha",),
        dropped=("beta",),
        noise=3.5,
        sentence="alpha is the best; beta can be dropped",
    )  # fmt: skip
    preference = Preference(
        judged=replace(one, kind="pair"),
        pair=PairJudged(first="alpha", second="beta", first_wins=20, second_wins=4, ties=6, order_changed=3, p=0.002),
        p_holm=0.002,
        word="better",
    )
    return replace(whole, judged=(sound,), penalties=(penalties,), preferences=(preference,))
