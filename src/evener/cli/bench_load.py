"""The load that the options of `bench users` ask for; combinations that contradict each other are refused in a line."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from evener.bench.load import DEFAULT_USERS, Load, MixedLoad, Replayed
from evener.bench.replay import parse_replay
from evener.cli import bench_options as options
from evener.errors import ConfigurationError
from evener.profiles import find
from evener.records.load import Arrivals, Limits, Mode
from evener.records.whatif import Profile

ISL, OSL = 128, 64
MIXED_USERS = 7


def read_load(
    *,
    concurrency: str | None,
    people: str | None,
    profile: str | None,
    isl: int | None,
    osl: int | None,
    prompts: int | None,
    rate: float | None,
    arrivals: Literal["constant", "poisson", "replay"] | None,
    most_in_flight: int,
    turns: int,
    think: float | None,
    replay: Path | None,
    mode: Mode,
    shared_prefix: int | None,
    mixed: int | None,
    limits: list[str],
    seed: int | None,
    timeout: float,
    model: str | None,
    extra: dict[str, Any],
) -> Load:
    """The load. `isl` and `osl` are None where nobody said; `mixed` is the length of the long prompt.

    Raises ConfigurationError for options that contradict each other, NameUnknown for a profile that is none.
    """
    who = find(profile) if profile else None
    _refuse(
        concurrency=concurrency, people=people, profile=profile, rate=rate, arrivals=arrivals, replay=replay, isl=isl
    )
    kind = _arrivals(arrivals, rate)
    lengths = _lengths(who, isl, osl, mode=mode, shared_prefix=shared_prefix)
    return Load(
        users=_counts(concurrency, people, mixed=mixed, open_loop=kind != "closed"),
        people=people is not None,
        prompts=prompts,
        prompt_tokens=lengths.prompt,
        output_tokens=lengths.output,
        seed=options.a_seed(seed),
        timeout_s=timeout,
        model=model,
        extra=extra,
        mode=mode,
        shared_prefix_tokens=lengths.shared,
        arrivals=kind,
        rate_per_s=rate,
        most_in_flight=most_in_flight,
        think_s=think if think is not None else who.think_s if who and people else 0.0,
        turns=turns,
        replay=_recorded(replay),
        profile=profile,
        limits=options.limits(limits) or _limits(who),
        mixed=MixedLoad(users=MIXED_USERS, prompt_tokens=mixed) if mixed else None,
    )


def _refuse(**asked: Any) -> None:
    """Raise ConfigurationError for the first contradiction."""
    contradictions = (
        (asked["people"] and asked["concurrency"], "--people and --concurrency: which of the two?",
         "--concurrency counts parallel sequences, --people those who read and think between them"),
        (asked["people"] and not asked["profile"], "--people: what do they do?",
         "--profile translate, chat, coding or autocomplete"),
        (asked["rate"] and (asked["concurrency"] or asked["people"]), "--request-rate sends by the clock",
         "leave --concurrency and --people out; --max-concurrency caps what is in flight"),
        (asked["arrivals"] in ("constant", "poisson") and not asked["rate"], "--arrivals: how many a second?",
         "e.g. --request-rate 0.5"),
        (asked["arrivals"] == "replay" and not asked["replay"], "--arrivals replay: of which recording?",
         "--replay FILE.jsonl, with at_s in every line"),
        (asked["replay"] and asked["isl"], "--replay has prompts of its own, and --isl would make others",
         "leave --isl out"),
    )  # fmt: skip
    for wrong, fault, hint in contradictions:
        if wrong:
            raise ConfigurationError(fault, hint=hint)


def _arrivals(asked: Literal["constant", "poisson", "replay"] | None, rate: float | None) -> Arrivals:
    return asked or ("poisson" if rate else "closed")


def _counts(concurrency: str | None, people: str | None, *, mixed: int | None, open_loop: bool) -> tuple[int, ...]:
    if people is not None:
        return options.counts(people, option="--people")
    if concurrency is not None:
        return options.counts(concurrency)
    return () if mixed and not open_loop else DEFAULT_USERS  # a mixed load is an answer of its own


@dataclass(frozen=True, slots=True)
class _Lengths:
    prompt: int
    output: int
    shared: int


def _lengths(
    who: Profile | None, isl: int | None, osl: int | None, *, mode: Mode, shared_prefix: int | None
) -> _Lengths:
    """What was said, else the profile's. A profile's prompt contains the prefix that its people share, which a cold
    load makes anew for each."""
    output = osl or (who.output_tokens if who else OSL)
    if who is None:
        return _Lengths(isl or ISL, output, shared_prefix or 0)
    shared = shared_prefix if shared_prefix is not None else who.shared_prefix_tokens if mode == "warm" else 0
    return _Lengths(isl or max(1, who.prompt_tokens - shared), output, shared)


def _limits(who: Profile | None) -> Limits | None:
    return Limits(ttft_ms=1000 * who.ttft_limit_s, tpot_ms=who.tpot_limit_ms) if who else None


def _recorded(path: Path | None) -> tuple[Replayed, ...]:
    if path is None:
        return ()
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise ConfigurationError(f"--replay {path}: {why}") from None
    return parse_replay(text, source=str(path))
