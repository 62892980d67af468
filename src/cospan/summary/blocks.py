"""Blocks of rows of Dask collections, and the tree in which what is made of them merges."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from cospan import _arrays as arrays
from cospan._arrays import Array
from cospan._validate import as_rows, as_weights
from cospan.errors import InputError
from cospan.summary.builder import SummaryOptions
from cospan.summary.summary import Summary

# Summaries merged by one task of the tree.
_FAN_IN = 4


def reduced(parts: list[Any], merge: Callable[[list[Any]], Any]) -> Any:
    """Merge delayed parts in a tree on the workers; only its root comes here."""
    import dask

    node = dask.delayed(merge, pure=False)
    while len(parts) > 1:
        parts = [node(parts[i : i + _FAN_IN]) for i in range(0, len(parts), _FAN_IN)]
    return dask.compute(*parts)[0]


def row_blocks(X: Any, name: str) -> list[Any]:
    """One delayed array or dataframe for each block of rows."""
    if hasattr(X, "to_delayed") and hasattr(X, "columns"):
        return list(X.to_delayed())
    if getattr(X, "ndim", None) != 2:
        raise InputError(f"{name} must have two dimensions (rows are samples).")
    if X.numblocks[1] != 1:
        X = X.rechunk({1: -1})
    return list(X.to_delayed()[:, 0])


def first_rows(X: Any, blocks: Sequence[Any]) -> list[int]:
    """The number of each block's first row: known for arrays, counted by the workers for tables."""
    import dask

    if not hasattr(X, "columns"):
        sizes = X.chunks[0]
        if any(np.isnan(size) for size in sizes):
            sizes = dask.compute(*(dask.delayed(len)(block) for block in blocks))
    else:
        # One column is enough to count by, and Parquet files then give no other.
        narrow = list(X[[X.columns[0]]].to_delayed())
        counted = narrow if len(narrow) == len(blocks) else blocks
        sizes = dask.compute(*(dask.delayed(len)(block) for block in counted))
    return [0, *np.cumsum(sizes)[:-1].tolist()]


def split(values: Any, blocks: Sequence[Any], name: str) -> list[Any]:
    """One value a row, cut into those of each block; None stays None."""
    import dask

    if values is None:
        return [None] * len(blocks)
    if arrays.is_lazy(values):
        values = values.compute()
    sizes = dask.compute(*(dask.delayed(len)(block) for block in blocks))
    values = np.asarray(values)
    if name == "sample_weight":
        values = as_weights(values, sum(sizes))
    if len(values) != sum(sizes):
        raise InputError(f"{name} has {len(values)} entries for {sum(sizes)} rows.")
    return list(np.split(values, np.cumsum(sizes)[:-1]))


def labelled_blocks(X: Any, labels: np.ndarray, sample_weight: Any) -> Iterator[tuple[Any, ...]]:
    """Each block with the labels and the weights of its rows."""
    blocks = row_blocks(X, "X")
    weights = split(sample_weight, blocks, "sample_weight")
    return zip(blocks, split(labels, blocks, "y"), weights, strict=True)


def block_summary(
    block: Any,
    weights: np.ndarray | None,
    names: tuple[str, ...] | None,
    options: SummaryOptions,
) -> Summary | None:
    """Summary of one block; None if it has no rows, or none that count."""
    if len(block) == 0 or (weights is not None and not weights.any()):
        return None
    from cospan.summary.builder import of_rows  # makes summaries of collections by way of blocks

    summary = of_rows(block, weights, options)
    return replace(summary, feature_names=names)


def merged(parts: list[Summary | None]) -> Summary | None:
    found: Summary | None = None
    for part in parts:
        if part is not None:
            found = part if found is None else found + part
    return found


def block_classes(
    block: Any,
    labels: np.ndarray,
    weights: np.ndarray | None,
    names: tuple[str, ...] | None,
    options: SummaryOptions,
) -> dict[Any, Summary]:
    """Summary of each class in one block."""
    rows = as_rows(block, "X", allow_empty=True)
    return by_class(rows, labels, weights, lambda X, w: block_summary(X, w, names, options))


def by_class(
    rows: Array,
    labels: np.ndarray,
    weights: np.ndarray | None,
    make: Callable[[Array, np.ndarray | None], Summary | None],
) -> dict[Any, Summary]:
    """What `make` makes of the rows of each class, where it makes anything."""
    found = {}
    for label in np.unique(labels).tolist():
        own = np.flatnonzero(labels == label)
        summary = make(arrays.rows_at(rows, own), None if weights is None else weights[own])
        if summary is not None:
            found[label] = summary
    return found


def merged_classes(parts: list[dict[Any, Summary]]) -> dict[Any, Summary]:
    found: dict[Any, Summary] = {}
    for part in parts:
        for label, summary in part.items():
            found[label] = found[label] + summary if label in found else summary
    return found
