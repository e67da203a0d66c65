"""Who is next: a bounded queue in which nobody waits for somebody else's pile. Pure.

The person with the fewest requests in flight is served first; among equals, who was served longest ago. Each person's
own requests keep their order.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(kw_only=True)
class Waiting(Generic[T]):
    """Requests that wait for a slot. `most` bounds all of them, `most_each` those of one person."""

    most: int
    most_each: int
    in_flight: Counter[str] = field(default_factory=Counter)
    _queues: dict[str, deque[T]] = field(default_factory=dict)
    _served: dict[str, int] = field(default_factory=dict)  # person -> when last, as a count
    _count: int = 0

    def __len__(self) -> int:
        return sum(len(queue) for queue in self._queues.values())

    def __iter__(self) -> Iterator[T]:
        """All that wait, as of now."""
        return iter([request for queue in self._queues.values() for request in queue])

    def by_person(self) -> dict[str, int]:
        return {person: len(queue) for person, queue in self._queues.items() if queue}

    def refusal(self, person: str) -> str | None:
        """Why one more of this person cannot wait; None when it can."""
        if len(self._queues.get(person, ())) >= self.most_each:
            return f"{self.most_each} of your requests are waiting already"
        if len(self) >= self.most:
            return f"{self.most} requests are waiting already"
        return None

    def add(self, person: str, request: T) -> None:
        self._queues.setdefault(person, deque()).append(request)

    def put_back(self, person: str, request: T) -> None:
        """In front of the person's others: it had its turn and could not use it."""
        self._queues.setdefault(person, deque()).appendleft(request)

    def drop(self, person: str, request: T) -> bool:
        """Whether it was waiting: it waits no more."""
        queue = self._queues.get(person)
        if queue is None or request not in queue:
            return False
        queue.remove(request)
        self._forget_empty(person)
        return True

    def next(self, may: Callable[[str, T], bool]) -> tuple[str, T] | None:
        """Take out whose turn it is, of what `may` go now."""
        for person in sorted(self._queues, key=lambda name: (self.in_flight[name], self._served.get(name, 0))):
            for request in self._queues[person]:
                if may(person, request):
                    self._queues[person].remove(request)
                    self._forget_empty(person)
                    self._count += 1
                    self._served[person] = self._count
                    return person, request
        return None

    def _forget_empty(self, person: str) -> None:
        if not self._queues[person]:
            del self._queues[person]
