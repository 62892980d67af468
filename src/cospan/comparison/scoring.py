"""Scored rows of one set, whatever its size: counts of all, angles of many, values of a few.

A set may have a thousand rows or a billion. :class:`ScoredGroup` holds what pictures, tables and
reports need of either: a fine histogram of every angle, the alignments of at most
:data:`KEPT_ROWS` rows and the values of at most :data:`SHOWN_ROWS` of these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from cospan.attribution import attribute
from cospan.comparison.sampling import Reservoir, rows_within
from cospan.comparison.telling import TELLING_ROWS, KeptRows, Telling
from cospan.errors import InputError
from cospan.sources import Chunk

if TYPE_CHECKING:
    from cospan.alignment import Alignment
    from cospan.frame import JointFrame

__all__ = ["BINS", "KEPT_ROWS", "SHOWN_ROWS", "ScoredGroup", "Scorer", "score_columns"]

BINS = 900  # a tenth of a degree each; 30, 45, 60 or 90 bins are sums of these
KEPT_ROWS = 100_000  # alignments kept in memory
SHOWN_ROWS = 2_000  # rows whose values are kept, to be drawn
SHOWN_BYTES = 2**25  # and no more of them than this much memory holds
TELLING_BYTES = 2**22  # for the rows of each kind that a reader will ask about

Sink = Callable[[str, NDArray[Any], "Alignment"], None]  # set's name, identifiers, angles


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
        For each of `rows`, how far every feature pulls it: negative to A, positive to B.
    leave_one_out : bool
        Whether a row's own share in the frame was taken out before it was scored.
    sampled : bool
        Whether only a uniform sample of the set was scored (`n` is then the sample's size).
    total : int
        How many rows the set has; `n` unless `sampled`.
    labels : ndarray of shape (kept,) or None
        Labels of the kept rows, where some came with the data.
    telling : KeptRows or None
        Values of the rows that look most like the other set, that neither set finds usual, or
        that are on the border; `rows` is a uniform sample, these are not.
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
    telling: KeptRows | None = None

    def __post_init__(self) -> None:
        if self.total == 0:
            object.__setattr__(self, "total", self.n)

    def __repr__(self) -> str:
        return f"ScoredGroup({self.name!r}, n={self.n}, kept={len(self.ids)}, total={self.total})"


class Scorer(NamedTuple):
    """How rows are scored: the frame, the weighting, and the side a row belongs to."""

    frame: JointFrame
    weighting: str
    side: str | None = None  # "A" or "B": leave the row itself out; None: rows of neither set

    def align(self, rows: NDArray[Any]) -> Alignment:
        """Angles of the rows, honest ones where they helped to make the frame."""
        if self.side is None:
            return cast("Alignment", self.frame.align(rows, weighting=self.weighting))
        return self.frame.left_out(rows, self.side, weighting=self.weighting)

    def score(
        self,
        name: str,
        chunks: Iterable[Chunk],
        *,
        seed: int = 0,
        total: int | None = None,
        sink: Sink | None = None,
    ) -> ScoredGroup:
        """Score every row of the chunks.

        `total` is the size of the set where the chunks are only a sample of it; `sink` gets
        every chunk's angles, e.g. to write them to a file.
        """
        counts = np.zeros(BINS, dtype=np.int64)
        kept: Reservoir[_Scored] = Reservoir(KEPT_ROWS, seed)
        # The same seed, so the same draws: the rows shown are among the rows kept.
        size = rows_within(SHOWN_BYTES, self.frame.n_features, SHOWN_ROWS)
        shown: Reservoir[Chunk] = Reservoir(size, seed)
        width = self.frame.n_features
        telling = Telling(self.side, max(10, min(TELLING_ROWS, TELLING_BYTES // (8 * width))))
        for chunk in chunks:
            alignment = self.align(chunk.rows)
            counts += np.histogram(alignment.degrees, bins=BINS, range=(0, 90))[0]
            kept.add(_Scored(alignment, chunk.ids, chunk.labels))
            shown.add(Chunk(chunk.rows, chunk.ids, None))
            telling.add(alignment, chunk.rows, chunk.labels)
            if sink is not None:
                sink(name, chunk.ids, alignment)
        if kept.seen == 0:
            raise InputError(f"{name} has no rows to score; check the file and its filters.")
        alignment, ids, labels = kept.result()
        rows = shown.result().rows
        asked, places = telling.among(kept.positions)
        return ScoredGroup(
            name=name,
            n=kept.seen,
            counts=counts,
            alignment=alignment,
            ids=ids,
            rows=rows,
            row_index=np.searchsorted(kept.positions, shown.positions),
            attribution=self._pulls(rows),
            leave_one_out=self.side is not None,
            sampled=total is not None and total > kept.seen,
            total=kept.seen if total is None else total,
            labels=labels,
            telling=KeptRows(asked, places, self._pulls(asked)),
        )

    def _pulls(self, rows: NDArray[Any]) -> NDArray[np.float64]:
        return np.asarray(attribute(self.frame, rows, weighting=self.weighting).features)


class _Scored(NamedTuple):
    alignment: Alignment
    ids: NDArray[Any]
    labels: NDArray[Any] | None


def score_columns(name: str, ids: NDArray[Any], alignment: Alignment) -> dict[str, NDArray[Any]]:
    """The columns of a table of scores: one row per sample, angles in degrees."""
    shares = np.asarray(alignment.shares)
    return {
        "set": np.full(len(ids), name),
        "id": ids,
        "theta": np.asarray(alignment.degrees),
        "cost_a": np.asarray(alignment.cost_a),
        "cost_b": np.asarray(alignment.cost_b),
        "share_a": shares[:, 0],
        "share_shared": shares[:, 1],
        "share_b": shares[:, 2],
        "outside": np.asarray(alignment.outside),
        "relational": np.asarray(alignment.relational),
    }
