"""Another tool's scores as a run of ours, and ours as its log."""

import json
from pathlib import Path

import pytest

from evener.api import answers, evals
from evener.api.verdicts import verdicts
from evener.errors import ConfigurationError
from evener.evals.interchange import read
from tests.evals.scripted import Scripted, scripted

CAPTURES = Path(__file__).parents[1] / "captures" / "evals"


def test_what_another_tool_scored_is_compared_like_our_own(tmp_path):
    one = answers.take(CAPTURES / "inspect.eval", name="a", base=tmp_path)
    two = answers.take(CAPTURES / "inspect.json", name="b", base=tmp_path)
    (found,) = verdicts([one, two]).dimensions
    assert found.dimension == "capitals"
    assert [s.mean for s in found.standings] == [0.5, 0.5]
    assert any("is not known here" in note for note in verdicts([one, two]).notes)


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(ConfigurationError, match="No such file"):
        answers.take(tmp_path / "no.eval", base=tmp_path)


async def test_an_evaluation_of_ours_is_written_for_inspect(tmp_path):
    suite = tmp_path / "mine.jsonl"
    line = {
        "id": "q",
        "cluster": "q",
        "category": "f",
        "prompt": "?",
        "scoring": "match",
        "references": ["x"],
        "source": "s",
    }
    suite.write_text(json.dumps(line))
    async with scripted(Scripted(lambda body: "x")) as server:
        asked = evals.EvalAsked(candidate="m", suites=(str(suite),), sha256=(), epochs=2)
        run = (await evals.evaluate(server.url, asked, report=lambda _: None, base=tmp_path / "runs")).path.name
    into = tmp_path / "log.json"
    assert answers.export(run, into, base=tmp_path / "runs") == 2
    found = read(into.read_bytes(), source="log.json")
    assert [(s.asked.epoch, s.value) for s in found.scores] == [(0, 1.0), (1, 1.0)]
    with pytest.raises(ConfigurationError, match="exists"):
        answers.export(run, into, base=tmp_path / "runs")
