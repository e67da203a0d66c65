"""Write the recall suite: needles at five places, and facts far apart, by the text maker of `evener bench context`.

    python scripts/recall.py > src/evener/evals/data/recall.jsonl

The suite is a fixed file, so that everybody is asked the same; tests/evals/test_recall.py says when the two differ.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from evener.bench.needles import Item, items

EACH_PLACE = 3
CHAINS = 9
SHORT, LONG = 70, 115  # sentences: some 1,100 and 1,800 tokens
SEED = 20261201
HEADER = {
    "suite": "recall",
    "version": 1,
    "title": "Recall from 1,100 to 1,800 tokens: needles at five places, and facts far apart",
    "licence": "MIT",
    "notes": ["longer texts, up to what a server takes: evener bench context"],
}


def lines() -> Iterator[str]:
    """The whole file, line by line."""
    yield json.dumps(HEADER, ensure_ascii=False)
    for number, item in enumerate(items(1, seed=SEED, each_place=EACH_PLACE, chains=CHAINS)):
        yield json.dumps(_question(item, number), ensure_ascii=False)


def _question(item: Item, number: int) -> dict[str, Any]:
    """Every second text is a long one; the first needle of each place and three chains are the quick subset."""
    sentences = LONG if number % 2 else SHORT
    context, _, prompt = item.text(sentences, title=f"Text {number + 1}").rpartition("\n\n")
    name = f"rec-{number + 1:03}"
    return {
        "id": name,
        "cluster": name,
        "category": item.kind,
        "context": context,
        "prompt": prompt,
        "scoring": "recall",
        "references": [item.answer],
        "wrong": [other for other in item.named if other != item.answer],
        "traps": ["facts far apart" if item.place is None else f"place {item.place:.0%}"],
        "language": "en",
        "source": "made by scripts/recall.py",
        "reviewed": True,
        "quick": number < 5 or 15 <= number < 18,
    }


if __name__ == "__main__":
    for line in lines():
        print(line)
