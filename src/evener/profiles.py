"""What people do with a model: how long they ask, read, think and wait. Pure: a table and its reasons.

The figures are assumptions; whoever has logs of their own should state their own lengths and limits.
"""

from __future__ import annotations

from evener.errors import NameUnknown
from evener.records.whatif import Profile

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
            tpot_limit_ms=66.0,
            why="a conversation of some turns before a short question; 250 words are read in a minute and the next "
            "question typed. Whoever reads every word keeps up with 6 tokens a second, but answers are skimmed, and "
            "half a minute for one is too long: 15 tokens a second",
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


def find(name: str) -> Profile:
    """Raises NameUnknown."""
    if name not in PROFILES:
        raise NameUnknown(f"--profile {name}: no such profile", hint=f"one of {', '.join(PROFILES)}")
    return PROFILES[name]
