"""Dask: summaries by a tree of merges on the workers, and angles where the rows are.

Nothing but summaries travels: a factor of d × d numbers for each block of rows, merged in fours
until one is left. Scoring sends the frame to every worker once and leaves the angles there, as lazy
arrays. Every task is a pure function of its block, so a scheduler that loses a worker computes its
share again elsewhere. The methods below that meet a collection (`Summary.of`, `JointFrame.align`)
hand it up to here.

Any scheduler of Dask serves: threads, processes, or a ``distributed.Client`` on a cluster.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeAlias, TypeVar

import numpy as np

from cospan.base import arrays
from cospan.base.checks import as_rows, as_weights, check_names, feature_names_of
from cospan.base.types import Array
from cospan.errors import InputError
from cospan.model import Alignment, JointFrame, RowMap, mapped_summary
from cospan.summary import FoldBuilder, FoldedSummary, Summary, SummaryOptions, of_rows

__all__ = ["aligned", "folded_summary_of", "mapped_summary_of", "reduced", "summary_of"]

T = TypeVar("T")  # a summary, of one kind or another
Lazy: TypeAlias = Any  # a Dask array, dataframe or delayed block of one: Dask has no types

# Summaries merged by one task of the tree.
FAN_IN = 4
# Columns of a scored block: what an Alignment holds, side by side.
SCORE_COLUMNS = 8

# ---- blocks -----------------------------------------------------------------------------------


def reduced(parts: list[Lazy], merge: Callable[[list[T]], T]) -> T:
    """Merge delayed parts in a tree on the workers; only its root comes here."""
    import dask

    node = dask.delayed(merge, pure=False)
    while len(parts) > 1:
        parts = [node(parts[i : i + FAN_IN]) for i in range(0, len(parts), FAN_IN)]
    root: T = dask.compute(*parts)[0]
    return root


def row_blocks(X: Lazy, name: str) -> list[Lazy]:
    """One delayed array or dataframe for each block of rows."""
    if hasattr(X, "to_delayed") and hasattr(X, "columns"):
        return list(X.to_delayed())
    if getattr(X, "ndim", None) != 2:
        raise InputError(f"{name} must have two dimensions (rows are samples).")
    if X.numblocks[1] != 1:
        X = X.rechunk({1: -1})
    return list(X.to_delayed()[:, 0])


def first_rows(X: Lazy, blocks: Sequence[Lazy]) -> list[int]:
    """The number of each block's first row: known for arrays, counted by the workers for tables."""
    if hasattr(X, "columns"):
        # One column is enough to count by, and Parquet files then give no other.
        narrow = list(X[[X.columns[0]]].to_delayed())
        sizes = _lengths(narrow if len(narrow) == len(blocks) else blocks)
    else:
        sizes = X.chunks[0]
        sizes = _lengths(blocks) if np.isnan(sizes).any() else sizes
    return [0, *np.cumsum(sizes)[:-1].tolist()]


def _lengths(blocks: Sequence[Lazy]) -> tuple[int, ...]:
    """How many rows each block has, counted by the workers."""
    import dask

    found: tuple[int, ...] = dask.compute(*(dask.delayed(len)(block) for block in blocks))
    return found


def split_weights(weights: Lazy, blocks: Sequence[Lazy]) -> list[np.ndarray | None]:
    """One weight a row, cut into those of each block; None stays None."""
    if weights is None:
        return [None] * len(blocks)
    sizes = _lengths(blocks)
    values = weights.compute() if arrays.is_lazy(weights) else weights
    return list(np.split(as_weights(values, sum(sizes)), np.cumsum(sizes)[:-1]))


# ---- summaries --------------------------------------------------------------------------------


def summary_of(X: Lazy, sample_weight: object, options: SummaryOptions) -> Summary:
    """Summary of a Dask array or dataframe, as :meth:`cospan.Summary.of` has it."""
    blocks, names = row_blocks(X, options.name), feature_names_of(X)
    numbers = None if options.first_row is None else first_rows(X, blocks)
    arguments = [(names, _of_block(options, i, len(blocks), numbers)) for i in range(len(blocks))]
    return _merged_blocks(blocks, sample_weight, _block_summary, arguments, options.name)


def folded_summary_of(X: Lazy, options: SummaryOptions, n_folds: int) -> FoldedSummary:
    """The same for the folds that the rows are dealt to by their running number."""
    blocks, names = row_blocks(X, options.name), feature_names_of(X)
    numbers, n = first_rows(X, blocks), len(blocks)
    arguments = [(names, _of_block(options, i, n, numbers), n_folds) for i in range(n)]
    return _merged_blocks(blocks, None, _block_folds, arguments, options.name)


def mapped_summary_of(X: Lazy, sample_weight: object, mapping: RowMap) -> Summary:
    """Summary of the rows of a Dask collection, mapped where they are; it keeps no sample."""
    import dask

    blocks = row_blocks(X, "X")
    arguments = [(dask.delayed(mapping),)] * len(blocks)  # once in the graph, not once per block
    return _merged_blocks(blocks, sample_weight, _mapped_block_summary, arguments, "X")


def _merged_blocks(
    blocks: Sequence[Lazy],
    sample_weight: object,
    make: Callable[..., T | None],
    arguments: Sequence[tuple[object, ...]],
    name: str,
) -> T:
    """What `make` makes of every block's rows and their weights, merged."""
    import dask

    leaf = dask.delayed(make, pure=False)
    parts = zip(blocks, split_weights(sample_weight, blocks), arguments, strict=True)
    found: T | None = reduced([leaf(block, w, *more) for block, w, more in parts], _merged)
    if found is None:
        raise InputError(f"{name} has no rows; at least one sample is needed.")
    return found


