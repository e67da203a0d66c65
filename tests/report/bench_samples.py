"""Hand-built runs of `bench`: users with limits and telemetry, speed rows, context ceilings, a pair."""

from __future__ import annotations

from dataclasses import replace
from math import sin

from report_samples import CONDITIONS, ENDED, HOSTILE, run, spread

from evener.records.context_limits import Ceiling, ContextLength, ContextResult, DepthScored, Reload, Scored
from evener.records.load import (
    Adjusted,
    CacheUse,
    ClientCost,
    Comfortable,
    Counts,
    InFlight,
    Level,
    Limits,
    LongArrival,
    Mixed,
    Queue,
    Request,
    RequestShare,
    UsersResult,
)
from evener.records.pair import Difference, PairResult, Side
from evener.records.run import Run, Stage, Summary
from evener.records.speed_rows import Repeated, SpeedResult, SpeedRow
from evener.records.telemetry import (
    CardSample,
    CardWatched,
    Drift,
    Energy,
    Extent,
    HostWatched,
    NicSample,
    Sample,
    Telemetry,
)

URL = "http://127.0.0.1:8080"
CLIENT = ClientCost(cpu_s=1.2, added_ttft_ms=0.6, saturated=False, lag_p95_ms=1.0)
LIMITS = Limits(ttft_ms=2000.0, tpot_ms=66.7)


def bench_run(what: str) -> Run:
    return replace(
        run(what=what, plan=None, rig=None, scan=None, conditions=CONDITIONS), id=f"20261101T123000Z-{what}-7f3a"
    )


def crowded(users: int, each: float, total: float, ttft: float, p90: float, met: int, **more: object) -> Level:
    failed = {"kv_exhausted": 3, "timeout": 1} if users == 15 else {}
    n, lost = 40, sum(failed.values())
    made = Level(
        users=users,
        requests=Counts(completed=n - lost, errored=lost, invalid=0, by_class=failed),
        ttft_ms=replace(spread(ttft, (ttft * 0.9, ttft * 1.1), n - lost, "ms", p90=p90), most=p90 * 1.3),
        tpot_ms=spread(1000 / each, None, n, "ms"),
        itl_ms=spread(1000 / each, None, n, "ms"),
        per_user_tokens_per_s=spread(each, (each * 0.97, each * 1.03), n - lost, "tok/s"),
        total_tokens_per_s=total,
        prefill_tokens_per_s=None,
        duration_s=20.0,
        degradation=None if users == 1 else each / 60.0,
        within_limits=RequestShare(met=met, of=n, interval=(0.6, 0.9)),
        adjusted_ttft_ms=Adjusted(n=n, failed=lost, p50=ttft, p90="never" if lost else p90, p95=None, unit="ms"),
        queue=Queue(source="metrics", polls=20, deferred_mean=0.0, deferred_most=max(0, users - 8), busy_slots=1.0),
    )
    return replace(made, **more)  # type: ignore[arg-type]


