"""One small campaign over two machines, struck once at a random moment, and gone on with once: what has to hold then.

A round holds when one more `evener compare FILE`, or none where the session lived through it, ends with exit code 0;
when what its folder says holds (`small_campaign.py`); when both machines are as before, right after the strike and at
the end; and when the report can be read. Nothing may fail: each round is struck once, and what dies once is loaded
again. What a strike may leave: cut runs of `bench speed`, which begin anew, and one visit whose memory nobody saw
come back, where it was struck after its last unit.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, get_args

from tests.cluster.bed import FarHost, command
from tests.cluster.conftest import ClusterRig
from tests.cluster.small_campaign import WITHIN_S, Campaign, counted, misses

Kind = Literal[
    "the campaign is killed",
    "the worker is killed",
    "the cable is cut",
    "the head is killed",
    "sshd's sessions are killed",
    "the campaign is ended by SIGTERM",
    "the worker is stopped",
]
KINDS: tuple[Kind, ...] = get_args(Kind)
ANYWHERE = ("the campaign is killed", "the campaign is ended by SIGTERM", "the cable is cut")
IN_THE_CLUSTER = ("the worker is killed", "the worker is stopped", "sshd's sessions are killed")
SIGNALS = {"killed": signal.SIGKILL, "stopped": signal.SIGSTOP, "SIGTERM": signal.SIGTERM}
BEFORE_IT_IS_PLANNED = 0.1  # of the strikes that may come at any time
LATEST_S = 4.0  # after the fact that a strike follows
LONGEST_CUT_S = 15.0

LEFT_WITHIN_S = 30.0
COMES_WITHIN_S = 60.0  # a head or a worker that is to be struck


@dataclass(frozen=True, slots=True, kw_only=True)
class Strike:
    """`after_s` seconds after one of the facts that come while it can be struck; `where`, 0 to 1, is which."""

    kind: Kind
    where: float
    after_s: float
    out_s: float  # how long the cable is out


@dataclass(kw_only=True)
class Round:
    """What was done, and what it came to. `at` is None where the campaign had ended before."""

    strike: Strike
    at: str | None = None
    exits: list[int | None] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    misses: list[str] = field(default_factory=list)
    counted: str = ""

    def __str__(self) -> str:
        ways = ", ".join(f"exit {code} after {took:.0f} s" for code, took in zip(self.exits, self.seconds, strict=True))
        said = "; ".join(self.misses) or "holds"
        return f"{self.strike.kind}, {self.at or 'too late'}: {ways}; {self.counted}: {said}"


def drawn(seed: int, number: int, attempt: int = 0) -> Strike:
    """The strike of a round, counted from 1: every kind once before one comes again."""
    deck, place = divmod(number - 1, len(KINDS))
    kinds = random.Random(f"kinds/{seed}/{deck}").sample(KINDS, len(KINDS))
    chance = random.Random(f"strike/{seed}/{number}/{attempt}")
    return Strike(
        kind=kinds[place],
        where=chance.random(),
        after_s=chance.uniform(0, LATEST_S),
        out_s=chance.uniform(1, LONGEST_CUT_S),
    )


# ---- one round


def play(rig: ClusterRig, strike: Strike) -> Round:
    """Begin a campaign, strike it, go on with it where that is needed, and look at everything."""
    campaign, made = Campaign(rig), Round(strike=strike)
    session = campaign.start()
    made.at = struck(campaign, session, strike)
    _ended(session, made)
    if made.exits[-1] not in (0, 1):  # else it is at its end
        made.misses += [f"left behind by the strike: {one}" for one in left(rig)]
        _ended(campaign.start(), made)
    if made.exits[-1] != 0:
        made.misses.append(f"exit code {made.exits[-1]}")
    made.misses += [*(f"left behind: {one}" for one in left(rig)), *misses(campaign)]
    made.counted = counted(campaign)
    return made


def _ended(session: subprocess.Popen[str], made: Round) -> None:
    begun = time.monotonic()
    try:
        out, err = session.communicate(timeout=WITHIN_S)
    except subprocess.TimeoutExpired:
        os.killpg(session.pid, signal.SIGKILL)
        out, err = session.communicate()
        made.misses.append(f"not at its end within {WITHIN_S:.0f} s")
    made.exits.append(session.returncode)
    made.seconds.append(time.monotonic() - begun)
    if "Traceback" in out + err:
        made.misses.append(f"a traceback: {err.strip().splitlines()[-1:]}")


def left(rig: ClusterRig) -> list[str]:
    """What is left on either machine when everything has had its time to go."""
    deadline = time.monotonic() + LEFT_WITHIN_S
    while (found := rig.left()) and time.monotonic() < deadline:
        time.sleep(0.2)
    return found


# ---- the strike


def struck(campaign: Campaign, session: subprocess.Popen[str], strike: Strike) -> str | None:
    """Strike at the moment that was drawn; where that was, None when the campaign had ended before it."""
    beta = campaign.rig.bed["beta"]
    where = "at its start"
    if strike.kind not in ANYWHERE or strike.where >= BEFORE_IT_IS_PLANNED:
        if not _until(campaign.visits, session):
            return None
        moments = list(_moments(campaign, strike.kind))
        kind, what, name = moments[int(strike.where * len(moments))]
        where = f"{kind}: {name}"
        if not _until(lambda: campaign.has(kind, what, name), session):
            return None
    time.sleep(strike.after_s)
    targets = _targets(campaign.rig, beta, strike.kind, session)
    if not _until(targets, session, within_s=COMES_WITHIN_S):
        return None
    if strike.kind == "the cable is cut":
        beta.cut()
        time.sleep(strike.out_s)
        beta.mend()
        return f"{strike.after_s:.1f} s after {where}, for {strike.out_s:.0f} s"
    for pid in targets():
        with suppress(ProcessLookupError):
            os.kill(pid, SIGNALS[strike.kind.rpartition(" ")[2]])
    return f"{strike.after_s:.1f} s after {where}"


def _moments(campaign: Campaign, kind: Kind) -> Iterator[tuple[str, str, str]]:
    """Facts that come while there is something to strike, in their order: (kind, "visit" or "unit", its id)."""
    for visit in campaign.visits():
        if visit["layout"] == "cluster" or kind not in IN_THE_CLUSTER:
            yield "visit begun", "visit", visit["id"]
            yield from (("unit begun", "unit", unit["id"]) for unit in visit["units"])
        if kind in ANYWHERE:  # after the last one the report is written
            yield "visit ended", "visit", visit["id"]


def _targets(rig: ClusterRig, beta: FarHost, kind: Kind, session: subprocess.Popen[str]) -> Callable[[], list[int]]:
    """The processes to strike. A cable has none: it is there while the campaign is."""
    if kind in ANYWHERE:
        return lambda: [session.pid]
    if kind == "the head is killed":
        return lambda: [pid for pid in rig.engine_pids() if _is(pid, "llama-server")]
    if kind == "sshd's sessions are killed":
        return beta.sessions
    return lambda: [pid for pid in beta.pids() if _is(pid, "ggml-rpc-server")]


def _is(pid: int, program: str) -> bool:
    """Whether it is that program itself, and not the leash that it hangs on."""
    return Path(command(pid).partition(" ")[0]).name == program


def _until(condition: Callable[[], object], session: subprocess.Popen[str], *, within_s: float = WITHIN_S) -> bool:
    """Wait for it; False when the session has ended before, or it never came."""
    deadline = time.monotonic() + within_s
    while not condition():
        if session.poll() is not None or time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return session.poll() is None
