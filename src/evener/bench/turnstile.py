"""Which requests of a level are measured. Pure; knows no time.

Warm-ups come until everybody has warmed up, then the measured requests, and then warm-ups again beside the last of
them, so that the server never sees less than the full load.
"""

from __future__ import annotations

from collections.abc import Iterable


class Turnstile:
    """`asked` measured requests among `users`. Ask `is_measured()` before each request, say `ended()` after it."""

    def __init__(self, users: int, *, asked: int, cold: Iterable[int]) -> None:
        self.users = users
        self.asked = asked
        self._cold = set(cold)
        self._left = asked
        self._open = 0

    @property
    def is_over(self) -> bool:
        """Whether the last measured request has ended."""
        return not self._left and not self._open

    def is_measured(self) -> bool:
        """Whether the request that is about to be sent is one of those that count; if so it is taken."""
        if self._cold or not self._left:
            return False
        self._left -= 1
        self._open += 1
        return True

    def ended(self, user: int, *, measured: bool) -> None:
        """A request of this user has ended. One that was sent in an earlier level warms up as well as any."""
        self._cold.discard(user)
        self._open -= measured
