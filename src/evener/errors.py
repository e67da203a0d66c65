"""Every way evener fails, drawn as one tree. An error says what, where, how much, and what to try.

EvenerError                     exit code
 +- ConfigurationError             2   rig.toml, arguments, conflicting flags
 |   +- FaultyFile                     every fault of one file at once
 |   |   +- RigFileError                   of a rig.toml
 |   |   +- CampaignFileError              of a campaign.toml
 |   +- NameUnknown                    a host, card, layout, run or deployment that does not exist
 |   +- FlagConflict                   an engine flag after `--` that evener decides itself
 +- DoesNotFit                     1   the model needs more than the cards offer
 +- CannotRun                      3   host, engine or model will not do it
 |   +- HostError                      a host does not answer, or a tool on it fails
 |   |   +- PortTaken                  somebody listens where we want to
 |   |   +- HostBusy                   another evener session holds the host or the deployment
 |   |   +- HostUnreachable            ssh cannot reach it, or no longer
 |   |   +- HostLogin                  ssh reaches it and is not let in: our key, or its host key
 |   +- EngineError
 |   |   +- EngineMissing              no engine found, none built
 |   |   +- EngineBuildFailed          download, configure, compile or land
 |   |   +- EngineUnfit                built for another CPU, too old, or of another protocol
 |   +- EndpointError                  an RPC endpoint before load
 |   |   +- EndpointUnresolved         the name does not resolve
 |   |   +- EndpointRefused            nobody listens
 |   |   +- EndpointTimedOut           a firewall drops it, or the backlog is full
 |   |   +- EndpointNotRpc             somebody else answers there
 |   |   +- EndpointWrongProtocol      another RPC version
 |   |   +- EndpointBusy               accepted and silent: it serves another client, or hangs
 |   +- ModelError
 |   |   +- ModelMissing               no such file, URL or known name
 |   |   +- BadHeader                  the file is not a GGUF we can read
 |   |   +- FetchFailed                a download broke off or has the wrong hash
 |   +- LaunchError
 |   |   +- LoadFailed                 the engine gave up while loading
 |   |   +- LoadTimedOut               the load stood still beyond its deadline
 |   |   +- ChildDied                  a worker or the head ended while it served
 |   |   +- DeviceMissing          1   a planned device is absent: never a silent shrink
 |   +- RunUnreadable                  a run folder that is not one, or of a newer schema
 |   +- StateUnreadable                a file of evener's own that cannot be read any more
 +- ResultInvalid                  4   the figure exists and must not be used
     +- Interrupted                    Ctrl-C; what was measured so far is kept and marked
"""

from __future__ import annotations


class EvenerError(Exception):
    """Anything evener says in one line, with a hint about what to try. Never shown as a traceback."""

    exit_code = 3

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class ConfigurationError(EvenerError):
    """The request cannot be understood or contradicts itself."""

    exit_code = 2


class FaultyFile(ConfigurationError):
    """A file of the user's with one or more faults; `faults` holds (key, what is wrong), all of them."""

    def __init__(self, path: str, faults: tuple[tuple[str, str], ...], *, hint: str | None = None) -> None:
        lines = "; ".join(f"{key}: {what}" if key else what for key, what in faults)
        super().__init__(f"{path}: {lines}", hint=hint)
        self.path = path
        self.faults = faults


class RigFileError(FaultyFile):
    """A rig.toml that cannot be used."""


class CampaignFileError(FaultyFile):
    """A campaign.toml that cannot be used."""


class NameUnknown(ConfigurationError):
    """A name that nothing known carries."""


class FlagConflict(ConfigurationError):
    """An extra engine flag would undo what the plan promised."""


class DoesNotFit(EvenerError):
    """The model needs more memory than the chosen cards offer."""

    exit_code = 1


class CannotRun(EvenerError):
    """The request is sound, the world does not allow it."""


class HostError(CannotRun):
    """A host does not answer, or a tool on it failed."""


class PortTaken(HostError):
    """Another process listens on an address we were told to use."""


class HostBusy(HostError):
    """Another evener session holds the lock of a host or deployment."""


class HostUnreachable(HostError):
    """ssh finds no way to the host, or its connection broke: name, route, port, cable."""


class HostLogin(HostError):
    """The host is there and ssh does not get in: it refuses our key, or we do not know its host key."""


class EngineError(CannotRun):
    """llama.cpp itself is the obstacle."""


class EngineMissing(EngineError):
    """No engine was found and none was built."""


class EngineBuildFailed(EngineError):
    """The engine could not be fetched, compiled or put in its place."""


class EngineUnfit(EngineError):
    """The engine exists and cannot be used here: other CPU, too old, other protocol."""


class EndpointError(CannotRun):
    """An RPC endpoint is not what the plan needs. `endpoint` is "host:port"."""

    def __init__(self, endpoint: str, message: str, *, hint: str | None = None) -> None:
        super().__init__(f"{endpoint}: {message}", hint=hint)
        self.endpoint = endpoint


class EndpointUnresolved(EndpointError):
    """The endpoint's host name does not resolve to an IPv4 address."""


class EndpointRefused(EndpointError):
    """Nothing listens on the endpoint."""


class EndpointTimedOut(EndpointError):
    """The connection was neither accepted nor refused: a firewall, or a full backlog."""


class EndpointNotRpc(EndpointError):
    """Something that does not speak llama.cpp RPC listens on the endpoint."""


class EndpointWrongProtocol(EndpointError):
    """The worker speaks an RPC version the head would refuse."""


class EndpointBusy(EndpointError):
    """Connected, and no answer: the worker serves another client, hangs, or is no RPC server."""


class ModelError(CannotRun):
    """The model is the obstacle."""


class ModelMissing(ModelError):
    """No file, URL or known name answers to it."""


class BadHeader(ModelError):
    """The file is not a GGUF that can be read; the message says at which byte and why."""


class FetchFailed(ModelError):
    """A download broke off, was refused, or has the wrong hash."""


class LaunchError(CannotRun):
    """A deployment could not be brought up, or did not stay up."""


class LoadFailed(LaunchError):
    """The engine gave up while loading."""


class LoadTimedOut(LaunchError):
    """The engine made no progress within the deadline."""


class ChildDied(LaunchError):
    """A worker or the head ended while it was needed; `host` is where, as far as that is known."""

    def __init__(self, message: str, *, hint: str | None = None, host: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.host = host


class DeviceMissing(LaunchError):
    """A planned device is absent. A failure, never a silent shrink."""

    exit_code = 1


class StateUnreadable(CannotRun):
    """A file of evener's own, outside the runs, that cannot be read any more."""


class RunUnreadable(CannotRun):
    """A run folder that is not one, or that a newer evener wrote."""


class ResultInvalid(EvenerError):
    """Something was measured and must not be used as a figure."""

    exit_code = 4


class Interrupted(ResultInvalid):
    """The user stopped it. What was measured so far is kept and marked partial."""
