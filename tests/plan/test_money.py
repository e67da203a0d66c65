"""What a layout costs, by hand: a card of 575 W board power that works all the time draws 402.5 W."""

from __future__ import annotations

from dataclasses import replace

import pytest

from evener.errors import ConfigurationError
from evener.plan import money
from evener.records.plan import Candidate, Command, DevicePlan, Predicted, Share, Value
from evener.records.rig import Host, Money, Rig, StatedCard

MONEY = Money(currency="CHF", kwh_price=0.36)


def device(card: str, *, host: str = "alpha", name: str = "CUDA0", held: int = 10, id: str = "GPU-1") -> DevicePlan:
    return DevicePlan(
        host=host, card=id, card_name=card, device=name, position=0, layers=1, weights_bytes=held, kv_bytes=0,
        compute_bytes=0, overhead_bytes=0, total_bytes=held, free_bytes=None,
    )  # fmt: skip


def rate(tokens_per_s: float) -> Value:
    return Value(value=tokens_per_s, low=1, high=1000)


def candidate(*devices: DevicePlan, shares: tuple[Share, ...] = (), all_users: float = 100.0) -> Candidate:
    return Candidate(
        name="alpha", kind="host", hosts=("alpha",), fits=True, short_bytes=0, devices=devices, host_bytes={},
        servers=(), workers=(),
        predicted=Predicted(users_tokens_per_s=rate(all_users), per_token_ms=shares),
    )  # fmt: skip


BUSY_5090 = Share(where="alpha/RTX 5090", kind="compute", ms=10.0)


def test_energy_is_the_power_of_the_cards_over_their_tokens() -> None:
    one = money.cost(candidate(device("RTX 5090"), shares=(BUSY_5090,)), seats=4, prices={}, money=MONEY)
    # 402.5 W, and for three hours of waiting per hour of work 57.5 W: 575 W / 100 tok/s = 5.75 J a token;
    # 1e6 tokens are 1.597 kWh; at 0.36 that is 0.575
    assert one.watts == pytest.approx(402.5)
    assert one.energy_per_million_tokens == pytest.approx(0.575)
    assert (one.hardware, one.per_seat, one.per_million_tokens) == (None, None, None)
    assert (one.cards_without_price, one.currency) == (("RTX 5090",), "CHF")


def test_hardware_is_worn_by_the_tokens_of_its_life() -> None:
    one = money.cost(
        candidate(device("RTX 5090"), shares=(BUSY_5090,)), seats=4, prices={"RTX 5090": 2700.0}, money=MONEY
    )
    # 6000 h x 3600 s x 25 % x 100 tok/s = 540 million tokens: 5 a million
    assert (one.hardware, one.per_seat) == (2700.0, 675.0)
    assert one.hardware_per_million_tokens == pytest.approx(5.0)
    assert one.per_million_tokens == pytest.approx(5.575)


def test_a_card_that_waits_for_the_other_draws_little() -> None:
    shares = (
        Share(where="alpha/RTX 5090", kind="compute", ms=5.0),
        Share(where="cable to beta/RTX 5080", kind="link", ms=3.0),
        Share(where="beta/RTX 5080", kind="compute", ms=1.0),
        Share(where="beta/RTX 5080", kind="overhead", ms=1.0),
    )
    both = candidate(device("RTX 5090"), device("RTX 5080", host="beta"), shares=shares)
    # half of the time the 5090 works: 575 x 0.4; a fifth of it the 5080 does: 360 x 0.22
    assert money.board_watts(both) == pytest.approx(575 * 0.4 + 360 * 0.22)


def test_equal_cards_of_one_name_share_its_time_by_what_they_hold() -> None:
    shares = (Share(where="beta/RTX 5060 Ti", kind="compute", ms=8.0), Share(where="x", kind="link", ms=2.0))
    cards = [device("RTX 5060 Ti", host="beta", name="RPC0", held=30), device("RTX 5060 Ti", host="beta", held=10)]
    predicted = candidate(*cards, shares=shares).predicted
    assert predicted is not None
    assert money.busy_shares(cards, predicted) == pytest.approx([0.6, 0.2])


