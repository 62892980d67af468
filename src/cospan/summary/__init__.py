"""A dataset as a small summary that merges: count, mean, and the factor of its scatter.

Everything after this room works from summaries, so it costs d³ whatever the number of rows
was, and memory, streams, Dask and GPUs differ only in how they make and merge them.

The scatter matrix Σ wᵢ (xᵢ - mean)(xᵢ - mean)ᵀ is held in one of two ways:

- exact: a factor F with FᵀF equal to it, by QR. Merging is a QR of both factors and one row for
  the difference of the means.
- fast: the matrix itself, summed in float64 about a provisional mean. Several times faster, and
  half the digits lost: harmless under shrinkage (`base.tolerance.FAST_SHRINKAGE`), refused without.
  As long as there are fewer rows than features, a factor here too: it is smaller than the matrix.

`summary` is what there is to know of a set and how two of them merge, `builder` takes rows as they
come, in memory or in chunks, `folds` deals them to folds, and `sample` keeps some of any rows that
pass by.
"""

from cospan.summary.builder import SummaryBuilder, SummaryOptions, of_chunks, of_rows
from cospan.summary.folds import (
    FoldBuilder,
    FoldedSummary,
    best_salt,
    dealt_by_key,
    dealt_by_number,
    fold_count,
)
from cospan.summary.sample import Reservoir, RowSample, random_rows, rows_within
from cospan.summary.summary import Summary, as_factors

__all__ = [
    "FoldBuilder", "FoldedSummary", "Reservoir", "RowSample", "Summary", "SummaryBuilder",
    "SummaryOptions", "as_factors", "best_salt", "dealt_by_key", "dealt_by_number",
    "fold_count", "of_chunks", "of_rows", "random_rows", "rows_within",
]  # fmt: skip
