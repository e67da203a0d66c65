"""Three rounds of `benchmarks/chaos.py`, always the same: a campaign is struck, and one more command finishes it."""

import pytest

from tests.cluster import chaos

pytestmark = [pytest.mark.engine, pytest.mark.cluster, pytest.mark.timeout(1800)]
SEED = 1


@pytest.mark.parametrize("number", [2, 5, 7], ids=["campaign killed", "worker killed", "cable cut"])
def test_a_campaign_that_is_struck_once_is_finished_by_one_command(rig, number):
    made = chaos.play(rig, chaos.drawn(SEED, number))
    assert made.at is not None, "it had ended before it was struck"
    assert not made.misses, str(made)