def test_a_worker_is_found_by_its_host_where_the_head_calls_it_otherwise() -> None:
    shares = (
        Share(where="beta/CUDA0", kind="compute", ms=3.0),
        Share(where="beta/CUDA1", kind="compute", ms=1.0),
        Share(where="alpha/CUDA0", kind="compute", ms=6.0),
    )
    cards = [
        device("RTX 5080", host="beta", name="RPC0", held=30, id="a"),
        device("RTX 5060 Ti", host="beta", name="RPC1", held=10, id="b"),
        device("RTX 5090"),
    ]
    predicted = candidate(*cards, shares=shares).predicted
    assert predicted is not None
    assert money.busy_shares(cards, predicted) == pytest.approx([0.3, 0.1, 0.6])


def test_replicas_work_at_once() -> None:
    server = Command(host="alpha", argv=(), env={}, listen="")
    both = replace(candidate(device("RTX 5090"), device("RTX 5090", host="beta")), servers=(server, server))
    assert money.board_watts(both) == pytest.approx(2 * 402.5)


def test_what_is_not_known_is_not_zero() -> None:
    unknown = candidate(device("Voodoo 2"), shares=(BUSY_5090,))
    assert money.board_watts(unknown) is None
    unpredicted = replace(candidate(device("RTX 5090")), predicted=None)
    one = money.cost(unpredicted, seats=1, prices={"RTX 5090": 2300.0}, money=MONEY)
    assert (one.hardware, one.watts, one.per_million_tokens) == (2300.0, None, None)
    free = money.cost(candidate(device("RTX 5090"), shares=(BUSY_5090,)), seats=1, prices={}, money=None)
    assert free.energy_per_million_tokens is None


def test_one_card_without_a_price_leaves_the_hardware_unknown() -> None:
    one = money.cost(
        candidate(device("RTX 5090"), device("RTX 5080")), seats=1, prices={"RTX 5090": 2300.0}, money=MONEY
    )
    assert (one.hardware, one.cards_without_price) == (None, ("RTX 5080",))


def test_the_processor_is_no_card_that_was_bought() -> None:
    one = money.cost(candidate(device("EPYC", id="cpu")), seats=1, prices={}, money=MONEY)
    assert (one.hardware, one.cards_without_price) == (None, ())


def test_a_driver_prints_other_words_than_a_shop() -> None:
    assert money.price_of("NVIDIA GeForce RTX 5090", {"RTX 5090": 2300.0}) == 2300.0
    assert money.price_of("NVIDIA GeForce RTX 5060 Ti", {"RTX 5060 Ti 16GB": 450.0}) == 450.0
    assert money.price_of("RTX 5060 Ti 8GB", {"RTX 5060 Ti 16GB": 450.0}) is None
    assert money.price_of("RTX 5080", {"RTX 5090": 2300.0}) is None


def test_the_last_price_counts() -> None:
    assert money.price_of("RTX 5090", {"rtx 5090": 2300.0, "NVIDIA RTX 5090": 1999.0}) == 1999.0


def test_prices_are_a_name_and_a_number() -> None:
    assert money.read_prices(["RTX 5090=2300", "A770 = 250.50"]) == {"RTX 5090": 2300.0, "A770": 250.5}
    for text in ("RTX 5090", "=5", "RTX 5090=much", "RTX 5090=-1", "RTX 5090=nan", "RTX 5090=inf"):
        with pytest.raises(ConfigurationError, match="not CARD=PRICE"):
            money.read_prices([text])


def test_the_rig_file_states_prices() -> None:
    host = Host(
        name="beta",
        connection="stated",
        stated=(StatedCard(model="RTX 5080", price=1100.0), StatedCard(model="RTX 5090")),
    )
    assert money.stated_prices(Rig(hosts=(host,))) == {"RTX 5080": 1100.0}
