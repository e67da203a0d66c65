"""What this client adds to what it measures: the closed loop against a server that says when it really wrote.

The server's `timings` are the truth here: `prompt_ms` from the request's last byte to the first token's write,
`predicted_ms` from there to the last one's (`testing/fake_engine.py`). Starts no server, and keeps nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from statistics import fmean
from typing import TypeVar

from evener.bench.client import base_url, now_ns
from evener.bench.load import Load, optional_fields
from evener.bench.probe import Server
from evener.bench.users import UsersBench
from evener.errors import CannotRun
from evener.ports import Report
from evener.records.client import ClientCheck, ClientMachine
from evener.records.context_limits import ContextResult
from evener.records.events import Progress
from evener.records.load import ClientCost, Request, UsersResult
from evener.records.speed_rows import SpeedResult
from evener.stats.intervals import quantile

Result = TypeVar("Result", UsersResult, SpeedResult, ContextResult)

TTFT_MS = 50.0
ITL_MS = 20.0
TOKENS = 24
FEWEST_REQUESTS = 6
P95_FROM_N = 59
# Above these a figure tells of the client. A short prompt on a fast card has a TTFT of some 20 ms.
MOST_ADDED_MEAN_MS = 10.0
MOST_ADDED_P95_MS = 50.0
MOST_ITL_ERROR_PERCENT = 1.0
MOST_CPU_SHARE = 0.9


async def check_client(url: str, users: int, *, machine: ClientMachine, report: Report) -> ClientCheck:
    """Run `users` streams against the fake engine at `url` (TTFT_MS, ITL_MS) for some three seconds.

    Raises CannotRun when it answers no request as it should.
    """
    load = Load(users=(users,), prompts=max(4 * users, FEWEST_REQUESTS), prompt_tokens=100, output_tokens=TOKENS)
    requests: list[Request] = []
    server = Server(url=base_url(url), fields=optional_fields(load))
    what = f"what this client adds at {users} user{'s' if users > 1 else ''}"
    bench = UsersBench(server, load, keep=requests.append, report=lambda progress: report(replace(progress, what=what)))
    begun = now_ns()
    result = await bench.run()
    wall_s = (now_ns() - begun) / 1e9
    report(Progress(what=what, done=load.prompts or 0, of=load.prompts))
    return judge(requests, users=users, cost=result.client, wall_s=wall_s, machine=machine)


def judge(
    requests: Sequence[Request], *, users: int, cost: ClientCost, wall_s: float, machine: ClientMachine
) -> ClientCheck:
    """Compare what was reported with the server's own times. Raises CannotRun when there is nothing to compare."""
    done = [r for r in requests if not r.warm_up and r.failure is None]
    added = [r.ttft_s * 1e3 - r.server_prompt_ms for r in done if r.ttft_s is not None and r.server_prompt_ms]
    errors = [error for error in map(_itl_error_percent, done) if error is not None]
    if not added or not errors:
        why = next((r.failure for r in requests if r.failure), "no request was sent")
        raise CannotRun(f"the client's own test server answered nothing that can be compared: {why}")
    share = cost.cpu_s / wall_s
    check = ClientCheck(
        users=users,
        requests=len(added),
        added_ttft_ms=round(fmean(added), 3),
        added_ttft_p95_ms=_rounded(quantile(added, 0.95)) if len(added) >= P95_FROM_N else None,
        added_ttft_most_ms=round(max(added), 3),
        itl_error_percent=round(fmean(errors), 3) + 0.0,  # no "-0.0"
        cpu_share=round(share, 3),
        lag_p95_ms=cost.lag_p95_ms,
        saturated=bool(cost.saturated) or share > MOST_CPU_SHARE,
        machine=machine,
        taken_at=datetime.now(UTC),
    )
    return replace(check, fault="; ".join(_faults(check)) or None)


def with_check(result: Result, check: ClientCheck) -> Result:
    """The result with what the client adds in it; invalid when that is too much."""
    faults = [fault for fault in (result.validity if result.validity != "valid" else None, check.fault) if fault]
    client = replace(
        result.client, added_ttft_ms=check.added_ttft_ms, saturated=bool(result.client.saturated) or check.saturated
    )
    return replace(result, client=client, validity="; ".join(faults) or "valid")


def _faults(check: ClientCheck) -> Iterable[str]:
    at = f"with {check.users} streams this client"
    if check.saturated:
        yield f"{at} is saturated: {check.cpu_share:.0%} of a core, its loop {check.lag_p95_ms or 0:g} ms late (p95)"
    if check.added_ttft_ms > MOST_ADDED_MEAN_MS:
        yield f"{at} adds {check.added_ttft_ms:.1f} ms to TTFT (mean; at most {MOST_ADDED_MEAN_MS:g})"
    if (check.added_ttft_p95_ms or 0.0) > MOST_ADDED_P95_MS:
        yield f"{at} adds {check.added_ttft_p95_ms:.1f} ms to TTFT (p95; at most {MOST_ADDED_P95_MS:g})"
    if abs(check.itl_error_percent) > MOST_ITL_ERROR_PERCENT:
        yield f"{at} is {check.itl_error_percent:+.1f} % off in ITL (at most {MOST_ITL_ERROR_PERCENT:g})"


def _itl_error_percent(request: Request) -> float | None:
    if request.ttft_s is None or request.last_token_s is None or not request.server_predicted_ms:
        return None
    return 100 * ((request.last_token_s - request.ttft_s) * 1e3 / request.server_predicted_ms - 1)


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)
