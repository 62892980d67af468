"""What can be asked of a decomposition: tolerances, and which factors."""

from __future__ import annotations

import functools
from typing import NamedTuple

from cospan._tolerance import rank_tolerance

__all__ = ["Tolerances", "Wanted", "default_tolerances"]


class Tolerances(NamedTuple):
    """Relative ones for the rank of the stack, of A and of B, and absolute ones for A and B.

    With `separate` A and B are each cut by their own before they meet.
    """

    stack: float
    a: float
    b: float
    absolute_a: float = 0.0
    absolute_b: float = 0.0
    separate: bool = False


class Wanted(NamedTuple):
    """Which left factors to compute, whether square ones, and what may be written to.

    Without `frame` only c and s count: H is left as it is on the way.
    """

    u: bool = True
    v: bool = True
    full: bool = False
    overwrite_a: bool = False
    overwrite_b: bool = False
    frame: bool = True


@functools.lru_cache
def default_tolerances(
    shape_a: tuple[int, ...], shape_b: tuple[int, ...], eps: float
) -> Tolerances:
    """What counts as zero where the user has not said so."""
    (p, d), q = shape_a, shape_b[0]
    return Tolerances(
        rank_tolerance(p + q, d, eps), rank_tolerance(p, d, eps), rank_tolerance(q, d, eps)
    )
