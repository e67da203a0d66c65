"""What one user says next: a new prompt, the next turn of a conversation with the real answers in it, or the next line
of a recording. Pure but for what it remembers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import Any

from evener.bench.load import Load, Replayed, prompt_text
from evener.bench.probe import Server

Messages = list[dict[str, Any]]
SHARED = -2  # the number of the prompt that all others begin with; the probe has -1


@dataclass(frozen=True, slots=True)
class Saying:
    """One request to be sent. `tokens` is how long the answer may be, `turn` its place in the conversation."""

    body: bytes
    turn: int


class Speaker:
    """Ask for the next `saying()`; afterwards tell what was `heard()`: None when it failed."""

    def __init__(self, server: Server, load: Load, recorded: Iterator[Replayed] | None = None) -> None:
        self._server = server
        self._load = load
        self._recorded = recorded
        self._messages: Messages = []
        self._to_come: list[str] = []  # further turns of a recorded conversation
        self._limit: int | None = None  # answer tokens that the recording asks for
        self._turn = 0

    @property
    def listens(self) -> bool:
        """Whether the conversation goes on, so that the words of the answer are needed."""
        return bool(self._to_come) if self._recorded else self._turn < self._load.turns

    def saying(self, number: int, *, tokens: int) -> Saying:
        """The request with this number, answered by `tokens` tokens unless a recording asks for others."""
        if not self._messages:
            self._begin(number)
        else:
            self._messages.append(_user(self._next(number)))
        messages = self._messages
        if self._load.mode == "cold" and not self._recorded and self._turn:
            messages = [_user(_begun_anew(self._server, self._load, messages[0]["content"], number)), *messages[1:]]
        said = Saying(self._server.request(self._load, messages, tokens=self._limit or tokens), self._turn)
        self._turn += 1
        return said

    def heard(self, answer: str | None) -> None:
        """What was answered; a conversation of which a turn failed is at its end."""
        if answer is None or not self.listens:
            self._messages, self._to_come, self._turn = [], [], 0
        else:
            self._messages.append({"role": "assistant", "content": answer})

    def _begin(self, number: int) -> None:
        if self._recorded is None:
            self._messages = [_user(opening(self._server, self._load, number))]
            return
        recorded = next(self._recorded)
        self._messages, self._to_come = list(recorded.messages), list(recorded.turns)
        self._limit = recorded.max_tokens

    def _next(self, number: int) -> str:
        if self._to_come:
            return self._to_come.pop(0)
        return _words(self._server, self._load, number)


def opening(server: Server, load: Load, number: int) -> str:
    """The text of a new prompt: what all prompts share, then what only this one has."""
    own = _words(server, load, number)
    if not load.shared_prefix_tokens:
        return own
    shared = prompt_text(server.words, load.shared_prefix_tokens, seed=load.seed, number=SHARED)
    return f"{shared} {own}"


def dealt(replay: Sequence[Replayed], users: int) -> list[Iterator[Replayed]]:
    """A recording for each user, without end. Lines of one recorded user stay with one user; the others are dealt out
    in their order, to whoever is ready."""
    common = cycle([one for one in replay if one.user is None] or replay)
    names = list(dict.fromkeys(one.user for one in replay if one.user is not None))
    if not names:
        return [common] * users
    own = {name: [one for one in replay if one.user == name] for name in names}
    return [cycle(own[names[user]]) if user < len(names) else common for user in range(users)]


def _words(server: Server, load: Load, number: int) -> str:
    count = max(1, load.prompt_tokens - (server.template_tokens or 0))
    return prompt_text(server.words, count, seed=load.seed, number=number)


def _begun_anew(server: Server, load: Load, text: str, number: int) -> str:
    """The same text behind another first word: no cache knows it."""
    first = prompt_text(server.words, 1, seed=load.seed, number=number)
    return " ".join([first, *text.split(" ")[1:]])


def _user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}
