"""What a suite says besides its mean: of declining, of whole corpora, and of questions answered several times. Pure.

Each figure is over questions, a question's own being the mean of its epochs, and has an interval by clusters.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from statistics import fmean

from evener.evals.scoring import translation
from evener.evals.scoring.match import DECLINING_IS_RIGHT_TOO
from evener.records.answers import Answer, Score
from evener.records.measures import Measure, Unit
from evener.records.questions import Question
from evener.stats import repeats
from evener.stats.clusters import estimate
from evener.stats.comparisons import is_binary
from evener.stats.jackknife import jackknife, of_sums

WRONG_COSTS = 1.0  # the p of net = (C - p I) / N: a wrong answer costs as much as a right one brings
TRIES = (2, 5, 10)  # the k of pass@k, beside the number of epochs


def measures(
    questions: Mapping[str, Question], scores: Sequence[Score], answers: Sequence[Answer] = ()
) -> dict[str, Measure]:
    """All that apply to these questions. Answers that are no evidence about the model are in none of them."""
    known = [score for score in scores if score.value is not None]
    return declining(questions, known) | corpora(questions, known, answers) | repeated(questions, known)


def declining(questions: Mapping[str, Question], scores: Sequence[Score]) -> dict[str, Measure]:
    """Of a suite of questions that one may decline (Wei et al. 2024 for F); empty for others.

    `F` = 2 C / (N + C + I), `net` = (C - I) / N, `abstain_recall` = declined among those that cannot be answered,
    `over_refusal` = declined among those that can.
    """
    seen = _by_question([score for score in scores if score.details.get("class")])
    if not seen:
        return {}
    right = {name: fmean(score.details["class"] == "C" for score in mine) for name, mine in seen.items()}
    wrong = {name: fmean(score.details["class"] == "I" for score in mine) for name, mine in seen.items()}
    declined = {name: fmean(score.outcome == "abstained" for score in mine) for name, mine in seen.items()}
    rows: dict[str, list[float]] = defaultdict(lambda: [0.0] * 3)
    for name in seen:
        row = rows[questions[name].cluster]
        row[:] = row[0] + 1, row[1] + right[name], row[2] + wrong[name]
    balanced, ends = of_sums(list(rows.values()), lambda s: 2 * s[1] / sum(s) if s[0] else None, low=0.0, high=1.0)
    net = {name: right[name] - WRONG_COSTS * wrong[name] for name in seen}
    cannot = [name for name in seen if not questions[name].references]
    can = [name for name in seen if _is_answerable(questions[name])]
    return {
        "F": Measure(value=balanced, interval=ends, n=len(seen)),
        "net": _mean(net, questions, unit="index", least=-WRONG_COSTS),
        "abstain_recall": _mean({name: declined[name] for name in cannot}, questions),
        "over_refusal": _mean({name: declined[name] for name in can}, questions),
    }


def corpora(
    questions: Mapping[str, Question], scores: Sequence[Score], answers: Sequence[Answer]
) -> dict[str, Measure]:
    """BLEU, chrF and TER of each direction of translations, which a category is: "BLEU zh-en"."""
    scored = {score.asked for score in scores}
    directions: dict[str, list[tuple[Question, str]]] = defaultdict(list)
    for answer in answers:
        question = questions.get(answer.asked.question)
        if question is not None and question.scoring == "translation" and answer.asked in scored:
            directions[question.category].append((question, answer.text))
    return {
        f"{name} {direction}": measure
        for direction, pairs in directions.items()
        for name, measure in translation.corpus(pairs, target=pairs[0][0].language or "en").items()
    }


def repeated(questions: Mapping[str, Question], scores: Sequence[Score]) -> dict[str, Measure]:
    """Of questions that have several answers each; empty where none has.

    Right or wrong: `pass@k`, one of k answers is right, and `pass^k`, all of them are. Of any scores the variances
    `variance_between` questions, of what each is worth on average, and `variance_within` one, of its answers.
    """
    values = {name: [score.value or 0.0 for score in mine] for name, mine in _by_question(scores).items()}
    values = {name: mine for name, mine in values.items() if len(mine) > 1}
    if not values:
        return {}
    found: dict[str, Measure] = {}
    if all(map(is_binary, values.values())):
        most = max(map(len, values.values()))
        for k in sorted({*(k for k in TRIES if k < most), most}):
            found[f"pass@{k}"] = _passes(repeats.pass_at_k, values, k, questions)
            found[f"pass^{k}"] = _passes(repeats.pass_hat_k, values, k, questions)
    return found | _variances(values, questions)


def _passes(
    worth: repeats.Passes, values: Mapping[str, Sequence[float]], k: int, questions: Mapping[str, Question]
) -> Measure:
    each = {name: worth(len(mine), sum(x == 1 for x in mine), k) for name, mine in values.items()}
    return _mean({name: share for name, share in each.items() if share is not None}, questions)


def _variances(values: Mapping[str, Sequence[float]], questions: Mapping[str, Question]) -> dict[str, Measure]:
    whole = repeats.variances(list(values.values()))
    if whole is None:
        return {}
    clusters = dict.fromkeys(questions[name].cluster for name in values)
    without = [
        repeats.variances([mine for name, mine in values.items() if questions[name].cluster != cluster])
        for cluster in clusters
    ]
    found = {}
    for at, name in enumerate(("variance_between", "variance_within")):
        # Of the standard deviation, squared: a variance of few questions is too skewed (docs/notebook.md).
        ends = jackknife(
            math.sqrt(whole[at]), [None if one is None else math.sqrt(one[at]) for one in without], low=0.0
        )
        interval = None if ends is None else (ends[0] ** 2, ends[1] ** 2)
        found[name] = Measure(value=whole[at], interval=interval, n=len(values), unit="variance")
    return found


def _mean(
    values: Mapping[str, float], questions: Mapping[str, Question], *, unit: Unit = "share", least: float = 0.0
) -> Measure:
    """Over questions; at most 1. Where all are alike nothing tells how an index varies, while all of few is no proof of
    perfection: the interval of a share shows it."""
    is_share = unit == "share" and is_binary(list(values.values()))
    found = estimate(list(values.values()), [questions[name].cluster for name in values], share=is_share)
    if found is None:
        return Measure(value=None, n=0, unit=unit)
    ends = found.interval if is_share or found.se else None
    interval = None if ends is None else (max(least, ends[0]), min(1.0, ends[1]))
    return Measure(value=found.mean, interval=interval, n=found.n, unit=unit)


def _by_question(scores: Sequence[Score]) -> dict[str, list[Score]]:
    found: dict[str, list[Score]] = defaultdict(list)
    for score in scores:
        found[score.asked.question].append(score)
    return found


def _is_answerable(question: Question) -> bool:
    return bool(question.references) and question.category not in DECLINING_IS_RIGHT_TOO
