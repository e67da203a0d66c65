"""The measurements that the speed model is held against: every row is decided, and every use can be asked about."""

from __future__ import annotations

import csv
import json
from pathlib import Path

from evener.plan.cards import find
from evener.plan.links import preset

DATA = Path(__file__).parent.parent / "benchmarks" / "data"
ROWS = list(csv.DictReader((DATA / "measurements.csv").read_text(encoding="utf-8").splitlines()))


def test_every_row_is_fitted_tested_or_left_out_for_a_reason() -> None:
    assert len(ROWS) == 130
    for row in ROWS:
        assert row["use"] in ("fit", "test", "excluded")
        assert row["source"]
        assert bool(row["because"]) == (row["use"] != "test"), row["id"]


def test_every_row_that_is_used_names_a_described_model_and_known_cards_and_links() -> None:
    models = json.loads((DATA / "models.json").read_text(encoding="utf-8"))
    for row in ROWS:
        if row["use"] == "excluded":
            continue
        assert row["shape"] in models
        for stage in row["stages"].split(" + "):
            link, colon, card = stage.rpartition(":")
            assert find(card) is not None, card
            assert not colon or link == "unknown" or preset(link), link


def test_tested_rows_outnumber_the_fitted_ones() -> None:
    uses = [row["use"] for row in ROWS]
    assert uses.count("test") > uses.count("fit")
