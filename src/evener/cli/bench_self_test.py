"""`evener bench self-test`: what measuring itself adds on this machine."""

from __future__ import annotations

from typing import Annotated

import typer


def self_test(
    concurrency: Annotated[str, typer.Option("--concurrency", "-c", help="User counts to check.")] = "1,16,64",
    fresh: Annotated[bool, typer.Option(help="Measure again what is kept for this machine.")] = False,
    json_output: Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")] = False,
) -> None:
    """What this client adds to the times it reports, against a bundled server whose token times are known."""
    from evener.api.self_test import self_test as check
    from evener.cli import bench_options, bench_self_test_view
    from evener.cli.console import progress_bar, run_async

    counts = bench_options.counts(concurrency)
    with progress_bar(quiet=json_output) as report:
        checks = [run_async(check(users, fresh=fresh, report=report)) for users in counts]
    bench_self_test_view.show(checks, as_json=json_output)
    bench_self_test_view.raise_unless_valid(checks)
