"""Pipeline copies: whether a layout keeps four of every split input, or gives that memory to the model. Pure.

With two or more devices llama.cpp keeps them so that micro-batches may overlap; any tensor override switches them off
(`llama_flags.NO_COPIES`). Between RPC workers they change nothing: with 0.2 s added per graph 16 micro-batches took
3.54 s with copies and 3.52 s without on two endpoints, 6.77 and 6.75 s on three. Beside local GPUs that is untested:
there they are kept where they fit, and without them no overlap is counted on.
"""

from __future__ import annotations

from collections.abc import Iterable


def worth_trying(served: Iterable[bool]) -> tuple[bool, ...]:
    """With copies, and without, the better first. `served`: of each device whether a worker serves it."""
    return (False,) if all(served) else (True, False)


def overlap(served: Iterable[bool], *, copies: bool) -> bool:
    """Whether micro-batches of a prompt overlap between workers."""
    return copies or all(served)
