"""Dask: summaries by a tree of merges on the workers, and angles where the rows are.

Nothing but summaries travels: a factor of d × d numbers for each block of rows, merged in fours
until one is left. Scoring sends the frame to every worker once and leaves the angles there, as lazy
arrays. Every task is a pure function of its block, so a scheduler that loses a worker computes its
share again elsewhere. The methods below that meet a collection (`Summary.of`, `JointFrame.align`)
hand it up to here.

Any scheduler of Dask serves: threads, processes, or a ``distributed.Client`` on a cluster.
"""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from operator import add
from typing import Any, TypeAlias

import numpy as np

from cospan.base import arrays
from cospan.base.checks import as_weights, check_names, feature_names_of
from cospan.base.types import Floats
from cospan.errors import InputError
from cospan.model import Alignment, JointFrame
from cospan.summary import Summary, SummaryOptions, of_rows

Lazy: TypeAlias = Any  # a Dask array, dataframe or delayed block of one: Dask has no types

# Summaries merged by one task of the tree.
FAN_IN = 4
# Columns of a scored block: what an Alignment holds, side by side.
SCORE_COLUMNS = 8

# ---- summaries --------------------------------------------------------------------------------


def summary_of(X: Lazy, options: SummaryOptions, sample_weight: object = None) -> Summary:
    """Summaries of the blocks of rows, made by the workers and merged by a tree."""
    import dask

    blocks = row_blocks(X, options.name)
    n, weights = len(blocks), split_weights(sample_weight, blocks)
    leaf, node = dask.delayed(_of_block, pure=False), dask.delayed(_merged, pure=False)
    parts = [leaf(block, weights[i], _options_of(i, n, options)) for i, block in enumerate(blocks)]
    while len(parts) > 1:
        parts = [node(parts[i : i + FAN_IN]) for i in range(0, n, FAN_IN)]
        n = len(parts)
    found: Summary | None = dask.compute(*parts)[0]
    if found is None:
        raise InputError(f"{options.name} has no rows; at least one sample is needed.")
    return found


def _of_block(block: Lazy, weights: Floats | None, options: SummaryOptions) -> Summary | None:
    """The summary of one block; None where it has no rows, or none that count."""
    if len(block) == 0 or (weights is not None and not weights.any()):
        return None
    return of_rows(block, weights, options)


def _merged(parts: list[Summary | None]) -> Summary | None:
    there = [part for part in parts if part is not None]
    return reduce(add, there) if there else None


def _options_of(i: int, n_blocks: int, options: SummaryOptions) -> SummaryOptions:
    """Draws of its own for each block, and a name: the rows that messages count are its own."""
    if n_blocks > 1:
        options = options._replace(name=f"{options.name} (block {i} of {n_blocks}, from 0)")
    return options._replace(seed=options.seed + i)


# ---- blocks -----------------------------------------------------------------------------------


def row_blocks(X: Lazy, name: str) -> list[Lazy]:
    """One delayed array or dataframe for each block of rows."""
    if hasattr(X, "to_delayed") and hasattr(X, "columns"):
        return list(X.to_delayed())
    if getattr(X, "ndim", None) != 2:
        raise InputError(f"{name} must have two dimensions (rows are samples).")
    return list(_in_rows(X).to_delayed()[:, 0])


def _in_rows(X: Lazy) -> Lazy:
    """A Dask array with all columns in each block."""
    return X if X.numblocks[1] == 1 else X.rechunk({1: -1})


def split_weights(weights: Lazy, blocks: list[Lazy]) -> list[np.ndarray | None]:
    """One weight a row, cut into those of each block; None stays None."""
    import dask

    if weights is None:
        return [None] * len(blocks)
    sizes = dask.compute(*(dask.delayed(len)(block) for block in blocks))  # by the workers
    values = weights.compute() if arrays.is_lazy(weights) else weights
    return list(np.split(as_weights(values, sum(sizes)), np.cumsum(sizes)[:-1]))


# ---- angles -----------------------------------------------------------------------------------


def aligned(frame: JointFrame, Z: Lazy, weighting: str) -> Alignment:
    """Angles of a Dask collection as lazy arrays."""
    import dask

    check_names(Z, frame.feature_names, "Z")
    rows = Z.to_dask_array() if feature_names_of(Z) is not None else Z
    if rows.ndim != 2 or rows.shape[1] != frame.n_features:
        raise InputError(
            f"Z has shape {rows.shape} where rows of {frame.n_features} features are expected."
        )
    rows = _in_rows(rows)
    table = rows.map_blocks(
        _scored_block,
        frame=dask.delayed(_for_workers(frame)),  # once in the graph, not once per block
        weighting=weighting,
        chunks=(rows.chunks[0], (SCORE_COLUMNS,)),
        meta=np.empty((0, 0)),
    )
    theta, cost_a, cost_b, outside = (table[:, j] for j in (0, 1, 2, 6))
    known = frame.answering.typicality if weighting == "cost" else None
    relational = table[:, 7] > 0
    return Alignment(theta, cost_a, cost_b, table[:, 3:6], outside, relational, weighting, known)


def _scored_block(
    block: np.ndarray, frame: JointFrame, weighting: str, block_id: tuple[int, ...]
) -> np.ndarray:
    """A block's alignment as columns, for `map_blocks`; Dask itself says which block it is."""
    try:
        found = frame.align(block, weighting=weighting)
    except InputError as error:  # the rows it counts are those of the block
        raise InputError(f"Block {block_id[0]} (from 0): {error}") from None
    shares = arrays.to_numpy(found.shares)
    columns = [found.theta, found.cost_a, found.cost_b, *shares.T, found.outside, found.relational]
    return np.column_stack([arrays.to_numpy(column).astype(np.float64) for column in columns])


def _for_workers(frame: JointFrame) -> JointFrame:
    """The frame without what is as long as the data."""
    sent, curve = replace(frame, U=None, V=None, typicality=None), frame.curve
    if curve is None:
        return sent
    return replace(sent, curve=replace(curve, costs=replace(curve.costs, typicality=None)))
