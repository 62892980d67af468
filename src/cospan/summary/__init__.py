"""A dataset as a small summary that merges: count, mean, and the factor of its scatter.

Everything after this room works from summaries, so it costs d³ whatever the number of rows
was, and memory, streams, Dask and GPUs differ only in how they make and merge them. `summary` is
what there is to know of a set, `builder` takes rows as they come, `folds` deals them to folds, and
`sample` keeps some of any rows that pass by.
"""

from cospan.summary.builder import SummaryBuilder, SummaryOptions, of_chunks, of_rows
from cospan.summary.folds import FoldedSummary, best_salt, dealt_by_key, dealt_by_number, fold_count
from cospan.summary.sample import Reservoir, RowSample, random_rows, rows_within
from cospan.summary.summary import Summary, as_factors

__all__ = [
    "FoldedSummary", "Reservoir", "RowSample", "Summary", "SummaryBuilder",
    "SummaryOptions", "as_factors", "best_salt", "dealt_by_key", "dealt_by_number",
    "fold_count", "of_chunks", "of_rows", "random_rows", "rows_within",
]  # fmt: skip