def _merged(parts: list[Lazy]) -> Lazy:
    """The sum of the parts that have rows; None where none has."""
    there = [part for part in parts if part is not None]
    return functools.reduce(operator.add, there) if there else None


def _of_block(
    options: SummaryOptions, i: int, n_blocks: int, numbers: list[int] | None
) -> SummaryOptions:
    """Draws of its own for each block, and a name: the rows that messages count are its own."""
    if n_blocks > 1:
        options = options._replace(name=f"{options.name} (block {i} of {n_blocks}, from 0)")
    if numbers is None or options.first_row is None:
        return options._replace(seed=options.seed + i)
    return options._replace(first_row=options.first_row + numbers[i])


def _block_summary(
    block: Lazy, weights: np.ndarray | None, names: tuple[str, ...] | None, options: SummaryOptions
) -> Summary | None:
    """Summary of one block; None if it has no rows, or none that count."""
    if len(block) == 0 or (weights is not None and not weights.any()):
        return None
    return replace(of_rows(block, weights, options), feature_names=names)


def _block_folds(
    block: Lazy,
    weights: None,
    names: tuple[str, ...] | None,
    options: SummaryOptions,
    n_folds: int,
) -> FoldedSummary | None:
    if len(block) == 0:
        return None
    builder = FoldBuilder(options, n_folds, feature_names=names)
    builder.take(block)
    return builder.finish()


def _mapped_block_summary(
    block: Lazy, weights: np.ndarray | None, mapping: RowMap
) -> Summary | None:
    if len(block) == 0 or (weights is not None and not weights.any()):
        return None
    return mapped_summary(as_rows(block, "X", d=mapping.n_columns), weights, mapping)


# ---- angles -----------------------------------------------------------------------------------


def aligned(
    frame: JointFrame, X: Lazy, weighting: str, side: str | None = None, sample_weight: Lazy = None
) -> Alignment:
    """Angles of a Dask collection, of rows of a side left out of it, as lazy arrays."""
    import dask

    rows = _as_array(X, frame, side or "Z")
    weights = () if sample_weight is None else (_weights_like(rows, sample_weight, str(side)),)
    table = rows.map_blocks(
        _scored_block,
        *weights,
        frame=dask.delayed(_for_workers(frame, side)),  # once in the graph, not once per block
        weighting=weighting,
        side=side,
        chunks=(rows.chunks[0], (SCORE_COLUMNS,)),
        meta=np.empty((0, 0)),
    )
    theta, cost_a, cost_b, outside = (table[:, j] for j in (0, 1, 2, 6))
    known = frame.answering.typicality if weighting == "cost" else None
    relational = table[:, 7] > 0
    return Alignment(theta, cost_a, cost_b, table[:, 3:6], outside, relational, weighting, known)


def _scored_block(
    *parts: Array, frame: JointFrame, weighting: str, side: str | None, block_id: tuple[int, ...]
) -> np.ndarray:
    """A block's alignment as columns, for `map_blocks`; Dask itself says which block it is."""
    block, weights = parts[0], parts[1][:, 0] if len(parts) > 1 else None
    try:
        if side is None:
            found = frame.align(block, weighting=weighting)
        else:
            found = frame.left_out(block, side, sample_weight=weights)
    except InputError as error:  # the rows it counts are those of the block
        raise InputError(f"Block {block_id[0]} (from 0): {error}") from None
    shares = arrays.to_numpy(found.shares)
    columns = [found.theta, found.cost_a, found.cost_b, *shares.T, found.outside, found.relational]
    return np.column_stack([arrays.to_numpy(column).astype(np.float64) for column in columns])


def _for_workers(frame: JointFrame, side: str | None) -> JointFrame:
    """The frame without what is as long as the data; for rows to be left out, all decomposed."""
    sent, curve = replace(frame, U=None, V=None, typicality=None), frame.curve
    costs = None if curve is None else replace(curve.costs, typicality=None)
    if side is not None:
        _ = (costs or sent).leave_one_out_costs  # once, here
    if curve is None or costs is None:
        return sent
    return replace(sent, curve=replace(curve, costs=costs))


def _as_array(Z: Lazy, frame: JointFrame, name: str) -> Lazy:
    """A Dask array with all columns in each block, checked against the frame."""
    check_names(Z, frame.feature_names, name)
    Z = Z.to_dask_array() if feature_names_of(Z) is not None else Z
    if Z.ndim != 2 or Z.shape[1] != frame.n_features:
        raise InputError(
            f"{name} has shape {Z.shape} where rows of {frame.n_features} features are expected."
        )
    return Z if Z.numblocks[1] == 1 else Z.rechunk({1: -1})


def _weights_like(rows: Lazy, sample_weight: Lazy, name: str) -> Lazy:
    """Weights as a lazy column, cut into blocks as the rows are."""
    import dask.array as da

    if np.isnan(rows.shape[0]):
        raise InputError(
            f"How many rows each block of {name} has is not known yet, so weights cannot be "
            "matched to them; call compute_chunk_sizes() on the array first."
        )
    weights = sample_weight.compute() if arrays.is_lazy(sample_weight) else sample_weight
    column = as_weights(weights, rows.shape[0])[:, None]
    return da.from_array(column, chunks=(rows.chunks[0], (1,)))
