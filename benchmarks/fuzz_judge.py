"""Judge replies made of everything that has ever gone wrong: no crash, and no verdict out of nothing.

    python benchmarks/fuzz_judge.py [replies]

Half of the replies are pieces of real ones in any order, half are real ones with bytes changed. A verdict that is
found must stand, as a whole, in the last verdict line of the text after the thinking.
"""

from __future__ import annotations

import random
import re
import sys
import time

from evener.evals.judging.parsing import flaws, verdict
from evener.evals.outcomes import split_thinking

OFFERED = ("A", "B", "TIE", "CORRECT", "INCORRECT", "NOT_ATTEMPTED")
PIECES = (
    *(
        *OFFERED,
        "VERDICT:",
        "VERDICT：",
        "verdict: ",
        "**VERDICT:** ",
        "\n",
        "\r\n",
        " ",
        "*",
        "[[",
        "]]",
        "{",
        "}",
        "{x}",
    ),
    *(
        "<think>",
        "</think>",
        "<THINK>",
        "ERROR:",
        "ERROR: major | style | ",
        "|",
        "0",
        "1",
        "`",
        "```",
        "\x00",
        "\u2028",
    ),
    *("判断", "or", ".", "\\", "%s", "Answer A is better.", "**Major:**", "Rating: [[8]]", '{"score": 1}', "a" * 300),
    *("I cannot judge this.", "\ufeff", "٣", "²"),
)
REAL = (
    "Answer A is right, B invents a date.\n\nVERDICT: A",
    "<think>Let me see. VERDICT: B?</think>\nBoth fine.\n**VERDICT: TIE**",
    "ERROR: major | mistranslation | the hat\nERROR: minor | style | slept\nVERDICT: 2",
    "It declines.\nVERDICT: NOT_ATTEMPTED.",
    "VERDICT: CORRECT\nWait, no.\nVERDICT: INCORRECT",
)


def reply(draw: random.Random) -> str:
    if draw.random() < 0.5:
        return "".join(draw.choices(PIECES, k=draw.randint(0, 20)))
    text = list(draw.choice(REAL))
    for _ in range(draw.randint(0, 6)):
        at = draw.randrange(len(text))
        match draw.randrange(3):
            case 0:
                text[at] = draw.choice(("\n", " ", ":", "A", "B", "_", chr(draw.randrange(0x110000 - 0x800) % 0xD800)))
            case 1:
                del text[at:]
                text.append(" ")
            case _:
                text.insert(at, draw.choice(PIECES))
    return "".join(text)


def holds(text: str, word: str) -> bool:
    answer = split_thinking(text)[0]
    lines = [line for line in answer.split("\n") if re.match(r"[\W_]*verdict", line, re.IGNORECASE)]
    tail = re.split(r"[:：]", lines[-1], maxsplit=1)[-1] if lines else ""
    return re.sub(r"[\W_]+", "", tail).upper() == word.replace("_", "")


def main() -> int:
    replies = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    draw, found, wrong, begun = random.Random(1), 0, [], time.perf_counter()
    for _ in range(replies):
        text = reply(draw)
        flaws(text, "the hat slept")
        word = verdict(text, OFFERED)
        found += word is not None
        if word is not None and not holds(text, word):
            wrong.append((word, text))
    took = time.perf_counter() - begun
    print(f"{replies} replies in {took:.1f} s: {found} verdicts, {len(wrong)} that the last verdict line does not hold")
    for word, text in wrong[:5]:
        print(f"  {word}: {text!r}")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
