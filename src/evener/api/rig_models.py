"""Models on the hosts of a rig: which host has what, and carrying one there. Wires `models` to the rig's doors."""

from __future__ import annotations

from evener.api import models
from evener.api.rig import Rig
from evener.errors import ConfigurationError, HostError, NameUnknown
from evener.models.push import Pushed
from evener.models.shelf import Held
from evener.ports import Report, Shell
from evener.records.rig import Host
from evener.together import together


async def held(rig_file: str | None, *, host: str | None) -> tuple[tuple[Held, ...], tuple[str, ...]]:
    """(models, problems): what one host of the rig has, or what all have. A host that does not answer is a problem.

    Raises NameUnknown, and HostError when the one host that was asked for does not answer.
    """
    rig = Rig.open(rig_file)
    if host:
        return await models.held_on(*door(rig, host)), ()
    shells = rig.shells()
    answers = await together(_asked(one, shells[one.name]) for one in rig.record.hosts if one.name in shells)
    found = tuple(model for answer in answers if not isinstance(answer, str) for model in answer)
    return found, tuple(answer for answer in answers if isinstance(answer, str))


async def push(model: str, host: str, *, rig_file: str | None, report: Report) -> Pushed:
    """Carry a model to a host of the rig. Raises NameUnknown, ModelMissing, HostError."""
    return await models.push(model, *door(Rig.open(rig_file), host), report=report)


async def _asked(host: Host, shell: Shell) -> tuple[Held, ...] | str:
    try:
        return await models.held_on(host, shell)
    except HostError as error:
        return error.message


def door(rig: Rig, name: str) -> tuple[Host, Shell]:
    host, shell = rig.record.host(name), rig.shells().get(name)
    if host is None:
        raise NameUnknown(f"{name}: no such host", hint=f"the rig has {', '.join(h.name for h in rig.record.hosts)}")
    if shell is None:
        raise ConfigurationError(
            f"{name}: connection = {host.connection}: no command can be run there",
            hint='connection = "ssh" lets evener in',
        )
    return host, shell