LEVELS = (
    crowded(1, 60.0, 58.0, 120.0, 160.0, 40),
    crowded(2, 42.0, 80.0, 150.0, 210.0, 40),
    crowded(4, 27.0, 101.0, 240.0, 380.0, 40),
    crowded(8, 17.0, 121.0, 510.0, 900.0, 39),
    crowded(12, 11.0, 124.0, 1400.0, 3900.0, 22),
    crowded(15, 9.1, 118.0, 2900.0, 8200.0, 9),
)
USERS = UsersResult(
    url=URL,
    model="SmolLM2-135M-Instruct",
    prompt_tokens_asked=512,
    output_tokens_asked=128,
    levels=LEVELS,
    client=CLIENT,
    label=URL,
    notes=("the total falls from 12 users on",),
    profile="chat",
    limits=LIMITS,
    comfortable=Comfortable(
        unit="users", limits=LIMITS, target_share=0.9, holds_for=8, unresolved_at=None, requests_needed=None,
        fails_at=12, sentence="Comfortable for 8 users at the limits of chat; not for 12",
    ),
    kv_exhausted_from=15,
)  # fmt: skip
WARM = replace(
    USERS,
    mode="warm",
    shared_prefix_tokens=20_000,
    profile="coding agent",
    people=True,
    think_s=20.0,
    turns=4,
    levels=tuple(
        replace(
            level,
            mode="warm",
            people=level.users,
            in_flight=InFlight(mean=level.users / 3, peak=level.users),
            cache=CacheUse(
                hits=36, of=40, cached_tokens=720_000, prompt_tokens=820_000,
                ttft_hit_ms=spread(180.0, (160.0, 200.0), 36, "ms"), ttft_miss_ms=spread(9100.0, None, 4, "ms"),
            ),
        )
        for level in LEVELS[:4]
    ),
    mixed=Mixed(
        users=7,
        prompt_tokens_asked=30_000,
        arrivals=(
            LongArrival(ttft_ms=14_200.0, worst_stall_ms=1900.0, usual_gap_ms=58.0, prompt_tokens=29_998),
            LongArrival(ttft_ms=None, worst_stall_ms=2100.0, usual_gap_ms=60.0, prompt_tokens=None, failure="timeout"),
        ),
        worst_stall_ms=spread(2000.0, None, 2, "ms"),
        usual_gap_ms=spread(59.0, None, 2, "ms"),
        ttft_ms=spread(14_200.0, None, 1, "ms"),
    ),
)  # fmt: skip
TELEMETRY = Telemetry(
    from_s=0.0,
    to_s=126.0,
    every_s=1.0,
    ambient_c=35.0,
    hosts=(
        HostWatched(
            host="alpha",
            samples=126,
            cards=(
                CardWatched(
                    host="alpha", card="GPU-1", name="RTX 5090",
                    utilisation_percent=Extent(least=5, mean=84, most=99, n=126),
                    temperature_c=Extent(least=41, mean=66.2, most=79, n=126),
                    power_w=Extent(least=60, mean=380, most=575, n=126),
                    clock_mhz=Extent(least=1800, mean=2610, most=2850, n=126), memory_peak_bytes=28 << 30,
                    power_limit_asked_w=600.0, power_limit_effective_w=575.0, slowed={"power": 0.31}, energy_j=47_880.0,
                    covered_s=126.0,
                ),
                CardWatched(host="alpha", card="GPU-2", name="RTX 5060 Ti"),
            ),
            unknown=("RTX 5060 Ti: its driver hides the power",),
        ),
    ),
    energy=Energy(
        joules=47_880.0, cards=("alpha / RTX 5090",), without=("alpha / RTX 5060 Ti",), tokens=12_000.0,
        joules_per_1000_tokens=3990.0, cost_per_1000_tokens=0.000388, currency="EUR",
    ),
)  # fmt: skip
DRIFT = Drift(
    curve=tuple((30.0 + 60 * i, 120.0 - i * 0.8 + 2 * sin(i)) for i in range(30)),
    window_s=60.0,
    verdict="fell",
    sentence="The last third is 13 % slower than the first (95 % 9 to 17 %), while RTX 5090 went from 66 to 83 °C.",
    first_tokens_per_s=116.0,
    last_tokens_per_s=101.0,
    change_percent=-13.0,
    interval_percent=(-17.0, -9.0),
)


def requests(levels: tuple[Level, ...] = LEVELS, each_s: float = 20.0) -> tuple[Request, ...]:
    """One steady stream per user: tokens at the rate of the level."""
    found, start = [], 1.0
    for level in levels:
        rate = level.per_user_tokens_per_s.p50 or 1.0
        for user in range(level.users):
            times = tuple((0.1 + i / rate, 1.0) for i in range(int((each_s - 0.2) * rate)))
            found.append(
                Request(
                    id=len(found), layout=URL, users=level.users, user=user, sent_s=start, ttft_s=0.1,
                    last_token_s=times[-1][0], end_s=times[-1][0], tokens=len(times), token_times=times,
                )
            )  # fmt: skip
        start += each_s + 1.0
    return tuple(found)


