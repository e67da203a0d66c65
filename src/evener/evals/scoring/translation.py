"""Translations: chrF, BLEU and TER against the references, by sacrebleu, and MQM from a judge's errors.

chrF says how near a translation is to one of the references, not how good it is: two good translations differ.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from evener.records.answers import EVIDENCE, Answer, Score
from evener.records.measures import Measure, Unit
from evener.records.questions import Question
from evener.stats.clusters import ratio
from evener.stats.intervals import Interval
from evener.stats.jackknife import of_sums

PENALTIES: Mapping[str, float] = {"critical": 25.0, "major": 5.0, "minor": 1.0, "punctuation": 0.1}
PER = 1000  # source units
_HAN = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")


def score(question: Question, answer: Answer) -> Score:
    """chrF of one segment, 0 to 1; `details` names sacrebleu's signature."""
    if answer.outcome not in EVIDENCE:
        return Score(asked=answer.asked, scorer="chrF", value=None, why=answer.outcome)
    metric = _chrf()
    value = metric.sentence_score(answer.text, list(question.references)).score / 100
    return Score(asked=answer.asked, scorer="chrF", value=value, details={"signature": str(metric.get_signature())})


def corpus(pairs: Sequence[tuple[Question, str]], *, target: str) -> dict[str, Measure]:
    """BLEU, chrF and TER of all translations of one direction, as sacrebleu's command line gives them, and their
    intervals by documents. `target` is the language translated into, "zh" or another. Empty for no translations.

    A question that was answered in several epochs stands there several times.
    """
    if not pairs:
        return {}
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.metrics.chrf import CHRF
    from sacrebleu.metrics.ter import TER

    zh = target == "zh"
    return {
        "BLEU": _measure(BLEU(tokenize="zh" if zh else "13a"), pairs, unit="points"),
        "chrF": _measure(CHRF(), pairs, unit="points"),
        # Not normalised, a Chinese sentence is one word to TER, whatever else is asked for.
        "TER": _measure(TER(normalized=zh, asian_support=zh), pairs, unit="edits per 100 words"),
    }


def _measure(metric: Any, pairs: Sequence[tuple[Question, str]], *, unit: Unit) -> Measure:
    """sacrebleu sums what it counts in each segment; so documents can be left out without counting anew."""
    most = max(len(question.references) for question, _ in pairs)
    # sacrebleu wants one list per reference; segments with fewer repeat their first.
    references = [
        [q.references[i] if i < len(q.references) else q.references[0] for q, _ in pairs] for i in range(most)
    ]
    counted = metric._extract_corpus_statistics([text for _, text in pairs], references)
    documents: dict[str, list[float]] = {}
    for (question, _), row in zip(pairs, counted, strict=True):
        before = documents.setdefault(question.cluster, [0.0] * len(row))
        documents[question.cluster] = [a + b for a, b in zip(before, row, strict=True)]
    value, interval = of_sums(
        list(documents.values()),
        lambda sums: metric._compute_score_from_stats(sums).score,
        low=0.0,
        high=100.0 if unit == "points" else float("inf"),
    )
    return Measure(
        value=value,
        interval=interval,
        n=len({question.id for question, _ in pairs}),
        unit=unit,
        how=str(metric.get_signature()),
    )


@cache
def _chrf() -> Any:
    from sacrebleu.metrics.chrf import CHRF

    return CHRF()


def segment(question: Question) -> str:
    """What is to be translated: the prompt without the instruction that stands before the first blank line."""
    instruction, _, text = question.prompt.partition("\n\n")
    return text or instruction


def units(source: str) -> int:
    """Source units: characters of Chinese and Japanese, words elsewhere."""
    han = len(_HAN.findall(source))
    return han + len(re.findall(r"[^\W_]+", _HAN.sub(" ", source)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Mqm:
    """Penalty per 1000 source units; lower is better. `interval` is None where one document is all."""

    per_1000: float
    interval: Interval | None
    n: int
    documents: int
    units: int


def mqm(
    penalties: Sequence[float], sizes: Sequence[int], documents: Sequence[Hashable], *, confidence: float = 0.95
) -> Mqm | None:
    """`penalties` and `sizes` (source units) are per segment, errors are clustered by document. No cap on errors: a bad
    segment is as bad as it is. None without source units.
    """
    found = ratio(penalties, sizes, documents, confidence=confidence)
    if found is None:
        return None
    ends = found.interval
    return Mqm(
        per_1000=PER * found.mean,
        interval=None if ends is None else (max(0.0, PER * ends[0]), PER * ends[1]),
        n=found.n,
        documents=found.clusters,
        units=sum(sizes),
    )


def penalty(severities: Sequence[str]) -> float:
    """The sum over a segment's errors. Raises KeyError for a severity that is none."""
    return sum(PENALTIES[severity] for severity in severities)
