"""`evener bench`: its commands."""

from __future__ import annotations

import typer

from evener.cli import bench_context, bench_pair, bench_self_test, bench_speed, bench_users

app = typer.Typer(no_args_is_help=True, help="Measure a running server: ours or any OpenAI-compatible URL.")
app.command()(bench_users.users)
app.command()(bench_speed.speed)
app.command()(bench_context.context)
app.command()(bench_pair.pair)
app.command()(bench_self_test.self_test)
