"""Answers in the files of other tools: Inspect logs (.eval, .json) and lm-eval samples are read, Inspect logs written.

Formats: inspect_ai 0.3 (log version 2), lm-eval 0.4 (`samples_<task>_<time>.jsonl`). Scores of other tools are taken as
they are; what has no number stays unscored with its reason. Pure.
"""

from __future__ import annotations

import io
import json
import struct
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from evener.errors import ConfigurationError
from evener.evals.judging.scores import no_evidence
from evener.records.answers import Answer, Asked, Score
from evener.records.questions import Question

MOST_BYTES = 1 << 30  # of a log, unpacked
ZSTANDARD = 93  # zip's number for it
LOCAL_HEADER = 30  # bytes before the name of a file in a zip; its last four are the lengths of name and extra field
LETTERS = {"C": 1.0, "P": 0.5, "I": 0.0, "N": None}  # Inspect's correct, partial, incorrect, no answer
STOPPED = {"ok": "stop", "truncated": "max_tokens"}  # Inspect's words
LM_EVAL_OWN = ("doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics")


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """Another tool's results: a score per question and epoch. `suite` is its task, `model` what it calls the model."""

    suite: str
    model: str | None
    scores: tuple[Score, ...]
    answers: tuple[Answer, ...]
    tool: str


def read(content: bytes, *, source: str) -> Imported:
    """An Inspect log or lm-eval's samples, told apart by their contents. Raises ConfigurationError."""
    if content[:2] == b"PK":
        return _inspect(_unzipped(content, source), source)
    whole = _document(content)
    if whole is not None and "samples" in whole and "eval" in whole:
        return _inspect(whole, source)
    try:
        rows = [json.loads(line) for line in content.splitlines() if line.strip()]
    except (ValueError, RecursionError):
        rows = []
    if rows and all(isinstance(row, dict) and "doc_id" in row for row in rows):
        return _lm_eval(rows, source)
    raise ConfigurationError(
        f"{source}: neither an Inspect log nor lm-eval's samples",
        hint="Inspect: logs/*.eval or *.json; lm-eval: samples_*.jsonl, written with --log_samples",
    )


def _document(content: bytes) -> dict[str, Any] | None:
    """The file as one JSON object; None when it is something else, such as lines."""
    try:
        data = json.loads(content)
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None


def _unzipped(content: bytes, source: str) -> dict[str, Any]:
    """An .eval file as the document that its .json twin would be."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as packed:
            entries = {entry.filename: entry for entry in packed.infolist()}
            if sum(entry.file_size for entry in entries.values()) > MOST_BYTES:
                raise ConfigurationError(f"{source}: more than {MOST_BYTES >> 20} MiB unpacked")
            start = entries.get("header.json") or entries["_journal/start.json"]
            header = json.loads(_entry(content, packed, start))
            samples = [
                json.loads(_entry(content, packed, entry))
                for name, entry in entries.items()
                if name.startswith("samples/") and name.endswith(".json")
            ]
    except ImportError:
        raise ConfigurationError(
            f"{source}: this log is packed with zstandard, which is not installed",
            hint="pip install 'evener[inspect]', or inspect log convert --to json",
        ) from None
    except (zipfile.BadZipFile, KeyError, ValueError, NotImplementedError, RecursionError) as error:
        raise ConfigurationError(
            f"{source}: no Inspect log that can be read: {error}", hint="inspect log convert --to json"
        ) from None
    return {**header, "samples": samples}


def _entry(content: bytes, packed: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytes:
    """One file of the archive. zipfile of Python before 3.14 does not know zstandard, which new logs use.

    Raises ImportError where a log needs it and it is not installed.
    """
    if entry.compress_type != ZSTANDARD:
        return packed.read(entry)
    import zstandard

    head = content[entry.header_offset : entry.header_offset + LOCAL_HEADER]
    start = entry.header_offset + LOCAL_HEADER + sum(struct.unpack("<HH", head[-4:]))
    try:
        unpacked: bytes = zstandard.ZstdDecompressor().decompress(
            content[start : start + entry.compress_size], max_output_size=entry.file_size
        )
    except zstandard.ZstdError as error:
        raise zipfile.BadZipFile(f"{entry.filename}: {error}") from None
    return unpacked


def _inspect(log: Mapping[str, Any], source: str) -> Imported:
    about = log.get("eval") if isinstance(log.get("eval"), dict) else {}
    samples = [sample for sample in log.get("samples") or () if isinstance(sample, dict)]
    if not samples:
        raise ConfigurationError(f"{source}: the log holds no samples", hint="inspect eval --log-samples")
    model = str((about or {}).get("model") or "") or None
    pairs = [_inspect_sample(sample, model or source) for sample in samples]
    pairs.sort(key=lambda pair: (pair[0].asked.question, pair[0].asked.epoch))  # the two forms order them differently
    return Imported(
        suite=str((about or {}).get("task") or source),
        model=model,
        scores=tuple(score for score, _ in pairs),
        answers=tuple(answer for _, answer in pairs),
        tool="inspect",
    )


def _inspect_sample(sample: Mapping[str, Any], candidate: str) -> tuple[Score, Answer]:
    epoch = sample.get("epoch")
    asked = Asked(
        question=str(sample.get("id")), candidate=candidate, epoch=epoch - 1 if isinstance(epoch, int) and epoch else 0
    )
    scores = sample.get("scores") if isinstance(sample.get("scores"), dict) else {}
    name, found = next(iter((scores or {}).items()), ("none", None))
    value = found.get("value") if isinstance(found, dict) else None
    error = sample.get("error")
    why = "error" if error else "no number" if _number(value) is None else None
    output = sample.get("output") if isinstance(sample.get("output"), dict) else {}
    text = str((output or {}).get("completion") or "")
    return (
        Score(asked=asked, scorer=str(name), value=None if error else _number(value), why=why),
        _answer(asked, text, failed=bool(error)),
    )


def _number(value: object) -> float | None:
    """A score between 0 and 1; letters as Inspect means them."""
    if isinstance(value, bool):
        return float(value)
    if isinstance(value, int | float):
        return float(value) if 0 <= value <= 1 else None
    return LETTERS.get(value) if isinstance(value, str) else None


def _lm_eval(rows: Sequence[Mapping[str, Any]], source: str) -> Imported:
    """One score per document: its first metric that is a number between 0 and 1 (`exact_match`, `acc`, ...)."""
    name = source.rpartition("/")[2].removesuffix(".jsonl").removeprefix("samples_").partition("_20")[0]
    seen: dict[object, Mapping[str, Any]] = {}
    for row in rows:  # several filters of one document: the first counts
        seen.setdefault(row["doc_id"], row)
    pairs = [_lm_eval_row(row, source) for row in seen.values()]
    return Imported(
        suite=name or source,
        model=None,
        scores=tuple(score for score, _ in pairs),
        answers=tuple(answer for _, answer in pairs),
        tool="lm-eval",
    )


def _lm_eval_row(row: Mapping[str, Any], source: str) -> tuple[Score, Answer]:
    asked = Asked(question=str(row["doc_id"]), candidate=source)
    metrics = row.get("metrics") if isinstance(row.get("metrics"), list) else []
    names = [*(metrics or []), *(key for key in row if key not in LM_EVAL_OWN and not key.endswith("_hash"))]
    metric = next((name for name in names if _number(row.get(name)) is not None), None)
    value = _number(row.get(metric)) if metric else None
    score = Score(asked=asked, scorer=str(metric), value=value, why=None if metric else "no number")
    return score, _answer(asked, _first_text(row.get("filtered_resps") or row.get("resps")), failed=False)


def _first_text(value: object) -> str:
    while isinstance(value, list) and value:
        value = value[0]
    return value if isinstance(value, str) else ""


def _answer(asked: Asked, text: str, *, failed: bool) -> Answer:
    """Another tool's answer; when it came and how long it took is not known here."""
    return Answer(
        asked=asked,
        outcome="http_error" if failed else "ok" if text else "empty",
        text=text,
        seed=0,
        at=datetime(1970, 1, 1, tzinfo=UTC),
        seconds=0.0,
    )


