"""Translations: chrF against the references, as sacrebleu computes it, and MQM from a judge's errors.

chrF says how near a translation is to one of the references, not how good it is: two good translations differ.
"""

from __future__ import annotations

import math
import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from evener.records.answers import EVIDENCE, Answer, Score
from evener.records.questions import Question
from evener.stats.clusters import student, sums
from evener.stats.intervals import Interval

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


@dataclass(frozen=True, slots=True, kw_only=True)
class CorpusScores:
    """Corpus-level scores of one direction, 0 to 100 (TER may be greater), with sacrebleu's signatures."""

    n: int
    chrf: float
    bleu: float
    ter: float
    signatures: dict[str, str]


def corpus(pairs: Sequence[tuple[Question, str]], *, target: str) -> CorpusScores | None:
    """All segments of one direction. `target` is the language translated into, "zh" or "en". None for no segments."""
    if not pairs:
        return None
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.metrics.chrf import CHRF
    from sacrebleu.metrics.ter import TER

    texts = [text for _, text in pairs]
    most = max(len(question.references) for question, _ in pairs)
    # sacrebleu wants one list per reference; segments with fewer repeat their first.
    references = [
        [q.references[i] if i < len(q.references) else q.references[0] for q, _ in pairs] for i in range(most)
    ]
    zh = target == "zh"
    metrics = {"chrF": CHRF(), "BLEU": BLEU(tokenize="zh" if zh else "13a"), "TER": TER(asian_support=zh)}
    found = {name: metric.corpus_score(texts, references).score for name, metric in metrics.items()}
    return CorpusScores(
        n=len(pairs),
        chrf=found["chrF"],
        bleu=found["BLEU"],
        ter=found["TER"],
        signatures={name: str(metric.get_signature()) for name, metric in metrics.items()},
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
    """A ratio of sums with its linearised standard error, clustered by document (Cochran, Sampling Techniques, 6.4).

    `penalties` and `sizes` (source units) are per segment. No cap on errors: a bad segment is as bad as it is. None
    without source units.
    """
    whole = sum(sizes)
    if whole == 0:
        return None
    ratio = sum(penalties) / whole
    residuals = sums([p - ratio * size for p, size in zip(penalties, sizes, strict=True)], documents)
    groups = len(residuals)
    interval = None
    if groups > 1:
        se = math.sqrt(groups / (groups - 1) * sum(r * r for r in residuals)) / whole
        half = student(groups - 1, confidence) * se
        interval = (max(0.0, PER * (ratio - half)), PER * (ratio + half))
    return Mqm(per_1000=PER * ratio, interval=interval, n=len(sizes), documents=groups, units=whole)


def penalty(severities: Sequence[str]) -> float:
    """The sum over a segment's errors. Raises KeyError for a severity that is none."""
    return sum(PENALTIES[severity] for severity in severities)
