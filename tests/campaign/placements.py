"""The plan's answers by hand: two machines, alpha and beta, and three models."""

from __future__ import annotations

from evener.campaign.placement import Placement, Wish
from evener.campaign.schedule import wishes
from evener.records.campaign import Campaign, Contestant, SpeedAsked, UsersAsked
from evener.records.plan import Value

SMALL, LARGE, HUGE = (Contestant(name=name, model=f"{name}.gguf") for name in ("small", "large", "huge"))
RUNNING = Contestant(name="vllm", url="http://10.0.0.9:8000")
CAMPAIGN = Campaign(
    name="ours",
    contestants=(SMALL, LARGE, HUGE, RUNNING),
    layouts=("auto", "cluster"),
    parallel=5,
    repeats=2,
    speed=SpeedAsked(),
    users=(UsersAsked(counts=(1, 5)), UsersAsked(counts=(10,), profile="chat")),
)


def placed(candidate: str, *hosts: str, baseline: str | None = None, decode: float = 50.0) -> Placement:
    """50 tokens a second for one, 100 for five together, 1000 of prompts; loaded in 15 seconds."""
    return Placement(
        candidate=candidate,
        hosts=hosts,
        baseline=baseline,
        load_s=15.0,
        decode=Value(value=decode, low=decode / 2, high=decode * 2),
        users_tokens_per_s=2 * decode,
        prefill_tokens_per_s=1000.0,
        fullest=0.9,
        cards_bytes=1 << 30,
    )


def short(why: str, *, baseline: str | None = None) -> Placement:
    return Placement(candidate=None, why_not=why, baseline=baseline)


def answer(wish: Wish) -> Placement:
    """Small fits alpha, and beta; large needs both; huge fits nowhere."""
    both = ("alpha", "beta")
    if wish.layout == "replicas":
        return Placement(candidate="replicas", hosts=both, copies=both)
    match wish.contestant, wish.layout:
        case "small", "auto" | "alpha":
            return placed("alpha", "alpha")
        case "small", "beta":
            return placed("beta", "beta")
        case "small", "cluster":
            return placed("cluster", *both, baseline="alpha")
        case "large", "auto" | "cluster":
            return placed("cluster", *both, baseline="alpha", decode=20.0)
        case "large", _:
            return short("needs 40 GiB but alpha offers 31 GiB")
        case _:
            return short("needs 200 GiB")


def answered(campaign: Campaign) -> dict[Wish, Placement]:
    """Every wish with its answer, copies and baselines with theirs."""
    found = {wish: answer(wish) for wish in wishes(campaign)}
    for wish, one in list(found.items()):
        for layout in (*one.copies, *([one.baseline] if one.baseline else [])):
            more = Wish(contestant=wish.contestant, layout=layout, cable=None, context=wish.context)
            found[more] = answer(more)
    return found
