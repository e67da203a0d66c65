"""Several values in three numbers."""

from evener.records.link import Measured
from evener.stats.repeated import measured


def test_the_median_and_the_ends_stand_for_all_values() -> None:
    assert measured([3.0, 1.0, 2.0, 10.0]) == Measured(n=4, p50=2.5, low=1.0, high=10.0)


def test_one_value_is_all_three() -> None:
    assert measured([7.0]) == Measured(n=1, p50=7.0, low=7.0, high=7.0)