def inspect_log(
    questions: Mapping[str, Question],
    answers: Iterable[Answer],
    scores: Mapping[str, float | None],
    *,
    task: str,
    model: str,
    created: datetime,
) -> dict[str, Any]:
    """An evaluation as an Inspect log (version 2), which `inspect view` opens.

    `scores` is per question; an answer that is no evidence about the model has none.
    """
    samples = [
        _sample(questions[a.asked.question], a, None if no_evidence(a) else scores.get(a.asked.question), model)
        for a in answers
    ]
    stamp = created.isoformat(timespec="seconds")
    known = [value for value in scores.values() if value is not None]
    return {
        "version": 2,
        "status": "success",
        "eval": {
            "run_id": f"evener-{created:%Y%m%dT%H%M%S}",
            "created": stamp,
            "task": task,
            "task_id": task,
            "task_version": 0,
            "task_attribs": {},
            "task_args": {},
            "dataset": {"name": task, "samples": len(questions), "sample_ids": list(questions), "shuffled": False},
            "model": model,
            "model_args": {},
            "config": {},
            "packages": {},
        },
        "plan": {"name": "plan", "steps": [], "config": {}},
        "results": {
            "total_samples": len(samples),
            "completed_samples": len(samples),
            "scores": [
                {
                    "name": "evener",
                    "scorer": "evener",
                    "params": {},
                    "metrics": {
                        "mean": {"name": "mean", "value": sum(known) / len(known) if known else 0.0, "params": {}}
                    }
                    if known
                    else {},
                }
            ],
        },
        "stats": {"started_at": stamp, "completed_at": stamp, "model_usage": {}},
        "samples": samples,
    }


def _sample(question: Question, answer: Answer, score: float | None, model: str) -> dict[str, Any]:
    asked = f"{question.context}\n\n{question.prompt}" if question.context else question.prompt
    said = {"role": "assistant", "content": answer.text, "source": "generate"}
    return {
        "id": question.id,
        "epoch": answer.asked.epoch + 1,
        "input": asked,
        "target": list(question.references) or "",
        "messages": [{"role": "user", "content": asked, "source": "input"}, said],
        "output": {
            "model": model,
            "choices": [{"message": said, "stop_reason": STOPPED.get(answer.outcome, "unknown")}],
            "completion": answer.text,
        },
        "scores": {} if score is None else {"evener": {"value": score, "answer": answer.text}},
        "metadata": {"category": question.category, "cluster": question.cluster, "outcome": answer.outcome},
        "store": {},
        "events": [],
        "model_usage": {},
        "attachments": {},
    }