def samples(seconds: int = 126) -> tuple[Sample, ...]:
    """Two cards that warm up and a cable, once a second; the second card falls silent for a while."""
    found = []
    for at in range(seconds):
        warm = 45 + 35 * (1 - 0.97**at)
        cards = (
            CardSample(
                card="GPU-1", name="RTX 5090", utilisation_percent=90 + 8 * sin(at), power_w=380 + 40 * sin(at / 9),
                temperature_c=warm,
            ),
            CardSample(card="GPU-2", name="RTX 5060 Ti", utilisation_percent=70.0, temperature_c=warm - 9),
        )  # fmt: skip
        nics = (
            NicSample(name="enp4s0", rx_bytes=0, tx_bytes=0, rx_bytes_per_s=9e6, tx_bytes_per_s=7e6, link="5gbe"),
            NicSample(name="wlan0", rx_bytes=0, tx_bytes=0, rx_bytes_per_s=300.0, tx_bytes_per_s=0.0),
        )
        shown = cards if not 40 < at < 60 else cards[:1]
        found.append(Sample(at_s=float(at), host="alpha", cards=shown, nics=nics))
    return tuple(found)


def repeated(mean: float, sd: float | None, n: int = 5, unit: str = "tok/s") -> Repeated:
    return Repeated(n=n, mean=mean, sd=sd, unit=unit)


SPEED = SpeedResult(
    url=URL,
    model="SmolLM2-135M-Instruct",
    repetitions=5,
    rows=(
        SpeedRow(
            test="pp512", prompt_tokens=512, output_tokens=0, depth=0, client=repeated(491.2, 3.1),
            server=repeated(497.9, 2.8), llama_bench=repeated(503.4, 2.2), ttft_ms=repeated(1042.0, 6.0, unit="ms"),
        ),
        SpeedRow(
            test="tg128", prompt_tokens=0, output_tokens=128, depth=0, client=repeated(56.21, 0.31),
            server=repeated(56.4, 0.3), llama_bench=repeated(57.02, 0.12),
        ),
        SpeedRow(
            test="pp512 @ d4096", prompt_tokens=512, output_tokens=0, depth=4096, client=repeated(211.0, None, n=1),
            server=None, by_class={"timeout": 4}, excluded=2, note="4 of 5 repetitions failed",
        ),
    ),
    rtt_ms=0.4,
    gaps="The client is 1.3 % below the server: templates and the way there and back; llama-bench has no sampling.",
    client=CLIENT,
    label=URL,
    llama_bench_argv=("llama-bench", "-m", "/models/a.gguf", "-p", "512", "-n", "128"),
)  # fmt: skip


def scored(right: int, n: int, interval: tuple[float, float] | None = (0.2, 0.9)) -> Scored:
    return Scored(n=n, right=right, interval=interval if n else None)


def length(tokens: int, right: tuple[int, ...], together: int) -> ContextLength:
    depths = (0.0, 0.25, 0.5, 0.75, 1.0)
    return ContextLength(
        tokens=tokens,
        prompt_tokens=(tokens, tokens),
        needles=scored(sum(right), 20),
        depths=tuple(DepthScored(depth=d, scored=scored(r, 4)) for d, r in zip(depths, right, strict=True)),
        reasoning=scored(together, 6),
        ttft_ms=repeated(tokens * 2.1, 40.0, unit="ms"),
        prefill_tokens_per_s=repeated(490.0, 8.0),
        decode_tokens_per_s=repeated(55.0 - tokens / 1000, 0.4),
    )


