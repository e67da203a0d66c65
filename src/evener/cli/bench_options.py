"""Options that the `bench` commands share, named as other clients name them, and how their words are read."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evener.errors import ConfigurationError

if TYPE_CHECKING:
    from evener.api.bench_eyes import Eyes
    from evener.records.load import Limits

LOAD, SERVER, KEPT = "Load", "Server", "What is kept and shown"
RUN = "How long, and under which eyes"
UNITS_S = {"s": 1.0, "m": 60.0, "h": 3600.0, "": 1.0}
GOODPUT = re.compile(r"(ttft|tpot|itl|e2el):(\d+(?:\.\d+)?)")

Isl = Annotated[
    int, typer.Option("--isl", "--input-len", rich_help_panel=LOAD, help="Prompt tokens per request, exactly.")
]
Osl = Annotated[
    int, typer.Option("--osl", "--output-len", rich_help_panel=LOAD, help="Answer tokens per request, exactly.")
]
Seed = Annotated[
    int | None,
    typer.Option(rich_help_panel=LOAD, help="Makes prompts, pauses and arrivals. Default: another each time."),
]
Timeout = Annotated[float, typer.Option(rich_help_panel=LOAD, help="Seconds that one request may take.")]
BaseUrl = Annotated[str | None, typer.Option(metavar="URL", rich_help_panel=SERVER, help="The same as the argument.")]
Model = Annotated[
    str | None, typer.Option(rich_help_panel=SERVER, help="Model name to ask for. Default: the first one served.")
]
ApiKeyEnv = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", rich_help_panel=SERVER, help="Variable that holds the API key. Default: EVENER_API_KEY, if set."
    ),
]
ApiKey = Annotated[str | None, typer.Option(hidden=True, help="Refused: it would stay in the shell's history.")]
ExtraBody = Annotated[
    str | None, typer.Option(metavar="JSON", rich_help_panel=SERVER, help="Laid over each request's body.")
]
Save = Annotated[
    bool,
    typer.Option(
        "--save/--no-save", "--save-result", rich_help_panel=KEPT, help="Write a run folder; --save-result is the same."
    ),
]
BenchJson = Annotated[
    bool, typer.Option("--json", rich_help_panel=KEPT, help="One JSON document on standard output, with stable keys.")
]

Ambient = Annotated[
    float | None,
    typer.Option("--ambient", metavar="°C", rich_help_panel=RUN, help="How warm the room is: a condition."),
]
NoTelemetry = Annotated[
    bool, typer.Option("--no-telemetry", rich_help_panel=RUN, help="Do not watch cards, processors and cables.")
]
NoSelfTest = Annotated[
    bool, typer.Option("--no-self-test", rich_help_panel=RUN, help="Do not measure what this client itself adds.")
]


def eyes(*, ambient: float | None, no_telemetry: bool, no_self_test: bool) -> Eyes:
    from evener.api.bench_eyes import Eyes

    return Eyes(watch=not no_telemetry, check_client=not no_self_test, ambient_c=ambient)


def counts(text: str, *, option: str = "--concurrency") -> tuple[int, ...]:
    """ "1,2,4" to counts. Raises ConfigurationError."""
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise ConfigurationError(f"{text!r} are no user counts", hint=f"e.g. {option} 1,2,4") from None


def json_object(text: str | None, *, option: str) -> dict[str, Any]:
    """A JSON object for request bodies, given as an option; empty for None. Raises ConfigurationError."""
    try:
        data = json.loads(text) if text else {}
    except ValueError as error:
        raise ConfigurationError(f"{option}: {error}") from None
    if not isinstance(data, dict):
        raise ConfigurationError(f"{option} is no JSON object", hint="""e.g. '{"reasoning_effort": "none"}'""")
    if ours := [name for name in ("stream", "messages") if name in data]:
        raise ConfigurationError(f"{option} decides {ours[0]!r}, which the measurement depends on")
    return data


def seconds(text: str, *, option: str) -> float:
    """ "90", "90s", "30m", "1.5h" to seconds. Raises ConfigurationError."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smh]?)", text.strip())
    if found is None or float(found[1]) == 0:
        raise ConfigurationError(f"{option} {text}: no length of time", hint=f"e.g. {option} 30m, 90s, 1.5h")
    return float(found[1]) * UNITS_S[found[2]]


def limits(words: list[str]) -> Limits | None:
    """ "ttft:2000 tpot:100" to limits in milliseconds; None for nothing. Raises ConfigurationError."""
    from evener.records.load import Limits

    found: dict[str, float] = {}
    for word in (part for text in words for part in re.split(r"[\s,]+", text) if part):
        match = GOODPUT.fullmatch(word)
        if match is None or match[1] not in ("ttft", "tpot"):
            raise ConfigurationError(
                f"--goodput {word}: no limit that is known here", hint="milliseconds, e.g. --goodput ttft:2000 tpot:100"
            )
        if match[1] in found:
            raise ConfigurationError(f"--goodput names {match[1]} twice")
        found[match[1]] = float(match[2])
    return Limits(ttft_ms=found.get("ttft"), tpot_ms=found.get("tpot")) if found else None


def refuse_key(key: str | None) -> None:
    """A key in the command line is seen by every program here and stays in the shell's history."""
    if key is not None:
        raise ConfigurationError(
            "--api-key: a key on the command line stays in the shell's history and in the list of processes",
            hint="export EVENER_API_KEY=..., or put it in any variable and name that: --api-key-env NAME",
        )


def a_seed(seed: int | None) -> int:
    """The seed that was asked for, else one by chance; it is recorded with the run."""
    import secrets

    return secrets.randbelow(1 << 31) if seed is None else seed


def where(words: list[str], base_url: str | None) -> str | None:
    """The one target among the arguments and --base-url. Raises ConfigurationError for several."""
    named = [*words, *([base_url] if base_url else [])]
    if len(named) > 1:
        raise ConfigurationError(
            f"several servers are named: {', '.join(named)}", hint="one at a time; two: bench pair"
        )
    return named[0] if named else None
