"""What was measured or pasted is kept, and what nobody can read any more is not there."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from evener.edges import measured
from evener.errors import HostError
from evener.records.card import Card, Pasted
from evener.records.client import ClientCheck, ClientMachine
from evener.records.link import LinkMeasured, Measured
from evener.records.plan import Value
from evener.records.speed import CardMeasured, DeviceSpeed

NOON = datetime(2026, 11, 2, 12, tzinfo=UTC)
LINK = LinkMeasured(
    name="5gbe",
    between=("alpha", "beta"),
    addresses=("10.0.0.1", "10.0.0.2"),
    taken_at=NOON,
    out_gbit_per_s=Measured(n=5, p50=4.69, low=4.6, high=4.7),
    notes=("a note",),
)


@pytest.fixture(autouse=True)
def _state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVENER_STATE", str(tmp_path))


def test_a_link_comes_back_whichever_end_is_named_first() -> None:
    measured.save_link(LINK)
    assert measured.links([("5gbe", ("beta", "alpha"))]) == (LINK,)


def test_two_cables_between_the_same_hosts_are_kept_apart() -> None:
    measured.save_link(LINK)
    assert measured.links([("tb5", ("alpha", "beta")), ("5gbe", ("alpha", "beta"))]) == (LINK,)


def test_pasted_cards_come_back_by_host() -> None:
    one = Pasted(host="windows", taken_at=NOON, cards=(Card(id="g", kind="cuda", name="RTX 5090"),))
    measured.save_pasted(one)
    assert measured.pasted(["alpha", "windows"]) == {"windows": one}


def test_a_file_of_another_making_is_as_if_it_were_not_there() -> None:
    path = measured.save_link(LINK)
    path.write_text('{"name": 3}')
    assert measured.links([("5gbe", ("alpha", "beta"))]) == ()


def test_a_state_folder_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "measured").write_text("a file in the way")
    with pytest.raises(HostError, match=r"5gbe\.json: cannot be written"):
        measured.save_link(LINK)


def test_cards_of_one_host_are_kept_apart_whatever_their_ids_hold() -> None:
    rate = Value(value=2.0, low=1.0, high=3.0)
    first, second = (
        CardMeasured(
            host="alpha",
            card=card,
            card_name="RTX 5090",
            machine_id="m",
            threads=None,
            build=11434,
            speed=DeviceSpeed(source="measured: llama-bench", taken_at=NOON, n=10, weights_bytes_per_s=rate),
            rows=(),
        )
        for card in ("00000000:01:00.0", "GPU/1")
    )
    for one in (first, second):
        measured.save_card(one)
    assert measured.cards([("alpha", "GPU/1"), ("alpha", "00000000:01:00.0"), ("beta", "cpu")]) == (second, first)


def test_what_the_client_adds_holds_for_the_machine_it_was_measured_on() -> None:
    here = ClientMachine(machine="m", cpu="Example CPU", threads=8, python="3.13.0", evener="1")
    check = ClientCheck(
        users=16, requests=64, added_ttft_ms=0.2, added_ttft_p95_ms=0.5, added_ttft_most_ms=0.7, itl_error_percent=0.0,
        cpu_share=0.03, lag_p95_ms=1.0, saturated=False, machine=here, taken_at=NOON,
    )  # fmt: skip
    measured.save_client(check)
    assert measured.client(16, here) == check
    assert measured.client(8, here) is None
    assert measured.client(16, replace(here, python="3.14.0")) is None