CONTEXT = ContextResult(
    url=URL,
    model="SmolLM2-135M-Instruct",
    allocation="4 slots, 8192 tokens each, KV f16, on alpha/CPU0",
    ceilings=(
        Ceiling(name="trained", tokens=8192, why="the model's header"),
        Ceiling(name="configured", tokens=8192, why="/props"),
        Ceiling(name="memory", tokens=None, why="not asked: --reload finds it"),
        Ceiling(name="quality", tokens=2048, why="at 4096 fewer than 80 % of needles were found", at_least=False),
    ),
    binding="quality",
    sentence="Answers hold up to 2048 tokens; quality binds, under this allocation",
    lengths=(
        length(512, (4, 4, 4, 4, 4), 5),
        length(2048, (4, 3, 4, 4, 4), 3),
        length(4096, (3, 1, 0, 1, 4), 0),
        replace(length(8192, (0, 0, 0, 0, 2), 0), truncated=True, by_class={"context_exceeded": 1}),
    ),
    client=CLIENT,
    reloads=(Reload(context=8192, held=True, load_s=1.9), Reload(context=32768, held=False, why="alpha/CPU0 is full")),
    label=URL,
)  # fmt: skip

PAIR = PairResult(
    a=Side(name="A", label="alpha alone", url=URL, model="SmolLM2-135M-Instruct"),
    b=Side(name="B", label="alpha + beta", url="http://127.0.0.1:8081", model="SmolLM2-135M-Instruct"),
    outcome="B is slower",
    sentence="alpha + beta is 42 % slower than alpha alone",
    basis="8 pairs of 6 requests each, 95 % 40 to 44 %, margin 3 %",
    verdict_metric="per_user_tokens_per_s",
    verdict_users=1,
    margin=0.03,
    pairs_asked=8,
    requests_each=6,
    differences=(
        Difference(
            metric="per_user_tokens_per_s", users=1, a=60.1, b=34.8, change=-0.42, interval=(-0.44, -0.40),
            outcome="B is slower", pairs=tuple((60.0, 34.8 + i / 10) for i in range(8)),
        ),
        Difference(
            metric="ttft_ms", users=1, a=120.0, b=121.0, change=0.008, interval=None,
            outcome="unknown", pairs=tuple((120.0, 118.0 + i) for i in range(5)),
        ),
    ),
    differing=("layers_per_device", "device_order"),
    unknown=("drivers",),
)  # fmt: skip


def summary_of(*stages: Stage, pair: PairResult | None = None, partial: str | None = None) -> Summary:
    return Summary(ended_at=ENDED, stages=stages, pair=pair, partial=partial)


WATCHED = Stage(layout=URL, users=USERS, telemetry=TELEMETRY, drift=DRIFT)
BENCH: dict[str, tuple[Run, Summary | None, tuple[Request, ...], tuple[Sample, ...]]] = {
    "users": (bench_run("users"), summary_of(WATCHED), requests(), samples()),
    "warm": (bench_run("users"), summary_of(Stage(layout=URL, users=WARM)), (), ()),
    "speed": (bench_run("speed"), summary_of(Stage(layout=URL, speed=SPEED)), (), ()),
    "context": (bench_run("context"), summary_of(Stage(layout=URL, context=CONTEXT)), (), ()),
    "pair": (bench_run("pair"), summary_of(pair=PAIR), (), ()),
    "unfinished": (bench_run("users"), None, requests(LEVELS[:3]), samples(40)),
}  # fmt: skip


def hostile_bench() -> Summary:
    """Every text that a server or a stranger can choose is markup, or steers a spreadsheet."""
    users = replace(USERS, model=HOSTILE, label=HOSTILE, url=HOSTILE, profile=HOSTILE, notes=(HOSTILE,))
    row = replace(SPEED.rows[0], test=HOSTILE, note=HOSTILE, by_class={HOSTILE: 1})
    speed = replace(SPEED, rows=(row,), gaps=HOSTILE, llama_bench_argv=(HOSTILE,))
    ceilings = tuple(replace(c, why=HOSTILE) for c in CONTEXT.ceilings)
    context = replace(CONTEXT, allocation=HOSTILE, sentence=HOSTILE, ceilings=ceilings)
    pair = replace(
        PAIR, a=Side(name="A", label=HOSTILE, url=HOSTILE, model=HOSTILE), sentence=HOSTILE, basis=HOSTILE,
        differing=(HOSTILE,), unknown=(HOSTILE,),
    )  # fmt: skip
    return summary_of(Stage(layout=HOSTILE, users=users, speed=speed, context=context), pair=pair, partial=HOSTILE)
