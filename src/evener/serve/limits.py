"""What one person has used lately, against what they may. Pure; times are seconds of one steady clock."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from math import ceil

from evener.records.serving import PersonLimits

MINUTE_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """Why not now, and after how many seconds it is worth another try."""

    why: str
    retry_after_s: int


@dataclass(kw_only=True)
class Lately:
    """One person's last minute and day."""

    started_s: deque[float] = field(default_factory=deque)
    day: str = ""
    tokens: int = 0

    def refusal(self, limits: PersonLimits, *, now_s: float, day: str, seconds_left_of_day: float) -> Refusal | None:
        """Whether one more request is too much. One that is let in counts from `began` on."""
        while self.started_s and self.started_s[0] <= now_s - MINUTE_S:
            self.started_s.popleft()
        most = limits.requests_per_minute
        if most is not None and len(self.started_s) >= most:
            free_in_s = self.started_s[-most] + MINUTE_S - now_s if most > 0 else MINUTE_S
            return Refusal(why=f"{most} requests a minute are your limit", retry_after_s=max(1, ceil(free_in_s)))
        if limits.tokens_per_day is not None and self.day == day and self.tokens >= limits.tokens_per_day:
            return Refusal(
                why=f"{limits.tokens_per_day} tokens a day are your limit (UTC)",
                retry_after_s=max(1, ceil(seconds_left_of_day)),
            )
        return None

    def began(self, now_s: float) -> None:
        self.started_s.append(now_s)

    def used(self, tokens: int, *, day: str) -> None:
        if self.day != day:
            self.day, self.tokens = day, 0
        self.tokens += tokens
