"""How many of the people are answered at one moment, and what a plan is for when they do what a profile says. Pure."""

from __future__ import annotations

from dataclasses import replace
from math import ceil, sqrt

from evener.records.plan import Workload
from evener.records.whatif import Profile, Seats

PEAK_DEVIATIONS = 2.0  # seats for the mean and two standard deviations: enough 97 times in 100


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
