"""A supervisor's messages as they come: one moving line of progress, tables for the facts that matter."""

from __future__ import annotations

import json
import sys
from contextlib import AbstractContextManager
from types import TracebackType
from typing import TYPE_CHECKING, Any

from rich.markup import escape

from evener.cli.console import err, out
from evener.codec import from_data
from evener.records.load import UsersResult
from evener.records.verification import CardCheck, FreedCheck

if TYPE_CHECKING:
    from evener.edges.control import Message

FROM = "the supervisor"


class LiveView(AbstractContextManager["LiveView"]):
    """Shows messages. With `as_json`, every message but progress is a JSON line on standard output.

    `silent` shows nothing: nobody watches a detached supervisor here.
    """

    def __init__(self, *, as_json: bool = False, silent: bool = False) -> None:
        self._as_json = as_json
        self._silent = silent
        self._status = err.status("starting")
        self.checks_fine = True

    def __enter__(self) -> LiveView:
        if not (self._as_json or self._silent):
            self._status.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._status.stop()

    def show(self, message: Message) -> None:
        if self._silent:
            return
        if self._as_json:
            if "progress" not in message:
                sys.stdout.write(json.dumps(message, ensure_ascii=False) + "\n")
                sys.stdout.flush()
        elif "progress" in message:
            self._status.update(_progress(message["progress"]))
        elif "fact" in message:
            self._fact(message["fact"]["kind"], message["fact"]["data"])

    def _fact(self, kind: str, data: dict[str, Any]) -> None:
        from evener.report import terminal

        if kind == "layout":
            out.print(f"\n[bold]{escape(data['name'])}[/]")
        elif kind == "caution":
            out.print(f"[yellow]![/] {escape(data['text'])}", soft_wrap=True)
        elif kind == "ready":
            out.print(f"  loaded in {data['load_s']:.1f} s, listening on {escape(data['url'])}")
        elif kind == "verified":
            checks = from_data(tuple[CardCheck, ...], data["checks"], source=FROM)
            self.checks_fine = all(c.verdict in ("as planned", "unknown") for c in checks)
            out.print(terminal.checks_table(checks))
        elif kind == "measured":
            out.print(terminal.users_table(from_data(UsersResult, data["users"], source=FROM)))
        elif kind == "freed":
            out.print(terminal.freed_table(from_data(tuple[FreedCheck, ...], data["checks"], source=FROM)))
        elif kind == "compared":
            out.print(f"{escape(data['sentence'])} [dim]({escape(data['basis'])})[/]", soft_wrap=True)
        elif kind == "ready behind the door":
            name, hung_s = escape(data["name"]), data["hung_after_s"]
            out.print(f"[bold green]{name}[/] serves; when it is busy and nothing moves for {hung_s:.0f} s it is dead")
        elif kind == "death behind the door":
            out.print(f"[bold red]{escape(data['name'])}[/] died: {escape(data['why'])}", soft_wrap=True)
            out.print(f"  what is known of it: {escape(data['bundle'] or 'nothing could be written')}", soft_wrap=True)
        elif kind == "elsewhere":
            told = f"without {data['without']}, which died again and again: {data['layout']}"
            out.print(f"[yellow]{escape(data['name'])}[/] {escape(told)}", soft_wrap=True)
        elif kind == "serving":
            out.print(f"[bold green]serving[/] {escape(data['url'])}/v1  (OpenAI-compatible)")


def _progress(progress: dict[str, Any]) -> str:
    done = f" {progress['done']:.0f} of {progress['of']:.0f}" if progress.get("of") else ""
    detail = f" [dim]{escape(progress['detail'])}[/]" if progress.get("detail") else ""
    return f"{escape(progress['what'])}{done}{detail}"
