"""What people do with a model: how long they ask, read and think; and how many are answered at one moment. Pure.

The figures are assumptions, each with its reason; whoever has logs of their own should state their own users.
"""

from __future__ import annotations

from dataclasses import replace
from math import ceil, sqrt

from evener.errors import NameUnknown
from evener.records.plan import Workload
from evener.records.whatif import Profile, Seats

PROFILES: dict[str, Profile] = {
    profile.name: profile
    for profile in (
        Profile(
            name="translate",
            prompt_tokens=1500,
            output_tokens=1000,
            shared_prefix_tokens=500,
            think_s=120.0,
            ttft_limit_s=5.0,
            tpot_limit_ms=80.0,
            why="a page of about 600 words in and as much out, a glossary that all share; then it is proofread, "
            "which takes minutes. Whole answers are awaited, so neither limit is strict",
        ),
        Profile(
            name="chat",
            prompt_tokens=2000,
            output_tokens=350,
            shared_prefix_tokens=500,
            think_s=45.0,
            ttft_limit_s=2.0,
            tpot_limit_ms=100.0,
            why="a conversation of some turns before a short question; 250 words are read in a minute and the next "
            "question typed. 10 tokens a second are faster than people read",
        ),
        Profile(
            name="coding",
            prompt_tokens=8000,
            output_tokens=700,
            shared_prefix_tokens=2000,
            think_s=60.0,
            ttft_limit_s=4.0,
            tpot_limit_ms=40.0,
            why="some source files as context and a patch as the answer, which is looked through and run before the "
            "next request. Code is skimmed, not read: 25 tokens a second",
        ),
        Profile(
            name="autocomplete",
            prompt_tokens=1500,
            output_tokens=40,
            shared_prefix_tokens=1000,
            think_s=8.0,
            ttft_limit_s=0.4,
            tpot_limit_ms=15.0,
            why="the lines around the cursor for one or two new ones, at each pause of the typing. Later than in about "
            "a second it is in the way; most of the prompt is what the last one had",
        ),
    )
}
PEAK_DEVIATIONS = 2.0  # seats for the mean and two standard deviations: enough 97 times in 100


def find(name: str) -> Profile:
    """Raises NameUnknown."""
    if name not in PROFILES:
        raise NameUnknown(f"--profile {name}: no such profile", hint=f"one of {', '.join(PROFILES)}")
    return PROFILES[name]


def seats(profile: Profile, people: int) -> Seats:
    """How many of `people` wait for an answer at one moment.

    A closed loop: each one thinks for Z seconds, then waits R for the answer. By the interactive response time law
    (Little's law for people who wait) the share R / (R + Z) of them waits, on average; as they do so independently, the
    standard deviation is sqrt(people * share * (1 - share)). R is what the profile's limits allow: a rig that is faster
    has fewer waiting, one that is slower breaks the limits.
    """
    answer_s = profile.ttft_limit_s + profile.output_tokens * profile.tpot_limit_ms / 1000
    share = answer_s / (answer_s + profile.think_s)
    mean = people * share
    peak = ceil(mean + PEAK_DEVIATIONS * sqrt(mean * (1 - share)))
    return Seats(profile=profile, people=people, answer_s=answer_s, mean=mean, users=max(1, min(people, peak)))


def lengths(profile: Profile, workload: Workload, *, context: int | None = None) -> Workload:
    """The workload with a profile's lengths. Of the prompt counts what is not in the server's cache already.

    Unless a context was asked for it holds one exchange, in steps of 1024 tokens, and 4096 at least.
    """
    whole = -(-(profile.prompt_tokens + profile.output_tokens) // 1024) * 1024
    return replace(
        workload,
        context=max(whole, 4096) if context is None else context,
        prompt_tokens=profile.prompt_tokens - profile.shared_prefix_tokens,
        output_tokens=profile.output_tokens,
    )
