"""`evener ui`: the local page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.markup import escape

from evener.cli.console import out, run_async
from evener.cli.options import RigFile

BEYOND = "Beyond this machine"


def ui(
    rig: RigFile = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 for any that is free.")] = 8190,
    lang: Annotated[
        Literal["en", "zh"] | None, typer.Option(help="For everybody; default: each browser's own.")
    ] = None,
    no_open: Annotated[bool, typer.Option("--no-open", help="Open no browser.")] = False,
    host: Annotated[
        str, typer.Option(rich_help_panel=BEYOND, help="Another address of this machine; then a token is asked for.")
    ] = "127.0.0.1",
    name: Annotated[
        list[str] | None, typer.Option(rich_help_panel=BEYOND, help="By which browsers may call it, as in a proxy.")
    ] = None,
    tls_cert: Annotated[Path | None, typer.Option(rich_help_panel=BEYOND, help="The certificate, for https.")] = None,
    tls_key: Annotated[Path | None, typer.Option(rich_help_panel=BEYOND, help="Its key.")] = None,
    in_the_clear: Annotated[
        bool, typer.Option("--in-the-clear", rich_help_panel=BEYOND, help="Without https, on a network of your own.")
    ] = False,
) -> None:
    """Open a page in the browser: the rig as a picture, what if, runs as they happen, reports, review.

    It is reached from this machine alone unless --host says otherwise, and needs no network. Ctrl-C closes it.
    """
    from evener.errors import ConfigurationError
    from evener.web.serve import Place, serve

    if (tls_cert is None) != (tls_key is None):
        raise ConfigurationError("--tls-cert and --tls-key belong together")
    tls = (tls_cert, tls_key) if tls_cert and tls_key else None
    place = Place(host=host, port=port, tls=tls, open_in_clear=in_the_clear, names=tuple(name or ()))

    def opened(url: str, token: str | None) -> None:
        out.print(f"[bold]{escape(url)}[/]  Ctrl-C closes it", soft_wrap=True)
        if token:
            out.print(f"token: {escape(token)}", soft_wrap=True, highlight=False)
        if not no_open and token is None:
            import webbrowser

            webbrowser.open(url)

    run_async(serve(rig, place, language=lang, on_open=opened))
