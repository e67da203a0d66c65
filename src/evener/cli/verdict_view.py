"""What `evener verdict` shows: who is ahead by how much, and what that proves."""

from __future__ import annotations

from rich.markup import escape
from rich.table import Table

from evener.cli.console import out, show_json
from evener.codec import to_data
from evener.records.verdicts import CanaryVerdict, DimensionVerdict, PairVerdict, Verdicts

UNKNOWN = "-"
CANARY = {
    "same": "answer alike",
    "within tolerance": "answer alike but for rounding",
    "differs": "do not answer alike: look at it before anything is ranked",
    "unknown": "cannot be compared",
}
STRIP = 30
SHOWN_QUESTIONS = 6


def show(found: Verdicts, *, as_json: bool) -> None:
    if as_json:
        show_json(to_data(found))
        return
    if found.differing:
        out.print(f"[bold red]not asked alike[/]: {escape(', '.join(found.differing))} differ")
    for one in (*found.dimensions, *found.arms):
        _dimension(one)
    for pair in found.canaries:
        out.print(f"\n[bold]canary[/]: {escape(canary_line(pair))}", soft_wrap=True)
    for note in found.notes:
        out.print(escape(note), soft_wrap=True)


def _dimension(one: DimensionVerdict) -> None:
    out.print(f"\n[bold]{escape(one.dimension)}[/]: {escape(one.sentence)}", soft_wrap=True)
    out.print(standings(one))
    if one.pairs:
        out.print(pairs(one))
    for line in remarks(one):
        out.print(escape(line), soft_wrap=True)


def standings(one: DimensionVerdict) -> Table:
    """Means with their intervals as a strip from 0 to 100; dropped candidates are dim."""
    shown = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 1, 0, 0))
    shown.add_column("candidate", overflow="fold")
    for name in ("score", "95 %", "n"):
        shown.add_column(name, justify="right", no_wrap=True)
    shown.add_column("0" + " " * (STRIP - 4) + "100", no_wrap=True)
    for standing in one.standings:
        interval = standing.interval
        shown.add_row(
            escape(standing.candidate),
            UNKNOWN if standing.mean is None else f"{standing.mean * 100:.1f}",
            UNKNOWN if interval is None else f"{interval[0] * 100:.0f}-{interval[1] * 100:.0f}",
            str(standing.n),
            strip(standing.mean, interval),
            style="dim" if standing.candidate in one.dropped else None,
        )
    return shown


def strip(mean: float | None, interval: tuple[float, float] | None) -> str:
    """An interval as a line and its mean as a dot, on a scale of 0 to 1."""
    if mean is None:
        return ""
    low, high = interval or (mean, mean)
    first, last, dot = (min(STRIP - 1, max(0, round(x * (STRIP - 1)))) for x in (low, high, mean))
    return "".join("●" if i == dot else "─" if first <= i <= last else " " for i in range(STRIP))


def pairs(one: DimensionVerdict) -> Table:
    shown = Table(box=None, header_style="dim", pad_edge=False, padding=(0, 1, 0, 0))
    shown.add_column("pair", overflow="fold")
    for name in ("gap", "95 %", "won-lost", "p (Holm)"):
        shown.add_column(name, justify="right", no_wrap=True)
    shown.add_column("verdict", overflow="fold")
    for pair in one.pairs:
        shown.add_row(escape(f"{pair.first} / {pair.second}"), *_figures(pair), escape(_word(pair)))
    return shown


def remarks(one: DimensionVerdict) -> list[str]:
    lines = [one.design]
    if one.fragile and one.fragile.flips:
        some = ", ".join(one.fragile.questions[:SHOWN_QUESTIONS])
        more = ", ..." if len(one.fragile.questions) > SHOWN_QUESTIONS else ""
        lines.append(
            f"{one.fragile.flips} of {one.fragile.of} scores would bring {one.fragile.second} level with "
            f"{one.fragile.first}: {some}{more}"
        )
    if one.noise is not None:
        lines.append(f"noise floor: {one.noise * 100:.1f} points between a candidate and itself")
    if one.policy == "counted wrong":
        lines.append("answers that are no evidence are counted as wrong")
    return lines


def canary_line(pair: CanaryVerdict) -> str:
    return f"{pair.first} and {pair.second} {CANARY[pair.word]}. {pair.sentence}"


def _figures(pair: PairVerdict) -> tuple[str, ...]:
    interval = pair.interval
    return (
        UNKNOWN if pair.gap is None else f"{pair.gap * 100:+.1f}",
        UNKNOWN if interval is None else f"{interval[0] * 100:+.0f} to {interval[1] * 100:+.0f}",
        f"{pair.wins}-{pair.losses}",
        UNKNOWN if pair.p_holm is None else f"{pair.p_holm:.3f}",
    )


def _word(pair: PairVerdict) -> str:
    if pair.flips_with_policy:
        return f"{pair.word}: it hangs on what becomes of failed answers"
    if pair.word == "cannot be separated" and pair.needed:
        return f"{pair.word}; {pair.needed} questions would"
    return pair.word
