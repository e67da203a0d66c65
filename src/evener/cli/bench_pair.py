"""`evener bench pair`: two servers or two layouts, measured in turns."""

from __future__ import annotations

from contextlib import AbstractContextManager
from types import TracebackType
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from evener.cli import bench_options as options
from evener.cli.bench_options import ApiKey, ApiKeyEnv, BenchJson, ExtraBody, Isl, Osl, Save, Seed, Timeout
from evener.cli.console import err, out, run_async, show_json
from evener.errors import ConfigurationError, Interrupted, ResultInvalid

if TYPE_CHECKING:
    from evener.api.bench_pair import Load, Paired, Wanted
    from evener.bench.pair import Visit
    from evener.edges.control import Message
    from evener.records.events import Progress
    from evener.records.load import UsersResult

RIG = "Layouts of your own rig"


def pair(
    sides: Annotated[
        list[str],
        typer.Argument(
            metavar="A [B]", help="Two URLs or running deployments. With --layout, --link or --rig: one model, or two."
        ),
    ],
    layout: Annotated[
        list[str] | None,
        typer.Option(rich_help_panel=RIG, help="Twice for two layouts: --layout alpha --layout cluster."),
    ] = None,
    link: Annotated[
        list[str] | None, typer.Option(rich_help_panel=RIG, help="Twice for two cables between the same hosts.")
    ] = None,
    rig: Annotated[
        str | None, typer.Option(rich_help_panel=RIG, help="The rig file. Default: $EVENER_RIG, ./rig.toml.")
    ] = None,
    context: Annotated[
        int | None, typer.Option(min=256, rich_help_panel=RIG, help="Tokens per user. Default: what the lengths need.")
    ] = None,
    kv: Annotated[str, typer.Option(rich_help_panel=RIG, help="Cache type: f16, q8_0, ..., or K/V apart.")] = "f16",
    concurrency: Annotated[
        str, typer.Option("--concurrency", "-c", help="User counts; the verdict is about the first.")
    ] = "1",
    pairs: Annotated[int, typer.Option(min=1, help="Pairs of visits. Fewer than 6 separate nothing.")] = 8,
    margin: Annotated[float, typer.Option(min=0, max=50, help="Percent of change that do not matter.")] = 2.0,
    num_prompts: Annotated[
        int | None, typer.Option(help="Measured requests of each visit. Default: three per user, at least six.")
    ] = None,
    isl: Isl = 128,
    osl: Osl = 64,
    seed: Seed = None,
    timeout: Timeout = 600.0,
    no_telemetry: Annotated[
        bool, typer.Option("--no-telemetry", help="Watch no hosts, and wait for no card to cool down between visits.")
    ] = False,
    api_key_env: ApiKeyEnv = None,
    api_key: ApiKey = None,
    extra_body: ExtraBody = None,
    save: Save = True,
    as_json: BenchJson = False,
) -> None:
    """Measure two in turns, A B B A, with the same prompts, and say in one sentence whether they differ.

    Two servers that run: evener bench pair http://10.0.0.2:8080 http://10.0.0.3:8080

    One machine against two: evener bench pair MODEL --layout alpha --layout cluster

    Two cables: evener bench pair MODEL --layout cluster --link 5gbe --link tb5

    Two quantisations: evener bench pair MODEL-Q8.gguf MODEL-Q4.gguf --layout cluster
    """
    from evener.api import bench_pair as api

    options.refuse_key(api_key)
    load = api.Load(
        users=options.counts(concurrency),
        prompts=num_prompts,
        prompt_tokens=isl,
        output_tokens=osl,
        seed=options.a_seed(seed),
        timeout_s=timeout,
        extra=options.json_object(extra_body, option="--extra-body"),
    )
    asked: dict[str, Any] = {"pairs": pairs, "margin": margin / 100, "watch": not no_telemetry}
    with PairLive(quiet=as_json) as live:
        if layout or link or rig:
            if not save:
                raise ConfigurationError("--no-save: what is brought up on a rig is always kept")
            wanted = read_sides(sides, layout or ["auto"], link or [], load=load, context=context, kv=kv)
            paired = run_async(_layouts(rig, wanted, load, live, **asked))
        else:
            if len(sides) != 2:
                raise ConfigurationError(
                    f"{len(sides)} server{' is' if len(sides) == 1 else 's are'} named, a pair has two",
                    hint="two URLs or deployments; or one model with --layout alpha --layout cluster",
                )
            paired = run_async(
                api.servers(
                    (sides[0], sides[1]), load, api_key_env=api_key_env, save=save,
                    report=live.report, on_visit=live.visited, **asked,
                )
            )  # fmt: skip
    show(paired, as_json=as_json)


