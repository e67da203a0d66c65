"""kill -9, again and again: nothing that was kept is asked again, no line is torn, never more at once than slots."""

import asyncio
import json
import os
import random
import sys
from collections import Counter

from evener.edges.run_folder import read_answers
from tests.evals.scripted import Scripted, scripted

QUESTIONS, SLOTS, KILLS = 30, 3, 4


def lines():
    fields = {"category": "fact", "scoring": "match", "references": ["yes"], "source": "a test"}
    return "\n".join(
        json.dumps(fields | {"id": f"q{i}", "cluster": f"q{i}", "prompt": f"{i}?"}) for i in range(QUESTIONS)
    )


async def test_a_run_that_is_killed_again_and_again_asks_nothing_twice(tmp_path):
    (tmp_path / "mine.jsonl").write_text(lines())
    env = os.environ | {"EVENER_RUNS": str(tmp_path / "runs")}
    most, draw = [], random.Random(7)

    def says(body):
        most.append(server.running)
        return "yes"

    async def start(*argv):
        return await asyncio.create_subprocess_exec(
            sys.executable, "-m", "evener", "eval", *argv, env=env, stdout=asyncio.subprocess.DEVNULL
        )

    def kept():
        files = list((tmp_path / "runs").glob("*/answers.jsonl"))
        return files[0].read_bytes().count(b"\n") if files else 0

    async with scripted(Scripted(says, slots=SLOTS, slow_s=0.05)) as server:
        running = await start(str(tmp_path / "mine.jsonl"), "--url", server.url, "--as", "c", "--reflect")
        for _ in range(KILLS):
            wanted = kept() + draw.randint(3, 8)
            while kept() < wanted and running.returncode is None:
                await asyncio.sleep(0.003)
            before = kept()
            running.kill()
            await running.wait()
            assert before >= 3
            while server.running:
                await asyncio.sleep(0.01)
            running = await start("--resume", "last")
        assert await running.wait() == 0
    answers = read_answers(next((tmp_path / "runs").iterdir()))
    assert Counter(answer.asked for answer in answers).most_common(1)[0][1] == 1
    assert len(answers) == 2 * QUESTIONS
    asked = Counter(json.dumps(body["messages"]) for body in server.asked)
    twice = sum(n - 1 for n in asked.values())
    assert twice <= KILLS * SLOTS, "what was under way when it was killed, and nothing else"
    assert max(most) <= SLOTS
