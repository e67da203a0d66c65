"""What is seen of `bench users` while it runs: a table that grows level by level; in a log, a line for each."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.markup import escape
from rich.text import Text

from evener.cli.console import LINE_EVERY_S, err
from evener.cli.redrawn import Redrawn

if TYPE_CHECKING:
    from evener.records.events import Progress
    from evener.records.load import Level, Request, UsersResult


class UsersLive(Redrawn):
    """A context manager; its `report`, `request` and `level` are for the measurement. It writes to standard error."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._result: UsersResult | None = None
        self._progress: Progress | None = None
        self._begun_at = time.monotonic()
        self._told: dict[str, float] = {}
        self._tokens, self._failed = 0, 0  # of what is going on now
        super().__init__(err, quiet=quiet)

    def report(self, progress: Progress) -> None:
        if self._progress is None or self._progress.what != progress.what:
            self._begun_at, self._tokens, self._failed = time.monotonic(), 0, 0
        self._progress = progress
        now = time.monotonic()
        if (
            not self._quiet
            and self._live is None
            and now - self._told.get(progress.what, -LINE_EVERY_S) >= LINE_EVERY_S
        ):
            self._told[progress.what] = now
            err.print(f"{escape(progress.what)}{escape(_share(progress))}", soft_wrap=True)

    def request(self, request: Request) -> None:
        """One request that has ended."""
        self._tokens += request.tokens or 0
        self._failed += request.failure is not None and not request.warm_up

    def level(self, result: UsersResult) -> None:
        """What there is after one more level."""
        self._result = result
        if self._quiet or self._live is not None or not result.levels:
            return
        from evener.report.words import number

        last = result.levels[-1]
        failed = last.requests.errored + last.requests.invalid
        err.print(
            f"{_who(last)}: {number(last.total_tokens_per_s)} tok/s together, "
            f"{number(last.per_user_tokens_per_s.p50)} each, TTFT {number(last.ttft_ms.p50)} ms, {failed} failed",
            soft_wrap=True,
        )

    def _shown(self) -> RenderableType:
        from evener.report.users_view import levels_table

        parts: list[RenderableType] = []
        if self._result is not None and self._result.levels:
            parts.append(levels_table(self._result.levels, invalid=None))
        if self._progress is not None:
            parts.append(Text(self._now(self._progress), style="red" if self._failed else "cyan"))
        return Group(*parts)

    def _now(self, progress: Progress) -> str:
        """ "4 users: 3 of 12, for 8 s, 61 tok/s, 1 failed" """
        seconds = time.monotonic() - self._begun_at
        rate = f", {self._tokens / seconds:.0f} tok/s" if self._tokens and seconds else ""
        failed = f", {self._failed} failed" if self._failed else ""
        return f"{progress.what}{_share(progress)}, for {seconds:.0f} s{rate}{failed}"


def _who(level: Level) -> str:
    from evener.report.words import count

    return count(level.users, "user") if level.people is None else count(level.users, "person", "people")


def _share(progress: Progress) -> str:
    done = f": {progress.done:.0f} of {progress.of:.0f}" if progress.of else ""
    return done + (f", {progress.detail}" if progress.detail else "")
