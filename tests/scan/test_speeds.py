"""Measuring cards: in turn, each with its own device and threads; a card that fails leaves the others alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from evener.ports import Finished
from evener.records.card import Holder
from evener.records.events import Progress
from evener.scan.speeds import Answer, Task, measure, taken
from evener.testing.fake_shell import FakeShell, hangs, prints
from tests import rigs

CAPTURED = (Path(__file__).parents[1] / "captures" / "llama" / "bench_smollm2_cpu.json").read_text()
BENCH = "/opt/llama/llama-bench"
CPU = Task(host="alpha", card="cpu", device="CPU", binary=BENCH, models=("/models/demo.gguf",), threads=8)
GPU = Task(host="beta", card="GPU-b1", device="CUDA1", binary=BENCH, models=("/models/demo.gguf",))


async def asked(tasks: Sequence[Task], *shells: FakeShell) -> tuple[list[Answer], list[Progress]]:
    shown: list[Progress] = []
    by_host = {shell.host: shell for shell in shells}
    return [answer async for answer in measure(tasks, by_host, report=shown.append)], shown


async def test_a_gpu_takes_the_whole_model_and_a_cpu_its_threads_and_no_device() -> None:
    alpha = FakeShell(host="alpha", programs={"llama-bench": prints(CAPTURED)})
    beta = FakeShell(host="beta", programs={"llama-bench": prints(CAPTURED)})
    answers, shown = await asked([CPU, GPU], alpha, beta)
    assert " ".join(alpha.ran[0]) == (
        "/opt/llama/llama-bench -m /models/demo.gguf -dev none -ngl 0 -t 8 -fa on -p 128 -n 32 -r 5 -o json"
    )
    assert " ".join(beta.ran[0]) == (
        "/opt/llama/llama-bench -m /models/demo.gguf -dev CUDA1 -ngl 999 -fa on -p 512 -n 64 -r 5 -o json"
    )
    assert [(row.prompt_tokens, row.output_tokens) for row in answers[0].rows] == [(128, 0), (0, 32)]
    assert [(p.done, p.of, p.detail) for p in shown] == [(0, 2, "alpha/CPU"), (1, 2, "beta/CUDA1"), (2, 2, None)]


async def test_a_card_that_cannot_be_measured_says_why_and_the_next_follows() -> None:
    alpha = FakeShell(host="alpha", programs={"llama-bench": prints("", code=1, stderr="x\nerror: out of memory\n")})
    beta = FakeShell(host="beta", programs={"llama-bench": prints(CAPTURED)})
    answers, _ = await asked([CPU, GPU], alpha, beta)
    assert [answer.fault for answer in answers] == ["alpha/CPU: llama-bench: error: out of memory", None]
    assert answers[0].rows == ()
    assert len(answers[1].rows) == 2


async def test_a_card_that_never_answers_is_given_up() -> None:
    answers, _ = await asked([CPU], FakeShell(host="alpha", programs={"llama-bench": hangs}))
    assert answers[0].fault == f"alpha: {BENCH} did not end within 180 s"


async def test_of_two_models_half_an_answer_is_none() -> None:
    def only_small(argv: Sequence[str], _stdin: bytes) -> Finished:
        good = "/models/demo.gguf" in argv
        return Finished(argv=tuple(argv), code=0 if good else -9, stdout=CAPTURED if good else "", stderr="")

    both = replace(CPU, models=("/models/demo.gguf", "/models/large.gguf"))
    answers, _ = await asked([both], FakeShell(host="alpha", programs={"llama-bench": only_small}))
    assert (answers[0].rows, answers[0].fault) == ((), "alpha/CPU: llama-bench: exit code -9")


def test_whoever_computes_on_a_card_is_named() -> None:
    python = Holder(kind="process", bytes=rigs.GIB, pid=777, command="/usr/bin/python3 train.py")
    driver = Holder(kind="unattributed", bytes=rigs.GIB)
    scan = rigs.scan(rigs.seen("alpha", rigs.card("RTX 5090", rigs.GIB, holders=(python, driver))))
    assert taken(scan, []) == ("alpha/CUDA0: /usr/bin/python3 train.py (pid 777)",)


def test_in_main_memory_an_engine_is_at_work_and_a_large_browser_is_not() -> None:
    server = Holder(kind="process", bytes=rigs.GIB, pid=5, command="/opt/llama/llama-server -m x")
    browser = Holder(kind="process", bytes=3 * rigs.GIB, pid=6, command="/usr/bin/firefox")
    scan = rigs.scan(rigs.seen("alpha", rigs.cpu(holders=(browser, server))))
    assert taken(scan, []) == ("alpha/CPU: /opt/llama/llama-server -m x (pid 5)",)


def test_a_card_that_takes_no_part_is_not_asked_about() -> None:
    python = Holder(kind="process", bytes=rigs.GIB, pid=777, command="python3")
    scan = rigs.scan(rigs.seen("alpha", rigs.card("GT 1030", rigs.GIB, holders=(python,), excluded=True)))
    assert taken(scan, []) == ()
