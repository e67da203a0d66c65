"""Pipeline copies are memory for overlap: kept where overlap may come of them."""

import pytest

from evener.plan.copies import overlap, worth_trying


@pytest.mark.parametrize(
    ("served", "tried"),
    [
        ([True, True], (False,)),  # tried: no faster with them
        ([True, False], (True, False)),
        ([False, False], (True, False)),
    ],
)
def test_copies_are_tried_beside_local_cards_only(served, tried):
    assert worth_trying(served) == tried


def test_without_copies_workers_overlap_and_nobody_counts_on_local_cards():
    assert overlap([True, True], copies=False)
    assert not overlap([True, False], copies=False)
    assert overlap([True, False], copies=True)
