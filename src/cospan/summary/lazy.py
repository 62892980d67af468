"""Summaries of Dask collections: blocks of rows, merged in a tree on the workers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from cospan import _arrays as arrays
from cospan._arrays import Array
from cospan._validate import as_rows, as_weights, feature_names_of
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
    block: Any, weights: np.ndarray | None, names: tuple[str, ...] | None, options: SummaryOptions
) -> Summary | None:
    """Summary of one block; None if it has no rows, or none that count."""
    if len(block) == 0 or (weights is not None and not weights.any()):
        return None
    from cospan.summary.builder import of_rows  # makes summaries of collections by way of these

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
        summary = make(arrays.pick(rows, own), None if weights is None else weights[own])
        if summary is not None:
            found[label] = summary
    return found


def merged_classes(parts: list[dict[Any, Summary]]) -> dict[Any, Summary]:
    found: dict[Any, Summary] = {}
    for part in parts:
        for label, summary in part.items():
            found[label] = found[label] + summary if label in found else summary
    return found


def summary_of(X: Any, sample_weight: Any, options: SummaryOptions) -> Summary:
    """Summary of a Dask array or dataframe, as :meth:`cospan.Summary.of` has it.

    The blocks' own summaries merge on the workers, so that the whole never comes together; only
    the last merged summary comes here.

    >>> import dask.array as da
    >>> from cospan import Summary
    >>> X = np.arange(24.0).reshape(12, 2) ** 2
    >>> Summary.of(da.from_array(X, chunks=(5, 2)))
    Summary(12 rows, 2 features, exact)
    """
    import dask

    name = options.name
    blocks = row_blocks(X, name)
    weights = split(sample_weight, blocks, "sample_weight")
    names = feature_names_of(X)
    numbers = None if options.first_row is None else first_rows(X, blocks)
    leaf = dask.delayed(block_summary, pure=False)
    found: Summary | None = reduced(
        [
            leaf(block, weight, names, _of_block(options, i, len(blocks), numbers))
            for i, (block, weight) in enumerate(zip(blocks, weights, strict=True))
        ],
        merged,
    )
    if found is None:
        raise InputError(f"{name} has no rows; at least one sample is needed.")
    return found


def class_summaries(
    X: Any,
    labels: np.ndarray,
    sample_weight: Any = None,
    *,
    exact: bool = True,
    sample_size: int = 2000,
) -> dict[Any, Summary]:
    """Summaries of the rows of each class, in one pass over the blocks.

    `labels` holds one label per row, on the host: they are small beside the rows.
    """
    import dask

    options = SummaryOptions(exact=exact, sample_size=sample_size)
    names = feature_names_of(X)
    leaf = dask.delayed(block_classes, pure=False)
    parts = enumerate(labelled_blocks(X, labels, sample_weight))
    found: dict[Any, Summary] = reduced(
        [leaf(*part, names, options._replace(seed=i)) for i, part in parts], merged_classes
    )
    return found


def _of_block(
    options: SummaryOptions, i: int, n_blocks: int, numbers: list[int] | None
) -> SummaryOptions:
    """Draws of its own for each block, and a name: the rows that messages count are its own."""
    if n_blocks > 1:
        options = options._replace(name=f"{options.name} (block {i} of {n_blocks}, from 0)")
    if numbers is None or options.first_row is None:
        return options._replace(seed=options.seed + i)
    return options._replace(first_row=options.first_row + numbers[i])
