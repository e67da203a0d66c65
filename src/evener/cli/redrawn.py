"""What is drawn anew a few times a second on a terminal's standard error, and gone when the block is left."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Self

from rich.console import Console, RenderableType
from rich.live import Live

REDRAWS_PER_S = 4


class Redrawn(AbstractContextManager["Redrawn"], ABC):
    """`_shown` is what is drawn on `to`. `quiet`, and where that is no terminal, nothing is, and `_live` is None."""

    def __init__(self, to: Console, *, quiet: bool) -> None:
        self._live = self._made(to) if not quiet and to.is_terminal else None

    def __enter__(self) -> Self:
        if self._live:
            self._live.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._live:
            self._live.stop()

    def _made(self, to: Console) -> Live:
        return Live(console=to, refresh_per_second=REDRAWS_PER_S, transient=True, get_renderable=self._shown)

    @abstractmethod
    def _shown(self) -> RenderableType: ...
