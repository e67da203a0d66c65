"""For how many a deployment was measured good: what earlier runs of the same thing on the same cards said."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from evener.api import models
from evener.api.keeping import Post
from evener.edges.run_folder import list_runs, open_head
from evener.errors import EvenerError
from evener.journeys.conditions import conditions_of
from evener.records.conditions import Conditions
from evener.records.load import UsersResult
from evener.records.run import Summary
from evener.state import runs_folder

SAME = ("model_sha256", "context", "kv_type_k", "kv_type_v", "device_order", "layers_per_device", "engine_builds")
MOST_LOOKED_AT = 300  # of the newest runs


async def good_for(post: Post) -> tuple[str, str] | None:
    """(in words, the run's id) of the newest whole measurement of exactly this; None where there is none."""
    planned = post.planned
    sha256 = await models.sha256(planned.weights.paths, report=lambda _progress: None)
    rig, scan, weights = planned.rig.record, planned.scan, planned.weights
    here = conditions_of(rig, scan, weights, planned.plan.workload, post.candidate, sha256=sha256)
    for path in islice(_newest(), MOST_LOOKED_AT):
        try:
            run, summary = open_head(path)
        except EvenerError:
            continue
        if summary is not None and _is_same(run.conditions, here) and (said := _said(summary, post.candidate.name)):
            return said, run.id
    return None


def _newest() -> Iterator[Path]:
    """Every run, those that a campaign holds among them."""
    for outer in reversed(list_runs(runs_folder())):
        yield from reversed(list_runs(outer / "runs"))
        yield outer


def _is_same(there: Conditions, here: Conditions) -> bool:
    return all(getattr(there, name) not in (None, ()) and getattr(there, name) == getattr(here, name) for name in SAME)


def _said(summary: Summary, layout: str) -> str | None:
    for stage in summary.stages:
        users = stage.users
        if stage.layout == layout and users is not None and users.validity == "valid" and not users.partial:
            return users.comfortable.sentence if users.comfortable else _fastest(users)
    return None


def _fastest(users: UsersResult) -> str | None:
    """Without limits nobody knows what is good; what each user had is still worth knowing."""
    if not users.levels:
        return None
    level = users.levels[-1]
    each = level.per_user_tokens_per_s
    if each.p50 is None:
        return None
    interval = f", 95% {each.interval[0]:.1f}-{each.interval[1]:.1f}" if each.interval else ""
    return f"{level.users} at once had {each.p50:.1f} tok/s each (median of {each.n}{interval}); no limits were named"
