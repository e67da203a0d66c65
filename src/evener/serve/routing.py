"""Which deployment answers a request: by its model, by what it has read already, by free slots. Pure.

A conversation grows at its end, so each of its beginnings has a mark; a deployment that has read the longest beginning
answers sooner, because it need not read that again.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

MOST_MARKS = 20_000  # beginnings remembered, over all deployments: a few MB
MOST_EACH = 256  # of one request; of a longer conversation the last ones
WORTH = 2000  # characters: a shorter beginning is read again in no time
BLOCK = 2000  # characters of a plain prompt between two marks
BUSIER = 0.5  # share of its slots by which a reader may be busier than the others, and is still the one


def marks(body: dict[str, Any]) -> tuple[bytes, ...]:
    """Marks of a request's beginnings that are worth it, the shortest first.

    A chat is marked after each message, with the tools and settings that its template shows before them; a plain
    prompt every `BLOCK` characters.
    """
    messages, prompt = body.get("messages"), body.get("prompt")
    if isinstance(messages, list):
        return _chain([[body.get("model"), body.get("tools"), body.get("chat_template_kwargs")], *messages])
    if isinstance(prompt, str):
        whole = range(BLOCK, len(prompt) + 1, BLOCK)
        return _chain([body.get("model"), *(prompt[at - BLOCK : at] for at in whole)])
    return ()


def _chain(parts: Iterable[Any]) -> tuple[bytes, ...]:
    """A hash of each beginning of `parts` that is long enough."""
    hashed, length, found = blake2b(digest_size=16), 0, []
    for part in parts:
        text = json.dumps(part, sort_keys=True)
        length += len(text)
        hashed.update(text.encode() + b"\0")
        if length >= WORTH:
            found.append(hashed.digest())
    return tuple(found[-MOST_EACH:])


@dataclass(kw_only=True)
class Readers:
    """Which deployments have read which beginning; the oldest are forgotten."""

    _who: OrderedDict[bytes, frozenset[str]] = field(default_factory=OrderedDict)

    def has_read(self, by: str, beginnings: Sequence[bytes]) -> None:
        for mark in beginnings:
            self._who[mark] = self._who.get(mark, frozenset()) | {by}
            self._who.move_to_end(mark)
        while len(self._who) > MOST_MARKS:
            self._who.popitem(last=False)

    def forget(self, name: str) -> None:
        """What it had read is gone: it has stopped."""
        left = ((mark, by - {name}) for mark, by in self._who.items())
        self._who = OrderedDict((mark, by) for mark, by in left if by)

    def longest(self, beginnings: Sequence[bytes]) -> frozenset[str]:
        """Who has read the longest of these that anybody has read."""
        return next((by for mark in reversed(beginnings) if (by := self._who.get(mark))), frozenset())


@dataclass(frozen=True, slots=True, kw_only=True)
class Open:
    """A deployment that could take a request now. `used` is a count that grows: the least was used longest ago."""

    name: str
    free: int
    slots: int
    used: int

    @property
    def share(self) -> float:
        return self.free / self.slots


def choose(there: Sequence[Open], readers: Collection[str]) -> str | None:
    """Whoever has most of its slots free; of those who have read the beginning one, unless all of them are much busier.

    None where nobody has a free slot.
    """
    best = _freest(there)
    reader = _freest([one for one in there if one.name in readers])
    if best is None or reader is None:
        return best.name if best else None
    return reader.name if reader.share >= best.share - BUSIER else best.name


def _freest(there: Iterable[Open]) -> Open | None:
    free = [one for one in there if one.free > 0]
    return min(free, key=lambda one: (-one.share, one.used), default=None)
