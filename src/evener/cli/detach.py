"""`evener up --detach`: the same command as its own session, followed until it serves."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from typing import TYPE_CHECKING

from rich.markup import escape

from evener.cli.console import err, out, run_async
from evener.errors import HostBusy

if TYPE_CHECKING:
    from pathlib import Path

    from evener.api.plans import Planned
    from evener.cli.live import LiveView

OURS = ("--detach", "-d", "--json")


def detached(planned: Planned, *, name: str | None, as_json: bool) -> int:
    """Start the supervisor and follow it until it serves or has ended. Its exit code, 0 when it serves.

    Raises HostBusy when a deployment of that name runs already.
    """
    from evener.api import deployments, starting
    from evener.cli.live import LiveView

    called = name or deployments.slug(planned.weights.name)
    if (pid := deployments.supervisor(called)) is not None:
        raise HostBusy(
            f"{called} runs already (evener pid {pid})", hint="evener status; another --name, or evener down"
        )
    log = deployments.supervisor_log(called)
    supervisor = starting.started(_same_command(sys.argv[1:]), log).process
    try:
        with LiveView(as_json=as_json) as view:
            serves = run_async(_until_serving(called, supervisor, view))
    except BaseException:
        supervisor.terminate()
        supervisor.wait()
        raise
    if serves:
        if not as_json:
            out.print(f"{escape(called)} runs on its own: evener status, evener logs, evener down")
        return 0 if view.checks_fine else 1
    return _failed(supervisor.wait(), log)


def _same_command(arguments: list[str]) -> list[str]:
    """Our own arguments without what only the terminal's end needs; what follows `--` stays as it is."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    return [*(a for a in arguments[:end] if a not in OURS), "--supervised", *arguments[end:]]


async def _until_serving(name: str, supervisor: subprocess.Popen[bytes], view: LiveView) -> bool:
    from evener.api import deployments

    while supervisor.poll() is None:
        if deployments.supervisor(name) == supervisor.pid:
            async for message in deployments.follow(name):
                view.show(message)
                if (message.get("deployment") or {}).get("state") == "ready":
                    return True
        await asyncio.sleep(0.1)
    return False


def _failed(code: int, log: Path) -> int:
    said = [line for line in log.read_text(errors="replace").splitlines() if line]
    for line in said[-10:]:
        err.print(escape(line), soft_wrap=True)
    log.unlink(missing_ok=True)
    return code if code > 0 else 3
