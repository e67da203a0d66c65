"""How well answers hold by length and place of the prompt, as a strip of shades. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from evener.records.context_limits import ContextLength, Scored


@dataclass(frozen=True, slots=True, kw_only=True)
class HeatCell:
    """`share` of right answers, None where none was counted: such a cell has no shade."""

    share: float | None
    scored: Scored | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Heat:
    """One row per place in the prompt, from its beginning to its end, then the questions that need several places."""

    tokens: tuple[int, ...]  # columns
    rows: tuple[tuple[str, tuple[HeatCell, ...]], ...]


def heat(lengths: Sequence[ContextLength]) -> Heat:
    """The strip of these lengths, the shortest first."""
    ordered = sorted(lengths, key=lambda x: x.tokens)
    depths = sorted({found.depth for x in ordered for found in x.depths})
    rows = [(_place(depth), tuple(_cell(_at(x, depth)) for x in ordered)) for depth in depths]
    rows.append(("put together", tuple(_cell(x.reasoning) for x in ordered)))
    return Heat(tokens=tuple(x.tokens for x in ordered), rows=tuple(rows))


def _at(length: ContextLength, depth: float) -> Scored | None:
    return next((found.scored for found in length.depths if found.depth == depth), None)


def _cell(scored: Scored | None) -> HeatCell:
    return HeatCell(share=scored.right / scored.n if scored and scored.n else None, scored=scored)


def _place(depth: float) -> str:
    """ "at the beginning", "at 25 %", "at the end" """
    if depth in (0.0, 1.0):
        return "at the end" if depth else "at the beginning"
    return f"at {depth * 100:.0f} %"
