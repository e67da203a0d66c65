"""Records of earlier eveners are read for ever."""

import json

import pytest

from evener.codec import from_json, to_data
from evener.errors import RunUnreadable
from evener.records.evaluation import EvalResult
from evener.records.measures import Measure
from tests.report.eval_samples import RESULT


def test_measures_that_were_bare_numbers_are_measures_without_company():
    old = to_data(RESULT)
    old["results"][0]["measures"] = {"F": 0.6, "over_refusal": None}
    read = from_json(EvalResult, json.dumps(old), source="summary.json")
    assert read.results[0].measures == {"F": Measure(value=0.6), "over_refusal": Measure(value=None)}
    assert read.results[1:] == RESULT.results[1:]


def test_what_no_evener_wrote_is_told_by_its_place():
    bad = to_data(RESULT)
    bad["results"][0]["measures"] = {"F": "much"}
    with pytest.raises(RunUnreadable, match=r"summary\.json: results\.0\.measures\.F"):
        from_json(EvalResult, json.dumps(bad), source="summary.json")
    with pytest.raises(RunUnreadable, match="half"):
        from_json(EvalResult, '{"candidate": ', source="half")
