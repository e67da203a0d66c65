"""Block numbers as text and back."""

import pytest

from evener.models.ranges import numbers, spelt


@pytest.mark.parametrize(("found", "text"), [([0, 1, 2, 5], "0-2,5"), ([7], "7"), ([3, 1], "1,3"), ([], "")])
def test_runs_are_joined_and_the_rest_is_listed(found, text):
    assert spelt(found) == text


def test_what_is_spelt_reads_back():
    assert numbers("0-2,5,9-10") == (0, 1, 2, 5, 9, 10)
