"""Why a layout could not be started although its cards have room: no copy of the model, no port, no way. Pure."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from pathlib import PurePath

from evener.plan.commands import ports_of
from evener.plan.placing import Placed
from evener.plan.question import Question
from evener.plan.routes import UNSTATED, route
from evener.records.weights import Weights

_LACKS = re.compile(r"(?P<host>\S+) has no copy of .+; evener models push (?P<path>.+) (?P=host) brings it there$")


def why_not(head: str, done: Placed, question: Question) -> str | None:
    """One line, None where llama-server could be started on `head` and reach every worker that `done` asks for."""
    return _no_copy(head, question) or _no_port(head, done, question) or _no_way(head, done, question)


def _no_copy(host: str, question: Question) -> str | None:
    """Workers get the model over the cable, a server reads it, and what stands beside it."""
    tools, weights = question.tools, question.weights
    if tools.models.get(host, "") is None:
        return _push("the model", weights.paths[0], host)
    missing = (path for path in beside_files(weights).values() if tools.beside.get((host, path), "") is None)
    return next((_push(PurePath(path).name, path, host) for path in missing), None)


def _push(what: str, path: str, host: str) -> str:
    return f"{host} has no copy of {what}; evener models push {shlex.quote(path)} {host} brings it there"


def beside_files(weights: Weights) -> dict[str, str]:
    """What stands beside a model -> the file that a server is told to read."""
    found = {"projector": weights.projector.path} if weights.projector else {}
    return found | ({"draft model": weights.draft.paths[0]} if weights.draft else {})


def _no_port(head: str, done: Placed, question: Question) -> str | None:
    for name, workers in _workers(head, done).items():
        host = question.rig.host(name)
        if host is not None and (free := len(ports_of(host, question.tools))) < workers:
            return f"{name} has free ports for {free} of {workers} workers; widen its ports in rig.toml"
    return None


def _no_way(head: str, done: Placed, question: Question) -> str | None:
    """From another head than the first host. An address that the first host misses stands in its command lines."""
    near = question.rig.host(head)
    if near is None or near == question.rig.head:
        return None
    for far in (question.rig.host(name) for name in _workers(head, done)):
        way = route(near, far, question.rig, question.scan) if far else None
        if far is None or way is None:
            continue
        if way.link and way.link.tunnel:
            return f"link {way.link.name} is a tunnel: it begins on {question.rig.head.name}, not on {head}"
        if way.address is not None and way.address.startswith(UNSTATED) and far.connection != "stated":
            return f"{far.name} has no address in the rig that {head} could reach"
    return None


def _workers(head: str, done: Placed) -> Counter[str]:
    """How many workers of ours each host beside the head runs."""
    workers = {seat.worker: seat.host.name for seat, _ in done.parts if not seat.endpoint and seat.host.name != head}
    return Counter(workers.values())


def wanted_copy(why_not: str) -> tuple[str, str] | None:
    """(path here, host that lacks it), where `why_not` says that a layout only lacks a copy."""
    found = _LACKS.search(why_not)
    return (shlex.split(found["path"])[0], found["host"]) if found else None
