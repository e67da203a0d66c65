"""The one table of failure classes names those of the code, and no others."""

import re
from typing import get_args

from evener.records.load import FailureClass
from tests.docs.pages import DOCS


def test_the_table_of_failure_classes_is_the_list_in_the_code() -> None:
    page = (DOCS / "reference" / "metrics.md").read_text(encoding="utf-8")
    table = page.partition("## Classes of failure")[2].partition("\n## ")[0]
    assert re.findall(r"^\| `(\w+)` \|", table, re.M) == list(get_args(FailureClass))
