"""What the client adds, by hand and against a fake engine."""

from __future__ import annotations

from dataclasses import replace

import pytest

from evener.bench.self_test import ITL_MS, TTFT_MS, check_client, judge, with_check
from evener.errors import CannotRun
from evener.records.client import ClientCheck, ClientMachine
from evener.records.events import Progress
from evener.records.load import ClientCost, Request, UsersResult
from evener.testing.fake_engine import FakeEngine, fake_engine

MACHINE = ClientMachine(machine="m", cpu="Example CPU", threads=8, python="3.13.0", evener="1")
IDLE = ClientCost(cpu_s=0.5, lag_p95_ms=1.0, saturated=False)


def told(*, ttft_ms: float = 101.0, server_ms: float = 100.0, last_ms: float = 301.0) -> Request:
    """The server wrote its last token 200 ms after its first."""
    return Request(
        id=0, users=4, user=0, sent_s=0.0, ttft_s=ttft_ms / 1e3, last_token_s=last_ms / 1e3,
        server_prompt_ms=server_ms, server_predicted_ms=200.0,
    )  # fmt: skip


def judged(requests: list[Request], cost: ClientCost = IDLE, *, wall_s: float = 5.0) -> ClientCheck:
    return judge(requests, users=4, cost=cost, wall_s=wall_s, machine=MACHINE)


async def test_a_client_beside_an_idle_server_adds_little_and_the_truth_is_the_servers() -> None:
    progress: list[Progress] = []
    async with fake_engine(FakeEngine(ttft_s=TTFT_MS / 1e3, itl_s=ITL_MS / 1e3)) as engine:
        check = await check_client(engine.url, 2, machine=MACHINE, report=progress.append)
    assert (check.users, check.requests, check.machine) == (2, 8, MACHINE)
    assert 0 < check.added_ttft_ms < 45  # the server's own 50 ms are not in it; both share this test's loop
    assert {p.what for p in progress} == {"what this client adds at 2 users"}


def test_what_is_added_is_what_was_told_less_what_was_done() -> None:
    check = judged([told(ttft_ms=101), told(ttft_ms=103), told(ttft_ms=108, last_ms=308)])
    assert (check.added_ttft_ms, check.added_ttft_most_ms) == (4.0, 8.0)
    assert check.fault is None


def test_p95_is_said_from_59_requests_on() -> None:
    assert judged([told()] * 58).added_ttft_p95_ms is None
    assert judged([told()] * 59).added_ttft_p95_ms == 1.0


def test_the_error_of_the_time_between_tokens_is_a_share_of_the_truth() -> None:
    assert judged([told(ttft_ms=101, last_ms=303)]).itl_error_percent == 1.0  # 202 ms told, 200 done


@pytest.mark.parametrize(
    ("requests", "fault"),
    [
        ([told(ttft_ms=111, last_ms=311)], "with 4 streams this client adds 11.0 ms to TTFT (mean; at most 10)"),
        ([told(last_ms=304)], "with 4 streams this client is +1.5 % off in ITL (at most 1)"),
        ([told(last_ms=298)], "with 4 streams this client is -1.5 % off in ITL (at most 1)"),
        (
            [*[told()] * 95, *[told(ttft_ms=152, last_ms=352)] * 5, told(ttft_ms=152, last_ms=352)],
            "with 4 streams this client adds 52.0 ms to TTFT (p95; at most 50)",
        ),
    ],
)
def test_a_client_that_adds_too_much_is_a_fault(requests: list[Request], fault: str) -> None:
    assert judged(requests).fault == fault


@pytest.mark.parametrize(("cost", "wall_s"), [(replace(IDLE, saturated=True), 5.0), (IDLE, 0.55)])
def test_a_loop_that_is_late_and_a_core_that_is_full_are_saturation(cost: ClientCost, wall_s: float) -> None:
    check = judged([told()], cost, wall_s=wall_s)
    assert check.saturated
    assert "saturated" in (check.fault or "")


@pytest.mark.parametrize("requests", [[], [replace(told(), failure="connection_cut")], [replace(told(), warm_up=True)]])
def test_nothing_to_compare_is_an_error_and_no_zero(requests: list[Request]) -> None:
    with pytest.raises(CannotRun):
        judged(requests)


RESULT = UsersResult(
    url="http://a", model=None, prompt_tokens_asked=1, output_tokens_asked=1, levels=(), client=ClientCost(cpu_s=1.0)
)


def test_a_result_says_what_its_client_adds() -> None:
    got = with_check(RESULT, judged([told()]))
    assert (got.client.added_ttft_ms, got.client.saturated, got.validity) == (1.0, False, "valid")


def test_a_client_that_adds_too_much_makes_the_result_invalid_beside_what_else_does() -> None:
    bad = judged([told(ttft_ms=120, last_ms=320)])
    assert with_check(RESULT, bad).validity == bad.fault
    assert with_check(replace(RESULT, validity="no request completed"), bad).validity == (
        f"no request completed; {bad.fault}"
    )
