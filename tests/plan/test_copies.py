"""Pipeline copies are memory for overlap: kept where overlap may come of them."""

import pytest

from evener.plan.copies import keep_copies


@pytest.mark.parametrize(
    ("names", "fits", "kept"),
    [
        (["CUDA0"], True, False),  # nothing to overlap with
        (["RPC0", "RPC1"], True, False),  # tried: no faster with them
        (["RPC0", "CUDA0"], True, True),
        (["RPC0", "CUDA0"], False, False),
        (["CUDA0", "CUDA1"], True, True),
    ],
)
def test_copies_stay_beside_local_cards_where_they_fit(names, fits, kept):
    assert keep_copies(names, fits=fits) is kept