async def _layouts(rig: str | None, wanted: tuple[Wanted, Wanted], load: Load, live: PairLive, **asked: Any) -> Paired:
    from evener.api import bench_pair as api
    from evener.api.rig import Rig

    return await api.layouts(Rig.open(rig), wanted, load, on_message=live.message, **asked)


def read_sides(
    models: list[str], layouts: list[str], links: list[str], *, load: Load, context: int | None, kv: str
) -> tuple[Wanted, Wanted]:
    """What is named once holds for both sides, what is named twice is one for each. Raises ConfigurationError."""
    from evener.api.bench_pair import Asked, Wanted

    for option, words in (("models", models), ("--layout", layouts), ("--link", links)):
        if len(words) > 2:
            raise ConfigurationError(f"{option}: {len(words)} are named, a pair has two sides")

    def of(words: list[str], side: int) -> str | None:
        return words[side % len(words)] if words else None

    longest = load.prompt_tokens + load.output_tokens
    room = context or max(256, -(-(longest + 64) // 256) * 256)  # a chat template's own tokens, and whole steps
    users = max(load.users)
    both = [
        Wanted(
            model=str(of(models, side)),
            asked=Asked(users=users, context=room, kv=kv, layout=str(of(layouts, side)), link=of(links, side)),
        )
        for side in (0, 1)
    ]
    return both[0], both[1]


def show(paired: Paired, *, as_json: bool) -> None:
    """The answer; then the exit code 4 of one that is partial or must not be used."""
    from evener.codec import to_data
    from evener.report.pair_view import pair_view

    result, path = paired.result, paired.path
    if as_json:
        show_json(to_data(result) | {"run": None if path is None else str(path)})
    else:
        out.print(pair_view(result))
        if path is not None:
            out.print(f"run: {escape(str(path))}", soft_wrap=True)
    kept = f"what was measured is kept: {path}" if path else None
    if result.partial:
        kind = Interrupted if result.partial == "interrupted" else ResultInvalid
        raise kind(f"incomplete: {result.partial}", hint=kept)
    if result.validity != "valid":
        raise ResultInvalid(f"these figures must not be used: {result.validity}", hint=kept)


class PairLive(AbstractContextManager["PairLive"]):
    """A line per visit as it ends, and one moving line of progress; both on standard error."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._warned: set[str] = set()
        self._status = err.status("starting")

    def __enter__(self) -> PairLive:
        if not self._quiet:
            self._status.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._status.stop()

    def report(self, progress: Progress) -> None:
        done = f" {progress.done:.0f} of {progress.of:.0f}" if progress.of else ""
        self._status.update(f"{escape(progress.what)}{done} [dim]{escape(progress.detail or '')}[/]")

    def visited(self, visit: Visit, users: UsersResult) -> None:
        self._line(visit.pair + 1, visit.side, users)

    def message(self, message: Message) -> None:
        """What a supervisor says."""
        from evener.codec import from_data
        from evener.records.events import Progress
        from evener.records.load import UsersResult

        if "progress" in message:
            self.report(from_data(Progress, message["progress"], source="the supervisor"))
        elif "fact" in message:
            kind, data = message["fact"]["kind"], message["fact"]["data"]
            if kind == "visited":
                users = from_data(UsersResult, data["users"], source="the supervisor")
                self._line(data["pair"], data["side"], users)
            elif kind == "ready" and not self._quiet:
                err.print(f"[dim]loaded in {data['load_s']:.1f} s[/]")
            elif kind == "caution" and not self._quiet and data["text"] not in self._warned:
                self._warned.add(data["text"])  # each load says it again
                err.print(f"[yellow]![/] {escape(data['text'])}", soft_wrap=True)

    def _line(self, number: int, side: str, users: UsersResult) -> None:
        if self._quiet:
            return
        from evener.report.words import number as figure

        each = ", ".join(
            f"{level.users}: {figure(level.per_user_tokens_per_s.p50)} tok/s each, TTFT {figure(level.ttft_ms.p50)} ms"
            for level in users.levels
        )
        err.print(f"pair {number} {side}  users {each}", soft_wrap=True)
