"""A deployment lent for a while, the supervisor's side: off its machines for a borrower, and back again.

The loan is a connection to its supervisor. However the borrower ends, Ctrl-C and kill -9 included, the connection ends
with it, and the supervisor brings the deployment up as it was: same plan, same arguments, same locks.
"""

from __future__ import annotations

import asyncio


class Loan:
    """One borrower at a time, and only while the deployment serves."""

    def __init__(self) -> None:
        self._open = False
        self._asked, self._free, self._returned = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def wanted(self) -> None:
        """Wait until somebody wants to borrow. Before and after that nobody can."""
        self._open = True
        try:
            await self._asked.wait()
        finally:
            self._open = False

    async def lend(self) -> str | None:
        """Ask for the loan and wait until nothing is up. Why not, when that is the answer."""
        if self._asked.is_set():
            return "somebody has borrowed it already"
        if not self._open:
            return "it does not serve now"
        self._asked.set()
        await self._free.wait()
        return None

    def give_back(self) -> None:
        self._returned.set()

    async def returned(self) -> None:
        """Nothing is up: let the borrower have it, and wait until it is given back."""
        self._free.set()
        await self._returned.wait()
        for event in (self._asked, self._free, self._returned):
            event.clear()
