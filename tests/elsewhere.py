"""Another host on this machine: its own name, HOME and PATH, and nothing of ours in its environment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from evener.edges.local_shell import LocalChild, LocalShell
from evener.ports import Finished


class Elsewhere(LocalShell):
    """A LocalShell with another environment."""

    def __init__(self, host: str, home: Path, *, path: str = "/usr/bin:/bin") -> None:
        super().__init__(host)
        self.own = {"HOME": str(home), "PATH": path}
        home.mkdir(parents=True, exist_ok=True)

    async def run(
        self, argv: Sequence[str], *, within_s: float, env: Mapping[str, str] | None = None, stdin: bytes = b""
    ) -> Finished:
        return await super().run(argv, within_s=within_s, env=self.own | dict(env or {}), stdin=stdin)

    async def start(self, argv: Sequence[str], *, env: Mapping[str, str]) -> LocalChild:
        return await super().start(argv, env=self.own | dict(env))

    async def which(self, name: str) -> str | None:
        done = await self.run(["sh", "-c", 'command -v "$1"', "sh", name], within_s=5)
        return done.stdout.strip() or None
