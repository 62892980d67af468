"""Dask collections: summaries by a tree of merges on the workers, angles where the rows are.

Nothing but summaries travels: a factor of d × d numbers for each block of rows, merged in fours
until one is left. Scoring sends the frame to every worker once and leaves the angles there, as lazy
arrays or as files that the workers write (`lazy`). Every task is a pure function of its block, so a
scheduler that loses a worker computes its share again elsewhere.

Any scheduler of Dask serves: threads, processes, or a ``distributed.Client`` on a cluster
(`cluster`).
"""

from cospan.distributed.cluster import on_cluster, read_lazily
from cospan.distributed.lazy import (
    aligned,
    class_summaries,
    folded_summary_of,
    mapped_classes,
    mapped_summary_of,
    reduced,
    summary_of,
    write_scores,
)

__all__ = [
    "aligned",
    "class_summaries",
    "folded_summary_of",
    "mapped_classes",
    "mapped_summary_of",
    "on_cluster",
    "read_lazily",
    "reduced",
    "summary_of",
    "write_scores",
]
