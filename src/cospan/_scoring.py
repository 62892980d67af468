"""Scored rows of one set, whatever its size: counts of all, angles of many, values of a few.

A set may have a thousand rows or a billion. :class:`ScoredGroup` holds what pictures, tables and
reports need of either: a fine histogram of every angle, the alignments of at most
:data:`KEPT_ROWS` rows and the values of at most :data:`SHOWN_ROWS` of these.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from .alignment import Alignment

__all__ = ["BINS", "KEPT_ROWS", "SHOWN_ROWS", "ScoredGroup"]

BINS = 900  # a tenth of a degree each; 30, 45, 60 or 90 bins are sums of these
KEPT_ROWS = 100_000  # alignments kept in memory
SHOWN_ROWS = 2_000  # rows whose values are kept, to be drawn


@dataclass(frozen=True, eq=False)
class ScoredGroup:
    """The scored rows of one set.

    Parameters
    ----------
    name : str
        What the set is called, e.g. its file name.
    n : int
        How many rows were scored.
    counts : ndarray of shape (900,), int64
        Histogram of θ over [0°, 90°], a tenth of a degree per bin, of all `n` rows.
    alignment : Alignment
        Angles, costs and shares of the kept rows: all `n` of them, or a uniform sample
        when there were more than 100,000.
    ids : ndarray of shape (kept,)
        Identifiers of the kept rows: row numbers, index values or file names.
    rows : ndarray of shape (shown, d) or None
        Values of at most 2,000 of the kept rows, as they were scored.
    row_index : ndarray of shape (shown,), int
        Which kept rows `rows` are: ``rows[i]`` has the angle ``alignment.theta[row_index[i]]``.
    attribution : ndarray of shape (shown, d) or None
        For each of `rows`, what every feature adds to -cos 2θ: negative pulls to A.
    leave_one_out : bool
        Whether a row's own share in the frame was taken out before it was scored.
    sampled : bool
        Whether only a uniform sample of the set was scored (`n` is then the sample's size).
    total : int
        How many rows the set has; `n` unless `sampled`.
    labels : ndarray of shape (kept,) or None
        Labels of the kept rows, where some came with the data.
    """

    name: str
    n: int
    counts: NDArray[np.int64]
    alignment: Alignment
    ids: NDArray[Any]
    rows: NDArray[np.floating[Any]] | None
    row_index: NDArray[np.intp]
    attribution: NDArray[np.floating[Any]] | None
    leave_one_out: bool
    sampled: bool
    total: int = 0
    labels: NDArray[Any] | None = None

    def __post_init__(self) -> None:
        if self.total == 0:
            object.__setattr__(self, "total", self.n)

    def __repr__(self) -> str:
        return f"ScoredGroup({self.name!r}, n={self.n}, kept={len(self.ids)}, total={self.total})"
